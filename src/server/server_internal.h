/* SPDX-License-Identifier: Apache-2.0
 *
 * server_internal.h - the state of a server and the functions that its parts share. */
#ifndef APHI_SERVER_SERVER_INTERNAL_H
#define APHI_SERVER_SERVER_INTERNAL_H

#include "base/event_loop.h"
#include "server/server.h"

#include <sys/socket.h>

typedef struct aphi_server_tcp aphi_server_tcp;
typedef struct aphi_server_udp aphi_server_udp;
typedef struct aphi_server_network aphi_server_network;

/* A server that the model calls. */
typedef struct aphi_server_origin {
    struct sockaddr_storage at;
    socklen_t size;
    char text[80];               /* `at` as HOST:PORT */
} aphi_server_origin;

struct aphi_server {
    const aph_model *model;
    aphi_serve_options options;
    aphi_simulator simulator;
    aphi_choice choice;          /* of delays and losses; kept separate from the model's choices */
    aphi_event_loop loop;        /* its timers are the delayed requests and responses */
    aphi_watch listener;
    bool failed;                 /* the server ends; outcome and error are set */
    aphi_served outcome;
    char error[512];
    unsigned warnings;
    uint64_t changes;            /* number of state changes of the model: requests taken */
    aphi_serve_stats stats;
    char address[80];
    aphi_server_origin origins[APH_ORIGINS_MAX]; /* the servers that the model calls: options.call_count */
    const char *origin_texts[APH_ORIGINS_MAX + 1]; /* for the codec, as in aph_wire */
    aphi_server_tcp *tcp;        /* one of these three is not NULL */
    aphi_server_udp *udp;
    aphi_server_network *network;
};

/* Returns the addresses for aph_wire.origins, or NULL if the model calls no server. */
const char *const *aphi_server_origins(const aphi_server *s);
/* Prints a warning about a client on stderr, up to a limit. */
void aphi_server_warn(aphi_server *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
struct aph_wire;
void aphi_server_warn_malformed(aphi_server *s, int64_t from, const struct aph_wire *w);
/* Ends the server after a failed system call; reads errno. */
void aphi_server_fail(aphi_server *s, const char *what);
/* Passes the request to the model. The server ends if the result is APHI_SIMULATED_FAULT. */
aphi_simulated aphi_server_take(aphi_server *s, int64_t from, aph_value message);
/* Returns the current time plus a random delay. */
int64_t aphi_server_delayed_ns(aphi_server *s);

aphi_server_tcp *aphi_server_tcp_open(void);
void aphi_server_tcp_close(aphi_server *s);
void aphi_server_tcp_mark(aphi_server *s);
/* The next four functions are callbacks of the event loop. */
void aphi_server_tcp_accept(void *server, void *data, uint32_t events);
void aphi_server_tcp_timer(void *server, const aphi_timer *due);
void aphi_server_udp_ready(void *server, void *data, uint32_t events);
void aphi_server_udp_timer(void *server, const aphi_timer *due);
/* Queues the messages that the model has just sent. */
void aphi_server_tcp_deliver(aphi_server *s);
/* Called after each round: decodes and takes requests and writes responses, for each changed stream. */
void aphi_server_tcp_settle(aphi_server *s);

aphi_server_udp *aphi_server_udp_open(void);
void aphi_server_udp_close(aphi_server *s);
void aphi_server_udp_mark(aphi_server *s);

/* The server is behind options.network, on TCP sockets. */
aphi_server_network *aphi_server_network_open(aphi_server *s);
void aphi_server_network_close(aphi_server *s);
void aphi_server_network_mark(aphi_server *s);
void aphi_server_network_accept(void *server, void *data, uint32_t events);
void aphi_server_network_timer(void *server, const aphi_timer *due);
void aphi_server_network_deliver(aphi_server *s);
void aphi_server_network_settle(aphi_server *s);

#endif

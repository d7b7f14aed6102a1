/* SPDX-License-Identifier: Apache-2.0
 *
 * server_internal.h - what server.c, server_tcp.c and server_udp.c share: the inside of a server. */
#ifndef APHI_SERVER_SERVER_INTERNAL_H
#define APHI_SERVER_SERVER_INTERNAL_H

#include "base/timer_heap.h"
#include "server/server.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>

typedef struct aphi_server_tcp aphi_server_tcp;
typedef struct aphi_server_udp aphi_server_udp;

struct aphi_server {
    const aph_model *model;
    aphi_serve_options options;
    aphi_simulator actor;
    aphi_choice choice;          /* of delays and losses: apart from the model's, which they would disturb */
    aphi_timer_heap agenda;
    int64_t now;                 /* of the clock, as of the latest look */
    int epoll, listener, timer, wake;
    int64_t timer_ns;            /* what the timer is set for; 0: nothing */
    volatile sig_atomic_t stopping;
    bool failed;                 /* fault or failure: error says which */
    aphi_served outcome;
    char error[512];
    unsigned complaints;
    uint64_t changes;            /* of the model's state: requests taken */
    aphi_serve_stats stats;
    char address[80];
    struct sockaddr_storage called; /* whom the model asks */
    socklen_t called_size;
    char here[80];               /* the same as text; empty: nobody */
    aphi_server_tcp *streams;       /* one of the two */
    aphi_server_udp *datagrams;
};

/* What epoll tells of: one of ours, or a stream. */
enum { APHI_ON_LISTENER, APHI_ON_TIMER, APHI_ON_WAKE, APHI_ON_STREAM };

/* Says on stderr what is wrong with a client; after many, no more. */
void aphi_server_complain(aphi_server *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The server ends: the system did not do what it should. */
void aphi_server_fail(aphi_server *s, const char *what);
/* Gives the request to the model. After APHI_SIMULATED_FAULT the server ends. */
aphi_simulated aphi_server_take(aphi_server *s, int64_t from, aph_value message);
/* A moment after the others, as the environment will have it. */
int64_t aphi_server_later(aphi_server *s);
/* Complains of a malformed message. */
struct aph_wire;
void aphi_server_malformed(aphi_server *s, int64_t from, const struct aph_wire *w);

aphi_server_tcp *aphi_server_tcp_open(aphi_server *s);
void aphi_server_tcp_close(aphi_server *s);
void aphi_server_tcp_mark(aphi_server *s);
void aphi_server_tcp_accept(aphi_server *s);
void aphi_server_tcp_ready(aphi_server *s, uint64_t which, uint32_t events);
void aphi_server_tcp_due(aphi_server *s, const aphi_timer *due);
/* What the model has just said goes out. */
void aphi_server_tcp_deliver(aphi_server *s);
/* After each round: what waited for the model or for room is tried again, and what may go out does. */
void aphi_server_tcp_settle(aphi_server *s);

aphi_server_udp *aphi_server_udp_open(aphi_server *s);
void aphi_server_udp_close(aphi_server *s);
void aphi_server_udp_mark(aphi_server *s);
void aphi_server_udp_ready(aphi_server *s);
void aphi_server_udp_due(aphi_server *s, const aphi_timer *due);

#endif

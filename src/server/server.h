/* SPDX-License-Identifier: Apache-2.0
 *
 * server.h - runs a model as a server on a port, with any behaviour that the model and its environment allow. */
#ifndef APHI_SERVER_SERVER_H
#define APHI_SERVER_SERVER_H

#include <antiphon/network.h>

#include "server/simulator.h"

/* The simulated environment between clients and the model, besides the real network. */
typedef enum aphi_served_through {
    APHI_SERVE_TCP,  /* requests and responses are delayed; each connection keeps its order */
    APHI_SERVE_SYNC, /* no delays */
    APHI_SERVE_UDP,  /* datagrams are lost, duplicated and reordered in both directions */
} aphi_served_through;

typedef struct aphi_serve_options {
    const char *host;         /* a name or an address; NULL: 127.0.0.1 */
    uint16_t port;            /* 0: a free port */
    aphi_served_through through;
    const aph_network *network; /* a user's network, on TCP sockets; NULL: `through` */
    uint64_t seed;
    int64_t delay_ns;         /* mean delay of requests and of responses; unused with APHI_SERVE_SYNC */
    const char *calls[APH_ORIGINS_MAX]; /* HOST:PORT of the servers that the model calls, by origin */
    unsigned call_count;
    unsigned loss, duplicate; /* percentages of datagrams in each direction */
} aphi_serve_options;

typedef struct aphi_server aphi_server;

typedef struct aphi_serve_stats {
    uint64_t connections, requests, answers;
} aphi_serve_stats;

/* Opens a listening server. Returns NULL with a message on failure. The model must outlive the server. */
aphi_server *aphi_server_open(const aph_model *model, const aphi_serve_options *options, char *error,
                              size_t error_size);
void aphi_server_close(aphi_server *s);
/* HOST:PORT, [V6]:PORT. */
const char *aphi_server_address(const aphi_server *s);

typedef enum aphi_served {
    APHI_SERVED,        /* stopped */
    APHI_SERVE_FAULT,   /* the model is faulty: see aphi_server_fault */
    APHI_SERVE_FAILED,  /* a system call failed */
} aphi_served;

/* Serves until stopped; call it on the thread that opened the server. Prints warnings about clients to stderr. Writes a
 * message to error unless the result is APHI_SERVED. */
aphi_served aphi_server_run(aphi_server *s, char *error, size_t error_size);
aphi_simulated_fault aphi_server_fault(const aphi_server *s);
aphi_serve_stats aphi_server_stats(const aphi_server *s);
/* May be called from signal handlers and other threads. */
void aphi_server_stop(aphi_server *s);

#endif

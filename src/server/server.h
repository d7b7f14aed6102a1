/* SPDX-License-Identifier: Apache-2.0
 *
 * server.h - a model as a server on a port, showing what it and its environment allow. */
#ifndef APHI_SERVER_SERVER_H
#define APHI_SERVER_SERVER_H

#include "server/simulator.h"

/* What lies between clients and the model, beside the network that there is anyway. */
typedef enum aphi_served_through {
    APHI_SERVE_TCP,  /* requests and answers take any time; each connection keeps its order */
    APHI_SERVE_SYNC, /* nothing: what has come is taken, and the answer goes out */
    APHI_SERVE_UDP,  /* datagrams: lost, doubled and overtaking each other, both ways */
} aphi_served_through;

typedef struct aphi_serve_options {
    const char *host;         /* a name or number; NULL: 127.0.0.1 */
    uint16_t port;            /* 0: any that is free */
    aphi_served_through through;
    uint64_t seed;
    int64_t delay_ns;         /* mean, of requests and of answers; not for APHI_SERVE_SYNC */
    const char *calls;        /* HOST:PORT of those whom the model asks; NULL: nobody */
    unsigned loss, duplicate; /* of a hundred datagrams, each way */
} aphi_serve_options;

typedef struct aphi_server aphi_server;

typedef struct aphi_serve_stats {
    uint64_t connections, requests, answers;
} aphi_serve_stats;

/* Listens. NULL with a message if it cannot. The model must outlive the server. */
aphi_server *aphi_server_open(const aph_model *model, const aphi_serve_options *options, char *error,
                              size_t error_size);
void aphi_server_close(aphi_server *s);
/* HOST:PORT, [V6]:PORT. */
const char *aphi_server_address(const aphi_server *s);

typedef enum aphi_served {
    APHI_SERVED,        /* until it was stopped */
    APHI_SERVE_FAULT,   /* the model is wrong: see aphi_server_fault */
    APHI_SERVE_FAILED,  /* the system did not give what it takes */
} aphi_served;

/* Serves until it is stopped, on the thread that opened it. What is wrong with a client is told on stderr; what ends
 * it, in error. */
aphi_served aphi_server_run(aphi_server *s, char *error, size_t error_size);
aphi_simulated_fault aphi_server_fault(const aphi_server *s);
aphi_serve_stats aphi_server_stats(const aphi_server *s);
/* May be called from a signal handler or another thread. */
void aphi_server_stop(aphi_server *s);

#endif

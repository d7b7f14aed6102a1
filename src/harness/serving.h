/* SPDX-License-Identifier: Apache-2.0
 *
 * serving.h - what server.c, streams.c and datagrams.c share: the inside of a server. */
#ifndef APHI_HARNESS_SERVING_H
#define APHI_HARNESS_SERVING_H

#include "base/timer_heap.h"
#include "harness/server.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>

typedef struct aphi_streams aphi_streams;
typedef struct aphi_datagrams aphi_datagrams;

struct aphi_server {
    const aph_model *model;
    aphi_serve_options options;
    aphi_actor actor;
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
    aphi_streams *streams;       /* one of the two */
    aphi_datagrams *datagrams;
};

/* What epoll tells of: one of ours, or a stream. */
enum { APHI_ON_LISTENER, APHI_ON_TIMER, APHI_ON_WAKE, APHI_ON_STREAM };

/* Says on stderr what is wrong with a client; after many, no more. */
void aphi_server_complain(aphi_server *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The server ends: the system did not do what it should. */
void aphi_server_fail(aphi_server *s, const char *what);
/* Gives the request to the model. After APHI_ACT_FAULT the server ends. */
aphi_act aphi_server_take(aphi_server *s, int64_t from, aph_value message);
/* A moment after the others, as the environment will have it. */
int64_t aphi_server_later(aphi_server *s);
/* Complains of a malformed message. */
struct aph_wire;
void aphi_server_malformed(aphi_server *s, int64_t from, const struct aph_wire *w);

aphi_streams *aphi_streams_open(aphi_server *s);
void aphi_streams_close(aphi_server *s);
void aphi_streams_mark(aphi_server *s);
void aphi_streams_accept(aphi_server *s);
void aphi_streams_ready(aphi_server *s, uint64_t which, uint32_t events);
void aphi_streams_due(aphi_server *s, const aphi_timer *due);
/* What the model has just said goes out. */
void aphi_streams_deliver(aphi_server *s);
/* After each round: what waited for the model or for room is tried again, and what may go out does. */
void aphi_streams_settle(aphi_server *s);

aphi_datagrams *aphi_datagrams_open(aphi_server *s);
void aphi_datagrams_close(aphi_server *s);
void aphi_datagrams_mark(aphi_server *s);
void aphi_datagrams_ready(aphi_server *s);
void aphi_datagrams_due(aphi_server *s, const aphi_timer *due);

#endif

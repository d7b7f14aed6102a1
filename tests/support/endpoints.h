/* SPDX-License-Identifier: Apache-2.0
 *
 * endpoints.h - a concrete server and the ends of its connections, for a model with connections.
 *
 * An item is an observation of a client that the server can take: an opening, a request, or an end. Messages that the
 * server has sent and that were not observed are in the mail of the server. */
#ifndef TESTS_SUPPORT_ENDPOINTS_H
#define TESTS_SUPPORT_ENDPOINTS_H

#include "concrete.h"
#include "histories.h"

typedef struct endpoints {
    concrete server;
    uint8_t taken[HISTORY_CONNECTIONS];  /* items that the server has taken, or that are lost */
    bool closed[HISTORY_CONNECTIONS];    /* the server has closed the connection */
    bool left[HISTORY_CONNECTIONS];      /* the client has closed both sides, or aborted */
} endpoints;

/* Returns the next item of the connection before the observation at `at`; NULL if there is none, or if the server has
 * closed the connection. */
const history_seen *endpoints_next(const endpoints *e, const history *h, size_t at, int64_t connection);
/* The server takes the next item. Returns false if it cannot, or if the picks are invalid. */
bool endpoints_take(endpoints *e, const subject *s, const history *h, size_t at, int64_t connection,
                    concrete_pick *pick, void *context);
/* The connection breaks: the items that the server has not taken are lost. Returns false if it cannot break. */
bool endpoints_break(endpoints *e, const subject *s, const history *h, size_t at, int64_t connection,
                     concrete_pick *pick, void *context);
/* Returns false if the observation is impossible now. */
bool endpoints_observe(endpoints *e, const history_seen *seen);
/* Returns true if no message is in flight before the observation at `at`. */
bool endpoints_are_quiet(const endpoints *e, const history *h, size_t at);

/* Returns true if the client and the system calls allow these observations on each connection: it is opened first and
 * once, and nothing follows its end. */
bool endpoints_allow(const history *h);

#endif

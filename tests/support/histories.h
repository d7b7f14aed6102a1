/* SPDX-License-Identifier: Apache-2.0
 *
 * histories.h - small random histories of a model: recorded from a run, and optionally mutated.
 *
 * A subject is a model with the data to generate its histories. All random choices come from one aphi_choice, so a seed
 * determines a history. */
#ifndef TESTS_SUPPORT_HISTORY_H
#define TESTS_SUPPORT_HISTORY_H

#include <antiphon/model.h>

#include "base/random_choice.h"

enum { HISTORY_CONNECTIONS = 8 }; /* connections are numbered 1 to 7 */

typedef struct history_seen {
    bool sent;             /* a request; otherwise a response */
    int64_t connection;
    aph_value message;
    bool quiet;            /* neither a request nor a response: no message is in flight */
} history_seen;

typedef struct history {
    history_seen *seen;
    size_t count, capacity;
} history;

typedef struct subject {
    const aph_model *model;
    /* Values for an internal choice of a string: each string that the model can compare with a chosen one, and one more
     * for each concurrent choice, so that each equality and inequality is possible. Ends with NULL. */
    const char *const *strings;
    aph_value (*request)(aphi_choice *c);
    aph_value (*answer)(aphi_choice *c);    /* a plausible wrong response */
    unsigned requests_most;                 /* requests in a history of random shape; 0 means 6 */
    void (*vary)(aphi_choice *c);           /* changes the model before each history; NULL: it stays the same */
} subject;

/* Parameters of a history. */
typedef struct history_shape {
    size_t requests;
    unsigned connections;
    unsigned pipelining;   /* probability, in quarters, that a connection sends while it waits for a response */
    bool sequential;       /* each request ends before the next is sent; the last may stay pending */
    bool whole;            /* each request gets its response, if the model sends one */
    bool paired;           /* the model is rpc: no connection has more responses than requests */
    bool lossy; /* requests are lost or duplicated, responses are observed in any order and any number of times */
    size_t buffer;         /* capacity in messages, per connection and direction; 0 means unlimited */
    bool quiets;           /* with quiet marks, at which no message is in flight */
} history_shape;

void history_deinit(history *h);
void history_add(history *h, bool sent, int64_t connection, aph_value message);
void history_add_quiet(history *h);
void history_copy(history *to, const history *from);
void history_remove(history *h, size_t i);

history_shape history_random_shape(aphi_choice *c, const subject *s);
/* Runs the model concretely under a random schedule, and records the observations of its clients. */
void history_make(history *h, const subject *s, history_shape shape, aphi_choice *c);
/* Changes, swaps or moves some responses, as the shape allows. */
void history_mutate(history *h, const subject *s, history_shape shape, aphi_choice *c);
bool history_is_sequential(const history *h);
/* Returns true if no connection ever has more responses than requests. */
bool history_is_paired(const history *h);
void history_print(const history *h);

#endif

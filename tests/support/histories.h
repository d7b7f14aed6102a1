/* SPDX-License-Identifier: Apache-2.0
 *
 * histories.h - small recorded histories of a model: made by running it, then perhaps made wrong.
 *
 * A subject is a model with what it takes to make histories of it. Random choice comes from one aphi_choice, so a seed
 * is a history. */
#ifndef TESTS_SUPPORT_HISTORY_H
#define TESTS_SUPPORT_HISTORY_H

#include <antiphon/model.h>

#include "base/choice.h"

enum { HISTORY_CONNECTIONS = 8 }; /* connections are numbered 1 to 7 */

typedef struct history_seen {
    bool sent;             /* a request; else an answer */
    int64_t connection;
    aph_value message;
    bool quiet;            /* neither: nothing more will come of all that was sent before */
} history_seen;

typedef struct history {
    history_seen *seen;
    size_t count, capacity;
} history;

typedef struct subject {
    const aph_model *model;
    /* What an internal choice of sort string may be: every string that the model can compare one with, and as many
     * others as there can be choices at once, so that no equality or inequality is out of reach. Ends with NULL. */
    const char *const *strings;
    aph_value (*request)(aphi_choice *c);
    aph_value (*answer)(aphi_choice *c);    /* something that an answer may look like, to put in place of a right one */
    unsigned requests_most;                 /* in a history of random shape; 0: 6 */
} subject;

/* How a history is to look. */
typedef struct history_shape {
    size_t requests;
    unsigned connections;
    unsigned pipelining;   /* of 4, how often a connection that waits for an answer may send all the same */
    bool sequential;       /* each request is answered before the next is sent; the last may be left without */
    bool whole;            /* every request is answered, if the model answers it */
    bool paired;           /* the model is rpc: no connection ever has more answers than requests */
    bool lossy;            /* requests are lost or come twice, answers are seen in any order and any number of times */
    size_t buffer;         /* what a connection holds each way; 0: any number */
    bool quiets;           /* there are moments at which nothing more will come */
} history_shape;

void history_deinit(history *h);
void history_add(history *h, bool sent, int64_t connection, aph_value message);
void history_copy(history *to, const history *from);
void history_remove(history *h, size_t i);

history_shape history_random_shape(aphi_choice *c, const subject *s);
/* Run the model, concretely, under a random schedule, and write down what its clients see. */
void history_make(history *h, const subject *s, history_shape shape, aphi_choice *c);
/* Change, swap or move some answers, within what the shape allows. */
void history_mutate(history *h, const subject *s, history_shape shape, aphi_choice *c);
bool history_is_sequential(const history *h);
/* Does no connection have more answers than requests at any time? */
bool history_is_paired(const history *h);
void history_print(const history *h);

#endif

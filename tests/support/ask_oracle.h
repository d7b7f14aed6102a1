/* SPDX-License-Identifier: Apache-2.0
 *
 * ask_oracle.h - a served model, and a client that asks it much at once and writes down what it sees. */
#ifndef TESTS_SUPPORT_ASKER_H
#define TESTS_SUPPORT_ASKER_H

#include <antiphon/model.h>

#include "base/choice.h"

#include <netinet/in.h>
#include <stdio.h>
#include <sys/types.h>

/* A process of `antiphon serve`. */
typedef struct served {
    pid_t pid;
    FILE *out;                 /* what it prints after its first line */
    struct sockaddr_in at;
} served;

/* Starts $ANTIPHON serve with these words, the last of which is NULL, and waits until it listens. */
served served_start(const char *const *words);
/* SIGTERM. The exit code, or -1 if it was a signal. */
int served_stop(served *s);

/* What a client asks, and what it remembers for that. */
typedef struct asker {
    const aph_model *model;
    aphi_choice choice;
    aph_value tags;            /* array: some that were seen */
    uint64_t keys;             /* for models that have keys: so many that few requests at a time are about one */
    uint64_t made;             /* requests so far */
    aph_value (*request)(struct asker *a);
    void (*answered)(struct asker *a, aph_value answer); /* or NULL */
} asker;

/* For a built-in model. */
asker asker_of(const aph_model *model, uint64_t seed);

typedef struct asking {
    unsigned connections;
    unsigned depth;            /* requests that a connection may have in flight */
    unsigned requests;         /* in all */
    bool datagrams;            /* a connection is a socket of datagrams; those not answered for a while are lost */
    FILE *trace;               /* what was seen, as JSON lines; or NULL */
} asking;

/* Asks until all is answered. False, with a line on stderr, if an answer is malformed, or a connection is closed, or
 * nothing comes for ten seconds. */
bool asker_ask(asker *a, const served *s, const asking *how);

#endif

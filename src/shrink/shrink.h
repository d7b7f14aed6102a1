/* SPDX-License-Identifier: Apache-2.0
 *
 * shrink.h - make a failing script small. docs/testing.md tells what it does in which order. */
#ifndef APHI_SHRINK_SHRINK_H
#define APHI_SHRINK_SHRINK_H

#include <antiphon/generate.h>

#include "script/script.h"

/* One run of a candidate against a fresh subject. 0: it passes, or it cannot be run (a message that the codec cannot
 * encode). Positive: it fails; the number is how many of its actions had been taken by then, so that those behind need
 * not be tried one by one; 1 if that is not known. Negative: stop (interrupted, the subject cannot start). May
 * collect. */
typedef int aphi_shrink_run(void *context, const aphi_script *candidate);

typedef struct aphi_shrink_options {
    /* The same actions in an order that may fail too, one by one: the n-th, from 0. NULL: there are none. Does not
     * collect. */
    aphi_script (*reorder)(void *context, unsigned n);
    unsigned tries;    /* runs of a candidate before it counts as passing; 0: learnt from how often scripts fail */
    unsigned confirm;  /* runs of the result to say how often it reproduces; 0: 10 */
    int64_t budget_ns; /* in all, confirming included; 0: 30 s */
    /* A line for each step: "removed 128 of 500 requests: still fails", and where it is. May be NULL. */
    void (*step)(void *context, const char *what, const aphi_script *best);
    void *context; /* of run, reorder and step */
    /* What requests often say (aphi_generator_values), which the caller keeps alive; APH_NIL: not known. */
    aph_value values;
    const aph_function *functions; /* of the model, for holes; may be NULL */
} aphi_shrink_options;

typedef struct aphi_shrunk {
    aphi_script script;             /* to be freed */
    bool failed;                    /* again, in some run */
    unsigned reproduced, confirmed; /* times that it failed, of so many runs at the end; 0: no time was left */
    uint64_t runs;                  /* in all */
    /* No single further step leads to a script that fails as reliably; false: the budget or a stop came first, or it
     * never failed again. */
    bool minimal;
    int64_t ns;
} aphi_shrunk;

/* Labels stay as they were, or as another order has them. A script that does not fail again comes back as it is, with
 * reproduced 0. */
aphi_shrunk aphi_shrink(const aphi_script *failing, aphi_shrink_run *run, const aphi_shrink_options *options);

#endif

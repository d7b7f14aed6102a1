/* SPDX-License-Identifier: Apache-2.0
 *
 * shrink.h - shrinking a failing script; docs/testing.md describes the stages. */
#ifndef APHI_SHRINK_SHRINK_H
#define APHI_SHRINK_SHRINK_H

#include <antiphon/generate.h>

#include "base/random_choice.h"
#include "script/script.h"
#include "trace/run_event.h"

/* Runs a candidate against a fresh subject. Returns 0 if it passes or cannot be run (a message that the codec cannot
 * encode); if it fails, the number of actions performed so far, or 1 if that is unknown; a negative number to stop
 * (interrupted, or the subject cannot start). May collect. */
typedef int aphi_shrink_run(void *context, const aphi_script *candidate);

typedef struct aphi_shrink_options {
    /* Returns the n-th other order, from 0, of the same actions, which may fail when run one at a time. Does not
     * collect. May be NULL. */
    aphi_script (*reorder)(void *context, unsigned n);
    unsigned tries;    /* passing runs that reject a candidate; 0: derived from the failure rate */
    unsigned confirm;  /* runs of the result that measure its failure rate; 0: 10 */
    int64_t budget_ns; /* in total, including confirmation; 0: 30 s */
    /* Called for each step, such as "removed 128 of 500 actions". May be NULL. */
    void (*step)(void *context, const char *what, const aphi_script *best);
    void *context;     /* of run, reorder and step */
    /* Frequent values of fields (aphi_generator_values), kept alive by the caller; APH_NIL: unknown. */
    aph_value values;
    const aph_function *functions; /* of the model, for holes; may be NULL */
} aphi_shrink_options;

typedef struct aphi_shrunk {
    aphi_script script;             /* the caller frees it */
    bool failed;                    /* the script failed in some run */
    unsigned reproduced, confirmed; /* failing runs and all runs of the final result; 0: no time was left */
    uint64_t runs;                  /* total number of runs */
    bool minimal;                   /* no single step leads to a smaller script that fails as reliably */
    int64_t ns;
} aphi_shrunk;

/* Shrinks the script. Labels are kept, unless it is reordered. If it never fails, the result is a copy, with reproduced
 * == 0. */
aphi_shrunk aphi_shrink(const aphi_script *failing, aphi_shrink_run *run, const aphi_shrink_options *options);

/* Returns the actions of a run, with new labels, in a random order in which the subject may have processed them; if
 * choice is NULL, in response order. events: all events of the run. */
aphi_script aphi_processing_orders(const aphi_script *script, const aphi_run_event *events, size_t count,
                                   aphi_choice *choice);

#endif

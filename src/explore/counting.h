/* SPDX-License-Identifier: Apache-2.0
 *
 * counting.h - the number of partially ordered runs of a model, without visiting each. */
#ifndef APHI_EXPLORE_COUNTING_H
#define APHI_EXPLORE_COUNTING_H

#include "explore/compiled_model.h"
#include "base/uint128.h"

#include <signal.h>

typedef struct aphi_sequence_count {
    aphi_uint128 sequences, deadlocks; /* all sequences; those that end in a deadlock */
    bool overflow;                     /* a count exceeds 128 bits */
    bool stopped, too_large;           /* no result */
    size_t states;                     /* memoized */
} aphi_sequence_count;

/* Ends early when *stop is set, or when memoized counts take more than memory_limit bytes. `progress`, if not NULL, is
 * called occasionally with the finished share of the search; it assumes that branches of a fork are equally large. */
aphi_sequence_count aphi_count_sequences(const aphi_compiled_model *model, size_t memory_limit,
                                         const volatile sig_atomic_t *stop, void (*progress)(double share));

#endif

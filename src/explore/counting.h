/* SPDX-License-Identifier: Apache-2.0
 *
 * counting.h - how many partially ordered runs a model has, without visiting them. */
#ifndef APHI_EXPLORE_COUNTING_H
#define APHI_EXPLORE_COUNTING_H

#include "explore/compiled_model.h"
#include "base/uint128.h"

#include <signal.h>

typedef struct aphi_counted {
    aphi_uint128 sequences, deadlocks; /* of them */
    bool overflow;                  /* there are more than 128 bits hold */
    bool stopped, too_large;        /* there is no answer */
    size_t situations;              /* that were remembered */
} aphi_counted;

/* When *stop is set, it ends, and when what is remembered takes more than so many bytes. progress, if there is one, is
 * told now and then which share is done, if all branches of a fork were alike. */
aphi_counted aphi_counting(const aphi_compiled_model *plan, size_t bytes, const volatile sig_atomic_t *stop,
                           void (*progress)(double share));

#endif

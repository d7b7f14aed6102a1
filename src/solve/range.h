/* SPDX-License-Identifier: Apache-2.0
 *
 * range.h - intervals of integers, and evaluation of terms over them. */
#ifndef APHI_SOLVE_RANGE_H
#define APHI_SOLVE_RANGE_H

#include "value/heap.h"

/* low..high, inclusive; empty if low > high. */
typedef struct aphi_range {
    int64_t low, high;
} aphi_range;

#define APHI_RANGE_ALL ((aphi_range){INT64_MIN, INT64_MAX})

static inline bool aphi_range_empty(aphi_range r)
{
    return r.low > r.high;
}

/* If t is one symbol under operations with constants (3 - 2 * x), sets *symbol, and *from to the values of the symbol
 * for which no part of t is wrong and t is in `to`. Returns false if t is not of that form. */
bool aphi_range_before(aph_value t, aphi_range to, aph_value *symbol, aphi_range *from);

/* The possible results of a condition. */
typedef struct aphi_outcome {
    bool can_hold, can_fail, can_be_wrong;
} aphi_outcome;

typedef aphi_range aphi_range_of_symbol(const void *context, aph_value symbol);

/* Returns a superset of the results of the condition for the given ranges of its symbols. A boolean has the range 0..1;
 * the range of a string is not used. */
aphi_outcome aphi_range_outcome(aph_value condition, aphi_range_of_symbol *of, const void *context);

/* The value of a term for given values of its symbols. Booleans are 0 and 1; strings are their words. */
typedef struct aphi_result {
    bool wrong;
    int64_t i;
} aphi_result;

typedef int64_t aphi_value_of_symbol(const void *context, aph_value symbol);

aphi_result aphi_evaluate(aph_value t, aphi_value_of_symbol *of, const void *context);
/* Returns a scalar in the representation of aphi_evaluate. */
int64_t aphi_scalar(aph_value v);

#endif

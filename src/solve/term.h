/* SPDX-License-Identifier: Apache-2.0
 *
 * term.h - internal functions on terms, for the solver. */
#ifndef APHI_SOLVE_TERM_H
#define APHI_SOLVE_TERM_H

#include "value/heap.h"

static inline bool aphi_is_term(aph_value v, aph_op op)
{
    return aphi_is_node(v) && v->shape == APHI_OPERATION && v->detail == (uint8_t)op;
}

static inline bool aphi_is_symbol(aph_value v)
{
    return aphi_is_node(v) && v->shape == APHI_SYM;
}

/* Computes an integer operation. Returns false on division by zero or overflow of 64 bits. */
bool aphi_compute(aph_op op, int64_t a, int64_t b, int64_t *result);
/* Returns true if v is not wrong for any values of its symbols. */
bool aphi_is_total(aph_value v);
/* Returns the condition that is true if v is not wrong, and wrong otherwise. */
aph_value aphi_defined(aph_value v);

#endif

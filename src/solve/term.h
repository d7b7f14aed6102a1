/* SPDX-License-Identifier: Apache-2.0
 *
 * term.h - what the solver needs to know about terms beyond <antiphon/value.h>. */
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

/* An integer operation on known operands; false if it divides by zero or leaves 64 bits. */
bool aphi_compute(aph_op op, int64_t a, int64_t b, int64_t *result);
/* Whatever its symbols stand for, v cannot be wrong. */
bool aphi_is_total(aph_value v);
/* The condition that is true where v is not wrong, and wrong elsewhere. */
aph_value aphi_defined(aph_value v);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * literals.h - decomposition of conditions into the literals of a store and bindings of symbols. */
#ifndef APHI_SOLVE_LITERALS_H
#define APHI_SOLVE_LITERALS_H

#include "solve/bindings.h"
#include "solve/constraint_graph.h"

enum { APHI_FEW_LITERALS = 48 };

typedef struct aphi_list {
    size_t count, capacity;
    aph_value *many;
    aph_value few[APHI_FEW_LITERALS];
} aphi_list;

static inline aph_value *aphi_list_items(aphi_list *l)
{
    return l->many ? l->many : l->few;
}

static inline const aph_value *aphi_list_read(const aphi_list *l)
{
    return l->many ? l->many : l->few;
}

typedef struct aphi_literals {
    aphi_list literals;      /* in the form of a store, in any order */
    aphi_list waiting;       /* not yet absorbed */
    aphi_bindings bindings;  /* no bound symbol occurs in a literal or in a bound value */
    uint64_t touched;        /* Bloom mask of the symbols of literals that are new or changed */
    bool failed;             /* the conditions are unsatisfiable */
} aphi_literals;

/* Starts with the literals of the store, which may be APH_NIL. */
void aphi_literals_init(aphi_literals *a, aph_value store);
void aphi_literals_deinit(aphi_literals *a);
/* Adds a condition. Returns false if the conditions are now known to be unsatisfiable; true does not imply the
 * opposite. */
bool aphi_literals_assert(aphi_literals *a, aph_value condition);
/* Drops new or changed literals that are implied by bounds. */
void aphi_literals_simplify(aphi_literals *a);
/* Sorts the literals and returns them as a store. */
aph_value aphi_literals_store(aphi_literals *a);

#endif

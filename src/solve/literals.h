/* SPDX-License-Identifier: Apache-2.0
 *
 * literals.h - conditions taken apart into the literals that a store keeps and the symbols that they determine. */
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

void aphi_list_add(aphi_list *l, aph_value v);

typedef struct aphi_literals {
    aphi_list literals;      /* in the form of a store, in any order */
    aphi_list waiting;       /* not yet looked at */
    aphi_bindings bindings;  /* found; no bound symbol occurs in a literal or in a bound value */
    uint64_t touched;        /* Bloom mask of the symbols of literals that are new or changed */
    bool failed;             /* the conditions cannot all hold */
} aphi_literals;

/* Literals are those of the store, which may be APH_NIL. */
void aphi_literals_init(aphi_literals *a, aph_value store);
void aphi_literals_deinit(aphi_literals *a);
/* Take one condition more. Returns false if that shows that they cannot all hold; true does not show that they can. */
bool aphi_literals_assert(aphi_literals *a, aph_value condition);
/* Drop new or changed literals that bounds alone make true. */
void aphi_literals_simplify(aphi_literals *a);
/* Sort the literals and make a store of them. */
aph_value aphi_literals_store(aphi_literals *a);

#endif

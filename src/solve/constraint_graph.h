/* SPDX-License-Identifier: Apache-2.0
 *
 * constraint_graph.h - a set of literals seen as a graph of symbols, and the exact decision whether they can all hold. */
#ifndef APHI_SOLVE_CONSTRAINT_GRAPH_H
#define APHI_SOLVE_CONSTRAINT_GRAPH_H

#include "solve/range.h"
#include "solve/z3.h"

/* How a literal constrains. All but the last are solved in place. */
typedef enum aphi_form {
    APHI_LOWER, /* constant <= symbol */
    APHI_UPPER, /* symbol <= constant */
    APHI_POINT, /* symbol != constant */
    APHI_APART, /* symbol != symbol */
    APHI_OTHER,
} aphi_form;

/* *x is the symbol, *y the constant or the other symbol; unset for APHI_OTHER. */
aphi_form aphi_form_of(aph_value literal, aph_value *x, aph_value *y);

typedef struct aphi_cell {
    aphi_range range; /* of a boolean 0..1; means nothing for a string */
    uint32_t points;  /* values inside the range that are excluded, at most */
    uint32_t degree;  /* symbols that it must differ from */
    uint32_t gone;    /* the round in which it was set aside; 0: it was not */
    bool pinned;      /* not to be set aside */
} aphi_cell;

typedef struct aphi_constraint_graph {
    size_t n;
    const aph_value *literals;
    aphi_symset symbols;
    aphi_cell *cell;             /* one for each symbol */
    aphi_cell few[APHI_FEW_SYMBOLS];
    uint32_t rounds;
} aphi_constraint_graph;

/* Literals are borrowed. Symbols that occur in an APHI_OTHER literal are pinned. */
void aphi_constraint_graph_init(aphi_constraint_graph *w, size_t n, const aph_value *literals);
void aphi_constraint_graph_deinit(aphi_constraint_graph *w);
/* Set symbols aside, round by round, that have more values left than symbols to differ from: whatever those come to
 * be, there is a value. So what remains can hold if and only if all can. */
void aphi_constraint_graph_set_aside(aphi_constraint_graph *w);
/* Does it constrain no symbol that was set aside? */
bool aphi_constraint_graph_remains(const aphi_constraint_graph *w, aph_value literal);

/* Can the literals all hold? In each, bounds and points must be in the form that the store keeps. With `values`, those
 * get a value for each symbol in the literals on APHI_SAT. */
aphi_sat aphi_decide(size_t n, const aph_value *literals, int64_t solver_ms, aphi_bindings *values);

#endif

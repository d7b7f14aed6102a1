/* SPDX-License-Identifier: Apache-2.0
 *
 * constraint_graph.h - a set of literals as a graph of symbols, and an exact decision of their satisfiability. */
#ifndef APHI_SOLVE_CONSTRAINT_GRAPH_H
#define APHI_SOLVE_CONSTRAINT_GRAPH_H

#include "solve/range.h"
#include "solve/z3.h"

/* The form of a literal. All but the last are solved without search. */
typedef enum aphi_form {
    APHI_LOWER, /* constant <= symbol */
    APHI_UPPER, /* symbol <= constant */
    APHI_POINT, /* symbol != constant */
    APHI_APART, /* symbol != symbol */
    APHI_OTHER,
} aphi_form;

/* Sets *x to the symbol and *y to the constant or the other symbol, except for APHI_OTHER. */
aphi_form aphi_form_of(aph_value literal, aph_value *x, aph_value *y);

typedef struct aphi_cell {
    aphi_range range; /* 0..1 for a boolean; unused for a string */
    uint32_t points;  /* upper bound of the excluded values inside the range */
    uint32_t degree;  /* number of symbols that it must differ from */
    uint32_t eliminated; /* the round of its elimination; 0: not eliminated */
    bool pinned;      /* cannot be eliminated */
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
/* Eliminates, round by round, symbols that have more values than symbols to differ from: for any assignment of the
 * others, a value is left. The remaining literals are satisfiable if and only if all literals are. */
void aphi_constraint_graph_eliminate(aphi_constraint_graph *w);
bool aphi_constraint_graph_remains(const aphi_constraint_graph *w, aph_value literal);

/* Decides whether all literals can hold. Bounds and points must be in the form of a store. On APHI_SAT, a value of each
 * symbol is added to `values`, if not NULL. */
aphi_sat aphi_decide(size_t n, const aph_value *literals, int64_t solver_ms, aphi_bindings *values);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * store.h - constraints on symbols: a satisfiable set of conditions.
 *
 * A store is a value: the empty store is APH_NIL, others are sorted arrays of conditions. Stores with the same
 * conditions are the same word. Every store returned here is satisfiable. */
#ifndef APHI_SOLVE_STORE_H
#define APHI_SOLVE_STORE_H

#include "solve/bindings.h"
#include "solve/z3.h"

/* Adds a condition. On APHI_SAT, *out is the new store, and the symbols that it determines (x = 3, x = y + 1) are added
 * to *b: they no longer occur in *out, and the caller must substitute them in its own values. If b is not empty, its
 * values are substituted here; they must already have been substituted in store and condition. On APHI_UNSAT and
 * APHI_UNDECIDED (Z3 exceeded solver_ms) nothing is changed. */
aphi_sat aphi_store_assume(aph_value store, aph_value condition, int64_t solver_ms, aph_value *out, aphi_bindings *b);

/* Removes conditions on symbols that the roots do not contain, directly or through other conditions; then names the
 * symbols 0, 1, 2, ... in the order of their occurrence in the roots, then in the store. The roots have the same
 * instances under the store before and after. Returns the number of symbols. */
uint32_t aphi_store_normalize(size_t n, aph_value *roots, aph_value *store);

/* Adds to `values` a value of every symbol of the conditions such that all conditions hold. For symbols that no
 * condition contains, see aphi_bindings_complete. */
aphi_sat aphi_store_solve(size_t n, const aph_value *conditions, int64_t solver_ms, aphi_bindings *values);

#endif

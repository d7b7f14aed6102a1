/* SPDX-License-Identifier: Apache-2.0
 *
 * store.h - what is known about symbols: a set of conditions that can hold together.
 *
 * A store is a value: APH_NIL knows nothing; else it is an array of conditions, sorted. It is persistent because values
 * are, and two stores with the same conditions are the same word. Every store that a function here returns can be
 * satisfied. */
#ifndef APHI_SOLVE_STORE_H
#define APHI_SOLVE_STORE_H

#include "solve/bindings.h"
#include "solve/z3.h"

/* The store with one condition more. On APHI_SAT, *out is the new store, and to *b are added the symbols that it
 * determines (x is 3, x is y + 1): they do not occur in *out any more and the caller must substitute them in whatever
 * it holds. If b is not empty, its values are substituted here; they must already have been in store and condition. On
 * APHI_UNSAT and APHI_UNDECIDED (Z3 did not answer within solver_ms) nothing is changed. */
aphi_sat aphi_store_assume(aph_value store, aph_value condition, int64_t solver_ms, aph_value *out, aphi_bindings *b);

/* Forget what does not matter for the roots: conditions on symbols that they do not hold, directly or through other
 * conditions; then name the symbols 0, 1, 2, ... in the order in which they occur in the roots, and after them in the
 * store. The roots have the same instances under the store after as before. Returns how many symbols there are. */
uint32_t aphi_store_normalize(size_t n, aph_value *roots, aph_value *store);

/* To `values` is added a value for every symbol in the conditions such that all conditions hold. For symbols that no
 * condition mentions, see aphi_bindings_complete. */
aphi_sat aphi_store_solve(size_t n, const aph_value *conditions, int64_t solver_ms, aphi_bindings *values);

#endif

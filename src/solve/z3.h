/* SPDX-License-Identifier: Apache-2.0
 *
 * z3.h - the bridge to Z3, for conditions that are not decided directly. */
#ifndef APHI_SOLVE_Z3_H
#define APHI_SOLVE_Z3_H

#include "solve/bindings.h"

typedef enum aphi_sat { APHI_UNSAT, APHI_SAT, APHI_UNDECIDED } aphi_sat;

enum { APHI_Z3_DEFAULT_MS = 1000 };

/* Decides whether all conditions can hold. Returns APHI_UNDECIDED after solver_ms (0: APHI_Z3_DEFAULT_MS). On APHI_SAT,
 * a value of each symbol is added to `values`, if not NULL. Without `values`, results are cached until the next
 * collection, regardless of the names of the symbols. */
aphi_sat aphi_z3_ask(size_t n, const aph_value *conditions, int64_t solver_ms, aphi_bindings *values);
uint64_t aphi_z3_questions(void);
/* Returns true inside a call of Z3, which crashes if memory is exhausted. May be called from a signal handler. */
bool aphi_z3_is_running(void);
/* Frees this thread's Z3 state. Call it before aph_heap_close. */
void aphi_z3_close(void);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * z3.h - the bridge to Z3, for what is not solved in place. */
#ifndef APHI_SOLVE_Z3_H
#define APHI_SOLVE_Z3_H

#include "solve/bindings.h"

typedef enum aphi_sat { APHI_UNSAT, APHI_SAT, APHI_UNDECIDED } aphi_sat;

enum { APHI_Z3_DEFAULT_MS = 1000 };

/* Can all conditions hold at once? Asks for at most solver_ms (0: APHI_Z3_DEFAULT_MS), then it is APHI_UNDECIDED.
 * With `values`, a value for each symbol in the conditions is added to them on APHI_SAT. Without, answers are
 * remembered until the next collection: the same question up to the names of symbols is asked once. */
aphi_sat aphi_z3_ask(size_t n, const aph_value *conditions, int64_t solver_ms, aphi_bindings *values);
/* How many questions this thread has put to Z3. */
uint64_t aphi_z3_questions(void);
/* Frees what this thread keeps for Z3; to be called before aph_heap_close. */
void aphi_z3_close(void);

#endif

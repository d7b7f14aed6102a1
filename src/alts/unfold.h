/* SPDX-License-Identifier: Apache-2.0
 *
 * unfold.h - conversion of components written in C to transition systems. */
#ifndef APHI_ALTS_UNFOLD_H
#define APHI_ALTS_UNFOLD_H

#include "alts/alts.h"
#include "tree/step.h"

#include <antiphon/component.h>

/* Fills *a, which the caller frees in either case. Returns false if a component fails; `why` names it and the problem.
 * Uses this thread's value heap and keeps no value. */
bool aphi_unfold(const aph_program *program, aphi_alts *a, char *why, size_t size);
/* How the step ended in this thread's last failed call: APHI_CRASHED, APHI_OUT_OF_TIME, or another. */
aphi_ending aphi_unfold_ending(void);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * unfold.h - from components that are C functions to transition systems. */
#ifndef APHI_ALTS_UNFOLD_H
#define APHI_ALTS_UNFOLD_H

#include "alts/alts.h"
#include "tree/step.h"

#include <antiphon/component.h>

/* Fills *a, which is to be freed either way. False: a component is not in order; why says which and how. Unfolding uses
 * values of this thread's heap and keeps none. */
bool aphi_unfold(const aph_program *program, aphi_alts *a, char *why, size_t size);
/* How the step ended in this thread's last call that failed: APHI_CRASHED, APHI_OUT_OF_TIME, or another. */
aphi_ending aphi_unfold_ending(void);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * component_alts.h - conversion of components written in C to transition systems. */
#ifndef APHI_ALTS_COMPONENT_ALTS_H
#define APHI_ALTS_COMPONENT_ALTS_H

#include "alts/alts.h"
#include "tree/step.h"

#include <antiphon/component.h>

/* Fills *a, which the caller frees in either case. Returns false if a component fails; `why` names it and the problem.
 * Uses this thread's value heap and keeps no value. */
bool aphi_component_alts(const aph_program *program, aphi_alts *a, char *why, size_t size);
/* Returns how the step ended in this thread's last failed call, such as APHI_CRASHED or APHI_OUT_OF_TIME. */
aphi_ending aphi_component_alts_ending(void);

#endif

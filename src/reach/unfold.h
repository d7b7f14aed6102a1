/* SPDX-License-Identifier: Apache-2.0
 *
 * unfold.h - from components that are C functions to transition systems. */
#ifndef APHI_REACH_UNFOLD_H
#define APHI_REACH_UNFOLD_H

#include "reach/alts.h"

#include <antiphon/component.h>

/* Fills *a, which is to be freed either way. False: a component is not in order; why says which and how. Unfolding uses
 * values of this thread's heap and keeps none. */
bool aphi_unfold(const aph_program *program, aphi_alts *a, char *why, size_t size);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * hidden_steps.h - removing the hidden steps of a behaviour. */
#ifndef APHI_ALTS_HIDDEN_STEPS_H
#define APHI_ALTS_HIDDEN_STEPS_H

#include "alts/alts.h"

enum { APHI_ALTS_HIDDEN = UINT16_MAX }; /* instead of the port of a local event: the step is hidden */

/* Removes the hidden steps among the moves, where moves[i] leaves from[i]: a state with a hidden step is replaced by
 * the state after it. Returns false, with the reason in `why`, if another step leaves such a state, because the choice
 * would be internal, or if hidden steps form a cycle. */
bool aphi_alts_remove_hidden(uint32_t states, uint32_t *initial, uint32_t *from, aphi_alts_move *moves, size_t *count,
                             char *why, size_t size);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * delta_debug.h - removal of actions from the best script, in large sets first. */
#ifndef APHI_SHRINK_DELTA_DEBUG_H
#define APHI_SHRINK_DELTA_DEBUG_H

#include "shrink/shrink_runner.h"

/* Keeps only the first actions, if the script still fails. */
bool aphi_delta_debug_cut(aphi_shrink_runner *s, size_t count);
/* Keeps only the actions that seem relevant. */
void aphi_delta_debug_guess(aphi_shrink_runner *s);
void aphi_delta_debug_connections(aphi_shrink_runner *s);
void aphi_delta_debug_actions(aphi_shrink_runner *s);

#endif

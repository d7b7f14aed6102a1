/* SPDX-License-Identifier: Apache-2.0
 *
 * script_edit.h - candidates derived from the best script. */
#ifndef APHI_SHRINK_SCRIPT_EDIT_H
#define APHI_SHRINK_SCRIPT_EDIT_H

#include "shrink/shrink_runner.h"

/* Copies best to the candidate. */
void aphi_script_edit_copy(aphi_shrink_runner *s);
/* Makes the n-th reordered script the candidate; options->reorder must exist. */
void aphi_script_edit_reordered(aphi_shrink_runner *s, unsigned n);
/* Makes the candidate from best without the marked actions. An action that waited for the response to a removed request
 * waits for the response to the request before that one. An action without a wait inherits the wait of the actions
 * removed directly before it, because they delayed it too. */
void aphi_script_edit_without(aphi_shrink_runner *s, const bool *removed);

/* Makes each action wait for the response to the previous request. */
void aphi_script_edit_wait_for_each(aphi_script *c);
/* Makes each action without a wait wait for the responses that its holes need. */
void aphi_script_edit_wait_for_holes(aphi_script *c);

/* Returns the number of connections; *numbers, which the caller frees, lists them in the order of their first use. */
size_t aphi_script_edit_connections(const aphi_script *script, int64_t **numbers);

#endif

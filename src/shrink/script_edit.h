/* SPDX-License-Identifier: Apache-2.0
 *
 * script_edit.h - scripts made from the best so far. */
#ifndef APHI_SHRINK_SCRIPT_EDIT_H
#define APHI_SHRINK_SCRIPT_EDIT_H

#include "shrink/shrink_runner.h"

/* The candidate is best as it is, to be changed. */
void aphi_script_edit_copy(aphi_shrink_runner *s);
/* The candidate is the first script in its n-th other order; there must be such orders. */
void aphi_script_edit_reordered(aphi_shrink_runner *s, unsigned n);
/* The candidate is best without the actions marked. Who waited for the answer to a request that is gone waits for the
 * one to the request before it; who waited for nothing, for what those just removed before it waited for: they held it
 * up too. */
void aphi_script_edit_without(aphi_shrink_runner *s, const bool *removed);

/* Each action waits for the answer to the request before it. */
void aphi_script_edit_wait_for_each(aphi_script *c);
/* Each action that waits for nothing waits for the answers that its holes need. */
void aphi_script_edit_wait_for_holes(aphi_script *c);

/* The connections in the order of their first use; numbers is to be freed. */
size_t aphi_script_edit_connections(const aphi_script *script, int64_t **numbers);

#endif

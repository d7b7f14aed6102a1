/* SPDX-License-Identifier: Apache-2.0
 *
 * unreadable.h - messages that a model allows, but that its codec could never read. */
#ifndef APHI_CHECK_UNREADABLE_H
#define APHI_CHECK_UNREADABLE_H

#include <antiphon/model.h>

/* Looks for such messages among those that the evidence of a failure (check.h) allows, and adds the member "unreadable"
 * with the reason to each. Returns true if no other message is allowed, so no server could have passed; `text`, of
 * `size` bytes, then describes the first one. Messages with unknowns are not tested. If the observed message would not
 * be read back either, the history did not cross the codec, and the evidence is unchanged. */
bool aphi_unreadable_find(const aph_model *model, aph_value *evidence, char *text, size_t size);

#endif

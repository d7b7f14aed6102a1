/* SPDX-License-Identifier: Apache-2.0
 *
 * waive.h - known violations that the user allows. */
#ifndef APHI_CLI_WAIVE_H
#define APHI_CLI_WAIVE_H

#include <antiphon/model.h>

#include "base/buffer.h"

/* The model, with the waiver of that name allowed. False with a message on stderr: it has none of that name. */
bool aphi_waive_named(aph_model *model, const char *name);
/* A line for each waiver that is allowed and that no explanation needed. branches: by name, how often. */
void aphi_waive_tell(aphi_buffer *out, const aph_model *model, aph_value branches);
/* The same for programs: by name, how often it was needed. APH_NIL if none is allowed. */
aph_value aphi_waive_counts(const aph_model *model, aph_value branches);

#endif

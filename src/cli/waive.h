/* SPDX-License-Identifier: Apache-2.0
 *
 * waive.h - known violations that the user allows. */
#ifndef APHI_CLI_WAIVE_H
#define APHI_CLI_WAIVE_H

#include <antiphon/model.h>

#include "base/buffer.h"

/* The names that were given. */
typedef struct aphi_waived {
    const char *names[64];
    size_t count;
    bool known;     /* and whatever the subject is known for */
} aphi_waived;

/* 0, or an exit code with a message on stderr: there are too many. */
int aphi_waive_add(aphi_waived *w, const char *name);
/* The model with all of them allowed. False with a message on stderr: it has none of such a name. */
bool aphi_waive_in(const aphi_waived *w, aph_model *model);
/* The model with what a subject is known for allowed; what the model does not know is none of it. A set of bits: which
 * of them nobody has asked for by name. */
uint64_t aphi_waive_known(const char *const *known, aph_model *model);
/* A line for each waiver that is allowed and that no explanation needed, but for those that are known. branches: by
 * name, how often. */
void aphi_waive_tell(aphi_buffer *out, const aph_model *model, uint64_t known, aph_value branches);
/* The same for programs: by name, how often it was needed. APH_NIL if none is allowed. */
aph_value aphi_waive_counts(const aph_model *model, aph_value branches);

#endif

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
/* The same where there is no subject. */
bool aphi_waive_by_name(const aphi_waived *w, aph_model *model);
/* The model with what a subject is known for allowed; what the model does not know is none of it. A set of bits: which
 * of them nobody has asked for by name. */
uint64_t aphi_waive_known(const char *const *known, aph_model *model);
/* Which of those that are allowed a trace needs, by name: "needed" if it is not explained without it, "not needed", or
 * "unclear". APH_NIL if none is allowed. */
aph_value aphi_waive_needs(const aph_model *model, const char *trace, const char *environment);
/* For each waiver that is not allowed, and with which a failing trace would be explained: "; --waive NAME would allow
 * it: SUMMARY". It takes little time, and says nothing where that is not enough. */
void aphi_waive_hint(aphi_buffer *out, const aph_model *model, const char *trace, const char *environment);
/* A line for each that is not needed, but for those that are known. */
void aphi_waive_tell(aphi_buffer *out, const aph_model *model, uint64_t known, aph_value needs);

#endif

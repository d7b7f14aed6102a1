/* SPDX-License-Identifier: Apache-2.0
 *
 * waive_option.h - the option --waive NAME. */
#ifndef APHI_CLI_WAIVE_OPTION_H
#define APHI_CLI_WAIVE_OPTION_H

#include <antiphon/model.h>

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

#endif

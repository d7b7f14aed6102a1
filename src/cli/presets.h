/* SPDX-License-Identifier: Apache-2.0
 *
 * presets.h - subjects of one word: servers that Antiphon knows how to start. */
#ifndef APHI_CLI_PRESETS_H
#define APHI_CLI_PRESETS_H

#include "cli/exits.h"
#include "harness/subject.h"

/* The command that a preset became; options of a subject point into it. All zero at first. */
typedef struct aphi_preset_made {
    char *run;
    bool calls; /* the subject opens connections to the tester */
} aphi_preset_made;

/* Fills in how the subject of that name is started. PASS, USAGE (no such name) or SUBJECT (its program is not here), the
 * latter two with a message. */
aphi_exit aphi_preset_make(const char *name, aphi_preset_made *made, aphi_subject_options *options, char *error,
                           size_t size);
void aphi_preset_free(aphi_preset_made *made);
/* One line for each on stdout: its name, what it is, and where its program is or which package has it. */
void aphi_preset_list(void);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * presets.h - subjects of one word: servers that Antiphon knows how to start. */
#ifndef APHI_SUBJECT_PRESETS_H
#define APHI_SUBJECT_PRESETS_H

#include "base/buffer.h"
#include "subject/subject.h"

enum { APHI_PRESET_FILES = 5, APHI_PRESET_CONNECTIONS = 250 /* if nobody knows how many there will be */ };

/* The command and the files that a preset became; options of a subject point into it. All zero at first. */
typedef struct aphi_preset_made {
    char *run;
    char *texts[APHI_PRESET_FILES];
    aphi_subject_file files[APHI_PRESET_FILES];
    size_t file_count;
    bool calls; /* the subject opens connections to the tester */
    const char *const *known; /* names of waivers, of what it is known to do wrong; the last is NULL */
} aphi_preset_made;

typedef enum aphi_preset_status {
    APHI_PRESET_READY,
    APHI_PRESET_UNKNOWN, /* there is no preset of that name */
    APHI_PRESET_MISSING, /* its program is not installed */
} aphi_preset_status;

/* Fills in the options that start the named subject, for up to `connections` connections at once. On any status but
 * READY, writes a message to error. */
aphi_preset_status aphi_preset_make(const char *name, size_t connections, aphi_preset_made *made,
                                    aphi_subject_options *options, char *error, size_t size);
/* What the program of that name says its version is, in a line; "" if it says nothing. */
void aphi_preset_version(const char *name, char *version, size_t size);
void aphi_preset_free(aphi_preset_made *made);
/* Adds the text as one word for sh. */
void aphi_quote(aphi_buffer *out, const char *text);
/* One line for each on stdout: its name, what it is, and where its program is or which package has it. */
void aphi_preset_list(void);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * presets.h - subjects by name: servers that Antiphon can start. */
#ifndef APHI_SUBJECT_PRESETS_H
#define APHI_SUBJECT_PRESETS_H

#include "base/buffer.h"
#include "subject/subject.h"

enum { APHI_PRESET_FILES = 5, APHI_PRESET_CONNECTIONS = 250 /* connections, if their number is not known */ };

/* The command and the files of a preset. The options of the subject point into it. Initially all zero. */
typedef struct aphi_preset_made {
    char *run;
    char *texts[APHI_PRESET_FILES];
    aphi_subject_file files[APHI_PRESET_FILES];
    size_t file_count;
    bool calls;               /* the subject opens connections to the tester */
    const char *const *known; /* names of the waivers of its known violations; ends with NULL */
} aphi_preset_made;

typedef enum aphi_preset_status {
    APHI_PRESET_READY,
    APHI_PRESET_UNKNOWN, /* not the name of a preset */
    APHI_PRESET_MISSING, /* its program is not installed */
} aphi_preset_status;

/* Fills in the options that start the named subject, for up to `connections` connections at once. Unless the status is
 * READY, writes a message to error. */
aphi_preset_status aphi_preset_make(const char *name, size_t connections, aphi_preset_made *made,
                                    aphi_subject_options *options, char *error, size_t size);
/* Writes the first line that the program prints for -v; "" if it prints nothing. */
void aphi_preset_version(const char *name, char *version, size_t size);
void aphi_preset_free(aphi_preset_made *made);
/* Prints a line for each preset: its name, a description, and the path of its program or the missing package. */
void aphi_preset_list(void);

#endif

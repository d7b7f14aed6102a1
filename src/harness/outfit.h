/* SPDX-License-Identifier: Apache-2.0
 *
 * outfit.h - what a subject is given to start with: its folder, its files, and its ports in words. */
#ifndef APHI_HARNESS_OUTFIT_H
#define APHI_HARNESS_OUTFIT_H

#include "base/buffer.h"
#include "harness/guardian.h"
#include "harness/subject.h"

typedef struct aphi_outfit {
    unsigned port, listen; /* what {port} and {listen} stand for; listen 0: nothing */
    const aphi_subject_file *files;
    size_t file_count;
    bool owned; /* the folder is given to owner */
    uid_t owner;
    gid_t group;
    char *folder; /* {dir}, or NULL while it is not there */
    aphi_legacy *legacy; /* that knows of it */
} aphi_outfit;

/* To whom the folder and the files are given, if we are root; NULL: nobody. False with a message. */
bool aphi_outfit_for(aphi_outfit *o, const char *user, char *error, size_t size);
/* Writes the files. False with a message. */
bool aphi_outfit_write(aphi_outfit *o, char *error, size_t size);
/* Adds the text with {port}, {listen} and {dir} filled in. False with errno: there is no folder. */
bool aphi_outfit_fill(aphi_outfit *o, const char *text, aphi_buffer *out);
/* Removes the folder. */
void aphi_outfit_remove(aphi_outfit *o);

#endif

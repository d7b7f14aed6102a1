/* SPDX-License-Identifier: Apache-2.0
 *
 * workdir.h - what a subject is given to start with: its folder, its files, and its ports in words. */
#ifndef APHI_SUBJECT_WORKDIR_H
#define APHI_SUBJECT_WORKDIR_H

#include "base/buffer.h"
#include "subject/reaper.h"
#include "subject/subject.h"

typedef struct aphi_workdir {
    unsigned port, listen; /* what {port} and {listen} stand for; listen 0: nothing */
    const aphi_subject_file *files;
    size_t file_count;
    bool owned; /* the folder is given to owner */
    uid_t owner;
    gid_t group;
    char *folder; /* {dir}, or NULL while it is not there */
    aphi_leftovers *legacy; /* that knows of it */
} aphi_workdir;

/* To whom the folder and the files are given, if we are root; NULL: nobody. False with a message. */
bool aphi_workdir_for(aphi_workdir *o, const char *user, char *error, size_t size);
/* Writes the files. False with a message. */
bool aphi_workdir_write(aphi_workdir *o, char *error, size_t size);
/* Adds the text with {port}, {listen} and {dir} filled in. False with errno: there is no folder. */
bool aphi_workdir_fill(aphi_workdir *o, const char *text, aphi_buffer *out);
/* Removes the folder. */
void aphi_workdir_remove(aphi_workdir *o);

#endif

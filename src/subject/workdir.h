/* SPDX-License-Identifier: Apache-2.0
 *
 * workdir.h - the folder of a subject, its files, and the placeholders in commands and files. */
#ifndef APHI_SUBJECT_WORKDIR_H
#define APHI_SUBJECT_WORKDIR_H

#include "base/buffer.h"
#include "subject/ports.h"
#include "subject/reaper.h"
#include "subject/subject.h"

typedef struct aphi_workdir {
    unsigned port;             /* the value of {port} */
    const aphi_origin *origins; /* their ports are the values of {listen:0} and so on */
    size_t origin_count;
    const aphi_subject_file *files;
    size_t file_count;
    bool owned;                /* the folder is given to owner */
    uid_t owner;
    gid_t group;
    char *folder;              /* {dir}; NULL: not made yet */
    aphi_reaper *reaper;       /* removes the folder if we are killed */
} aphi_workdir;

/* If we are root, the folder and the files will belong to this user; NULL: to us. Returns false with a message. */
bool aphi_workdir_set_owner(aphi_workdir *d, const char *user, char *error, size_t size);
/* Writes the files. Returns false with a message. */
bool aphi_workdir_write(aphi_workdir *d, char *error, size_t size);
/* Appends the text with {port}, {listen} and {dir} replaced. Returns false with errno if the folder cannot be made. */
bool aphi_workdir_expand(aphi_workdir *d, const char *text, aphi_buffer *out);
void aphi_workdir_remove(aphi_workdir *d);

#endif

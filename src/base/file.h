/* SPDX-License-Identifier: Apache-2.0
 *
 * file.h - writing files as a whole, replacing files, and locks. */
#ifndef APHI_BASE_FILE_H
#define APHI_BASE_FILE_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

/* A file that appears at its path when it is complete. A symbolic link at the path is replaced, not followed. */
typedef struct aphi_file {
    FILE *stream;
    char *path, *temporary; /* temporary NULL: a device or pipe, which is written at once */
} aphi_file;

/* Returns false with errno. */
bool aphi_file_create(aphi_file *f, const char *path);
/* Closes the file and moves it to its path. Returns false with errno if a write failed; then the file at the path is as
 * before. */
bool aphi_file_commit(aphi_file *f);
void aphi_file_discard(aphi_file *f);
/* Returns false with errno if aphi_file_create would fail. */
bool aphi_file_is_writable(const char *path);

/* Removes the file at the path, without following a symbolic link, and opens an empty one for writing. Returns -1 with
 * errno. */
int aphi_file_replace(const char *path);
/* Opens a file for output that appears while it is written: a regular file is emptied, a symbolic link to one is
 * replaced, and a device or pipe is written. Returns -1 with errno. */
int aphi_file_open(const char *path);
/* Opens the file, which is made if necessary, and locks it until the descriptor is closed. Returns -1 with errno:
 * EWOULDBLOCK if another process has locked it; *holder is then that process, or 0. */
int aphi_file_lock(const char *path, pid_t *holder);

#endif

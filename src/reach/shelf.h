/* SPDX-License-Identifier: Apache-2.0
 *
 * shelf.h - branches that wait to be searched, in memory up to a bound, and beyond it in a file. */
#ifndef APHI_REACH_SHELF_H
#define APHI_REACH_SHELF_H

#include "reach/explore.h"

typedef struct aphi_shelf {
    aphi_branch *list;      /* the newest is last */
    size_t count, capacity;
    double share;           /* of all of them, also of those in the file */
    size_t bytes, bytes_max; /* of the list; 0: no bound */
    size_t filed;           /* in the file */
    size_t filed_ever;
    int file;               /* -1: none yet */
    uint64_t file_size;
} aphi_shelf;

void aphi_shelf_open(aphi_shelf *s, size_t bytes_max);
void aphi_shelf_close(aphi_shelf *s);
size_t aphi_shelf_count(const aphi_shelf *s);
/* Puts a copy there. False: the file cannot be written, errno says why; the branch is there, but memory is not bounded
 * any more. */
bool aphi_shelf_put(aphi_shelf *s, const aphi_branch *branch);
/* Takes the newest; free() frees its choices. False: there is none, or the file cannot be read, if it is not empty. */
bool aphi_shelf_take(aphi_shelf *s, aphi_branch *branch);
/* Takes the oldest of those in memory. */
bool aphi_shelf_take_old(aphi_shelf *s, aphi_branch *branch);
/* Visits all, those in the file first. False: it cannot be read. */
bool aphi_shelf_each(const aphi_shelf *s, void (*visit)(void *context, const aphi_branch *branch), void *context);

#endif

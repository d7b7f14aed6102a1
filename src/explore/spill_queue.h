/* SPDX-License-Identifier: Apache-2.0
 *
 * spill_queue.h - branches that wait to be searched, in memory up to a bound, and beyond it in a file. */
#ifndef APHI_EXPLORE_SPILL_QUEUE_H
#define APHI_EXPLORE_SPILL_QUEUE_H

#include "explore/explore.h"

typedef struct aphi_spill_queue {
    aphi_branch *list;      /* the newest is last */
    size_t count, capacity;
    double share;           /* of all of them, also of those in the file */
    size_t bytes, bytes_max; /* of the list; 0: no bound */
    size_t filed;           /* in the file */
    size_t filed_ever;
    int file;               /* -1: none yet */
    uint64_t file_size;
} aphi_spill_queue;

void aphi_spill_queue_open(aphi_spill_queue *s, size_t bytes_max);
void aphi_spill_queue_close(aphi_spill_queue *s);
size_t aphi_spill_queue_count(const aphi_spill_queue *s);
/* Puts a copy there. False: the file cannot be written, errno says why; the branch is there, but memory is not bounded
 * any more. */
bool aphi_spill_queue_put(aphi_spill_queue *s, const aphi_branch *branch);
/* Takes the newest; free() frees its choices. False: there is none, or the file cannot be read, if it is not empty. */
bool aphi_spill_queue_take(aphi_spill_queue *s, aphi_branch *branch);
/* Takes the oldest of those in memory. */
bool aphi_spill_queue_take_old(aphi_spill_queue *s, aphi_branch *branch);
/* Visits all, those in the file first. False: it cannot be read. */
bool aphi_spill_queue_each(const aphi_spill_queue *s, void (*visit)(void *context, const aphi_branch *branch),
                           void *context);

#endif

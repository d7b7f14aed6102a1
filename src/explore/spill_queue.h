/* SPDX-License-Identifier: Apache-2.0
 *
 * spill_queue.h - queue of pending branches, in memory up to a limit, the rest in a file. */
#ifndef APHI_EXPLORE_SPILL_QUEUE_H
#define APHI_EXPLORE_SPILL_QUEUE_H

#include "explore/explore.h"

typedef struct aphi_spill_queue {
    aphi_branch *list;       /* in memory; the newest is last */
    size_t count, capacity;
    double share;            /* sum over all, including those in the file */
    size_t bytes, bytes_max; /* of the list; bytes_max 0: no limit */
    size_t in_file;          /* number of branches in the file */
    size_t spilled;          /* number of branches ever written to it */
    int file;                /* -1: none yet */
    uint64_t file_size;
} aphi_spill_queue;

void aphi_spill_queue_open(aphi_spill_queue *s, size_t bytes_max);
void aphi_spill_queue_close(aphi_spill_queue *s);
size_t aphi_spill_queue_count(const aphi_spill_queue *s);
/* Adds a copy. Returns false with errno if the file cannot be written; the branch is added, but beyond the limit. */
bool aphi_spill_queue_put(aphi_spill_queue *s, const aphi_branch *branch);
/* Takes the newest; the caller frees its choices. Returns false if the queue is empty or the file cannot be read. */
bool aphi_spill_queue_take(aphi_spill_queue *s, aphi_branch *branch);
/* Takes the oldest in memory. */
bool aphi_spill_queue_take_oldest(aphi_spill_queue *s, aphi_branch *branch);
/* Visits all, those in the file first. Returns false if the file cannot be read. */
bool aphi_spill_queue_each(const aphi_spill_queue *s, void (*visit)(void *context, const aphi_branch *branch),
                           void *context);

#endif

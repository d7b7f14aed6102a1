/* SPDX-License-Identifier: Apache-2.0
 *
 * spill_queue.h - queue of pending branches, those beyond a memory limit in a file; checkpoints. */
#ifndef APHI_EXPLORE_SPILL_QUEUE_H
#define APHI_EXPLORE_SPILL_QUEUE_H

#include "explore/explore.h"

#include <stdio.h>

typedef struct aphi_spill_queue {
    aphi_branch *list;       /* in memory; the newest is last */
    size_t count, capacity;
    double share;            /* sum over all branches, including those in the file */
    size_t bytes, bytes_max; /* of the list; bytes_max 0: no limit */
    size_t in_file;          /* number of branches in the file */
    size_t spilled;          /* number of branches ever written to the file */
    FILE *file;              /* NULL until it is needed */
    uint64_t file_size;
} aphi_spill_queue;

void aphi_spill_queue_open(aphi_spill_queue *s, size_t bytes_max);
void aphi_spill_queue_close(aphi_spill_queue *s);
size_t aphi_spill_queue_count(const aphi_spill_queue *s);
/* Adds a copy of the branch. Returns false with errno if the file cannot be written; the branch is still added. */
bool aphi_spill_queue_put(aphi_spill_queue *s, const aphi_branch *branch);
/* Takes the newest branch; the caller frees its choices. Returns false if there is none or the file is unreadable. */
bool aphi_spill_queue_take(aphi_spill_queue *s, aphi_branch *branch);
/* Takes the oldest branch in memory. */
bool aphi_spill_queue_take_oldest(aphi_spill_queue *s, aphi_branch *branch);
/* Visits all branches, those in the file first. Returns false if the file cannot be read. */
bool aphi_spill_queue_each(const aphi_spill_queue *s, void (*visit)(void *context, const aphi_branch *branch),
                           void *context);

/* ---- checkpoints ------------------------------------------------------------------------------------------------- */

/* Identifies the model of a checkpoint. All processes of a distributed search must have the same fingerprint. */
uint64_t aphi_checkpoint_fingerprint(const aphi_compiled_model *model);
/* Replaces the file atomically. Returns false with the reason in `why`. */
bool aphi_checkpoint_write(const char *path, const aphi_compiled_model *model, const aphi_explore_stats *stats,
                           const aphi_spill_queue *pending, char *why, size_t size);
/* Reads the counts, and adds the branches to *pending. Returns false with the reason in `why` if the file cannot be
 * read, is damaged, or belongs to another model. */
bool aphi_checkpoint_read(const char *path, const aphi_compiled_model *model, aphi_explore_stats *stats,
                          aphi_spill_queue *pending, char *why, size_t size);

#endif

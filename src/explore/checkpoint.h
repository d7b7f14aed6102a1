/* SPDX-License-Identifier: Apache-2.0
 *
 * checkpoint.h - pending branches and counts of an interrupted search, in a file. */
#ifndef APHI_EXPLORE_CHECKPOINT_H
#define APHI_EXPLORE_CHECKPOINT_H

#include "explore/spill_queue.h"

/* Identifies the model of a checkpoint. All processes of a distributed search must have the same. */
uint64_t aphi_checkpoint_fingerprint(const aphi_compiled_model *model);
/* Replaces the file atomically. Returns false with the reason in `why`. */
bool aphi_checkpoint_write(const char *path, const aphi_compiled_model *model, const aphi_explore_stats *stats,
                           const aphi_spill_queue *pending, char *why, size_t size);
/* Reads the counts, and adds the branches to *pending. Returns false with the reason in `why` if the file cannot be
 * read, is damaged, or belongs to another model. */
bool aphi_checkpoint_read(const char *path, const aphi_compiled_model *model, aphi_explore_stats *stats,
                          aphi_spill_queue *pending, char *why, size_t size);

#endif

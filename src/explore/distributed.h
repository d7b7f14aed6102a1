/* SPDX-License-Identifier: Apache-2.0
 *
 * distributed.h - exploration of a model by several processes, on one or more machines. */
#ifndef APHI_EXPLORE_DISTRIBUTED_H
#define APHI_EXPLORE_DISTRIBUTED_H

#include "explore/process_link.h"
#include "explore/parallel.h"

typedef struct aphi_distributed aphi_distributed;

/* Called at rank 0 with data from another rank (aphi_distributed_send). Return false to stop the search. */
typedef bool aphi_distributed_receiver(void *context, const char *bytes, size_t n);

/* The link must outlive the result. */
aphi_distributed *aphi_distributed_open(const aphi_link *link, aphi_distributed_receiver *receiver, void *context);
void aphi_distributed_close(aphi_distributed *d);

/* Before the search, rank 0 announces the fingerprint of its model, or 0 on failure. The others wait for it. */
void aphi_distributed_announce_model(aphi_distributed *d, uint64_t fingerprint);
uint64_t aphi_distributed_await_model(aphi_distributed *d);

/* Called by any worker of a rank other than 0: sends data to the receiver at rank 0, which gets it before the end of
 * the search. Waits while too much data is unsent. */
void aphi_distributed_send(aphi_distributed *d, const char *bytes, size_t n);

/* Like aphi_parallel_search, but called by all processes. Rank 0 gets the combined result, each other rank its own. The
 * options checkpoint, resume and progress are for rank 0 only. */
aphi_parallel_result aphi_distributed_search(aphi_distributed *d, const aphi_parallel_options *options);

#endif

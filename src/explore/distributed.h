/* SPDX-License-Identifier: Apache-2.0
 *
 * distributed.h - search a model with several processes, on one machine or on many. */
#ifndef APHI_EXPLORE_DISTRIBUTED_H
#define APHI_EXPLORE_DISTRIBUTED_H

#include "explore/process_link.h"
#include "explore/parallel.h"

typedef struct aphi_distributed aphi_distributed;

/* Called in the process of rank 0, with what another one says (aphi_distributed_say). False: stop the search. */
typedef bool aphi_distributed_hear(void *context, const char *bytes, size_t n);

/* The link must outlive it. */
aphi_distributed *aphi_distributed_open(const aphi_link *link, aphi_distributed_hear *hear, void *context);
void aphi_distributed_close(aphi_distributed *f);

/* Before the search: the one of rank 0 says what it will search, by its fingerprint, or 0: nothing, it has failed. The
 * others wait for that. */
void aphi_distributed_announce(aphi_distributed *f, uint64_t fingerprint);
uint64_t aphi_distributed_await(aphi_distributed *f);

/* Called by any worker of a rank other than 0: what it says is heard at rank 0, before the end. It waits while there is
 * much that was not heard yet. */
void aphi_distributed_say(aphi_distributed *f, const char *bytes, size_t n);

/* As aphi_parallel_search, by all of them at once. The result is that of all at rank 0; at others only its own. Of the
 * options, checkpoint, resume and progress are looked at by rank 0 only. */
aphi_parallel_result aphi_distributed_search(aphi_distributed *f, const aphi_parallel_options *options);

#endif

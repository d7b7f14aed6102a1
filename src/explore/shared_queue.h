/* SPDX-License-Identifier: Apache-2.0
 *
 * shared_queue.h - ports whose senders share one queue: which message can be at its front. */
#ifndef APHI_EXPLORE_SHARED_QUEUE_H
#define APHI_EXPLORE_SHARED_QUEUE_H

#include "explore/explore_state.h"

/* Brings candidates from such ports up to date. */
void aphi_shared_queue_refresh(aphi_explore_state *at);
/* Nobody can go on but those that sleep. Can it be that these are stuck for good, each behind a message that it does
 * not take? False: at least one could take what it was told not to. */
bool aphi_shared_queue_stuck(aphi_explore_state *at);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * shared_queue.h - ports with one queue for all senders: possible fronts of the queue during the search. */
#ifndef APHI_EXPLORE_SHARED_QUEUE_H
#define APHI_EXPLORE_SHARED_QUEUE_H

#include "explore/explore_state.h"

/* Updates the candidates from such ports. */
void aphi_shared_queue_refresh(aphi_explore_state *run);
/* Precondition: only sleeping receivers have candidates. Returns true if all of them can be stuck, each behind a
 * message that it does not receive; false if at least one can still take a message that sleeps. */
bool aphi_shared_queue_stuck(aphi_explore_state *run);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * queues.h - ports whose senders share one queue: which message can be at its front. */
#ifndef APHI_REACH_QUEUES_H
#define APHI_REACH_QUEUES_H

#include "reach/situation.h"

/* Brings candidates from such ports up to date. */
void aphi_queues_refresh(aphi_situation *at);
/* Nobody can go on but those that sleep. Can it be that these are stuck for good, each behind a message that it does
 * not take? False: at least one could take what it was told not to. */
bool aphi_queues_stuck(aphi_situation *at);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * independence.h - independent steps: steps that commute with everything that can happen before them.
 *
 * Components that communicate mostly with each other form a cluster. A step of a cluster is checked against everything
 * that the environment may still do to the cluster. If taking the step first always leads to the same state with the
 * same messages sent, no later, then the search need not follow any other step. */
#ifndef APHI_LOCAL_INDEPENDENCE_H
#define APHI_LOCAL_INDEPENDENCE_H

#include "local/state_space.h"

typedef struct aphi_independence aphi_independence;

/* Not for state spaces with races. The state space must outlive the result. */
aphi_independence *aphi_independence_open(aphi_state_space *space);
void aphi_independence_close(aphi_independence *k);
/* Returns true if the step, which is enabled in state v, is independent. Overwrites the list of steps of the space. */
bool aphi_independence_check(aphi_independence *k, const uint32_t *v, const aphi_space_step *step);

#endif

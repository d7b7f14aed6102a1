/* SPDX-License-Identifier: Apache-2.0
 *
 * independence.h - steps that may be taken alone, because whatever happens before them might as well happen after.
 *
 * Components that talk mostly to each other form a circle. A step of a circle is tried against all that its
 * environment may still do to the circle: if taking the step first always leads to the same place with the same
 * messages sent, no later, then no other step need be followed beside it. */
#ifndef APHI_LOCAL_INDEPENDENCE_H
#define APHI_LOCAL_INDEPENDENCE_H

#include "local/local_state.h"

typedef struct aphi_independence aphi_independence;

/* Not for sceneries with races. The scenery must outlive it. */
aphi_independence *aphi_independence_open(aphi_local_state *y);
void aphi_independence_close(aphi_independence *k);
/* Whether the step, which can be taken in situation v, may be taken alone. Overwrites the scenery's list of steps. */
bool aphi_independence_alone(aphi_independence *k, const uint32_t *v, const aphi_local_state_step *step);

#endif

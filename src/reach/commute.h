/* SPDX-License-Identifier: Apache-2.0
 *
 * commute.h - steps that may be taken alone, because whatever happens before them might as well happen after.
 *
 * Components that talk mostly to each other form a circle. A step of a circle is tried against all that its
 * environment may still do to the circle: if taking the step first always leads to the same place with the same
 * messages sent, no later, then no other step need be followed beside it. */
#ifndef APHI_REACH_COMMUTE_H
#define APHI_REACH_COMMUTE_H

#include "reach/scenery.h"

typedef struct aphi_commute aphi_commute;

/* Not for sceneries with races. The scenery must outlive it. */
aphi_commute *aphi_commute_open(aphi_scenery *y);
void aphi_commute_close(aphi_commute *k);
/* Whether the step, which can be taken in situation v, may be taken alone. Overwrites the scenery's list of steps. */
bool aphi_commute_alone(aphi_commute *k, const uint32_t *v, const aphi_scenery_step *step);

#endif

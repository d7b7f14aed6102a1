/* SPDX-License-Identifier: Apache-2.0
 *
 * fleet.h - search a model with several processes, on one machine or on many. */
#ifndef APHI_REACH_FLEET_H
#define APHI_REACH_FLEET_H

#include "reach/link.h"
#include "reach/team.h"

typedef struct aphi_fleet aphi_fleet;

/* Called in the process of rank 0, with what another one says (aphi_fleet_say). False: stop the search. */
typedef bool aphi_fleet_hear(void *context, const char *bytes, size_t n);

/* The link must outlive it. */
aphi_fleet *aphi_fleet_open(const aphi_link *link, aphi_fleet_hear *hear, void *context);
void aphi_fleet_close(aphi_fleet *f);

/* Before the search: the one of rank 0 says what it will search, by its fingerprint, or 0: nothing, it has failed. The
 * others wait for that. */
void aphi_fleet_announce(aphi_fleet *f, uint64_t fingerprint);
uint64_t aphi_fleet_await(aphi_fleet *f);

/* Called by any worker of a rank other than 0: what it says is heard at rank 0, before the end. It waits while there is
 * much that was not heard yet. */
void aphi_fleet_say(aphi_fleet *f, const char *bytes, size_t n);

/* As aphi_team_search, by all of them at once. The result is that of all at rank 0; at others only its own. Of the
 * options, checkpoint, resume and progress are looked at by rank 0 only. */
aphi_team_result aphi_fleet_search(aphi_fleet *f, const aphi_team_options *options);

#endif

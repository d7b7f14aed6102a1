/* SPDX-License-Identifier: Apache-2.0
 *
 * lanes.h - which requests of each connection are open.
 *
 * Idea:       a hash table with linear probing. A lane that holds nothing says nothing, and is dropped when the table
 *             would grow, so a trace with a new connection for each request still takes constant memory.
 * Invariants: the open requests of a lane are in the order in which they were sent.
 */
#ifndef APHI_LANES_H
#define APHI_LANES_H

#include <antiphon/value.h>

typedef struct aphi_lane {
    int64_t process;
    int64_t connection;     /* differs from process after a crash */
    bool used;              /* a slot of the table that holds a lane */
    bool lasting;           /* not to be dropped though nothing is open: it has a connection of its own, or a past */
    bool crashed;           /* what comes next is on a new connection */
    uint64_t *open;         /* a ring of the numbers of open requests */
    uint32_t first, count, capacity;
    aph_value request;      /* of a Jepsen process: the open one */
    aph_value function;     /* its :f */
    uint64_t line;          /* of the last request */
} aphi_lane;

typedef struct aphi_lanes {
    aphi_lane *slots;
    size_t capacity, count;
} aphi_lanes;

void aphi_lanes_deinit(aphi_lanes *l);
/* The lane of a process, made if there is none. Valid until the next call. */
aphi_lane *aphi_lanes_at(aphi_lanes *l, int64_t process);
/* Marks the open requests: for a root. */
void aphi_lanes_mark(const aphi_lanes *l);
void aphi_lane_push(aphi_lane *lane, uint64_t number);
uint64_t aphi_lane_pop(aphi_lane *lane); /* the oldest; there must be one */

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * open_requests.h - which requests of each connection are open.
 *
 * Idea:       a hash table with linear probing. A lane that holds nothing says nothing, and is dropped when the table
 *             would grow, so a trace with a new connection for each request still takes constant memory.
 * Invariants: the open requests of a lane are in the order in which they were sent.
 */
#ifndef APHI_LANES_H
#define APHI_LANES_H

#include <antiphon/value.h>

typedef struct aphi_open_queue {
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
} aphi_open_queue;

typedef struct aphi_open_requests {
    aphi_open_queue *slots;
    size_t capacity, count;
} aphi_open_requests;

void aphi_open_requests_deinit(aphi_open_requests *l);
/* The lane of a process, made if there is none. Valid until the next call. */
aphi_open_queue *aphi_open_requests_at(aphi_open_requests *l, int64_t process);
/* Marks the open requests: for a root. */
void aphi_open_requests_mark(const aphi_open_requests *l);
void aphi_open_queue_push(aphi_open_queue *lane, uint64_t number);
uint64_t aphi_open_queue_pop(aphi_open_queue *lane); /* the oldest; there must be one */

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * open_requests.h - the open requests of each connection or process of a trace.
 *
 * Idea:       a hash table with linear probing. Empty queues are dropped when the table would grow, so a trace with a
 *             new connection for each request takes constant memory.
 * Invariants: the requests of a queue are in the order in which they were sent.
 */
#ifndef APHI_TRACE_OPEN_REQUESTS_H
#define APHI_TRACE_OPEN_REQUESTS_H

#include <antiphon/value.h>

typedef struct aphi_open_queue {
    int64_t process;
    int64_t connection;     /* differs from process after a crash */
    bool used;              /* the slot is not free */
    bool lasting;           /* kept although empty: the process has crashed once */
    bool crashed;           /* its next request is on a new connection */
    uint64_t *open;         /* ring of the numbers of open requests */
    uint32_t first, count, capacity;
    aph_value request;      /* the open request of a Jepsen process */
    aph_value function;     /* the :f of that request */
    uint64_t line;          /* of the last request */
    uint64_t calls;         /* of the server on this connection, without a response so far */
} aphi_open_queue;

typedef struct aphi_open_requests {
    aphi_open_queue *slots;
    size_t capacity, count;
} aphi_open_requests;

void aphi_open_requests_deinit(aphi_open_requests *l);
/* Returns the queue of a process, which is created if needed. Valid until the next call. */
aphi_open_queue *aphi_open_requests_at(aphi_open_requests *l, int64_t process);
void aphi_open_requests_mark(const aphi_open_requests *l);
void aphi_open_queue_push(aphi_open_queue *queue, uint64_t number);
/* Adds 1 to the number of the newest request. */
void aphi_open_queue_renumber(aphi_open_queue *queue);
uint64_t aphi_open_queue_pop(aphi_open_queue *queue); /* the oldest; there must be one */

#endif

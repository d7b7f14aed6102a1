/* SPDX-License-Identifier: Apache-2.0
 *
 * queue_order.h - ports with one queue for all senders: possible fronts of the queue in a recorded sequence. */
#ifndef APHI_EXPLORE_QUEUE_ORDER_H
#define APHI_EXPLORE_QUEUE_ORDER_H

#include "explore/sequence.h"

typedef struct aphi_queue_order {
    size_t thread_count, port_count;
    const uint32_t *first;    /* thread t has the events first[t] .. first[t + 1] - 1 */
    const aphi_event *events; /* state and label are not used */
    const bool *shared;       /* by port: one queue for all senders */
} aphi_queue_order;

/* happened[t] events of each thread t have happened, including all their causes. Returns true if there is an order of
 * these events that agrees with all receives from shared queues, and in which the message of the send is the first that
 * remains in its port. The send is one of these events and not received by them, or the next event of its thread. */
bool aphi_queue_order_can_lead(const aphi_queue_order *l, const uint32_t *happened, unsigned thread, uint32_t send,
                               unsigned port);

#endif

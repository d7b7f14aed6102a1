/* SPDX-License-Identifier: Apache-2.0
 *
 * queue_order.h - ports with one queue for all senders: could a message have been the first in its queue? */
#ifndef APHI_EXPLORE_QUEUE_ORDER_H
#define APHI_EXPLORE_QUEUE_ORDER_H

#include "explore/sequence.h"

typedef struct aphi_queue_order {
    size_t thread_count, port_count;
    const uint32_t *first;    /* thread t has the events first[t] .. first[t + 1] - 1 */
    const aphi_event *events; /* state and label do not matter here */
    const bool *shared;       /* by port: it has one queue for all senders */
} aphi_queue_order;

/* So many events of each thread have happened, among them all that caused one of them. Is there an order of these in
 * which each queue gave what was received from it, and the message of that send is the first that is left in its port?
 * The send is among them, and not received by them, or it is the next event of its thread. */
bool aphi_queue_order_lead(const aphi_queue_order *l, const uint32_t *happened, unsigned thread, uint32_t send,
                           unsigned port);

#endif

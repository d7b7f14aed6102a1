/* SPDX-License-Identifier: Apache-2.0
 *
 * timer_heap.h - a priority queue of timers, and random delays. */
#ifndef APHI_BASE_TIMER_HEAP_H
#define APHI_BASE_TIMER_HEAP_H

#include "base/random_choice.h"

#include <stddef.h>

typedef struct aphi_timer {
    int64_t ns;          /* the time at which it is due */
    uint64_t order;      /* set by aphi_timer_heap_add: timers with the same time fire in this order */
    uint32_t kind;       /* kind, owner and detail are the caller's */
    int64_t owner;
    uint64_t detail;
} aphi_timer;

/* Starts as {0}. */
typedef struct aphi_timer_heap {
    aphi_timer *heap;
    size_t count, capacity;
    uint64_t order;
} aphi_timer_heap;

void aphi_timer_heap_add(aphi_timer_heap *a, aphi_timer due);
/* Removes the earliest timer if it is due. Returns false if none is. */
bool aphi_timer_heap_next(aphi_timer_heap *a, int64_t now, aphi_timer *due);
/* The time of the earliest timer; -1 if there is none. */
int64_t aphi_timer_heap_when(const aphi_timer_heap *a);
void aphi_timer_heap_deinit(aphi_timer_heap *a);

/* Returns a random delay up to mean_ns, or in one of four cases up to five times that, so that reordering is
 * frequent. */
int64_t aphi_delay(aphi_choice *c, int64_t mean_ns);

#endif

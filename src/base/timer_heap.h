/* SPDX-License-Identifier: Apache-2.0
 *
 * timer_heap.h - what is to happen when: delays drawn at random, and a queue by time. */
#ifndef APHI_BASE_TIMER_HEAP_H
#define APHI_BASE_TIMER_HEAP_H

#include "base/choice.h"

#include <stddef.h>

typedef struct aphi_timer {
    int64_t ns;          /* of the clock */
    uint64_t order;      /* set by aphi_timer_heap_add: of two at one time, the first added comes first */
    uint32_t kind;       /* what this is and what it is about: the rest is the user's */
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
/* The earliest, if it is not later than now. */
bool aphi_timer_heap_next(aphi_timer_heap *a, int64_t now, aphi_timer *due);
/* When the earliest is; -1 if there is none. */
int64_t aphi_timer_heap_when(const aphi_timer_heap *a);
void aphi_timer_heap_deinit(aphi_timer_heap *a);

/* A delay: the mean is as given, and one in four may be five times as long, so that much overtakes much else. */
int64_t aphi_delay(aphi_choice *c, int64_t mean_ns);

#endif

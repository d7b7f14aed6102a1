/* SPDX-License-Identifier: Apache-2.0
 *
 * timer_heap.c - a binary heap by time.
 *
 * Invariants: no timer is earlier than its parent; timers with the same time are removed in the order in which they
 *             were added.
 * Cost:       logarithmic in the number of timers. */
#include "base/timer_heap.h"

#include "base/memory.h"

#include <stdlib.h>

static bool is_earlier(const aphi_timer *a, const aphi_timer *b)
{
    return a->ns != b->ns ? a->ns < b->ns : a->order < b->order;
}

void aphi_timer_heap_add(aphi_timer_heap *a, aphi_timer due)
{
    due.order = a->order++;
    APHI_RESERVE(a->heap, a->capacity, a->count + 1);
    size_t i = a->count++;
    for (; i > 0 && is_earlier(&due, &a->heap[(i - 1) / 2]); i = (i - 1) / 2)
        a->heap[i] = a->heap[(i - 1) / 2];
    a->heap[i] = due;
}

static void remove_first(aphi_timer_heap *a)
{
    aphi_timer last = a->heap[--a->count];
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < a->count; i = child) {
        if (child + 1 < a->count && is_earlier(&a->heap[child + 1], &a->heap[child]))
            child++;
        if (!is_earlier(&a->heap[child], &last))
            break;
        a->heap[i] = a->heap[child];
    }
    a->heap[i] = last;
}

bool aphi_timer_heap_next(aphi_timer_heap *a, int64_t now, aphi_timer *due)
{
    if (!a->count || a->heap[0].ns > now)
        return false;
    *due = a->heap[0];
    remove_first(a);
    return true;
}

int64_t aphi_timer_heap_when(const aphi_timer_heap *a)
{
    return a->count ? a->heap[0].ns : -1;
}

void aphi_timer_heap_deinit(aphi_timer_heap *a)
{
    free(a->heap);
    *a = (aphi_timer_heap){0};
}

int64_t aphi_delay(aphi_choice *c, int64_t mean_ns)
{
    if (mean_ns <= 0)
        return 0;
    int64_t most = aphi_choice_chance(c, 1, 4) ? 5 * mean_ns : mean_ns;
    return aphi_choice_within(c, 0, most);
}

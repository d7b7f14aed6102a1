/* SPDX-License-Identifier: Apache-2.0
 *
 * open_requests.c - the table of open requests; see open_requests.h.
 */
#include "trace/open_requests.h"

#include <assert.h>
#include <stdlib.h>
#include "base/memory.h"

enum { CAPACITY_MIN = 64 }; /* a power of two */

void aphi_open_requests_deinit(aphi_open_requests *l)
{
    for (size_t i = 0; i < l->capacity; i++)
        free(l->slots[i].open);
    free(l->slots);
}

/* Fibonacci hashing: neighbouring numbers, which processes mostly are, fall far apart and never together. */
static size_t slot_of(const aphi_open_requests *l, int64_t process)
{
    uint64_t hash = (uint64_t)process * UINT64_C(0x9e3779b97f4a7c15);
    size_t i = (size_t)(hash >> 32) & (l->capacity - 1);
    while (l->slots[i].used && l->slots[i].process != process)
        i = (i + 1) & (l->capacity - 1);
    return i;
}

static bool is_needed(const aphi_open_queue *lane)
{
    return lane->used && (lane->count > 0 || lane->lasting);
}

/* Leaves at least half of the slots free. */
static void rebuild(aphi_open_requests *l)
{
    size_t needed = 0, capacity = CAPACITY_MIN;
    for (size_t i = 0; i < l->capacity; i++)
        needed += is_needed(&l->slots[i]);
    while (capacity < 4 * (needed + 1))
        capacity *= 2;
    aphi_open_requests fresh = {.capacity = capacity, .count = needed};
    fresh.slots = aphi_alloc_zero(capacity * sizeof *fresh.slots);
    for (size_t i = 0; i < l->capacity; i++) {
        aphi_open_queue *lane = &l->slots[i];
        if (!is_needed(lane))
            continue;
        fresh.slots[slot_of(&fresh, lane->process)] = *lane;
        lane->open = NULL;
    }
    aphi_open_requests_deinit(l);
    *l = fresh;
}

aphi_open_queue *aphi_open_requests_at(aphi_open_requests *l, int64_t process)
{
    if (l->capacity == 0)
        rebuild(l);
    size_t i = slot_of(l, process);
    if (!l->slots[i].used && 2 * (l->count + 1) > l->capacity) {
        rebuild(l);
        i = slot_of(l, process);
    }
    aphi_open_queue *lane = &l->slots[i];
    if (!lane->used) {
        *lane = (aphi_open_queue){.process = process, .connection = process, .used = true};
        l->count++;
    }
    return lane;
}

void aphi_open_requests_mark(const aphi_open_requests *l)
{
    for (size_t i = 0; i < l->capacity; i++) {
        const aphi_open_queue *lane = &l->slots[i];
        if (lane->used && lane->count > 0) {
            aph_mark(lane->request);
            aph_mark(lane->function);
        }
    }
}

static void grow(aphi_open_queue *lane)
{
    uint32_t capacity = lane->capacity ? 2 * lane->capacity : 4;
    uint64_t *open = aphi_alloc(capacity * sizeof *open);
    for (uint32_t i = 0; i < lane->count; i++)
        open[i] = lane->open[(lane->first + i) & (lane->capacity - 1)];
    free(lane->open);
    lane->open = open;
    lane->first = 0;
    lane->capacity = capacity;
}

void aphi_open_queue_push(aphi_open_queue *lane, uint64_t number)
{
    if (lane->count == lane->capacity)
        grow(lane);
    lane->open[(lane->first + lane->count) & (lane->capacity - 1)] = number;
    lane->count++;
}

uint64_t aphi_open_queue_pop(aphi_open_queue *lane)
{
    assert(lane->count > 0);
    uint64_t number = lane->open[lane->first];
    lane->first = (lane->first + 1) & (lane->capacity - 1);
    lane->count--;
    return number;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * open_requests.c - the hash table of open requests; see open_requests.h.
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

/* Fibonacci hashing: consecutive process numbers do not collide. */
static size_t find_slot(const aphi_open_requests *l, int64_t process)
{
    uint64_t hash = (uint64_t)process * UINT64_C(0x9e3779b97f4a7c15);
    size_t i = (size_t)(hash >> 32) & (l->capacity - 1);
    while (l->slots[i].used && l->slots[i].process != process)
        i = (i + 1) & (l->capacity - 1);
    return i;
}

static bool is_needed(const aphi_open_queue *queue)
{
    return queue->used && (queue->count > 0 || queue->lasting);
}

/* Leaves at least half of the slots free. */
static void rebuild_table(aphi_open_requests *l)
{
    size_t needed = 0, capacity = CAPACITY_MIN;
    for (size_t i = 0; i < l->capacity; i++)
        needed += is_needed(&l->slots[i]);
    while (capacity < 4 * (needed + 1))
        capacity *= 2;
    aphi_open_requests fresh = {.capacity = capacity, .count = needed};
    fresh.slots = aphi_alloc_zero(capacity * sizeof *fresh.slots);
    for (size_t i = 0; i < l->capacity; i++) {
        aphi_open_queue *queue = &l->slots[i];
        if (!is_needed(queue))
            continue;
        fresh.slots[find_slot(&fresh, queue->process)] = *queue;
        queue->open = NULL;
    }
    aphi_open_requests_deinit(l);
    *l = fresh;
}

aphi_open_queue *aphi_open_requests_at(aphi_open_requests *l, int64_t process)
{
    if (l->capacity == 0)
        rebuild_table(l);
    size_t i = find_slot(l, process);
    if (!l->slots[i].used && 2 * (l->count + 1) > l->capacity) {
        rebuild_table(l);
        i = find_slot(l, process);
    }
    aphi_open_queue *queue = &l->slots[i];
    if (!queue->used) {
        *queue = (aphi_open_queue){.process = process, .connection = process, .used = true};
        l->count++;
    }
    return queue;
}

void aphi_open_requests_mark(const aphi_open_requests *l)
{
    for (size_t i = 0; i < l->capacity; i++) {
        const aphi_open_queue *queue = &l->slots[i];
        if (queue->used && queue->count > 0) {
            aph_mark(queue->request);
            aph_mark(queue->function);
        }
    }
}

static void grow_queue(aphi_open_queue *queue)
{
    uint32_t capacity = queue->capacity ? 2 * queue->capacity : 4;
    uint64_t *open = aphi_alloc(capacity * sizeof *open);
    for (uint32_t i = 0; i < queue->count; i++)
        open[i] = queue->open[(queue->first + i) & (queue->capacity - 1)];
    free(queue->open);
    queue->open = open;
    queue->first = 0;
    queue->capacity = capacity;
}

void aphi_open_queue_push(aphi_open_queue *queue, uint64_t number)
{
    if (queue->count == queue->capacity)
        grow_queue(queue);
    queue->open[(queue->first + queue->count) & (queue->capacity - 1)] = number;
    queue->count++;
}

void aphi_open_queue_renumber(aphi_open_queue *queue)
{
    assert(queue->count > 0);
    queue->open[(queue->first + queue->count - 1) & (queue->capacity - 1)]++;
}

uint64_t aphi_open_queue_pop(aphi_open_queue *queue)
{
    assert(queue->count > 0);
    uint64_t number = queue->open[queue->first];
    queue->first = (queue->first + 1) & (queue->capacity - 1);
    queue->count--;
    return number;
}

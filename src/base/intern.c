/* SPDX-License-Identifier: Apache-2.0
 *
 * intern.c - a hash table with open addressing; the keys are stored in one array.
 *
 * Cost: the bytes of each key plus about 20. Keys are never removed. */
#include "base/intern.h"

#include "base/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static uint64_t hash_of(const unsigned char *p, size_t n)
{
    uint64_t h = 0x9e3779b97f4a7c15u ^ n;
    for (; n >= 8; p += 8, n -= 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        h = (h ^ word) * 0xff51afd7ed558ccdu;
        h ^= h >> 32;
    }
    uint64_t rest = 0;
    if (n)
        memcpy(&rest, p, n);
    h = (h ^ rest) * 0xc4ceb9fe1a85ec53u;
    return h ^ h >> 29;
}

void aphi_intern_free(aphi_intern *t)
{
    free(t->bytes);
    free(t->start);
    free(t->slots);
    *t = (aphi_intern){0};
}

const void *aphi_intern_key(const aphi_intern *t, uint32_t number, size_t *size)
{
    assert(number < t->count);
    if (size)
        *size = t->start[number + 1] - t->start[number];
    return t->bytes + t->start[number];
}

static void grow_slots(aphi_intern *t)
{
    size_t larger = t->slot_count ? t->slot_count * 4 : 16;
    free(t->slots);
    t->slots = aphi_alloc_zero(larger * sizeof *t->slots);
    t->slot_count = larger;
    for (size_t i = 0; i < t->count; i++) {
        size_t at = hash_of(t->bytes + t->start[i], t->start[i + 1] - t->start[i]) & (larger - 1);
        while (t->slots[at])
            at = (at + 1) & (larger - 1);
        t->slots[at] = (uint32_t)i + 1;
    }
}

static uint32_t add_key(aphi_intern *t, const void *key, size_t size)
{
    assert(t->count < UINT32_MAX - 1);
    APHI_RESERVE(t->bytes, t->byte_capacity, t->used + size);
    APHI_RESERVE(t->start, t->start_capacity, t->count + 2);
    if (size)
        memcpy(t->bytes + t->used, key, size);
    t->start[t->count] = t->used;
    t->used += size;
    t->start[t->count + 1] = t->used;
    return (uint32_t)t->count++;
}

uint32_t aphi_intern_number(aphi_intern *t, const void *key, size_t size)
{
    if (t->count * 4 >= t->slot_count * 3)
        grow_slots(t);
    size_t at = hash_of(key, size) & (t->slot_count - 1);
    for (; t->slots[at]; at = (at + 1) & (t->slot_count - 1)) {
        uint32_t number = t->slots[at] - 1;
        size_t length = t->start[number + 1] - t->start[number];
        if (length == size && (!size || memcmp(t->bytes + t->start[number], key, size) == 0))
            return number;
    }
    uint32_t number = add_key(t, key, size);
    t->slots[at] = number + 1;
    return number;
}

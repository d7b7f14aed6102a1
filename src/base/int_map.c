/* SPDX-License-Identifier: Apache-2.0
 *
 * int_map.c - a hash table with linear probing, at most half full. */
#include "base/int_map.h"

#include "base/memory.h"

#include <stdlib.h>

enum { CAPACITY_FIRST = 16 };

/* Returns the entry of the key, or the free one in its place. The table must have a free entry. */
static aphi_int_map_entry *find_entry(const aphi_int_map *m, int64_t key)
{
    uint64_t hash = (uint64_t)key * 0x9e3779b97f4a7c15u;
    size_t at = (size_t)(hash >> 32) & (m->capacity - 1);
    while (m->entries[at].used && m->entries[at].key != key)
        at = (at + 1) & (m->capacity - 1);
    return &m->entries[at];
}

uint64_t *aphi_int_map_find(const aphi_int_map *m, int64_t key)
{
    aphi_int_map_entry *e = m->capacity ? find_entry(m, key) : NULL;
    return e && e->used ? &e->value : NULL;
}

static void grow_map(aphi_int_map *m)
{
    aphi_int_map old = *m;
    m->capacity = old.capacity ? 2 * old.capacity : CAPACITY_FIRST;
    m->entries = aphi_alloc_zero(m->capacity * sizeof *m->entries);
    for (size_t i = 0; i < old.capacity; i++)
        if (old.entries[i].used)
            *find_entry(m, old.entries[i].key) = old.entries[i];
    free(old.entries);
}

uint64_t *aphi_int_map_at(aphi_int_map *m, int64_t key)
{
    if (2 * (m->count + 1) > m->capacity)
        grow_map(m);
    aphi_int_map_entry *e = find_entry(m, key);
    m->count += !e->used;
    if (!e->used)
        *e = (aphi_int_map_entry){.key = key, .used = true};
    return &e->value;
}

void aphi_int_map_deinit(aphi_int_map *m)
{
    free(m->entries);
    *m = (aphi_int_map){0};
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * int_map.h - a hash table from integers to integers. An entry is never removed. */
#ifndef APHI_BASE_INT_MAP_H
#define APHI_BASE_INT_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct aphi_int_map_entry {
    int64_t key;
    uint64_t value;
    bool used;
} aphi_int_map_entry;

typedef struct aphi_int_map { /* zero: empty */
    aphi_int_map_entry *entries;
    size_t capacity, count;   /* the capacity is 0 or a power of two */
} aphi_int_map;

/* Returns the value of the key, or NULL. Valid until the next aphi_int_map_at. */
uint64_t *aphi_int_map_find(const aphi_int_map *m, int64_t key);
/* Returns the value of the key, which is 0 at first. */
uint64_t *aphi_int_map_at(aphi_int_map *m, int64_t key);
void aphi_int_map_deinit(aphi_int_map *m);

#endif

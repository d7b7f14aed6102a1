/* SPDX-License-Identifier: Apache-2.0
 *
 * memory.c - allocation that does not fail. */
#include "base/memory.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_BYTES = 2048 }; /* initial size of a growing array */

static void *check_allocated(void *p, size_t bytes)
{
    if (!p && bytes) {
        fprintf(stderr, "antiphon: out of memory (%zu bytes requested)\n", bytes);
        abort();
    }
    return p;
}

void *aphi_alloc(size_t bytes)
{
    return check_allocated(malloc(bytes), bytes);
}

void *aphi_alloc_zero(size_t bytes)
{
    return check_allocated(calloc(1, bytes), bytes);
}

void *aphi_realloc(void *p, size_t bytes)
{
    return check_allocated(realloc(p, bytes), bytes);
}

void *aphi_copy(const void *p, size_t bytes)
{
    void *q = aphi_alloc(bytes ? bytes : 1);
    if (bytes)
        memcpy(q, p, bytes);
    return q;
}

void aphi_free_all(void *const *pointers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(pointers[i]);
}

void aphi_reserve(void **p, size_t *capacity, size_t need, size_t size)
{
    size_t grown = *capacity ? *capacity * 2 : size < FIRST_BYTES / 8 ? FIRST_BYTES / size : 8;
    if (grown < need)
        grown = need;
    if (grown > SIZE_MAX / size)
        check_allocated(NULL, SIZE_MAX);
    *p = aphi_realloc(*p, grown * size);
    *capacity = grown;
}

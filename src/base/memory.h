/* SPDX-License-Identifier: Apache-2.0
 *
 * memory.h - allocation that does not fail: if memory is exhausted, the program aborts with a message. */
#ifndef APHI_BASE_MEMORY_H
#define APHI_BASE_MEMORY_H

#include "base/compiler.h"

#include <stddef.h>

void *aphi_alloc(size_t bytes);                    /* not cleared; for free() */
void *aphi_alloc_zero(size_t bytes);
void *aphi_realloc(void *p, size_t bytes);
void *aphi_copy(const void *p, size_t bytes);      /* never NULL, even for 0 bytes */
#define APHI_FREE_ALL(...) \
    aphi_free_all((void *[]){__VA_ARGS__}, sizeof((void *[]){__VA_ARGS__}) / sizeof(void *))
void aphi_free_all(void *const *pointers, size_t count);
/* Grows the array *p of *capacity items of `size` bytes to at least `need` items. */
APHI_COLD void aphi_reserve(void **p, size_t *capacity, size_t need, size_t size);
#define APHI_RESERVE(array, capacity, need) \
    do { \
        if ((need) > (capacity)) { \
            void *reserved_ = (array); \
            aphi_reserve(&reserved_, &(capacity), (need), sizeof *(array)); \
            (array) = reserved_; \
        } \
    } while (0)
#define APHI_PUSH(array, count, capacity, ...) \
    do { \
        APHI_RESERVE(array, capacity, (count) + 1); \
        (array)[(count)++] = __VA_ARGS__; \
    } while (0)

#endif

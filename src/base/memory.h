/* SPDX-License-Identifier: Apache-2.0
 *
 * memory.h - allocation that does not fail: if memory is exhausted, the process ends with a message. */
#ifndef APHI_BASE_MEMORY_H
#define APHI_BASE_MEMORY_H

#include "base/compiler.h"

#include <stdbool.h>
#include <stddef.h>

void *aphi_alloc(size_t bytes);                    /* not cleared; for free() */
void *aphi_alloc_zero(size_t bytes);
void *aphi_realloc(void *p, size_t bytes);
void *aphi_copy(const void *p, size_t bytes);      /* never NULL, even for 0 bytes */
char *aphi_copy_text(const char *bytes, size_t n); /* with a final NUL */
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

/* Ends the process because memory, or a resource that takes memory, is exhausted. Prints a message with `what` and
 * calls the rescues. */
_Noreturn void aphi_memory_exhausted(const char *what);
/* Sets the exit code of that end. Without one, the process aborts. */
void aphi_memory_set_exit(int code);

/* Saves data that would be lost. `save` must not allocate. */
typedef struct aphi_rescue {
    void (*save)(void *context);
    void *context;
    struct aphi_rescue *next;
} aphi_rescue;

void aphi_rescue_add(aphi_rescue *r);    /* must stay valid until removed */
void aphi_rescue_remove(aphi_rescue *r); /* no effect if it was not added */
void aphi_rescue_remove_all(void);       /* in a child process: they are the parent's */

/* For tests: makes the n-th allocation from now on fail as if memory were exhausted. 0: none. */
void aphi_memory_fail_at(size_t n);

#endif

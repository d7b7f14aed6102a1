/* SPDX-License-Identifier: Apache-2.0
 *
 * memory.c - allocation that does not fail.
 *
 * Idea:       a failed allocation ends the process instead of unwinding it. Files that are still in memory are saved
 *             first, by the rescues.
 * Invariants: nothing is allocated after a failure. */
#include "base/memory.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FIRST_BYTES = 2048 }; /* initial size of a growing array */

static int exit_code = -1; /* negative: abort */
static aphi_rescue *rescues;
static atomic_bool ending;
static atomic_size_t fail_in; /* 0: no failure is planned */

/* ---- the end of memory ------------------------------------------------------------------------------------------- */

void aphi_memory_set_exit(int code)
{
    exit_code = code;
}

void aphi_rescue_add(aphi_rescue *r)
{
    r->next = rescues;
    rescues = r;
}

void aphi_rescue_remove(aphi_rescue *r)
{
    for (aphi_rescue **at = &rescues; *at; at = &(*at)->next)
        if (*at == r) {
            *at = r->next;
            return;
        }
}

void aphi_rescue_remove_all(void)
{
    rescues = NULL;
}

static void print_exhausted(const char *what)
{
    char message[300];
    int n = snprintf(message, sizeof message,
                     "antiphon: out of memory (%.100s); the result is unknown; free memory, allow more of it "
                     "(ulimit -v), or use a smaller --memory\n", what);
    if (write(STDERR_FILENO, message, (size_t)n) < 0)
        return;
}

/* Does not call exit, which a program may replace to keep models from calling it. */
_Noreturn void aphi_memory_exhausted(const char *what)
{
    while (atomic_exchange(&ending, true)) /* another thread ends the process */
        pause();
    print_exhausted(what);
    for (aphi_rescue *r = rescues; r; r = r->next)
        r->save(r->context);
    if (exit_code < 0)
        abort();
    for (;;)
        syscall(SYS_exit_group, exit_code);
}

static APHI_COLD _Noreturn void end_allocation(size_t bytes)
{
    char what[60];
    snprintf(what, sizeof what, "%zu bytes requested", bytes);
    aphi_memory_exhausted(what);
}

/* ---- failures for tests ------------------------------------------------------------------------------------------ */

void aphi_memory_fail_at(size_t n)
{
    atomic_store(&fail_in, n);
}

static inline bool is_to_fail(void)
{
    return atomic_load_explicit(&fail_in, memory_order_relaxed) && atomic_fetch_sub(&fail_in, 1) == 1;
}

/* ---- allocation -------------------------------------------------------------------------------------------------- */

static void *check_allocated(void *p, size_t bytes)
{
    if ((!p && bytes) || is_to_fail())
        end_allocation(bytes);
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

/* A planned failure leaves the old block valid, as a real one does. */
void *aphi_realloc(void *p, size_t bytes)
{
    if (is_to_fail())
        end_allocation(bytes);
    void *q = realloc(p, bytes);
    if (!q && bytes)
        end_allocation(bytes);
    return q;
}

void *aphi_copy(const void *p, size_t bytes)
{
    void *q = aphi_alloc(bytes ? bytes : 1);
    if (bytes)
        memcpy(q, p, bytes);
    return q;
}

char *aphi_copy_text(const char *bytes, size_t n)
{
    char *text = aphi_alloc(n + 1);
    if (n)
        memcpy(text, bytes, n);
    text[n] = '\0';
    return text;
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
        end_allocation(SIZE_MAX);
    *p = aphi_realloc(*p, grown * size);
    *capacity = grown;
}

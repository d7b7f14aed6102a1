/* SPDX-License-Identifier: Apache-2.0
 *
 * prefault.c - allocation of memory pages before a check is timed.
 *
 * Idea:       memory is allocated, written and freed, so that the allocator reuses its pages. Nothing of the check is
 *             computed or cached in advance.
 * Cost:       some two microseconds per page, so only as many pages as a short trace needs. */
#include "check/prefault.h"

#include "base/memory.h"

#include <limits.h>
#include <malloc.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

enum { PAGES = 2 << 20, PAGE = 1024 }; /* in bytes; the smallest page size */

void aphi_prefault(void)
{
    static bool done;
    if (done)
        return;
    done = true;
    mallopt(M_TRIM_THRESHOLD, INT_MAX);
    mallopt(M_MMAP_THRESHOLD, 64 << 20);
    mallopt(M_TOP_PAD, PAGES);
    volatile char *memory = aphi_alloc(PAGES);
    for (size_t i = 0; i < PAGES; i += PAGE)
        memory[i] = 1;
    free((void *)memory);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * prefault.c - have memory ready before the clock starts.
 *
 * Idea:       memory is allocated, touched and freed, so that the allocator hands out the same pages again. Nothing is
 *             computed, and nothing is fetched into the processor's cache: all of the check is still to come.
 * Cost:       two microseconds or so for each page; more pages than a short trace needs would only make its user
 *             wait. */
#include "check/prefault.h"

#include "base/memory.h"

#include <limits.h>
#include <malloc.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

enum { PAGES = 2 << 20, PAGE = 1024 }; /* in bytes; no page is smaller */

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

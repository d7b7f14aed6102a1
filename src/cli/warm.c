/* SPDX-License-Identifier: Apache-2.0
 *
 * warm.c - have memory and code ready before the clock starts.
 *
 * Idea:       memory is allocated, touched and freed, so that the allocator hands out the same pages again. Code is
 *             read as if it were data. Nothing is computed: all of the check is still to come. */
#include "cli/warm.h"

#include "base/memory.h"

#include <limits.h>
#include <link.h>
#include <malloc.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

enum { PAGES = 4 << 20, NEAR = 384 << 10, PAGE = 1024, LINE = 64 }; /* in bytes; no page or line is smaller */

static void touch(size_t bytes, size_t stride)
{
    volatile char *memory = aphi_alloc(bytes);
    for (size_t i = 0; i < bytes; i += stride)
        memory[i] = 1;
    free((void *)memory);
}

void aphi_warm_pages(void)
{
    static bool done;
    if (done)
        return;
    done = true;
    mallopt(M_TRIM_THRESHOLD, INT_MAX);
    mallopt(M_MMAP_THRESHOLD, 64 << 20);
    mallopt(M_TOP_PAD, PAGES);
    touch(PAGES, PAGE);
}

/* The loader names the program itself first. */
static int read_code(struct dl_phdr_info *program, size_t size, void *unused)
{
    (void)size;
    (void)unused;
    for (int i = 0; i < program->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &program->dlpi_phdr[i];
        const volatile char *code = (const volatile char *)(program->dlpi_addr + segment->p_vaddr);
        for (size_t k = 0; segment->p_type == PT_LOAD && (segment->p_flags & PF_X) && k < segment->p_memsz; k += LINE)
            (void)code[k];
    }
    return 1;
}

void aphi_warm_cache(void)
{
    static bool done;
    if (done)
        return;
    done = true;
    dl_iterate_phdr(read_code, NULL);
    touch(NEAR, LINE);
}

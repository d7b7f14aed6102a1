/* SPDX-License-Identifier: Apache-2.0
 *
 * spill_queue.c - branches that wait to be searched, in memory up to a bound, and beyond it in a file.
 *
 * Idea:       the file is a stack of blocks. When memory is full, the older half of the list becomes a block at its
 *             end; when the list is empty, the last block becomes the list, and the file ends before it. The older ones
 *             are those nearer to the root: they are large, and wait longest.
 * Picture:    file: [branches, how many, bytes] [branches, how many, bytes]   list: a b c
 * Invariants: 1. what is taken first of those in the file was filed last
 *             2. the file has no name: it goes with the process
 * Cost:       a write and a read for each half of the bound. */
#include "explore/spill_queue.h"

#include "base/buffer.h"
#include "base/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct tail { /* of a block */
    uint64_t branches, bytes;
} tail;

void aphi_spill_queue_open(aphi_spill_queue *s, size_t bytes_max)
{
    *s = (aphi_spill_queue){.bytes_max = bytes_max, .file = -1};
}

void aphi_spill_queue_close(aphi_spill_queue *s)
{
    for (size_t i = 0; i < s->count; i++)
        free(s->list[i].choices);
    free(s->list);
    if (s->file >= 0)
        close(s->file);
    aphi_spill_queue_open(s, 0);
}

size_t aphi_spill_queue_count(const aphi_spill_queue *s)
{
    return s->count + s->filed;
}

static size_t bytes_of(const aphi_branch *branch)
{
    return sizeof *branch + branch->count * sizeof *branch->choices;
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

static bool open_file(aphi_spill_queue *s)
{
    const char *folder = getenv("TMPDIR");
    aphi_buffer name = {0};
    if (s->file >= 0)
        return true;
    aphi_buffer_format(&name, "%s/antiphon-pending-XXXXXX", folder && *folder ? folder : "/tmp");
    char *path = aphi_buffer_text(&name);
    s->file = mkstemp(path);
    if (s->file >= 0)
        unlink(path);
    free(path);
    return s->file >= 0;
}

static bool write_all(int file, const char *bytes, size_t n, uint64_t at)
{
    while (n) {
        ssize_t written = pwrite(file, bytes, n, (off_t)at);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        bytes += written;
        n -= (size_t)written;
        at += (uint64_t)written;
    }
    return true;
}

static bool read_all(int file, void *to, size_t n, uint64_t at)
{
    for (char *bytes = to; n;) {
        ssize_t got = pread(file, bytes, n, (off_t)at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        bytes += got;
        n -= (size_t)got;
        at += (uint64_t)got;
    }
    return true;
}

/* The older half goes into the file. */
static bool file_half(aphi_spill_queue *s)
{
    size_t half = (s->count + 1) / 2;
    aphi_buffer block = {0};
    if (!open_file(s))
        return false;
    for (size_t i = 0; i < half; i++) {
        const aphi_branch *b = &s->list[i];
        uint64_t count = b->count;
        aphi_buffer_add(&block, &b->share, sizeof b->share);
        aphi_buffer_add(&block, &count, sizeof count);
        aphi_buffer_add(&block, b->choices, b->count * sizeof *b->choices);
    }
    tail end = {half, block.n};
    aphi_buffer_add(&block, &end, sizeof end);
    bool written = write_all(s->file, (const char *)block.data, block.n, s->file_size);
    if (written) {
        s->file_size += block.n;
        s->filed += half;
        s->filed_ever += half;
        for (size_t i = 0; i < half; i++) {
            s->bytes -= bytes_of(&s->list[i]);
            free(s->list[i].choices);
        }
        s->count -= half;
        memmove(s->list, s->list + half, s->count * sizeof *s->list);
    }
    aphi_buffer_free(&block);
    return written;
}

/* The block before that place; free() frees it. NULL: it cannot be read. */
static char *read_block(const aphi_spill_queue *s, uint64_t before, tail *end)
{
    if (before < sizeof *end || !read_all(s->file, end, sizeof *end, before - sizeof *end))
        return NULL;
    char *block = aphi_alloc(end->bytes + 1);
    if (!read_all(s->file, block, end->bytes, before - sizeof *end - end->bytes)) {
        free(block);
        return NULL;
    }
    return block;
}

/* The branch that begins there; returns where the next one does. */
static const char *branch_at(const char *at, aphi_branch *b)
{
    uint64_t count;
    memcpy(&b->share, at, sizeof b->share);
    memcpy(&count, at + sizeof b->share, sizeof count);
    at += sizeof b->share + sizeof count;
    b->count = b->capacity = count;
    b->choices = aphi_copy(at, count * sizeof *b->choices);
    return at + count * sizeof *b->choices;
}

static bool fetch_block(aphi_spill_queue *s)
{
    tail end;
    char *block = read_block(s, s->file_size, &end);
    const char *at = block;
    if (!block)
        return false;
    APHI_RESERVE(s->list, s->capacity, end.branches);
    for (; s->count < end.branches; s->count++) {
        at = branch_at(at, &s->list[s->count]);
        s->bytes += bytes_of(&s->list[s->count]);
    }
    s->filed -= end.branches;
    s->file_size -= end.bytes + sizeof end;
    free(block);
    return ftruncate(s->file, (off_t)s->file_size) == 0;
}

/* ---- putting and taking ------------------------------------------------------------------------------------------ */

bool aphi_spill_queue_put(aphi_spill_queue *s, const aphi_branch *branch)
{
    APHI_RESERVE(s->list, s->capacity, s->count + 1);
    s->list[s->count++] = (aphi_branch){.choices = aphi_copy(branch->choices, branch->count * sizeof *branch->choices),
                                        .count = branch->count, .capacity = branch->count, .share = branch->share};
    s->share += branch->share;
    s->bytes += bytes_of(branch);
    return !s->bytes_max || s->bytes <= s->bytes_max || file_half(s);
}

static bool has_one(aphi_spill_queue *s)
{
    return s->count || (s->filed && fetch_block(s));
}

bool aphi_spill_queue_take(aphi_spill_queue *s, aphi_branch *branch)
{
    if (!has_one(s))
        return false;
    *branch = s->list[--s->count];
    s->share = aphi_spill_queue_count(s) ? s->share - branch->share : 0;
    s->bytes -= bytes_of(branch);
    return true;
}

bool aphi_spill_queue_take_old(aphi_spill_queue *s, aphi_branch *branch)
{
    if (!has_one(s))
        return false;
    aphi_branch oldest = s->list[0];
    memmove(s->list, s->list + 1, (s->count - 1) * sizeof *s->list);
    s->list[s->count - 1] = oldest;
    return aphi_spill_queue_take(s, branch);
}

bool aphi_spill_queue_each(const aphi_spill_queue *s, void (*visit)(void *context, const aphi_branch *branch),
                           void *context)
{
    for (uint64_t before = s->file_size; s->filed && before;) {
        tail end;
        char *block = read_block(s, before, &end);
        const char *at = block;
        if (!block)
            return false;
        for (uint64_t i = 0; i < end.branches; i++) {
            aphi_branch b;
            at = branch_at(at, &b);
            visit(context, &b);
            free(b.choices);
        }
        before -= end.bytes + sizeof end;
        free(block);
    }
    for (size_t i = 0; i < s->count; i++)
        visit(context, &s->list[i]);
    return true;
}

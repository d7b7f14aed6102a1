/* SPDX-License-Identifier: Apache-2.0
 *
 * spill_queue.c - queue of pending branches; those beyond a memory limit are kept in a file.
 *
 * Idea:       the file is a stack of blocks. When memory is full, the older half of the list is appended as a block;
 *             when the list is empty, the last block becomes the list, and the file is truncated. Older branches are
 *             nearer to the root: they are larger and wait longer.
 * Picture:    file: [branches, count, bytes] [branches, count, bytes] list: a b c
 * Invariants: 1. the block written last is read first
 *             2. the file is unlinked, so it disappears with the process
 * Cost:       one write and one read for each half of the limit. */
#include "explore/spill_queue.h"

#include "base/buffer.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct block_footer {
    uint64_t branches, bytes;
} block_footer;

void aphi_spill_queue_open(aphi_spill_queue *s, size_t bytes_max)
{
    *s = (aphi_spill_queue){.bytes_max = bytes_max};
}

void aphi_spill_queue_close(aphi_spill_queue *s)
{
    for (size_t i = 0; i < s->count; i++)
        free(s->list[i].choices);
    free(s->list);
    if (s->file)
        fclose(s->file);
    aphi_spill_queue_open(s, 0);
}

size_t aphi_spill_queue_count(const aphi_spill_queue *s)
{
    return s->count + s->in_file;
}

static size_t branch_bytes(const aphi_branch *branch)
{
    return sizeof *branch + branch->count * sizeof *branch->choices;
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

static bool open_file(aphi_spill_queue *s)
{
    const char *folder = getenv("TMPDIR");
    aphi_buffer name = {0};
    if (s->file)
        return true;
    aphi_buffer_format(&name, "%s/antiphon-pending-XXXXXX", folder && *folder ? folder : "/tmp");
    int fd = mkstemp(aphi_buffer_text(&name));
    if (fd >= 0)
        unlink(name.data);
    s->file = fd >= 0 ? fdopen(fd, "w+") : NULL;
    aphi_buffer_free(&name);
    return s->file;
}

static bool write_at(FILE *file, const char *bytes, size_t n, uint64_t at)
{
    return !fseeko(file, (off_t)at, SEEK_SET) && fwrite(bytes, 1, n, file) == n && !fflush(file);
}

static bool read_at(FILE *file, void *to, size_t n, uint64_t at)
{
    return !fseeko(file, (off_t)at, SEEK_SET) && fread(to, 1, n, file) == n;
}

/* Writes the older half of the list to the file. */
static bool spill_half(aphi_spill_queue *s)
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
    block_footer footer = {half, block.n};
    aphi_buffer_add(&block, &footer, sizeof footer);
    bool written = write_at(s->file, block.data, block.n, s->file_size);
    if (written) {
        s->file_size += block.n;
        s->in_file += half;
        s->spilled += half;
        for (size_t i = 0; i < half; i++) {
            s->bytes -= branch_bytes(&s->list[i]);
            free(s->list[i].choices);
        }
        s->count -= half;
        memmove(s->list, s->list + half, s->count * sizeof *s->list);
    }
    aphi_buffer_free(&block);
    return written;
}

/* Returns the block that ends at `position`, malloc()ed, or NULL if it cannot be read. */
static char *read_block(const aphi_spill_queue *s, uint64_t position, block_footer *footer)
{
    if (position < sizeof *footer || !read_at(s->file, footer, sizeof *footer, position - sizeof *footer))
        return NULL;
    char *block = aphi_alloc(footer->bytes + 1);
    if (!read_at(s->file, block, footer->bytes, position - sizeof *footer - footer->bytes)) {
        free(block);
        return NULL;
    }
    return block;
}

/* Decodes one branch; returns the position of the next. */
static const char *decode_branch(const char *at, aphi_branch *b)
{
    uint64_t count;
    memcpy(&b->share, at, sizeof b->share);
    memcpy(&count, at + sizeof b->share, sizeof count);
    at += sizeof b->share + sizeof count;
    b->count = b->capacity = count;
    b->choices = aphi_copy(at, count * sizeof *b->choices);
    return at + count * sizeof *b->choices;
}

static bool load_block(aphi_spill_queue *s)
{
    block_footer footer;
    char *block = read_block(s, s->file_size, &footer);
    const char *at = block;
    if (!block)
        return false;
    APHI_RESERVE(s->list, s->capacity, footer.branches);
    for (; s->count < footer.branches; s->count++) {
        at = decode_branch(at, &s->list[s->count]);
        s->bytes += branch_bytes(&s->list[s->count]);
    }
    s->in_file -= footer.branches;
    s->file_size -= footer.bytes + sizeof footer;
    free(block);
    return ftruncate(fileno(s->file), (off_t)s->file_size) == 0;
}

/* ---- the queue --------------------------------------------------------------------------------------------------- */

bool aphi_spill_queue_put(aphi_spill_queue *s, const aphi_branch *branch)
{
    APHI_RESERVE(s->list, s->capacity, s->count + 1);
    s->list[s->count++] = (aphi_branch){.choices = aphi_copy(branch->choices, branch->count * sizeof *branch->choices),
                                        .count = branch->count, .capacity = branch->count, .share = branch->share};
    s->share += branch->share;
    s->bytes += branch_bytes(branch);
    return !s->bytes_max || s->bytes <= s->bytes_max || spill_half(s);
}

static bool load_if_empty(aphi_spill_queue *s)
{
    return s->count || (s->in_file && load_block(s));
}

bool aphi_spill_queue_take(aphi_spill_queue *s, aphi_branch *branch)
{
    if (!load_if_empty(s))
        return false;
    *branch = s->list[--s->count];
    s->share = aphi_spill_queue_count(s) ? s->share - branch->share : 0;
    s->bytes -= branch_bytes(branch);
    return true;
}

bool aphi_spill_queue_take_oldest(aphi_spill_queue *s, aphi_branch *branch)
{
    if (!load_if_empty(s))
        return false;
    aphi_branch oldest = s->list[0];
    memmove(s->list, s->list + 1, (s->count - 1) * sizeof *s->list);
    s->list[s->count - 1] = oldest;
    return aphi_spill_queue_take(s, branch);
}

bool aphi_spill_queue_each(const aphi_spill_queue *s, void (*visit)(void *context, const aphi_branch *branch),
                           void *context)
{
    for (uint64_t position = s->file_size; s->in_file && position;) {
        block_footer footer;
        char *block = read_block(s, position, &footer);
        const char *at = block;
        if (!block)
            return false;
        for (uint64_t i = 0; i < footer.branches; i++) {
            aphi_branch b;
            at = decode_branch(at, &b);
            visit(context, &b);
            free(b.choices);
        }
        position -= footer.bytes + sizeof footer;
        free(block);
    }
    for (size_t i = 0; i < s->count; i++)
        visit(context, &s->list[i]);
    return true;
}

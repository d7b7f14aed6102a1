/* SPDX-License-Identifier: Apache-2.0
 *
 * buffer.c - a byte queue: bytes are appended at the end and removed at the front.
 *
 * Idea:       one block of memory. Removal leaves a gap at the front. The gap is closed when room is needed and the gap
 *             is at least as large as the content, so each byte is moved a constant number of times on average.
 * Invariants: 1. from <= end <= room
 *             2. an empty buffer begins at 0 */
#include "buffer.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t held; /* bytes of memory of all buffers */

void out_of_memory(void)
{
    fputs("web: out of memory\n", stderr);
    exit(1);
}

size_t buffers_hold(void)
{
    return held;
}

static void enlarge(buffer *b, size_t room)
{
    char *bytes = realloc(b->bytes, room);
    if (!bytes)
        out_of_memory();
    held += room - b->room;
    b->bytes = bytes;
    b->room = room;
}

char *buffer_reserve(buffer *b, size_t count)
{
    if (b->from && b->from >= buffer_size(b)) {
        memmove(b->bytes, buffer_head(b), buffer_size(b));
        b->end -= b->from;
        b->from = 0;
    }
    if (b->room - b->end < count) {
        size_t least = b->end + count, doubled = b->room * 2;
        enlarge(b, least > doubled ? least : doubled);
    }
    return b->bytes + b->end;
}

void buffer_grown(buffer *b, size_t count)
{
    b->end += count;
}

void buffer_put(buffer *b, const void *bytes, size_t count)
{
    if (!count)
        return;
    memcpy(buffer_reserve(b, count), bytes, count);
    buffer_grown(b, count);
}

void buffer_print(buffer *b, const char *format, ...)
{
    va_list list;
    char *text = NULL;
    va_start(list, format);
    int count = vasprintf(&text, format, list);
    va_end(list);
    if (count < 0)
        out_of_memory();
    buffer_put(b, text, (size_t)count);
    free(text);
}

void buffer_take(buffer *b, size_t count)
{
    b->from += count;
    if (b->from == b->end)
        b->from = b->end = 0;
}

void buffer_free(buffer *b)
{
    held -= b->room;
    free(b->bytes);
    *b = (buffer){0};
}

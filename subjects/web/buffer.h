/* SPDX-License-Identifier: Apache-2.0
 *
 * buffer.h - a byte queue: bytes are appended at the end and removed at the front. All zero is an empty buffer. */
#ifndef WEB_BUFFER_H
#define WEB_BUFFER_H

#include <stddef.h>

typedef struct buffer {
    char *bytes; /* the content is from..end */
    size_t from, end, room;
} buffer;

/* Returns the first byte, or NULL if the buffer never had one. */
static inline char *buffer_head(const buffer *b)
{
    return b->bytes ? b->bytes + b->from : NULL;
}

static inline size_t buffer_size(const buffer *b)
{
    return b->end - b->from;
}

/* Reserves room for n bytes at the end; buffer_grown then appends them. */
char *buffer_reserve(buffer *b, size_t count);
void buffer_grown(buffer *b, size_t count);

void buffer_put(buffer *b, const void *bytes, size_t count);
void buffer_print(buffer *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Removes the first bytes. */
void buffer_take(buffer *b, size_t count);

/* Empties the buffer and frees its memory. */
void buffer_free(buffer *b);

/* Returns the memory of all buffers, in bytes. */
size_t buffers_hold(void);

/* Prints an error and ends the program. */
_Noreturn void out_of_memory(void);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * buffer.h - bytes that grow at the end and are taken from the front. All of zero is an empty one. */
#ifndef WEB_BUFFER_H
#define WEB_BUFFER_H

#include <stddef.h>

typedef struct buffer {
    char *bytes; /* those from `from` to `end` are in it */
    size_t from, end, room;
} buffer;

/* The first byte; NULL if there never was one. */
static inline char *buffer_head(const buffer *b)
{
    return b->bytes ? b->bytes + b->from : NULL;
}

static inline size_t buffer_size(const buffer *b)
{
    return b->end - b->from;
}

/* Room for so many bytes more behind the end, which buffer_grown then takes in. */
char *buffer_reserve(buffer *b, size_t count);
void buffer_grown(buffer *b, size_t count);

void buffer_put(buffer *b, const void *bytes, size_t count);
void buffer_print(buffer *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The first bytes go. */
void buffer_take(buffer *b, size_t count);

/* Empty, and without memory. */
void buffer_free(buffer *b);

/* The memory of all buffers together. */
size_t buffers_hold(void);

/* Ends the program, and says why. */
_Noreturn void out_of_memory(void);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * byte_source.h - a window over the bytes of a file or of memory, large enough for each line or form.
 *
 * Idea:       a parser works on [at, end) and never refills. If it runs out of bytes, it sets `starved`; then the
 *             window at least doubles, and the parser restarts from `at`. So parsers are plain functions over
 *             contiguous bytes.
 * Invariants: *end is NUL, so scanning loops need no bound. A NUL before `end` belongs to the text.
 * Cost:       a form is parsed again for each doubling, at most twice its bytes in total. This is rare, since the
 *             window is large.
 */
#ifndef APHI_TRACE_BYTE_SOURCE_H
#define APHI_TRACE_BYTE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "trace/trace.h"

typedef struct aphi_byte_source {
    int fd;                /* -1: memory */
    const char *rest;      /* the unread bytes in memory */
    size_t rest_size;
    char *buffer;
    size_t size, size_max; /* of the buffer, without the final NUL */
    char *at, *end;
    char *newline;         /* the newline of the current line, replaced by NUL; NULL: none */
    uint64_t line, column; /* of at, from 1 */
    bool whole;            /* no bytes follow `end` */
} aphi_byte_source;

typedef enum aphi_byte_source_status {
    APHI_SOURCE_MORE,
    APHI_SOURCE_END,
    APHI_SOURCE_LONG,
    APHI_SOURCE_FAILED,
} aphi_byte_source_status;

/* Takes ownership of fd, unless it is -1. */
void aphi_byte_source_init(aphi_byte_source *s, int fd, const void *bytes, size_t n, size_t size, size_t size_max);
void aphi_byte_source_deinit(aphi_byte_source *s);
/* Widens the window at its end. END: there are no more bytes, and `whole` is set. FAILED: errno is set. */
aphi_byte_source_status aphi_byte_source_widen(aphi_byte_source *s);
/* Moves `at` to `to`, which is in the window. */
void aphi_byte_source_advance(aphi_byte_source *s, const char *to);
/* Computes the position in the file of p, which is in the window. */
void aphi_byte_source_place(const aphi_byte_source *s, const char *p, uint64_t *line, uint64_t *column);
/* Ends the line at `at` with a NUL and sets *line_end to it. *complete is false if the last line has no newline.
 * Returns MORE, or END at the end of the file. */
aphi_byte_source_status aphi_byte_source_line(aphi_byte_source *s, char **line_end, bool *complete);
/* Moves `at` past the line of aphi_byte_source_line. */
void aphi_byte_source_line_done(aphi_byte_source *s, const char *line_end);

typedef struct aphi_cursor {
    const char *at, *end;
    bool whole;             /* no bytes follow `end`, so running out of bytes is an error */
    bool starved;           /* failed because bytes after `end` are needed */
    aphi_trace_fault fault; /* failed for another reason */
    const char *where;
    const char *message;
} aphi_cursor;

typedef struct aphi_slice {
    const char *at; /* NULL: absent */
    size_t n;
} aphi_slice;

bool aphi_cursor_fail(aphi_cursor *c, aphi_trace_fault fault, const char *where, const char *message); /* false */
/* Fails at a NUL: the end of the window, or a NUL in the text. */
bool aphi_cursor_fail_nul(aphi_cursor *c);
/* Fails at c->at: at a NUL as above, else as malformed. */
bool aphi_cursor_fail_here(aphi_cursor *c, const char *message);
/* Fails at c->at: at a NUL as above, else because of the limit APHI_MESSAGE_DEPTH. */
bool aphi_cursor_fail_deep(aphi_cursor *c);
/* Fails because of --memory. */
bool aphi_cursor_fail_memory(aphi_cursor *c);
/* Returns the index of the name that equals the slice, or count. */
size_t aphi_slice_find(aphi_slice s, const char *const *names, size_t count);
bool aphi_slice_is(aphi_slice s, const char *text);
/* Reads the whole slice as [+-]digits. Returns APHI_TRACE_NONE, APHI_TRACE_RANGE, or APHI_TRACE_MALFORMED. */
aphi_trace_fault aphi_slice_int(aphi_slice s, int64_t *i);

#endif

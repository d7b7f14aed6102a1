/* SPDX-License-Identifier: Apache-2.0
 *
 * source.h - bytes of a file or of memory, seen through a window that holds each line or form whole.
 *
 * Idea:       a parser works on [at, end) and never refills. If it runs out of bytes, it says so; the window then grows
 *             to at least twice what it holds, and the parser starts again from `at`. So parsers are plain functions
 *             of contiguous bytes.
 * Invariants: *end is NUL, so that scanning loops need no bound: a NUL at `end` is the end, any other is in the text.
 * Cost:       a form is parsed again once for each doubling: at most twice its bytes in all, and, as the window is
 *             large, hardly ever.
 */
#ifndef APHI_SOURCE_H
#define APHI_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "trace/trace.h"

typedef struct aphi_source {
    int fd;                /* -1: memory */
    const char *rest;      /* of memory */
    size_t rest_size;
    char *buffer;
    size_t size, size_max; /* of the buffer, without the final NUL */
    char *at, *end;
    char *newline;         /* the newline that ends the current line and reads as NUL meanwhile; NULL: none */
    uint64_t line, column; /* of at, from 1 */
    bool whole;            /* nothing follows end */
} aphi_source;

typedef enum aphi_source_status {
    APHI_SOURCE_MORE,
    APHI_SOURCE_END,
    APHI_SOURCE_LONG,
    APHI_SOURCE_FAILED,
} aphi_source_status;

/* Takes fd, unless it is -1. */
void aphi_source_init(aphi_source *s, int fd, const void *bytes, size_t n, size_t size, size_t size_max);
void aphi_source_deinit(aphi_source *s);
/* Widens the window at its end. END: there is nothing more, and whole is now set. FAILED: errno says why. */
aphi_source_status aphi_source_widen(aphi_source *s);
/* Moves at to `to`, which is in the window. */
void aphi_source_advance(aphi_source *s, const char *to);
/* Where p, which is in the window, is in the file. */
void aphi_source_place(const aphi_source *s, const char *p, uint64_t *line, uint64_t *column);
/* The line at `at`, ended by NUL: sets *line_end, which is the end of the file's text if the last newline is missing
 * (*complete is then false). MORE on success, END if at is at the end of the file. */
aphi_source_status aphi_source_line(aphi_source *s, char **line_end, bool *complete);
/* Moves at behind the line that aphi_source_line gave. */
void aphi_source_line_done(aphi_source *s, const char *line_end);

/* A parser's view: it moves at; on failure it says what is wrong and where. */
typedef struct aphi_cursor {
    const char *at, *end;
    bool whole;             /* nothing follows end: running out is an error, not a reason to widen */
    bool starved;           /* failed, for want of bytes behind end */
    aphi_trace_fault fault; /* failed, for good */
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
/* The index of the name that equals the slice, or count. */
size_t aphi_slice_find(aphi_slice s, const char *const *names, size_t count);
bool aphi_slice_is(aphi_slice s, const char *text);
/* Reads [+-]digits, all of the slice. APHI_TRACE_NONE, APHI_TRACE_RANGE, or APHI_TRACE_MALFORMED if it is not that. */
aphi_trace_fault aphi_slice_int(aphi_slice s, int64_t *i);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * read_twice.h - checks for the fuzz targets of the trace readers: windows of all sizes give the same observations and
 * the same error; the lookahead accepts any input.
 */
#ifndef READ_TWICE_H
#define READ_TWICE_H

#include <assert.h>
#include <string.h>
#include "trace/lookahead.h"

static void compare(const aphi_observation *a, const aphi_observation *b)
{
    assert(a->kind == b->kind && a->connection == b->connection && a->message == b->message);
    assert(a->number == b->number && a->ends == b->ends && a->line == b->line);
}

static void compare_errors(const aphi_trace_error *a, const aphi_trace_error *b)
{
    assert(a->fault == b->fault && a->line == b->line && a->column == b->column);
    assert(strcmp(a->message, b->message) == 0 && strlen(a->message) > 0 && a->line > 0 && a->column > 0);
}

static void read_twice(const uint8_t *data, size_t size, aphi_trace_options options, size_t window)
{
    options.buffer = 1 << 16;
    aphi_trace *wide = aphi_trace_open_memory(data, size, &options);
    options.buffer = window;
    aphi_trace *narrow = aphi_trace_open_memory(data, size, &options);
    aphi_observation a, b;
    int status;
    do {
        status = aphi_trace_next(wide, &a);
        assert(aphi_trace_next(narrow, &b) == status);
        if (status > 0)
            compare(&a, &b);
    } while (status > 0);
    if (status < 0)
        compare_errors(aphi_trace_error_of(wide), aphi_trace_error_of(narrow));
    aphi_trace_close(wide);
    aphi_trace_close(narrow);
}

static void foresee(const uint8_t *data, size_t size, aphi_trace_options options)
{
    aphi_trace *t = aphi_trace_open_memory(data, size, &options);
    aphi_lookahead *f = aphi_lookahead_open(t);
    aphi_lookahead_event o;
    while (aphi_lookahead_next(f, &o) > 0)
        assert(o.seen.kind != APHI_UNDONE);
    aphi_lookahead_close(f);
    aphi_trace_close(t);
}

#endif

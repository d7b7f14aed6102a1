/* SPDX-License-Identifier: Apache-2.0
 *
 * byte_source.c - the window over the bytes of a trace; see byte_source.h.
 */
#include "trace/byte_source.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/memory.h"
#include "tree/step_guard.h"
#include "value/json_syntax.h"

enum { WAIT_MS = 100 };

void aphi_byte_source_init(aphi_byte_source *s, int fd, const void *bytes, size_t n, size_t size, size_t size_max)
{
    if (size > size_max)
        size = size_max;
    *s = (aphi_byte_source){.fd = fd, .rest = bytes, .rest_size = n, .size = size, .size_max = size_max};
    s->buffer = aphi_alloc(size + 1);
    s->at = s->end = s->buffer;
    *s->end = '\0';
    s->line = s->column = 1;
}

void aphi_byte_source_deinit(aphi_byte_source *s)
{
    if (s->fd > 0)
        close(s->fd);
    free(s->buffer);
}

static ssize_t read_bytes(aphi_byte_source *s, char *to, size_t n)
{
    if (s->fd < 0) {
        if (n > s->rest_size)
            n = s->rest_size;
        if (n == 0)
            return 0;
        memcpy(to, s->rest, n);
        s->rest += n;
        s->rest_size -= n;
        return (ssize_t)n;
    }
    for (;;) { /* the flag is checked before each wait, so no signal is missed */
        if (aphi_guard_stopped()) {
            errno = EINTR;
            return -1;
        }
        int ready = poll(&(struct pollfd){.fd = s->fd, .events = POLLIN}, 1, WAIT_MS);
        if (ready == 0 || (ready < 0 && errno == EINTR))
            continue;
        ssize_t got = read(s->fd, to, n);
        if (got >= 0 || errno != EINTR)
            return got;
    }
}

/* Makes room for at least as many bytes as the window has, up to the limit. */
static void make_room(aphi_byte_source *s)
{
    size_t held = (size_t)(s->end - s->at);
    if (held <= s->size / 2) {
        memmove(s->buffer, s->at, held);
    } else {
        size_t size = s->size <= s->size_max / 2 ? s->size * 2 : s->size_max;
        char *buffer = aphi_alloc(size + 1);
        memcpy(buffer, s->at, held);
        free(s->buffer);
        s->buffer = buffer;
        s->size = size;
    }
    s->at = s->buffer;
    s->end = s->buffer + held;
}

aphi_byte_source_status aphi_byte_source_widen(aphi_byte_source *s)
{
    if (s->whole)
        return APHI_SOURCE_END;
    if ((size_t)(s->end - s->at) >= s->size_max)
        return APHI_SOURCE_LONG;
    make_room(s);
    char *limit = s->buffer + s->size;
    char *before = s->end;
    while (s->end < limit) { /* reads from a pipe are short, and parsers restart less often with a full window */
        ssize_t got = read_bytes(s, s->end, (size_t)(limit - s->end));
        if (got < 0) {
            *s->end = '\0';
            return APHI_SOURCE_FAILED;
        }
        if (got == 0) {
            s->whole = true;
            break;
        }
        s->end += got;
    }
    *s->end = '\0';
    return s->end > before ? APHI_SOURCE_MORE : APHI_SOURCE_END;
}

void aphi_byte_source_advance(aphi_byte_source *s, const char *to)
{
    aphi_byte_source_place(s, to, &s->line, &s->column);
    s->at += to - s->at;
}

void aphi_byte_source_place(const aphi_byte_source *s, const char *p, uint64_t *line, uint64_t *column)
{
    uint64_t lines = s->line, start = s->column;
    const char *from = s->at, *newline;
    while (from < p && (newline = memchr(from, '\n', (size_t)(p - from)))) {
        from = newline + 1;
        start = 1;
        lines++;
    }
    *line = lines;
    *column = start + (uint64_t)(p - from);
}

aphi_byte_source_status aphi_byte_source_line(aphi_byte_source *s, char **line_end, bool *complete)
{
    char *newline;
    while (!(newline = memchr(s->at, '\n', (size_t)(s->end - s->at)))) {
        aphi_byte_source_status status = aphi_byte_source_widen(s);
        if (status == APHI_SOURCE_END)
            break;
        if (status != APHI_SOURCE_MORE)
            return status;
    }
    if (!newline && s->at == s->end)
        return APHI_SOURCE_END;
    *complete = newline != NULL;
    *line_end = newline ? newline : s->end;
    s->newline = newline;
    if (newline)
        *newline = '\0';
    return APHI_SOURCE_MORE;
}

void aphi_byte_source_line_done(aphi_byte_source *s, const char *line_end)
{
    if (s->newline) {
        *s->newline = '\n';
        s->newline = NULL;
        line_end++;
    }
    aphi_byte_source_advance(s, line_end);
}

bool aphi_cursor_fail(aphi_cursor *c, aphi_trace_fault fault, const char *where, const char *message)
{
    c->fault = fault;
    c->where = where;
    c->message = message;
    return false;
}

bool aphi_cursor_fail_nul(aphi_cursor *c)
{
    if (c->at < c->end)
        return aphi_cursor_fail(c, APHI_TRACE_NUL, c->at, "raw NUL byte; write it as \\u0000 in a string");
    if (!c->whole) {
        c->starved = true;
        return false;
    }
    return aphi_cursor_fail(c, APHI_TRACE_TRUNCATED, c->end, "the text ends inside a value");
}

bool aphi_cursor_fail_here(aphi_cursor *c, const char *message)
{
    return *c->at == '\0' ? aphi_cursor_fail_nul(c) : aphi_cursor_fail(c, APHI_TRACE_MALFORMED, c->at, message);
}

bool aphi_cursor_fail_deep(aphi_cursor *c)
{
    static const char message[] = "values are nested more than 256 levels deep, the limit of Antiphon; write the inner "
                                  "ones as strings";
    _Static_assert(APHI_MESSAGE_DEPTH == 256, "as in the message");
    return *c->at == '\0' ? aphi_cursor_fail_nul(c) : aphi_cursor_fail(c, APHI_TRACE_DEEP, c->at, message);
}

bool aphi_cursor_fail_memory(aphi_cursor *c)
{
    return aphi_cursor_fail(c, APHI_TRACE_MEMORY, c->at, "a message needs more memory than allowed by --memory");
}

size_t aphi_slice_find(aphi_slice s, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (aphi_slice_is(s, names[i]))
            return i;
    return count;
}

bool aphi_slice_is(aphi_slice s, const char *text)
{
    for (size_t i = 0; i < s.n; i++)
        if (text[i] == '\0' || text[i] != s.at[i])
            return false;
    return text[s.n] == '\0';
}

aphi_trace_fault aphi_slice_int(aphi_slice s, int64_t *i)
{
    if (s.n == 0)
        return APHI_TRACE_MALFORMED;
    const char *p = s.at, *end = s.at + s.n;
    bool minus = *p == '-';
    if (*p == '-' || *p == '+')
        p++;
    if (p == end)
        return APHI_TRACE_MALFORMED;
    uint64_t limit = minus ? (uint64_t)INT64_MAX + 1 : (uint64_t)INT64_MAX, u = 0;
    bool beyond = false;
    for (; p < end; p++) {
        if (*p < '0' || *p > '9')
            return APHI_TRACE_MALFORMED;
        uint64_t digit = (uint64_t)(*p - '0');
        if (u > (limit - digit) / 10)
            beyond = true;
        else
            u = u * 10 + digit;
    }
    if (beyond)
        return APHI_TRACE_RANGE;
    *i = minus ? (int64_t)(0 - u) : (int64_t)u;
    return APHI_TRACE_NONE;
}

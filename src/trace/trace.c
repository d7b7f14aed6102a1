/* SPDX-License-Identifier: Apache-2.0
 *
 * trace.c - opening of traces, and recognition of their formats; see trace.h.
 *
 * Read next: jsonl.c for Antiphon's own format, jepsen.c for the others.
 */
#include "trace/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "base/memory.h"
#include "trace/json_scan.h"
#include "trace/reader.h"
#include "value/heap.h"

enum { BUFFER_DEFAULT = 1 << 20, FORM_MAX_DEFAULT = 64 << 20 };

static const char *const format_names[] = {"auto", "jsonl", "jepsen-log", "edn", "json"};
enum { FORMATS = sizeof format_names / sizeof *format_names };

const char *aph_trace_format_name(aph_trace_format format)
{
    return format_names[format];
}

bool aph_trace_format_named(const char *name, aph_trace_format *format)
{
    for (int i = 0; i < FORMATS; i++)
        if (strcmp(name, format_names[i]) == 0) {
            *format = (aph_trace_format)i;
            return true;
        }
    return false;
}

/* ---- errors ------------------------------------------------------------------------------------------------------ */

const char *aphi_trace_fault_name(aphi_trace_fault fault)
{
#define X(name, text) #name,
    static const char *const names[] = {APHI_TRACE_FAULTS(X)};
#undef X
    return names[fault];
}

const aphi_trace_error *aphi_trace_error_of(const aphi_trace *t)
{
    return &t->error;
}

int aphi_trace_fail(aphi_trace *t, aphi_trace_fault fault, const char *where, const char *format, ...)
{
    if (t->error.fault != APHI_TRACE_NONE)
        return -1;
    t->error.fault = fault;
    if (where)
        aphi_byte_source_place(&t->source, where, &t->error.line, &t->error.column);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(t->error.message, sizeof t->error.message, format, arguments);
    va_end(arguments);
    return -1;
}

int aphi_trace_fail_cursor(aphi_trace *t, const aphi_cursor *c)
{
    return aphi_trace_fail(t, c->fault, c->where, "%s", c->message);
}

static int fail_source(aphi_trace *t, aphi_byte_source_status status)
{
    if (status == APHI_SOURCE_LONG)
        return aphi_trace_fail(t, APHI_TRACE_LONG, t->source.at,
                               "longer than %zu bytes; add the missing newline or closing bracket",
                               t->source.size_max);
    return aphi_trace_fail(t, APHI_TRACE_IO, NULL, "cannot be read: %s", strerror(errno));
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

aphi_cursor aphi_trace_cursor(const aphi_trace *t)
{
    return (aphi_cursor){.at = t->source.at, .end = t->source.end, .whole = t->source.whole};
}

int aphi_trace_widen(aphi_trace *t)
{
    aphi_byte_source_status status = aphi_byte_source_widen(&t->source);
    if (status == APHI_SOURCE_MORE || status == APHI_SOURCE_END)
        return 1;
    return fail_source(t, status);
}

int aphi_trace_line(aphi_trace *t, aphi_cursor *c, bool *complete)
{
    for (;;) {
        char *end;
        aphi_byte_source_status status = aphi_byte_source_line(&t->source, &end, complete);
        if (status == APHI_SOURCE_END)
            return 0;
        if (status != APHI_SOURCE_MORE)
            return fail_source(t, status);
        *c = (aphi_cursor){.at = t->source.at, .end = end, .whole = true};
        aphi_json_blank(c);
        if (c->at < end)
            return 1;
        aphi_byte_source_line_done(&t->source, end);
    }
}

/* ---- the order of lines ------------------------------------------------------------------------------------------ */

/* Reads a decimal number, or one of EDN with the suffix N or M. A number that is rounded is still ordered. */
static bool read_number(aphi_slice text, long double *number)
{
    char copy[64], *end;
    int64_t i;
    if (aphi_slice_int(text, &i) == APHI_TRACE_NONE) {
        *number = (long double)i;
        return true;
    }
    if (text.n && (text.at[text.n - 1] == 'N' || text.at[text.n - 1] == 'M'))
        text.n--;
    if (!text.n || text.n >= sizeof copy)
        return false;
    memcpy(copy, text.at, text.n);
    copy[text.n] = '\0';
    if (strspn(copy, "+-.0123456789eE") < text.n)
        return false;
    *number = strtold(copy, &end);
    return *end == '\0';
}

int aphi_trace_check_order(aphi_trace *t, aphi_latest *latest, aphi_slice text, const char *name)
{
    long double number;
    if (t->ignore_times || !text.at || !read_number(text, &number))
        return 1;
    if (latest->line && number < latest->number)
        return aphi_trace_fail(t, APHI_TRACE_ORDER, text.at,
                               "the %s is below that of line %llu, but lines must be in chronological order; sort "
                               "them, or use --ignore-times if their order is right", name,
                               (unsigned long long)latest->line);
    *latest = (aphi_latest){number, t->source.line};
    return 1;
}

bool aphi_trace_timed(const aphi_trace *t)
{
    return t->time.line || t->index.line;
}

/* ---- recognizing the format -------------------------------------------------------------------------------------- */

/* Distinguishes jsonl and Jepsen operations by the keys of an object. In a malformed object, the keys before the error
 * count. */
static aph_trace_format recognize_object(aphi_cursor *c)
{
    static const char *const keys[] = {"process", "conn", "note", "antiphon", "quiet"};
    aphi_slice found[5] = {{0}};
    aphi_json_members(c, keys, found, 5);
    bool ours = found[1].at || found[2].at || found[3].at || found[4].at;
    return found[0].at && !ours ? APH_FORMAT_JSON : APH_FORMAT_JSONL;
}

/* Distinguishes an EDN vector and a JSON array by the first item. */
static aph_trace_format recognize_array(aphi_cursor *c)
{
    c->at++;
    aphi_json_blank(c);
    if (*c->at == '{') {
        c->at++;
        aphi_json_blank(c);
        if (*c->at == '"')
            return APH_FORMAT_JSON;
    }
    if (*c->at == '\0')
        aphi_cursor_fail_nul(c);
    return APH_FORMAT_EDN;
}

static aph_trace_format recognize_map(aphi_cursor *c)
{
    aphi_cursor inner = *c;
    inner.at++;
    aphi_json_blank(&inner);
    if (*inner.at == '"' || *inner.at == '}')
        return recognize_object(c);
    if (*inner.at == '\0')
        aphi_cursor_fail_nul(&inner);
    c->starved = inner.starved;
    return APH_FORMAT_EDN;
}

/* A line of a Jepsen log has a keyword after a blank; a line of another logger starts with a level. */
static aph_trace_format recognize_line(aphi_cursor *c)
{
    static const char *const levels[] = {"INFO", "WARN", "ERROR", "DEBUG", "TRACE"};
    const char *from = c->at;
    for (const char *p = from; *p && *p != '\n'; p++) {
        if ((p[0] == ' ' || p[0] == '\t') && p[1] == ':')
            return APH_FORMAT_JEPSEN_LOG;
        c->at = p + 1;
    }
    if (c->at == c->end && !c->whole)
        aphi_cursor_fail_nul(c);
    size_t n = strcspn(from, " \t\r\n");
    bool logged = aphi_slice_find((aphi_slice){from, n}, levels, 5) < 5;
    return logged || *from == ':' ? APH_FORMAT_JEPSEN_LOG : APH_FORMAT_AUTO;
}

static aph_trace_format recognize(aphi_cursor *c)
{
    aphi_json_blank(c);
    switch (*c->at) {
    case '{': return recognize_map(c);
    case '[': return recognize_array(c);
    case '#': case ';': case '(': case ',': return APH_FORMAT_EDN;
    case '\0':
        if (c->at == c->end)
            aphi_cursor_fail_nul(c);
        return c->at == c->end ? APH_FORMAT_JSONL : APH_FORMAT_AUTO;
    default: return recognize_line(c);
    }
}

static int recognize_format(aphi_trace *t)
{
    aph_trace_format format;
    for (;;) {
        aphi_cursor c = aphi_trace_cursor(t);
        format = recognize(&c);
        if (!c.starved)
            break;
        if (aphi_trace_widen(t) < 0)
            return -1;
    }
    if (format == APH_FORMAT_AUTO) {
        aphi_cursor c = aphi_trace_cursor(t);
        aphi_json_blank(&c);
        return aphi_trace_fail(t, APHI_TRACE_FORMAT, c.at,
                               "format not recognized; name it: jsonl, jepsen-log, edn or json");
    }
    t->format = format;
    return 1;
}

static int skip_byte_order_mark(aphi_trace *t)
{
    while (t->source.end - t->source.at < 3 && !t->source.whole)
        if (aphi_trace_widen(t) < 0)
            return -1;
    if (t->source.end - t->source.at >= 3 && memcmp(t->source.at, "\xef\xbb\xbf", 3) == 0) {
        aphi_byte_source_advance(&t->source, t->source.at + 3);
        t->source.column = 1;
    }
    return 1;
}

static int start_reader(aphi_trace *t)
{
    static aphi_reader *const readers[FORMATS] = {NULL, aphi_read_jsonl, aphi_read_log, aphi_read_edn, aphi_read_json};
    if (skip_byte_order_mark(t) < 0 || (t->format == APH_FORMAT_AUTO && recognize_format(t) < 0))
        return -1;
    t->read = readers[t->format];
    return 1;
}

/* ---- opening, reading, closing ----------------------------------------------------------------------------------- */

static void mark_trace(void *context)
{
    aphi_trace *t = context;
    aphi_open_requests_mark(&t->open_requests);
    aph_mark(t->held.message);
}

static aphi_trace *make_trace(const char *file, int fd, const void *bytes, size_t n, const aphi_trace_options *options)
{
    aphi_trace_options o = options ? *options : (aphi_trace_options){0};
    if (o.buffer == 0)
        o.buffer = BUFFER_DEFAULT;
    if (o.form_max == 0)
        o.form_max = FORM_MAX_DEFAULT;
    aphi_trace *t = aphi_alloc_zero(sizeof *t);
    t->error.file = t->file = aphi_copy(file, strlen(file) + 1);
    t->format = o.format;
    t->model = o.model;
    t->ignore_times = o.ignore_times;
    t->ignore_quiet = o.ignore_quiet;
    aphi_byte_source_init(&t->source, fd, bytes, n, o.buffer, o.form_max);
    aph_root_add(mark_trace, t);
    return t;
}

aphi_trace *aphi_trace_open(const char *path, const aphi_trace_options *options)
{
    if (strcmp(path, "-") == 0)
        return make_trace("stdin", 0, NULL, 0, options);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int reason = errno;
    aphi_trace *t = make_trace(path, fd, NULL, 0, options);
    if (fd < 0)
        aphi_trace_fail(t, APHI_TRACE_IO, NULL, "cannot be opened: %s", strerror(reason));
    return t;
}

aphi_trace *aphi_trace_open_memory(const void *bytes, size_t n, const aphi_trace_options *options)
{
    return make_trace("memory", -1, bytes, n, options);
}

void aphi_trace_close(aphi_trace *t)
{
    if (!t)
        return;
    aph_root_remove(mark_trace, t);
    aphi_byte_source_deinit(&t->source);
    aphi_open_requests_deinit(&t->open_requests);
    aphi_edn_deinit(&t->edn);
    aphi_int_map_deinit(&t->opened);
    free(t->file);
    free(t);
}

/* States of a connection, if the model has connections. */
enum { OPEN = 1, LEFT };

/* A client that gives up on a response has left its connection. */
static void lose_connection(aphi_observation *o, bool has_left)
{
    o->kind = has_left ? APHI_NOTE : APHI_SENT;
    o->message = APH_LEFT;
    o->ends = APHI_NO_NUMBER;
}

/* A connection is opened before its first observation, even if the trace has no line for that: the opening replaces the
 * observation, which is returned next. */
static void open_first(aphi_trace *t, aphi_observation *o)
{
    bool is_silent = o->kind == APHI_NOTE || o->kind == APHI_QUIET;
    if (!t->model || !t->model->connections || is_silent || o->connection >= APH_ACCEPTED)
        return;
    uint64_t *opened = aphi_int_map_at(&t->opened, o->connection);
    bool is_open = *opened || o->message == APH_OPENED;
    if (o->kind == APHI_LOST)
        lose_connection(o, *opened == LEFT);
    *opened = o->message == APH_LEFT || *opened == LEFT ? LEFT : OPEN;
    if (is_open)
        return;
    t->held = *o;
    t->has_held = true;
    t->held.number++;
    if (o->kind == APHI_SENT && !aphi_is_signal(o->message))
        aphi_open_queue_renumber(aphi_open_requests_at(&t->open_requests, o->process));
    *o = (aphi_observation){.kind = APHI_SENT, .connection = o->connection, .process = o->process,
                            .message = APH_OPENED, .number = o->number, .ends = APHI_NO_NUMBER, .line = o->line};
}

/* A lost request may still be in flight, so a later silence proves nothing. A client that has connections leaves its
 * connection instead. */
static void judge_silence(aphi_trace *t, aphi_observation *o)
{
    t->has_loss |= o->kind == APHI_LOST;
    if (o->kind == APHI_QUIET && (t->ignore_quiet || t->has_loss))
        o->kind = APHI_NOTE;
}

int aphi_trace_next(aphi_trace *t, aphi_observation *o)
{
    if (t->error.fault != APHI_TRACE_NONE)
        return -1;
    if (t->over || (!t->read && start_reader(t) < 0))
        return t->over ? 0 : -1;
    if (t->has_held) {
        t->has_held = false;
        t->number++;
        *o = t->held;
        return 1;
    }
    *o = (aphi_observation){.number = t->number, .ends = APHI_NO_NUMBER};
    int status = t->read(t, o);
    if (status > 0) {
        t->number++;
        open_first(t, o);
        judge_silence(t, o);
    }
    t->over = status == 0;
    return status;
}

aph_trace_format aphi_trace_format_of(const aphi_trace *t)
{
    return t->format;
}

bool aphi_trace_paired(const aphi_trace *t)
{
    return t->format != APH_FORMAT_JSONL || !t->model || t->model->rpc;
}

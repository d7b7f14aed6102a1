/* SPDX-License-Identifier: Apache-2.0
 *
 * jsonl.c - the reader of Antiphon's trace format: {"conn":1,"send":MESSAGE} and others, one object per line.
 *
 * The k-th "recv" or "lost" line of a connection ends the k-th request on it. If the model does not promise rpc, the
 * server may send more responses than there are requests.
 */
#include <antiphon/oracle.h>
#include "trace/json_scan.h"
#include "trace/reader.h"

enum { CONN, SEND, RECV, LOST, OPEN, SHUT, CLOSE, ABORT, CLOSED, RESET, QUIET, NOTE, HEADER, TIME, ORIGIN, KEYS };
static const char *const keys[KEYS] = {"conn",  "send",   "recv",  "lost", "open",     "shut", "close",
                                       "abort", "closed", "reset", "quiet", "note", "antiphon", "time", "origin"};

/* The lines for the opening and the ends of a connection. */
static const struct signal_line {
    aphi_observation_kind kind;
    aph_value message;
} signal_lines[KEYS] = {
    [OPEN] = {APHI_SENT, APH_OPENED},  [SHUT] = {APHI_SENT, APH_CLOSED},       [CLOSE] = {APHI_SENT, APH_LEFT},
    [ABORT] = {APHI_SENT, APH_BROKEN}, [CLOSED] = {APHI_RECEIVED, APH_CLOSED}, [RESET] = {APHI_RECEIVED, APH_BROKEN},
};

static int get_connection(aphi_trace *t, aphi_cursor *c, const aphi_slice *found, int64_t *connection)
{
    if (!found[CONN].at)
        return aphi_trace_fail(t, APHI_TRACE_MALFORMED, t->source.at,
                               "the line has no connection; add \"conn\": an integer");
    aphi_trace_fault fault = aphi_slice_int(found[CONN], connection);
    if (fault == APHI_TRACE_NONE)
        return 1;
    c->at = found[CONN].at;
    aphi_json_skip(c, true); /* sets the fault: too large, or with a fraction */
    if (c->fault != APHI_TRACE_NONE)
        return aphi_trace_fail_cursor(t, c);
    return aphi_trace_fail(t, fault, found[CONN].at, "\"conn\" must be an integer");
}

/* Adds the origin of a connection that the server opened to its number, unless it is there. */
static int add_origin(aphi_trace *t, const aphi_slice *found, int64_t *connection)
{
    int64_t origin;
    if (*connection / APH_ACCEPTED > APH_ORIGINS_MAX)
        return aphi_trace_fail(t, APHI_TRACE_MALFORMED, found[CONN].at, "connection %lld is beyond those of the last "
                               "origin, %d; number those of origin i from (i + 1) * %lld", (long long)*connection,
                               APH_ORIGINS_MAX - 1, (long long)APH_ACCEPTED);
    if (!found[ORIGIN].at || *connection < APH_ACCEPTED)
        return 1;
    if (aphi_slice_int(found[ORIGIN], &origin) != APHI_TRACE_NONE || origin < 0 || origin >= APH_ORIGINS_MAX)
        return aphi_trace_fail(t, APHI_TRACE_MALFORMED, found[ORIGIN].at,
                               "\"origin\" must be an integer from 0 to %d", APH_ORIGINS_MAX - 1);
    if (aph_origin_of(*connection) == 0)
        *connection += origin * APH_ACCEPTED;
    if (aph_origin_of(*connection) == origin)
        return 1;
    return aphi_trace_fail(t, APHI_TRACE_MALFORMED, found[ORIGIN].at, "connection %lld leads to origin %lld; correct "
                           "its number, or the origin", (long long)*connection, (long long)aph_origin_of(*connection));
}

static int get_message(aphi_trace *t, aphi_cursor *c, aphi_slice text, aph_value *message)
{
    return aphi_json_build(c, text, message) ? 1 : aphi_trace_fail_cursor(t, c);
}

/* With calls_apart, a call of the server gets one response. */
static bool makes_calls(const aphi_trace *t, int64_t connection)
{
    return t->model && t->model->calls_apart && connection >= APH_ACCEPTED;
}

static int read_send(aphi_trace *t, aphi_cursor *c, aphi_slice text, aphi_observation *o)
{
    o->kind = APHI_SENT;
    if (get_message(t, c, text, &o->message) < 0)
        return -1;
    aphi_open_queue *queue = aphi_open_requests_at(&t->open_requests, o->connection);
    if (o->connection >= APH_ACCEPTED && !queue->lasting)
        return aphi_trace_fail(t, APHI_TRACE_MALFORMED, text.at,
                               "connections from %lld on are opened by the server and begin with \"recv\"; give the "
                               "connections of clients smaller numbers", (long long)APH_ACCEPTED);
    if (makes_calls(t, o->connection) && !queue->calls--)
        return aphi_trace_fail(t, APHI_TRACE_ORPHAN, text.at,
                               "connection %lld has no open call of the server; add the missing \"recv\" line, or "
                               "remove the second response", (long long)o->connection);
    aphi_open_queue_push(queue, o->number);
    queue->line = o->line;
    return 1;
}

static int end_request(aphi_trace *t, aphi_observation *o, const char *where)
{
    aphi_open_queue *queue = aphi_open_requests_at(&t->open_requests, o->connection);
    queue->calls += makes_calls(t, o->connection) && o->kind == APHI_RECEIVED;
    if (queue->count > 0) {
        o->ends = aphi_open_queue_pop(queue);
        return 1;
    }
    /* Without rpc, the server may send first. */
    if (!aphi_trace_paired(t) && o->kind == APHI_RECEIVED) {
        queue->lasting = o->connection >= APH_ACCEPTED;
        return 1;
    }
    return aphi_trace_fail(t, APHI_TRACE_ORPHAN, where,
                           "connection %lld has no open request; add the missing \"send\" line",
                           (long long)o->connection);
}

static int read_recv(aphi_trace *t, aphi_cursor *c, aphi_slice text, aphi_observation *o)
{
    o->kind = APHI_RECEIVED;
    if (get_message(t, c, text, &o->message) < 0)
        return -1;
    return end_request(t, o, text.at);
}

static int read_lost(aphi_trace *t, aphi_slice text, aphi_observation *o)
{
    o->kind = APHI_LOST;
    if (!aphi_slice_is(text, "true"))
        return aphi_trace_fail(t, APHI_TRACE_MALFORMED, text.at, "\"lost\" can only be true; leave it out otherwise");
    return end_request(t, o, text.at);
}

/* A model without connections does not use these lines. */
static int read_signal(aphi_trace *t, int key, aphi_slice text, aphi_observation *o)
{
    if (!aphi_slice_is(text, "true"))
        return aphi_trace_fail(t, APHI_TRACE_MALFORMED, text.at, "\"%s\" can only be true; leave it out otherwise",
                               keys[key]);
    bool used = t->model && t->model->connections && o->connection < APH_ACCEPTED;
    o->kind = used ? signal_lines[key].kind : APHI_NOTE;
    o->message = used ? signal_lines[key].message : APH_NIL;
    return 1;
}

static int read_quiet(aphi_trace *t, aphi_slice text, aphi_observation *o)
{
    o->kind = APHI_QUIET;
    if (!aphi_slice_is(text, "true"))
        return aphi_trace_fail(t, APHI_TRACE_MALFORMED, text.at, "\"quiet\" can only be true; leave it out otherwise");
    return 1;
}

/* A note is any JSON. Text that cannot be converted to a value is kept as a string. */
static int read_note(aphi_slice text, aphi_observation *o)
{
    o->kind = APHI_NOTE;
    if (!aph_json_read(text.at, text.n, &o->message, NULL))
        o->message = aph_bytes(text.at, text.n);
    return 1;
}

static int check_header(aphi_trace *t, aphi_slice version)
{
    if (t->objects > 1)
        return aphi_trace_fail(t, APHI_TRACE_MALFORMED, version.at,
                               "the header {\"antiphon\":1} must be the first line; split joined traces");
    if (!aphi_slice_is(version, "1"))
        return aphi_trace_fail(t, APHI_TRACE_FORMAT, version.at,
                               "the trace has version %.*s, but only version 1 is supported; use a newer antiphon",
                               version.n < 20 ? (int)version.n : 20, version.at);
    return 1;
}

static int read_observation(aphi_trace *t, aphi_cursor *c, const aphi_slice *found, aphi_observation *o)
{
    int count = 0, key = 0;
    for (int i = SEND; i <= NOTE; i++) {
        count += found[i].at != NULL;
        key = found[i].at ? i : key;
    }
    if (count != 1)
        return aphi_trace_fail(t, APHI_TRACE_MALFORMED, t->source.at,
                               "a line must have one of \"send\", \"recv\", \"lost\", \"quiet\", \"note\", or \"open\" "
                               "and the ends of a connection; this one has %s", count ? "more than one" : "none");
    if (found[NOTE].at)
        return read_note(found[NOTE], o);
    if (aphi_trace_check_order(t, &t->time, found[TIME], "time") < 0)
        return -1;
    if (found[QUIET].at)
        return read_quiet(t, found[QUIET], o);
    if (get_connection(t, c, found, &o->connection) < 0 || add_origin(t, found, &o->connection) < 0)
        return -1;
    o->process = o->connection;
    switch (key) {
    case SEND: return read_send(t, c, found[SEND], o);
    case RECV: return read_recv(t, c, found[RECV], o);
    case LOST: return read_lost(t, found[LOST], o);
    default: return read_signal(t, key, found[key], o);
    }
}

/* Returns 2 for the header. */
static int read_line(aphi_trace *t, aphi_cursor *c, bool complete, aphi_observation *o)
{
    aphi_slice found[KEYS] = {{0}};
    if (!aphi_json_members(c, keys, found, KEYS)) {
        if (complete && c->fault == APHI_TRACE_TRUNCATED)
            return aphi_trace_fail(t, APHI_TRACE_MALFORMED, c->where, "the line ends inside its object");
        return aphi_trace_fail_cursor(t, c);
    }
    const char *end = c->at;
    aphi_json_blank(c);
    if (c->at < c->end)
        return aphi_trace_fail(t, *c->at ? APHI_TRACE_MALFORMED : APHI_TRACE_NUL, c->at,
                               "text after the object; write one object per line");
    c->at = end;
    t->objects++;
    o->line = t->source.line;
    if (found[HEADER].at)
        return check_header(t, found[HEADER]) < 0 ? -1 : 2;
    return read_observation(t, c, found, o);
}

int aphi_read_jsonl(aphi_trace *t, aphi_observation *o)
{
    for (;;) {
        aphi_cursor c;
        bool complete;
        int status = aphi_trace_line(t, &c, &complete);
        if (status <= 0)
            return status;
        status = read_line(t, &c, complete, o);
        aphi_byte_source_line_done(&t->source, c.end);
        if (status != 2)
            return status;
    }
}

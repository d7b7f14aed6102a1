/* SPDX-License-Identifier: Apache-2.0
 *
 * jsonl.c - our own trace format: {"conn":1,"send":MESSAGE} and the like, one a line.
 *
 * The k-th recv or lost line of a connection ends its k-th request. A model that does not promise to answer each
 * request once may send more, so for it an answer beyond the requests is no error.
 */
#include "trace/json_scan.h"
#include "trace/reader.h"

enum { CONN, SEND, RECV, LOST, NOTE, HEADER, TIME, KEYS };
static const char *const keys[KEYS] = {"conn", "send", "recv", "lost", "note", "antiphon", "time"};

static int get_connection(aphi_trace *t, aphi_cursor *c, const aphi_slice *found, int64_t *connection)
{
    if (!found[CONN].at)
        return aphi_trace_fail(t, APHI_TRACE_MALFORMED, t->source.at,
                               "the line does not say on which connection; add \"conn\": an integer");
    aphi_trace_fault fault = aphi_slice_int(found[CONN], connection);
    if (fault == APHI_TRACE_NONE)
        return 1;
    c->at = found[CONN].at;
    aphi_json_skip(c, true); /* says whether the number is too large or has a fraction */
    if (c->fault != APHI_TRACE_NONE)
        return aphi_trace_fail_cursor(t, c);
    return aphi_trace_fail(t, fault, found[CONN].at, "\"conn\" must be an integer");
}

static int get_message(aphi_trace *t, aphi_cursor *c, aphi_slice text, aph_value *message)
{
    return aphi_json_build(c, text, message) ? 1 : aphi_trace_fail_cursor(t, c);
}

static int sent(aphi_trace *t, aphi_cursor *c, aphi_slice text, aphi_observation *o)
{
    o->kind = APHI_SENT;
    if (get_message(t, c, text, &o->message) < 0)
        return -1;
    aphi_open_queue *lane = aphi_open_requests_at(&t->lanes, o->connection);
    aphi_open_queue_push(lane, o->number);
    lane->line = o->line;
    return 1;
}

static int ended(aphi_trace *t, aphi_observation *o, const char *where)
{
    aphi_open_queue *lane = aphi_open_requests_at(&t->lanes, o->connection);
    if (lane->count > 0) {
        o->ends = aphi_open_queue_pop(lane);
        return 1;
    }
    /* A server that answers as it likes may also speak first. */
    if (!aphi_trace_paired(t) && o->kind == APHI_RECEIVED)
        return 1;
    return aphi_trace_fail(t, APHI_TRACE_ORPHAN, where,
                           "connection %lld has no open request that this could end; is a \"send\" line missing?",
                           (long long)o->connection);
}

static int received(aphi_trace *t, aphi_cursor *c, aphi_slice text, aphi_observation *o)
{
    o->kind = APHI_RECEIVED;
    if (get_message(t, c, text, &o->message) < 0)
        return -1;
    return ended(t, o, text.at);
}

static int lost(aphi_trace *t, aphi_slice text, aphi_observation *o)
{
    o->kind = APHI_LOST;
    if (!aphi_slice_is(text, "true"))
        return aphi_trace_fail(t, APHI_TRACE_MALFORMED, text.at, "\"lost\" can only be true; leave it out otherwise");
    return ended(t, o, text.at);
}

/* Any JSON; what is no value of ours is kept as text. */
static int note(aphi_slice text, aphi_observation *o)
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
                               "the header {\"antiphon\":1} can only be the first line; were two traces joined?");
    if (!aphi_slice_is(version, "1"))
        return aphi_trace_fail(t, APHI_TRACE_FORMAT, version.at,
                               "this trace is of version %.*s, and only version 1 is known; use a newer antiphon",
                               version.n < 20 ? (int)version.n : 20, version.at);
    return 1;
}

static int observe(aphi_trace *t, aphi_cursor *c, const aphi_slice *found, aphi_observation *o)
{
    int said = 0;
    for (int i = SEND; i <= NOTE; i++)
        said += found[i].at != NULL;
    if (said != 1)
        return aphi_trace_fail(t, APHI_TRACE_MALFORMED, t->source.at,
                               "a line says one of \"send\", \"recv\", \"lost\" and \"note\"; this one says %s",
                               said ? "more than one" : "none");
    if (found[TIME].at && aphi_slice_int(found[TIME], &o->time) != APHI_TRACE_NONE)
        o->time = APHI_NO_TIME;
    if (found[NOTE].at)
        return note(found[NOTE], o);
    if (get_connection(t, c, found, &o->connection) < 0)
        return -1;
    o->process = o->connection;
    if (found[SEND].at)
        return sent(t, c, found[SEND], o);
    return found[RECV].at ? received(t, c, found[RECV], o) : lost(t, found[LOST], o);
}

/* One line: 2 if it was the header. */
static int read_line(aphi_trace *t, aphi_cursor *c, bool complete, aphi_observation *o)
{
    aphi_slice found[KEYS] = {{0}};
    if (!aphi_json_members(c, keys, found, KEYS)) {
        if (complete && c->fault == APHI_TRACE_TRUNCATED)
            return aphi_trace_fail(t, APHI_TRACE_MALFORMED, c->where, "the line ends before its object does");
        return aphi_trace_fail_cursor(t, c);
    }
    const char *end = c->at;
    aphi_json_blank(c);
    if (c->at < c->end)
        return aphi_trace_fail(t, *c->at ? APHI_TRACE_MALFORMED : APHI_TRACE_NUL, c->at,
                               "something follows the object; write one object a line");
    c->at = end;
    t->objects++;
    o->line = t->source.line;
    if (found[HEADER].at)
        return check_header(t, found[HEADER]) < 0 ? -1 : 2;
    return observe(t, c, found, o);
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
        aphi_source_line_done(&t->source, c.end);
        if (status != 2)
            return status;
    }
}

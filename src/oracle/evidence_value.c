/* SPDX-License-Identifier: Apache-2.0
 *
 * evidence_value.c - the evidence of a failure as a value: the window of operations around the blamed response, and the
 * responses that the model allows in its place. */
#include "oracle/evidence.h"

#include "base/memory.h"

#include <stdlib.h>

enum { VISITS_MAX = 200000, WINDOW_MAX = 14 /* operations in the window */ };

/* ---- the window, where each response belongs to a request -------------------------------------------------------- */

/* The observations at which a request was sent and ended, counted from the start of the window; SIZE_MAX: never. */
typedef struct span {
    size_t call, end;
} span;

static span *find_spans(const aph_oracle *o)
{
    span *spans = aphi_alloc((o->op_count + 1) * sizeof *spans);
    for (size_t i = 0; i < o->op_count; i++)
        spans[i] = (span){i, SIZE_MAX};
    for (size_t i = 0; i < o->event_count; i++)
        if (o->events[i].request != APHI_NONE) {
            span *s = &spans[o->events[i].request];
            *(o->events[i].kind == APHI_OBSERVED_REQUEST ? &s->call : &s->end) = o->base_count + i;
        }
    return spans;
}

static aph_value operation_value(const aph_oracle *o, size_t request, const span *s, size_t blamed_at)
{
    const aphi_request *r = &o->ops[request];
    aph_value op = aph_record("connection", aph_int(r->connection), "request", r->message, "line",
                              aph_int((int64_t)r->line), "call", aph_int((int64_t)s->call));
    if (s->end <= blamed_at && o->events[s->end - o->base_count].kind == APHI_OBSERVED_ANSWER)
        op = aph_put(aph_put(op, "end", aph_int((int64_t)s->end)), "answer",
                     o->events[s->end - o->base_count].message);
    return s->end == blamed_at ? aph_put(op, "violated", aph_bool(true)) : op;
}

/* Returns true if the request concerns the same partition as the blamed response. */
static bool is_same_part(const aph_oracle *o, size_t request, size_t blamed)
{
    uint32_t answered = o->events[blamed].request;
    return answered == APHI_NONE || o->ops[request].part == o->ops[answered].part;
}

/* Returns the blamed operation, the operations pending at the same time, and the last ones that ended before it. */
static aph_value operations_window(const aph_oracle *o, size_t blamed)
{
    aph_value ops[WINDOW_MAX];
    size_t n = 0, blamed_at = o->base_count + blamed;
    span *spans = find_spans(o);
    for (size_t i = 0; i < o->op_count && n < WINDOW_MAX; i++)
        if (spans[i].call < blamed_at && spans[i].end >= blamed_at && is_same_part(o, i, blamed))
            ops[n++] = operation_value(o, i, &spans[i], blamed_at);
    for (size_t back = blamed; back-- > 0 && n < WINDOW_MAX;) {
        const aphi_observed_event *e = &o->events[back];
        if (e->kind != APHI_OBSERVED_REQUEST && e->request != APHI_NONE && is_same_part(o, e->request, blamed))
            ops[n++] = operation_value(o, e->request, &spans[e->request], blamed_at);
    }
    free(spans);
    return aph_array(n, ops);
}

/* ---- the window of other models ---------------------------------------------------------------------------------- */

static bool begins_after_silence(const aph_oracle *o) { return o->quiet_line && o->quiet_base == o->event_base; }

static aph_value silence_value(uint64_t line, size_t call)
{
    return aph_record("quiet", aph_bool(true), "line", aph_int((int64_t)line), "call", aph_int((int64_t)call), "end",
                      aph_int((int64_t)call + 1));
}

/* Returns a message as a separate operation, for a model that is not rpc. place counts the requests that were pending
 * when the window began, then the observations. Returns false if there is no message at that place. */
static bool message_value(const aph_oracle *o, size_t place, size_t blamed, aph_value *op)
{
    const aphi_observed_event *e = place < o->base_count ? NULL : &o->events[place - o->base_count];
    const aphi_request *r = !e ? &o->ops[place] : e->kind == APHI_OBSERVED_REQUEST ? &o->ops[e->request] : NULL;
    size_t call = 2 * (place + begins_after_silence(o));
    if (r ? r->duplicate : e->kind != APHI_OBSERVED_ANSWER && e->kind != APHI_OBSERVED_QUIET)
        return false;
    if (!r && e->kind == APHI_OBSERVED_QUIET)
        *op = silence_value(e->line, call);
    else
        *op = aph_record("connection", aph_int(r ? r->connection : e->connection), r ? "request" : "answer",
                         r ? r->message : e->message, "line", aph_int((int64_t)(r ? r->line : e->line)), "call",
                         aph_int((int64_t)call), "end", aph_int((int64_t)call + 1));
    if (e == &o->events[blamed])
        *op = aph_put(*op, "violated", aph_bool(true));
    return true;
}

/* The blamed response and the messages before it. */
static aph_value messages_window(const aph_oracle *o, size_t blamed)
{
    aph_value ops[WINDOW_MAX];
    size_t n = 0;
    for (size_t place = o->base_count + blamed + 1; place-- > 0 && n < WINDOW_MAX;)
        n += message_value(o, place, blamed, &ops[n]);
    if (n < WINDOW_MAX && begins_after_silence(o))
        ops[n++] = silence_value(o->quiet_line, 0);
    return aph_array(n, ops);
}

/* ---- the allowed responses --------------------------------------------------------------------------------------- */

/* Replaces symbols with their JSON form, so that evidence does not change when it is written and read. */
static aph_value without_symbols(aph_value v)
{
    size_t n;
    aph_value plain = v;
    if (aph_is_symbolic(v)) {
        char *text = aph_json_text(v, &n);
        aph_json_read(text, n, &plain, NULL);
        free(text);
    }
    return plain;
}

static aph_value clauses_of(aph_value rationale)
{
    aph_value all = aph_array(0, NULL);
    for (size_t i = 0; i < aph_count(rationale); i++) {
        aph_value clause = aph_field(aph_at(rationale, i), "clause");
        bool known = !clause;
        for (size_t k = 0; k < aph_count(all) && !known; k++)
            known = aph_at(all, k) == clause;
        if (!known)
            all = aph_push(all, clause);
    }
    return all;
}

/* The lines of the requests, in the order in which they were taken. */
static aph_value order_lines(const aph_oracle *probe, const aphi_allowed *a)
{
    size_t n = 0;
    aph_value *lines = aphi_alloc((a->order_count + 1) * sizeof *lines);
    for (size_t k = 0; k < a->order_count; k++)
        for (size_t i = 0, found = n; i < probe->op_count && n == found; i++)
            if (probe->ops[i].id == (a->order[k].id & ~APHI_TAKEN_BROKEN))
                lines[n++] = aph_int((int64_t)probe->ops[i].line);
    aph_value order = aph_array(n, lines);
    free(lines);
    return order;
}

static aph_value allowed_value(const aph_oracle *probe)
{
    aph_value all[APHI_ALLOWED_MAX];
    for (size_t i = 0; i < probe->allowed_count; i++) {
        const aphi_allowed *a = &probe->allowed[i];
        all[i] = aph_record("answer", without_symbols(a->answer), "state", without_symbols(a->state), "order",
                            order_lines(probe, a));
        if (a->origin >= 0)
            all[i] = aph_put(all[i], "origin", aph_int(a->origin));
        if (a->store)
            all[i] = aph_put(all[i], "given", without_symbols(a->store));
        aph_value rationale = aphi_rationale(probe, a);
        if (aph_count(rationale))
            all[i] = aph_put(aph_put(all[i], "because", rationale), "clauses", clauses_of(rationale));
    }
    return aph_array(probe->allowed_count, all);
}

aph_value aphi_evidence_value(const aph_oracle *o, aph_value part)
{
    aphi_evidence e = aphi_evidence_open(o, VISITS_MAX);
    size_t blamed = e.found ? e.event : o->deepest < o->event_count ? o->deepest : o->event_count - 1;
    const aphi_observed_event *event = &o->events[blamed];
    aph_value evidence = aph_record("line", aph_int((int64_t)event->line), "connection", aph_int(event->connection),
                                    "exact", aph_bool(e.found), "window",
                                    o->rpc ? operations_window(o, blamed) : messages_window(o, blamed));
    if (part)
        evidence = aph_put(evidence, "part", part);
    if (event->kind == APHI_OBSERVED_ANSWER)
        evidence = aph_put(evidence, "observed", event->message);
    if (event->kind == APHI_OBSERVED_QUIET)
        evidence = aph_put(evidence, "quiet", aph_bool(true));
    if (event->request != APHI_NONE && !o->ops[event->request].delivery)
        evidence = aph_put(evidence, "request", o->ops[event->request].message);
    if (e.probe) {
        evidence = aph_put(evidence, "allowed", allowed_value(e.probe));
        evidence = aph_put(evidence, "all_allowed", aph_bool(e.all_allowed));
    }
    aphi_evidence_close(&e);
    return evidence;
}

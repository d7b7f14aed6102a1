/* SPDX-License-Identifier: Apache-2.0
 *
 * check_derived.c - the check of one trace by the derivation (derive/derivation.c).
 *
 * The trace is read to its end first, because the derivation then knows which requests have lost responses. */
#include "check/check_derived.h"

#include "base/clock.h"
#include "base/int_map.h"
#include "check/check_result.h"
#include "derive/derivation.h"
#include "trace/lookahead.h"
#include "value/heap.h"

#include <stdio.h>
#include <sys/resource.h>

enum { WINDOW_MAX = 12 };

typedef struct derived {
    const aph_model *model;
    const aph_check_options *options;
    aphi_derivation *derivation;
    aph_check_result *result;
    aphi_int_map by_number; /* number of a request in the trace -> 1 + its number in the derivation */
} derived;

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static void add_sent(derived *c, const aphi_observation *o)
{
    size_t request = aphi_derivation_sent(c->derivation, o->line, o->connection, o->message);
    c->result->operations++;
    *aphi_int_map_at(&c->by_number, (int64_t)o->number) = request + 1;
}

static void add_lost(derived *c, const aphi_observation *o)
{
    const uint64_t *request = aphi_int_map_find(&c->by_number, (int64_t)o->ends);
    if (c->model->rpc && request)
        aphi_derivation_lost(c->derivation, (size_t)*request - 1);
    else
        aphi_derivation_lose_connection(c->derivation, o->line, o->connection);
}

static void add_observation(derived *c, const aphi_observation *o)
{
    switch (o->kind) {
    case APHI_SENT: add_sent(c, o); break;
    case APHI_RECEIVED:
        aphi_derivation_received(c->derivation, o->line, o->connection, o->message);
        c->result->responses++;
        break;
    case APHI_LOST: add_lost(c, o); break;
    case APHI_QUIET: aphi_derivation_quiet(c->derivation, o->line); break;
    case APHI_UNDONE:
    case APHI_NOTE: return;
    }
    c->result->observations++;
}

/* Requests without effect are left out. */
static bool read_all(derived *c, aphi_lookahead *ahead)
{
    aphi_lookahead_event e;
    int status;
    while ((status = aphi_lookahead_next(ahead, &e)) > 0) {
        add_observation(c, &e.seen);
        if (aphi_heap_is_full())
            aph_collect();
    }
    return status == 0;
}

/* ---- the result -------------------------------------------------------------------------------------------------- */

static aph_value message_value(const aphi_derivation_observation *o, size_t place)
{
    if (o->quiet)
        return aph_record("quiet", aph_bool(true), "line", aph_int((int64_t)o->line), "call",
                          aph_int((int64_t)(2 * place)), "end", aph_int((int64_t)(2 * place + 1)));
    return aph_record("connection", aph_int(o->connection), o->sent ? "request" : "answer", o->message, "line",
                      aph_int((int64_t)o->line), "call", aph_int((int64_t)(2 * place)), "end",
                      aph_int((int64_t)(2 * place + 1)));
}

static aph_value window_value(const aphi_derivation *d, size_t blamed)
{
    aph_value ops[WINDOW_MAX];
    size_t n = 0;
    for (size_t i = blamed + 1; i-- > 0 && n < WINDOW_MAX; n++) {
        aphi_derivation_observation o = aphi_derivation_observation_at(d, i);
        ops[n] = message_value(&o, i);
        if (i == blamed)
            ops[n] = aph_put(ops[n], "violated", aph_bool(true));
    }
    return aph_array(n, ops);
}

static void fill_failure(derived *c)
{
    size_t blamed = aphi_derivation_unexplained(c->derivation);
    aphi_derivation_observation o = aphi_derivation_observation_at(c->derivation, blamed);
    const char *message;
    aphi_derivation_fault(c->derivation, &message);
    c->result->verdict = APH_CHECK_FAIL;
    c->result->evidence =
        aph_record("line", aph_int((int64_t)o.line), "connection", aph_int(o.connection), "exact", aph_bool(true),
                   o.quiet ? "quiet" : o.sent ? "request" : "observed", o.quiet ? aph_bool(true) : o.message,
                   "window", window_value(c->derivation, blamed), "allowed",
                   aphi_derivation_allowed(c->derivation), "all_allowed",
                   aph_bool(aphi_derivation_all_allowed(c->derivation)));
    snprintf(c->result->message, sizeof c->result->message, "%s", message);
}

static void fill_unknown(derived *c)
{
    static const aph_check_error errors[] = {
        [APH_FAULT_REQUEST] = APH_CHECK_TRACE_REQUEST, [APH_FAULT_ANSWER] = APH_CHECK_TRACE_ORPHAN,
        [APH_FAULT_CRASH] = APH_CHECK_MODEL_CRASH,     [APH_FAULT_STUCK] = APH_CHECK_MODEL_STUCK,
        [APH_FAULT_IMPURE] = APH_CHECK_MODEL_IMPURE,   [APH_FAULT_PROMISE] = APH_CHECK_MODEL_PROMISE,
        [APH_FAULT_CALL] = APH_CHECK_MODEL_CALL,      [APH_FAULT_CODEC] = APH_CHECK_MODEL_CODEC};
    const char *message;
    aph_fault fault = aphi_derivation_fault(c->derivation, &message);
    if (fault) {
        aphi_check_result_error(c->result, errors[fault], message);
    } else {
        c->result->verdict = APH_CHECK_UNKNOWN;
        c->result->limit = aphi_derivation_limit(c->derivation);
        snprintf(c->result->message, sizeof c->result->message, "%s", message);
        if (c->options->stop && *c->options->stop)
            c->result->limit = APH_LIMIT_STOPPED;
    }
    c->result->line = aphi_derivation_line(c->derivation);
}

static void fill_pass(derived *c, const aph_network *network)
{
    aphi_derivation_stats stats = aphi_derivation_stats_of(c->derivation);
    c->result->verdict = c->result->responses ? APH_CHECK_PASS : APH_CHECK_VACUOUS;
    if (c->result->responses)
        return;
    if (stats.emitted)
        snprintf(c->result->message, sizeof c->result->message, "no request has a response, so nothing was checked");
    else
        snprintf(c->result->message, sizeof c->result->message,
                 "network %s: it delivers no packet, and no request has a response, so nothing was checked",
                 network->name);
}

static void fill_statistics(derived *c, int64_t begin)
{
    aphi_derivation_stats stats = aphi_derivation_stats_of(c->derivation);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    c->result->configurations = stats.branches;
    c->result->steps = stats.events;
    c->result->parts = 1;
    c->result->check_ns = aphi_clock_ns() - begin;
    c->result->resident_kb = (uint64_t)usage.ru_maxrss;
}

static void decide(derived *c, const aph_network *network)
{
    int64_t begin = aphi_clock_ns();
    aph_verdict verdict = aphi_derivation_decide(c->derivation);
    fill_statistics(c, begin);
    if (verdict == APH_FAIL)
        fill_failure(c);
    else if (verdict == APH_UNKNOWN)
        fill_unknown(c);
    else if (!c->result->operations)
        aphi_check_result_error(c->result, APH_CHECK_TRACE_EMPTY,
                                "the trace has no request, so nothing was checked; check the name of the file");
    else
        fill_pass(c, network);
}

bool aphi_check_derived(const aph_model *model, const aph_network *network, const aph_check_options *options,
                        aphi_trace *trace, aph_check_result *r)
{
    aphi_derivation_options limits = {.branches = options->branches, .time_ms = options->oracle.time_ms,
                                      .memory = options->oracle.memory, .solver_ms = options->oracle.solver_ms};
    derived c = {.model = model, .options = options, .result = r};
    c.derivation = aphi_derivation_open(model, network, &limits);
    aphi_lookahead *ahead = aphi_lookahead_open(trace);
    bool read = read_all(&c, ahead);
    r->format = aphi_trace_format_of(trace);
    if (read)
        decide(&c, network);
    aphi_lookahead_close(ahead);
    aphi_int_map_deinit(&c.by_number);
    aphi_derivation_close(c.derivation);
    return read;
}

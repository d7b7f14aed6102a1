/* SPDX-License-Identifier: Apache-2.0
 *
 * check_result.c - the result of a trial.
 *
 * Idea:       the result is a value, so that it is the same thing whether it is printed, counted, or sent home by a
 *             worker process. */
#include "check/check_result.h"

#include "base/clock.h"
#include "base/memory.h"
#include "oracle/rationale.h"
#include "oracle/evidence.h"
#include "oracle/explanation.h"
#include "oracle/replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

enum { EVIDENCE_VISITS = 200000, WINDOW_SHOWN = 14 };

typedef aphi_check judgement;

static void tell(judgement *j, const char *name, aph_value item)
{
    j->result = aph_put(j->result, name, item);
}

static void tell_exit(judgement *j, const char *verdict, aphi_exit code)
{
    tell(j, "verdict", aph_str(verdict));
    tell(j, "exit", aph_int(code));
}

static void tell_error(judgement *j, aphi_exit code, const char *message, uint64_t line, uint64_t column)
{
    aph_value error = aph_record("message", aph_str(message));
    if (line)
        error = aph_put(error, "line", aph_int((int64_t)line));
    if (column)
        error = aph_put(error, "column", aph_int((int64_t)column));
    tell_exit(j, "error", code);
    tell(j, "error", error);
}

void aphi_check_result_error(judgement *j, aphi_exit code, const char *message)
{
    tell(j, "file", aph_str(j->file));
    tell_error(j, code, message, 0, 0);
}

/* ---- a failure --------------------------------------------------------------------------------------------------- */

/* When each request of the window was called and ended, in one count; SIZE_MAX: never. */
typedef struct span {
    size_t call, end;
} span;

static span *spans_of(const aph_oracle *o)
{
    span *spans = aphi_alloc((o->op_count + 1) * sizeof *spans);
    for (size_t i = 0; i < o->op_count; i++)
        spans[i] = (span){i, SIZE_MAX};
    for (size_t i = 0; i < o->event_count; i++)
        if (o->events[i].asked != APHI_NONE) {
            span *its = &spans[o->events[i].asked];
            *(o->events[i].kind == APHI_OBSERVED_REQUEST ? &its->call : &its->end) = o->base_count + i;
        }
    return spans;
}

static aph_value tell_operation(const aph_oracle *o, size_t asked, const span *its, size_t now)
{
    const aphi_request *a = &o->ops[asked];
    aph_value op = aph_record("connection", aph_int(a->connection), "request", a->message, "line",
                              aph_int((int64_t)a->line), "call", aph_int((int64_t)its->call));
    if (its->end <= now && o->events[its->end - o->base_count].kind == APHI_OBSERVED_ANSWER)
        op = aph_put(aph_put(op, "end", aph_int((int64_t)its->end)), "answer",
                     o->events[its->end - o->base_count].message);
    return its->end == now ? aph_put(op, "violated", aph_bool(true)) : op;
}

/* Is the request of the part of the state that the blamed answer is about? */
static bool concerns(const aph_oracle *o, size_t asked, size_t blamed)
{
    uint32_t about = o->events[blamed].asked;
    return about == APHI_NONE || o->ops[asked].part == o->ops[about].part;
}

/* The blamed operation, all in flight with it, and the last that ended before. */
static aph_value tell_window(const aph_oracle *o, size_t blamed)
{
    aph_value shown[WINDOW_SHOWN];
    size_t n = 0, now = o->base_count + blamed;
    span *spans = spans_of(o);
    for (size_t i = 0; i < o->op_count && n < WINDOW_SHOWN; i++)
        if (spans[i].call < now && spans[i].end >= now && concerns(o, i, blamed))
            shown[n++] = tell_operation(o, i, &spans[i], now);
    for (size_t back = blamed; back-- > 0 && n < WINDOW_SHOWN;) {
        const aphi_observed_event *e = &o->events[back];
        if (e->kind != APHI_OBSERVED_REQUEST && e->asked != APHI_NONE && concerns(o, e->asked, blamed))
            shown[n++] = tell_operation(o, e->asked, &spans[e->asked], now);
    }
    free(spans);
    return aph_array(n, shown);
}

/* Of a model that is not rpc, answers belong to no request: each message is an operation of its own, which takes a
 * moment. place counts the requests that were in flight when the window began, then what was observed. */
static bool tell_moment(const aph_oracle *o, size_t place, size_t blamed, aph_value *op)
{
    const aphi_observed_event *e = place < o->base_count ? NULL : &o->events[place - o->base_count];
    const aphi_request *a = !e ? &o->ops[place] : e->kind == APHI_OBSERVED_REQUEST ? &o->ops[e->asked] : NULL;
    if (a ? a->again : e->kind != APHI_OBSERVED_ANSWER)
        return false;
    *op = aph_record("connection", aph_int(a ? a->connection : e->connection), a ? "request" : "answer",
                     a ? a->message : e->message, "line", aph_int((int64_t)(a ? a->line : e->line)), "call",
                     aph_int((int64_t)(2 * place)), "end", aph_int((int64_t)(2 * place + 1)));
    if (e == &o->events[blamed])
        *op = aph_put(*op, "violated", aph_bool(true));
    return true;
}

/* The blamed answer, and the messages before it. */
static aph_value tell_moments(const aph_oracle *o, size_t blamed)
{
    aph_value shown[WINDOW_SHOWN];
    size_t n = 0;
    for (size_t place = o->base_count + blamed + 1; place-- > 0 && n < WINDOW_SHOWN;)
        n += tell_moment(o, place, blamed, &shown[n]);
    return aph_array(n, shown);
}

/* What is symbolic, spelt out in JSON: a result must be the same after it went through a pipe. */
static aph_value spelt(aph_value v)
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

/* The clauses that led to an answer, each once. */
static aph_value clauses_of(aph_value because)
{
    aph_value all = aph_array(0, NULL);
    for (size_t i = 0; i < aph_count(because); i++) {
        aph_value clause = aph_field(aph_at(because, i), "clause");
        bool known = !clause;
        for (size_t k = 0; k < aph_count(all) && !known; k++)
            known = aph_at(all, k) == clause;
        if (!known)
            all = aph_push(all, clause);
    }
    return all;
}

static aph_value tell_allowed(const aph_oracle *probe)
{
    aph_value all[APHI_ALLOWED_MAX];
    for (size_t i = 0; i < probe->allowed_count; i++) {
        const aphi_allowed *a = &probe->allowed[i];
        size_t n = 0;
        aph_value *lines = aphi_alloc((a->order_count + 1) * sizeof *lines);
        for (size_t k = 0; k < a->order_count; k++)
            for (size_t q = 0, found = n; q < probe->op_count && n == found; q++)
                if (probe->ops[q].id == a->order[k].id)
                    lines[n++] = aph_int((int64_t)probe->ops[q].line);
        all[i] = aph_record("answer", spelt(a->answer), "state", spelt(a->state), "order", aph_array(n, lines));
        if (a->store)
            all[i] = aph_put(all[i], "given", spelt(a->store));
        aph_value because = aphi_rationale(probe, a);
        if (aph_count(because))
            all[i] = aph_put(aph_put(all[i], "because", because), "clauses", clauses_of(because));
        free(lines);
    }
    return aph_array(probe->allowed_count, all);
}

static void tell_failure(judgement *j)
{
    const aphi_partition *partition = aphi_partitions_rejecting(j->partitions);
    const aph_oracle *o = partition->oracle;
    int64_t begin = aphi_clock_ns();
    aphi_evidence e = aphi_evidence_open(o, EVIDENCE_VISITS);
    size_t blamed = e.found ? e.event : o->deepest < o->event_count ? o->deepest : o->event_count - 1;
    const aphi_observed_event *event = &o->events[blamed];
    aph_value evidence = aph_record("line", aph_int((int64_t)event->line), "connection", aph_int(event->connection),
                                    "exact", aph_bool(e.found), "window",
                                    o->rpc ? tell_window(o, blamed) : tell_moments(o, blamed));
    if (partition->part)
        evidence = aph_put(evidence, "part", partition->part);
    if (event->kind == APHI_OBSERVED_ANSWER)
        evidence = aph_put(evidence, "observed", event->message);
    if (event->asked != APHI_NONE && !o->ops[event->asked].delivery)
        evidence = aph_put(evidence, "request", o->ops[event->asked].message);
    if (e.probe) {
        evidence = aph_put(evidence, "allowed", tell_allowed(e.probe));
        evidence = aph_put(evidence, "all_allowed", aph_bool(e.all_allowed));
    }
    aphi_evidence_close(&e);
    tell(j, "evidence", evidence);
    tell(j, "evidence_ns", aph_int(aphi_clock_ns() - begin));
    tell_exit(j, "fail", APHI_EXIT_FAIL);
}

/* ---- the rest ---------------------------------------------------------------------------------------------------- */

static void tell_unknown(judgement *j)
{
    static const aphi_exit by_fault[] = {
        [APH_FAULT_REQUEST] = APHI_EXIT_TRACE_REQUEST, [APH_FAULT_ANSWER] = APHI_EXIT_TRACE_ORPHAN,
        [APH_FAULT_CRASH] = APHI_EXIT_MODEL_CRASH,     [APH_FAULT_STUCK] = APHI_EXIT_MODEL_STUCK,
        [APH_FAULT_IMPURE] = APHI_EXIT_MODEL_IMPURE,   [APH_FAULT_PROMISE] = APHI_EXIT_MODEL_PROMISE,
        [APH_FAULT_CALL] = APHI_EXIT_MODEL_CALL};
    static const char *const limits[] = {[APH_LIMIT_TIME] = "time", [APH_LIMIT_MEMORY] = "memory",
                                         [APH_LIMIT_SOLVER] = "solver"};
    const aph_oracle *o = aphi_partitions_rejecting(j->partitions)->oracle;
    const char *message;
    aph_fault fault = aph_oracle_fault(o, &message);
    if (fault) {
        char text[480];
        bool model = fault != APH_FAULT_REQUEST && fault != APH_FAULT_ANSWER;
        snprintf(text, sizeof text, "%s%s%s%s", model ? "model " : "", model ? j->model->name : "", model ? ": " : "",
                 message);
        tell_error(j, by_fault[fault], text, o->fault_line, 0);
        return;
    }
    tell_exit(j, "unknown", APHI_EXIT_UNKNOWN);
    tell(j, "limit", aph_str(limits[aph_oracle_limit(o)]));
    tell(j, "limit_line", aph_int((int64_t)j->line));
}

static void tell_explanation(judgement *j)
{
    size_t n;
    const aphi_partition *partitions = aphi_partitions_all(j->partitions, &n);
    aph_value *parts = aphi_alloc((n + 1) * sizeof *parts);
    bool holds = true;
    char why[200] = "";
    for (size_t i = 0; i < n; i++) {
        aphi_history none = {0}, *history = i < j->histories.count ? &j->histories.parts[i].history : &none;
        aph_value explanation = aphi_explain(partitions[i].oracle, history);
        if (!explanation) {
            snprintf(why, sizeof why, "the solver did not find values for the choices in time");
            holds = false;
        } else if (holds) {
            holds = aphi_replay(j->model, history, explanation, why, sizeof why);
        }
        parts[i] = partitions[i].part && explanation ? aph_put(explanation, "part", partitions[i].part) : explanation;
    }
    tell(j, "explanation", aph_array(n, parts));
    tell(j, "replay", holds ? aph_str("holds") : aph_strf("does not hold: %s", why));
    if (!holds)
        tell_exit(j, "pass", APHI_EXIT_REPLAY);
    free(parts);
}

static void tell_trace_error(judgement *j)
{
    const aphi_trace_error *e = aphi_trace_error_of(j->trace);
    tell_error(j, (aphi_exit)(APHI_EXIT_TRACE_IO + (e->fault - APHI_TRACE_IO)), e->message, e->line, e->column);
}

void aphi_check_result(judgement *j)
{
    aph_oracle_stats stats = aphi_partitions_stats(j->partitions);
    size_t parts;
    aphi_partitions_all(j->partitions, &parts);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    tell(j, "file", aph_str(j->file));
    tell(j, "model", aph_str(j->model->name));
    tell(j, "format", aph_str(aphi_trace_format_name(aphi_trace_format_of(j->trace))));
    tell(j, "check_ns", aph_int(j->check_ns));
    tell(j, "operations", aph_int((int64_t)j->operations));
    tell(j, "observations", aph_int((int64_t)j->observations));
    tell(j, "configurations", aph_int((int64_t)stats.configurations));
    tell(j, "steps", aph_int((int64_t)stats.steps));
    tell(j, "solver_calls", aph_int((int64_t)stats.solver_calls));
    tell(j, "parts", aph_int((int64_t)parts));
    tell(j, "resident_kb", aph_int(usage.ru_maxrss));
    if (j->verdict == APH_FAIL)
        tell_failure(j);
    else if (j->verdict == APH_UNKNOWN)
        tell_unknown(j);
    else if (j->status < 0)
        tell_trace_error(j);
    else if (!j->operations)
        tell_error(j, APHI_EXIT_TRACE_EMPTY,
                   "the trace holds no request, so nothing was checked: is it the right file?", 0, 0);
    else
        tell_exit(j, "pass", APHI_EXIT_PASS);
    if (j->verdict == APH_PASS && j->status == 0 && j->operations && j->options->explain)
        tell_explanation(j);
}

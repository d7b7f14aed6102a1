/* SPDX-License-Identifier: Apache-2.0
 *
 * judge.c - one trace, one model, one result.
 *
 * Idea:       observations are read in batches, so that reading and checking are timed apart without a clock call for
 *             each. The result is a value, so that it is the same thing whether it is printed, counted, or sent home by
 *             a worker process. */
#include "cli/judge.h"

#include "base/clock.h"
#include "base/memory.h"
#include "cli/recall.h"
#include "oracle/evidence.h"
#include "oracle/explanation.h"
#include "oracle/jury.h"
#include "oracle/replay.h"
#include "trace/foresight.h"

#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

enum { BATCH = 4096, EVIDENCE_VISITS = 200000, WINDOW_SHOWN = 14, WARM_BYTES = 4 << 20 };

typedef struct judgement {
    const aph_model *model;
    const aphi_judge_options *options;
    const char *file;
    aphi_trace *trace;
    aphi_foresight *ahead;
    aphi_jury *jury;
    aphi_foreseen *batch;
    size_t batch_count;
    int status;                 /* of the reader */
    aph_verdict verdict;
    int64_t check_ns;
    uint64_t operations, observations;
    uint64_t line;              /* of the observation that was judged last */
    aphi_histories histories;   /* with options->explain */
    aph_value result;
} judgement;

static void mark_judgement(void *context)
{
    judgement *j = context;
    aph_mark(j->result);
    for (size_t i = 0; i < j->batch_count; i++) {
        aph_mark(j->batch[i].seen.message);
        aph_mark(j->batch[i].answer);
    }
}

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

/* ---- feeding ----------------------------------------------------------------------------------------------------- */

static void read_batch(judgement *j)
{
    for (j->batch_count = 0; j->batch_count < BATCH; j->batch_count++) {
        j->status = aphi_foresight_next(j->ahead, &j->batch[j->batch_count]);
        if (j->status <= 0)
            return;
    }
}

static aph_verdict feed(judgement *j, const aphi_foreseen *o)
{
    aph_foresight known = {o->future, o->answer, o->order, o->alone, o->shown, o->sought};
    switch (o->seen.kind) {
    case APHI_SENT:
        j->operations++;
        return aphi_jury_sent(j->jury, o->seen.line, o->seen.connection, o->seen.message, &known);
    case APHI_RECEIVED: return aphi_jury_received(j->jury, o->seen.line, o->seen.connection, o->seen.message);
    case APHI_LOST: return aphi_jury_lost(j->jury, o->seen.line, o->seen.connection, o->foretold);
    default: return j->verdict;
    }
}

static void feed_batch(judgement *j, size_t from, bool (*on)(judgement *))
{
    for (size_t i = from; i < j->batch_count && on(j); i++) {
        const aphi_foreseen *o = &j->batch[i];
        j->line = o->seen.line;
        j->observations++;
        j->verdict = feed(j, o);
        if (j->options->explain)
            aphi_histories_add(&j->histories, o, aphi_trace_paired(j->trace));
    }
}

static bool passing(judgement *j)
{
    return j->verdict == APH_PASS && !aphi_jury_tied(j->jury);
}

static bool wanted(judgement *j)
{
    return aphi_jury_wants_more(j->jury);
}

static void feed_all(judgement *j)
{
    size_t fed;
    do {
        read_batch(j);
        fed = (size_t)j->observations;
        int64_t begin = aphi_clock_ns();
        feed_batch(j, 0, passing);
        j->check_ns += aphi_clock_ns() - begin;
        fed = (size_t)j->observations - fed;
        if (j->options->progress)
            j->options->progress(j->observations);
    } while (j->status > 0 && passing(j));
    /* A failure is explained better with the answers that had a part in it. */
    feed_batch(j, fed, wanted);
    while (j->status > 0 && wanted(j)) {
        read_batch(j);
        feed_batch(j, 0, wanted);
    }
}

/* ---- telling ----------------------------------------------------------------------------------------------------- */

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
            *(o->events[i].kind == APHI_SAW_REQUEST ? &its->call : &its->end) = o->base_count + i;
        }
    return spans;
}

static aph_value tell_operation(const aph_oracle *o, size_t asked, const span *its, size_t now)
{
    const aphi_asked *a = &o->ops[asked];
    aph_value op = aph_record("connection", aph_int(a->connection), "request", a->message, "line",
                              aph_int((int64_t)a->line), "call", aph_int((int64_t)its->call));
    if (its->end <= now && o->events[its->end - o->base_count].kind == APHI_SAW_ANSWER)
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
        const aphi_seen_event *e = &o->events[back];
        if (e->kind != APHI_SAW_REQUEST && e->asked != APHI_NONE && concerns(o, e->asked, blamed))
            shown[n++] = tell_operation(o, e->asked, &spans[e->asked], now);
    }
    free(spans);
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

static aph_value tell_allowed(const aph_oracle *probe)
{
    aph_value all[APHI_ALLOWED_MAX];
    for (size_t i = 0; i < probe->allowed_count; i++) {
        const aphi_allowed *a = &probe->allowed[i];
        size_t n = 0;
        aph_value *lines = aphi_alloc((a->order_count + 1) * sizeof *lines);
        for (size_t k = 0; k < a->order_count; k++)
            for (size_t q = 0; q < probe->op_count; q++)
                if (probe->ops[q].id == a->order[k].id)
                    lines[n++] = aph_int((int64_t)probe->ops[q].line);
        all[i] = aph_record("answer", spelt(a->answer), "state", spelt(a->state), "order", aph_array(n, lines));
        if (a->store)
            all[i] = aph_put(all[i], "given", spelt(a->store));
        free(lines);
    }
    return aph_array(probe->allowed_count, all);
}

static void tell_failure(judgement *j)
{
    const aphi_seat *seat = aphi_jury_dissenter(j->jury);
    const aph_oracle *o = seat->oracle;
    int64_t begin = aphi_clock_ns();
    aphi_evidence e = aphi_evidence_open(o, EVIDENCE_VISITS);
    size_t blamed = e.found ? e.event : o->deepest < o->event_count ? o->deepest : o->event_count - 1;
    const aphi_seen_event *event = &o->events[blamed];
    aph_value evidence = aph_record("line", aph_int((int64_t)event->line), "connection", aph_int(event->connection),
                                    "exact", aph_bool(e.found), "window", tell_window(o, blamed));
    if (seat->part)
        evidence = aph_put(evidence, "part", seat->part);
    if (event->kind == APHI_SAW_ANSWER)
        evidence = aph_put(evidence, "observed", event->message);
    if (event->asked != APHI_NONE)
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

static void tell_unknown(judgement *j)
{
    static const aphi_exit by_fault[] = {
        [APH_FAULT_REQUEST] = APHI_EXIT_TRACE_REQUEST, [APH_FAULT_ANSWER] = APHI_EXIT_TRACE_ORPHAN,
        [APH_FAULT_CRASH] = APHI_EXIT_MODEL_CRASH,     [APH_FAULT_STUCK] = APHI_EXIT_MODEL_STUCK,
        [APH_FAULT_IMPURE] = APHI_EXIT_MODEL_IMPURE,   [APH_FAULT_PROMISE] = APHI_EXIT_MODEL_PROMISE};
    static const char *const limits[] = {[APH_LIMIT_TIME] = "time", [APH_LIMIT_MEMORY] = "memory",
                                         [APH_LIMIT_SOLVER] = "solver"};
    const aph_oracle *o = aphi_jury_dissenter(j->jury)->oracle;
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
    const aphi_seat *seats = aphi_jury_seats(j->jury, &n);
    aph_value *parts = aphi_alloc((n + 1) * sizeof *parts);
    bool holds = true;
    char why[200] = "";
    for (size_t i = 0; i < n; i++) {
        aphi_history none = {0}, *history = i < j->histories.count ? &j->histories.parts[i].history : &none;
        aph_value explanation = aphi_explain(seats[i].oracle, history);
        if (!explanation) {
            snprintf(why, sizeof why, "the solver did not find values for the choices in time");
            holds = false;
        } else if (holds) {
            holds = aphi_replay(j->model, history, explanation, why, sizeof why);
        }
        parts[i] = seats[i].part && explanation ? aph_put(explanation, "part", seats[i].part) : explanation;
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

static void tell_all(judgement *j)
{
    aph_oracle_stats stats = aphi_jury_stats(j->jury);
    size_t parts;
    aphi_jury_seats(j->jury, &parts);
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

static void close_judgement(judgement *j)
{
    aph_root_remove(mark_judgement, j);
    aphi_jury_close(j->jury);
    if (j->ahead)
        aphi_foresight_close(j->ahead);
    aphi_trace_close(j->trace);
    aphi_histories_deinit(&j->histories);
    free(j->batch);
}

/* Memory that is there before the clock starts: a trace of a hundred operations is checked in less time than the system
 * takes to hand out the pages for it. */
static void warm_up(void)
{
    static bool warm;
    if (warm)
        return;
    warm = true;
    mallopt(M_TRIM_THRESHOLD, INT_MAX);
    mallopt(M_MMAP_THRESHOLD, 64 << 20);
    mallopt(M_TOP_PAD, WARM_BYTES);
    char *pages = aphi_alloc(WARM_BYTES);
    for (size_t i = 0; i < WARM_BYTES; i += 1024)
        ((volatile char *)pages)[i] = 1;
    free(pages);
}

typedef enum trial { JUDGED, TIED, IMPATIENT } trial;

/* Tied parts must be judged as a whole; a failure after explanations were given up must be looked at again. */
static trial attempt(judgement *j, bool whole, bool patient)
{
    char error[200];
    aph_oracle_options options = j->options->oracle;
    options.whole |= whole;
    options.patient |= patient;
    options.order = j->options->explain;
    warm_up();
    j->result = aph_object();
    aph_root_add(mark_judgement, j);
    aphi_histories_init(&j->histories, j->model, aphi_jury_apart(j->model, &options));
    j->trace = aphi_trace_open(j->file, &(aphi_trace_options){.format = j->options->format, .model = j->model});
    j->ahead = aphi_foresight_open(j->trace);
    j->batch = aphi_alloc(BATCH * sizeof *j->batch);
    j->jury = aphi_jury_open(j->model, &options, error, sizeof error);
    if (!j->jury) {
        tell(j, "file", aph_str(j->file));
        tell_error(j, APHI_EXIT_MODEL_CRASH, error, 0, 0);
        return JUDGED;
    }
    feed_all(j);
    if (aphi_jury_tied(j->jury))
        return TIED;
    const aphi_seat *dissenter = aphi_jury_dissenter(j->jury);
    if (dissenter && aph_oracle_limit(dissenter->oracle) == APH_LIMIT_WINDOW)
        return IMPATIENT;
    tell_all(j);
    return JUDGED;
}

/* What is not a plain file, such as a pipe, may be gone once it was read. */
static bool can_read_again(const char *file)
{
    struct stat s;
    return strcmp(file, "-") && stat(file, &s) == 0 && S_ISREG(s.st_mode);
}

static void tell_once(judgement *j)
{
    tell(j, "file", aph_str(j->file));
    tell_error(j, APHI_EXIT_TRACE_IO,
               "a connection has requests for several parts of the state in flight at once, so the trace has to be "
               "read a second time, which standard input or a pipe cannot: name a file, or use --whole", 0, 0);
}

aph_value aphi_judge(const aph_model *model, const char *file, const aphi_judge_options *options)
{
    int64_t spent_ns = 0;
    bool again = can_read_again(file);
    for (bool whole = false, patient = !again;;) {
        judgement j = {.model = model, .options = options, .file = file, .check_ns = spent_ns};
        trial t = attempt(&j, whole, patient);
        if (t != JUDGED && !again) {
            tell_once(&j);
            t = JUDGED;
        }
        whole |= t == TIED;
        patient |= t == IMPATIENT;
        spent_ns = j.check_ns;
        aph_value result = j.result;
        close_judgement(&j);
        if (t == JUDGED)
            return result;
    }
}

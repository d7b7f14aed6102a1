/* SPDX-License-Identifier: Apache-2.0
 *
 * check_trace.c - the check of one trace against one model.
 *
 * Idea:       observations are read in batches and fed to the partitions, so that reading and checking are timed
 *             separately without a clock call per observation. A trace whose partitions depend on each other is checked
 *             again as a whole; one that fails after explanations were dropped is checked again patiently; one with a
 *             model that was found late to distinguish connections is checked again with that knowledge. A failure is
 *             judged again without the promises of the model, and so are the first observations of a pass; pairs of
 *             the first and of the last requests of a pass are run in both orders. The messages that the model allows
 *             instead of an unexplained one are encoded and decoded.
 * Read next:  oracle/partitions.h, check_result.c */
#include <antiphon/check.h>

#include "base/clock.h"
#include "base/memory.h"
#include "check/check_derived.h"
#include "check/check_result.h"
#include "check/history_capture.h"
#include "check/promises.h"
#include "check/unreadable.h"
#include "env/env.h"
#include "oracle/evidence.h"
#include "oracle/explanation.h"
#include "oracle/partitions.h"
#include "oracle/replay.h"
#include "trace/lookahead.h"
#include "tree/model_calls.h"
#include "tree/step_guard.h"
#include "value/heap.h"

#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

enum {
    BATCH = 4096,
    KEPT = 128,          /* observations kept for tests of the promises */
    KEPT_FIRST = 48,     /* of a pass, these are judged again, and one more for each KEPT_ONE_IN */
    KEPT_ONE_IN = 64,
    VISITS = 8,          /* for each of them */
    PAIRS_RUNS = 512,    /* runs of the model for pairs of requests, */
    PAIRS_ONE_IN = 64,   /* and one more for each such number of steps */
};
static const int64_t PAIRS_NS = 500000000;

typedef struct check {
    const aph_model *model;         /* as returned by aphi_model_in_environment */
    const aph_check_options *options;
    aph_oracle_options used;        /* of this attempt */
    const void *bytes;              /* the trace in memory; NULL: the file result->file */
    size_t size;
    aphi_trace *trace;
    aphi_lookahead *ahead;
    aphi_partitions *partitions;
    aphi_lookahead_event *batch;
    size_t batch_count;
    int status;                     /* result of the reader: 1, 0 at the end, -1 on an error */
    aph_verdict verdict;
    uint64_t line;                  /* of the last observation */
    bool tells_apart;               /* the model was found to distinguish connections */
    bool verdict_only;              /* without evidence and tests of promises */
    aphi_lookahead_event *kept;     /* the first observations; after a failure that is judged again, the last */
    size_t kept_count;
    aphi_history_capture histories; /* with options->explain */
    aph_check_result *result;
} check;

static void mark_batch(void *context)
{
    check *c = context;
    for (size_t i = 0; i < c->batch_count; i++) {
        aph_mark(c->batch[i].seen.message);
        aph_mark(c->batch[i].answer);
    }
    for (size_t i = 0; i < c->kept_count; i++) {
        aph_mark(c->kept[i].seen.message);
        aph_mark(c->kept[i].answer);
    }
}

static bool is_stopped(const check *c)
{
    return c->options->stop && *c->options->stop;
}

/* ---- feeding ----------------------------------------------------------------------------------------------------- */

static bool is_short_of_memory(void)
{
    if (aphi_heap_is_tight() && aphi_heap_is_full())
        aph_collect();
    return aphi_heap_is_tight();
}

static void read_batch(check *c)
{
    for (c->batch_count = 0; c->batch_count < BATCH; c->batch_count++) {
        if (c->batch_count && is_short_of_memory())
            return;
        c->status = aphi_lookahead_next(c->ahead, &c->batch[c->batch_count]);
        if (c->status <= 0)
            return;
    }
}

static aph_verdict feed_event(check *c, const aphi_lookahead_event *o)
{
    aph_lookahead known = {o->future, o->answer, o->order, o->alone, o->shown, o->sought};
    switch (o->seen.kind) {
    case APHI_SENT:
        c->result->operations++;
        return aphi_partitions_sent(c->partitions, o->seen.line, o->seen.connection, o->seen.message, &known);
    case APHI_RECEIVED:
        c->result->responses++;
        return aphi_partitions_received(c->partitions, o->seen.line, o->seen.connection, o->seen.message);
    case APHI_LOST: return aphi_partitions_lost(c->partitions, o->seen.line, o->seen.connection, o->foretold);
    case APHI_QUIET: return aphi_partitions_quiet(c->partitions, o->seen.line);
    default: return c->verdict;
    }
}

/* Feeds the batch from this index on, while the condition holds. */
static void feed_batch(check *c, size_t from, bool (*condition)(check *))
{
    for (size_t i = from; i < c->batch_count && condition(c); i++) {
        const aphi_lookahead_event *o = &c->batch[i];
        c->line = o->seen.line;
        c->result->observations++;
        c->verdict = feed_event(c, o);
        if (c->options->explain)
            aphi_history_capture_add(&c->histories, o, aphi_trace_paired(c->trace));
    }
    c->verdict = aphi_partitions_settle(c->partitions);
}

static bool is_passing(check *c)
{
    return c->verdict == APH_PASS && !aphi_partitions_are_tied(c->partitions);
}

static bool wants_more(check *c)
{
    return aphi_partitions_wants_more(c->partitions);
}

static void keep_first(check *c)
{
    while (c->kept_count < KEPT && c->kept_count < c->batch_count) {
        c->kept[c->kept_count] = c->batch[c->kept_count];
        c->kept_count++;
    }
}

static void feed_all(check *c)
{
    aph_check_result *r = c->result;
    size_t fed;
    do {
        read_batch(c);
        if (!r->observations)
            keep_first(c);
        fed = (size_t)r->observations;
        int64_t begin = aphi_clock_ns();
        feed_batch(c, 0, is_passing);
        r->check_ns += aphi_clock_ns() - begin;
        fed = (size_t)r->observations - fed;
        if (c->options->progress)
            c->options->progress(c->options->context, r->observations);
    } while (c->status > 0 && is_passing(c) && !is_stopped(c));
    /* The evidence of a failure improves with the responses that were known in advance. */
    feed_batch(c, fed, wants_more);
    while (c->status > 0 && wants_more(c)) {
        read_batch(c);
        feed_batch(c, 0, wants_more);
    }
}

/* ---- the result -------------------------------------------------------------------------------------------------- */

static void fill_failure(check *c)
{
    const aphi_partition *rejecting = aphi_partitions_rejecting(c->partitions);
    int64_t begin = aphi_clock_ns();
    c->result->verdict = APH_CHECK_FAIL;
    if (c->verdict_only)
        return;
    c->result->evidence = aphi_evidence_value(rejecting->oracle, rejecting->part);
    c->result->evidence_ns = aphi_clock_ns() - begin;
}

static void fill_fault(check *c, aph_fault fault, const char *message, uint64_t line)
{
    static const aph_check_error errors[] = {
        [APH_FAULT_REQUEST] = APH_CHECK_TRACE_REQUEST, [APH_FAULT_ANSWER] = APH_CHECK_TRACE_ORPHAN,
        [APH_FAULT_CRASH] = APH_CHECK_MODEL_CRASH,     [APH_FAULT_STUCK] = APH_CHECK_MODEL_STUCK,
        [APH_FAULT_IMPURE] = APH_CHECK_MODEL_IMPURE,   [APH_FAULT_PROMISE] = APH_CHECK_MODEL_PROMISE,
        [APH_FAULT_CALL] = APH_CHECK_MODEL_CALL,      [APH_FAULT_CODEC] = APH_CHECK_MODEL_CODEC};
    char text[APHI_FAULT_BYTES + 100];
    bool model = errors[fault] >= APH_CHECK_MODEL_CRASH;
    snprintf(text, sizeof text, "%s%s%s%s", model ? "model " : "", model ? c->model->name : "", model ? ": " : "",
             message);
    aphi_check_result_error(c->result, errors[fault], text);
    c->result->line = line;
}

static void fill_limit(check *c, aph_limit limit)
{
    c->result->verdict = APH_CHECK_UNKNOWN;
    c->result->limit = limit;
    c->result->line = c->line;
}

static void fill_unknown(check *c)
{
    const aph_oracle *o = aphi_partitions_rejecting(c->partitions)->oracle;
    const char *message;
    aph_fault fault = aph_oracle_fault(o, &message);
    if (fault)
        fill_fault(c, fault, message, o->fault_line);
    else
        fill_limit(c, aph_oracle_limit(o));
    if (c->result->limit == APH_LIMIT_BRANCHES)
        snprintf(c->result->message, sizeof c->result->message,
                 "model %s: %s; split it into several steps, or foretell its choices", c->model->name, message);
}

_Static_assert(APH_CHECK_TRACE_LONG - APH_CHECK_TRACE_IO == APHI_TRACE_LONG - APHI_TRACE_IO, "the same order");

static void fill_trace_error(aph_check_result *r, const aphi_trace *trace)
{
    const aphi_trace_error *e = aphi_trace_error_of(trace);
    r->line = e->line;
    if (e->fault == APHI_TRACE_MEMORY) {
        r->verdict = APH_CHECK_UNKNOWN;
        r->limit = APH_LIMIT_MEMORY;
        return;
    }
    aph_check_error error = e->fault == APHI_TRACE_ORDER  ? APH_CHECK_TRACE_ORDER
                            : e->fault == APHI_TRACE_DEEP ? APH_CHECK_TRACE_DEEP
                                                          : APH_CHECK_TRACE_IO + (e->fault - APHI_TRACE_IO);
    aphi_check_result_error(r, error, e->message);
    r->column = e->column;
}

static void fill_explanation(check *c)
{
    size_t n;
    aph_check_result *r = c->result;
    const aphi_partition *partitions = aphi_partitions_all(c->partitions, &n);
    aph_value *parts = aphi_alloc((n + 1) * sizeof *parts);
    r->explanation_holds = true;
    aphi_guard_arm(c->model, 0, 0); /* the limits concern the search, which is over */
    for (size_t i = 0; i < n; i++) {
        aphi_history none = {0}, *history = i < c->histories.count ? &c->histories.parts[i].history : &none;
        aph_value explanation = aphi_explain(partitions[i].oracle, history);
        if (!explanation) {
            snprintf(r->message, sizeof r->message, "the solver did not find values for the choices in time");
            r->explanation_holds = false;
        } else if (r->explanation_holds) {
            r->explanation_holds = aphi_replay(c->model, history, explanation, r->message, sizeof r->message);
        }
        parts[i] = partitions[i].part && explanation ? aph_put(explanation, "part", partitions[i].part) : explanation;
    }
    r->explanation = aph_array(n, parts);
    free(parts);
}

static void fill_statistics(check *c)
{
    aph_check_result *r = c->result;
    aph_oracle_stats stats = aphi_partitions_stats(c->partitions);
    size_t parts;
    aphi_partitions_all(c->partitions, &parts);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    r->format = aphi_trace_format_of(c->trace);
    r->configurations = stats.configurations;
    r->steps = stats.steps;
    r->solver_calls = stats.solver_calls;
    r->parts = parts;
    r->resident_kb = (uint64_t)usage.ru_maxrss;
}

/* Reads the rest of the trace. Returns true if its lines are not in chronological order: a later line may then belong
 * before the failing one, for instance if the logs of two clients were concatenated. */
static bool is_out_of_order(check *c)
{
    aphi_observation o;
    while (aphi_trace_timed(c->trace) && !is_stopped(c) && aphi_trace_next(c->trace, &o) > 0)
        if (aphi_heap_is_full())
            aph_collect();
    return aphi_trace_error_of(c->trace)->fault == APHI_TRACE_ORDER;
}

/* ---- promises ---------------------------------------------------------------------------------------------------- */

/* The others depend on rpc, so it comes last. */
static const unsigned suspects[] = {APHI_PROMISE_ALIKE, APHI_PROMISE_PART,  APHI_PROMISE_COMMUTE,
                                    APHI_PROMISE_READS, APHI_PROMISE_EAGER, APHI_PROMISE_RPC};
enum { PROMISES = sizeof suspects / sizeof *suspects };

static void fill_false_promise(check *c, unsigned promise, const char *verdict, const char *pair)
{
    char text[480];
    snprintf(text, sizeof text, "the promise %s is false%s%s%s%s; correct or remove it", aphi_promise_name(promise),
             verdict ? ": without it, " : "", verdict ? verdict : "", *pair ? verdict ? "; " : ": " : "", pair);
    fill_fault(c, APH_FAULT_PROMISE, text, 0);
}

/* Returns the first promise that pairs of these requests show to be false, or 0. */
static unsigned find_pair(const check *c, unsigned promises, const aphi_lookahead_event *events, size_t n,
                          uint64_t runs, char *pair, size_t size)
{
    static const unsigned tested[] = {APHI_PROMISE_PART, APHI_PROMISE_COMMUTE, APHI_PROMISE_READS};
    for (size_t i = 0; i < sizeof tested / sizeof *tested; i++)
        if ((promises & tested[i]) &&
            aphi_promises_find_pair(c->model, tested[i], events, n, aphi_model_initial(c->model), runs, PAIRS_NS, pair,
                                    size))
            return tested[i];
    return 0;
}

/* The same for the first observations, and for the last ones if there are more. */
static unsigned find_pair_in_pass(const check *c, unsigned promises, char *pair, size_t size)
{
    uint64_t runs = PAIRS_RUNS + c->result->steps / PAIRS_ONE_IN;
    unsigned found = find_pair(c, promises, c->kept, c->kept_count, runs, pair, size);
    if (found || c->result->observations <= KEPT)
        return found;
    size_t n = c->batch_count < KEPT ? c->batch_count : KEPT;
    return find_pair(c, promises, c->batch + (c->batch_count - n), n, runs, pair, size);
}

/* Judges the kept observations again without the promises. */
static aph_verdict judge_kept(const check *c, unsigned dropped, size_t n)
{
    return aphi_promises_judge(c->model, &c->used, dropped, c->kept, n, VISITS * n);
}

/* After a pass: judges its first observations without promises, and tests pairs of its first and last requests. */
static void test_promises(check *c)
{
    unsigned promises = aphi_promises_in_use(c->model, &c->used), single = 0;
    size_t n = KEPT_FIRST + c->result->observations / KEPT_ONE_IN;
    char pair[320] = "";
    n = n < c->kept_count ? n : c->kept_count;
    /* Each step was tested for rpc and on its own connection. */
    unsigned dropped = promises & ~(unsigned)(APHI_PROMISE_RPC | APHI_PROMISE_ALIKE);
    if (!dropped)
        return;
    if (judge_kept(c, dropped, n) == APH_FAIL) {
        for (size_t i = 0; i < PROMISES && !single; i++)
            single = (dropped & suspects[i]) && judge_kept(c, suspects[i], n) == APH_FAIL ? suspects[i] : 0;
        find_pair(c, single, c->kept, c->kept_count, UINT64_MAX, pair, sizeof pair);
        fill_false_promise(c, single, "the model does not explain the first observations", pair);
    } else if ((single = find_pair_in_pass(c, promises, pair, sizeof pair))) {
        fill_false_promise(c, single, NULL, pair);
    }
}

/* Returns true if the requests alone show something about the server: they filled a bounded buffer, or at once reached
 * a server that may refuse them. */
static bool are_requests_judged(const check *c)
{
    aphi_env env = {0};
    aphi_env_named(c->options->oracle.environment, &env);
    return c->result->configurations && (env.buffer || (env.immediate && !c->model->rpc));
}

/* A history without responses is explained by a server that took none of the requests. */
static void fill_pass(check *c)
{
    if (c->options->explain)
        fill_explanation(c);
    if (c->result->responses && !c->verdict_only)
        test_promises(c);
    if (c->result->responses || are_requests_judged(c))
        return;
    c->result->verdict = APH_CHECK_VACUOUS;
    if (!c->options->explain || c->result->explanation_holds)
        snprintf(c->result->message, sizeof c->result->message, "no request has a response, so nothing was checked");
}

static void fill_result(check *c)
{
    fill_statistics(c);
    if (c->verdict == APH_FAIL && is_out_of_order(c))
        fill_trace_error(c->result, c->trace);
    else if (c->verdict == APH_FAIL)
        fill_failure(c);
    else if (is_stopped(c) && (c->verdict != APH_PASS || c->status != 0))
        fill_limit(c, APH_LIMIT_STOPPED);
    else if (c->verdict == APH_UNKNOWN)
        fill_unknown(c);
    else if (c->status < 0)
        fill_trace_error(c->result, c->trace);
    else if (!c->result->operations)
        aphi_check_result_error(c->result, APH_CHECK_TRACE_EMPTY,
                                "the trace has no request, so nothing was checked; check the name of the file");
    else
        fill_pass(c);
}

/* ---- attempts ---------------------------------------------------------------------------------------------------- */

typedef enum attempt {
    DONE,
    DEPENDENT, /* the partitions depend on each other: check the state as a whole */
    TRIMMED,   /* failed after explanations were dropped, or because connections were not distinguished */
} attempt;

/* How the trace is checked; what earlier attempts have shown. */
typedef struct manner {
    bool whole, patient, tell_apart;
} manner;

static attempt check_partitions(check *c, const aph_oracle_options *options)
{
    char error[200], message[320];
    c->partitions = aphi_partitions_open(c->model, options, error, sizeof error);
    if (!c->partitions && is_stopped(c)) {
        fill_limit(c, APH_LIMIT_STOPPED);
        return DONE;
    }
    if (!c->partitions) {
        snprintf(message, sizeof message, "model %s: %s", c->model->name, error);
        aphi_check_result_error(c->result, APH_CHECK_MODEL_CRASH, message);
        return DONE;
    }
    aphi_partitions_hold(c->partitions);
    feed_all(c);
    c->tells_apart = aphi_partitions_tell_apart(c->partitions);
    if (aphi_partitions_are_tied(c->partitions))
        return DEPENDENT;
    const aphi_partition *rejecting = aphi_partitions_rejecting(c->partitions);
    if (rejecting && aph_oracle_limit(rejecting->oracle) == APH_LIMIT_WINDOW)
        return TRIMMED;
    fill_result(c);
    return DONE;
}

static aphi_trace *open_trace(const check *c)
{
    aphi_trace_options options = {.format = c->options->format, .model = c->model,
                                  .ignore_times = c->options->ignore_times, .ignore_quiet = c->options->ignore_quiet};
    return c->bytes ? aphi_trace_open_memory(c->bytes, c->size, &options) : aphi_trace_open(c->result->file, &options);
}

/* Maps memory pages before a check is timed: checking a hundred operations takes less time than mapping the pages for
 * it. Memory is allocated, written and freed, so that the allocator reuses its pages; no part of the check is computed
 * in advance. A page takes about two microseconds, so only as many are mapped as a short trace needs. */
static void prefault_pages(void)
{
    enum { PAGES = 2 << 20, PAGE = 1024 }; /* in bytes; the smallest page size */
    static bool done;
    if (done)
        return;
    done = true;
    mallopt(M_TRIM_THRESHOLD, INT_MAX);
    mallopt(M_MMAP_THRESHOLD, 64 << 20);
    mallopt(M_TOP_PAD, PAGES);
    volatile char *memory = aphi_alloc(PAGES);
    for (size_t i = 0; i < PAGES; i += PAGE)
        memory[i] = 1;
    free((void *)memory);
}

static attempt check_once(check *c, manner how)
{
    aph_oracle_options options = c->options->oracle;
    options.whole |= how.whole;
    options.patient |= how.patient;
    options.tell_apart |= how.tell_apart;
    options.order = c->options->explain;
    c->result->operations = c->result->responses = c->result->observations = 0;
    prefault_pages();
    size_t limit_before = aphi_heap_limit;
    aphi_heap_limit = options.memory;
    if (aphi_heap_is_tight())
        aph_collect();
    aph_root_add(mark_batch, c);
    aphi_history_capture_init(&c->histories, c->model, options.environment, aphi_partitions_apply(c->model, &options));
    c->trace = open_trace(c);
    c->ahead = aphi_lookahead_open(c->trace);
    c->batch = aphi_alloc(BATCH * sizeof *c->batch);
    c->kept = aphi_alloc(KEPT * sizeof *c->kept);
    c->used = options;
    attempt end = check_partitions(c, &options);
    aph_root_remove(mark_batch, c);
    aphi_heap_limit = limit_before;
    aphi_partitions_close(c->partitions);
    aphi_lookahead_close(c->ahead);
    aphi_trace_close(c->trace);
    aphi_history_capture_deinit(&c->histories);
    free(c->batch);
    free(c->kept);
    return end;
}

/* Returns false for a pipe, which can be read only once. */
static bool can_read_again(const check *c)
{
    struct stat s;
    return c->bytes || (strcmp(c->result->file, "-") && stat(c->result->file, &s) == 0 && S_ISREG(s.st_mode));
}

static void refuse_pipe(aph_check_result *r, attempt end)
{
    aphi_check_result_error(r, APH_CHECK_TRACE_IO,
                            end != DEPENDENT
                                ? "the model was found late to distinguish connections, so the trace must be read "
                                  "twice, which excludes standard input and pipes; name a file"
                                : "a connection has pending requests for several parts of the state, so the trace "
                                  "must be read twice, which excludes standard input and pipes; name a file, or use "
                                  "--whole");
}

/* Returns how the last attempt was made. */
static manner check_until_done(check source, manner how)
{
    bool again = can_read_again(&source);
    how.patient |= !again;
    for (;;) {
        check c = source;
        attempt end = check_once(&c, how);
        if (end == DONE)
            return (manner){how.whole, how.patient, c.tells_apart};
        if (!again) {
            refuse_pipe(source.result, end);
            return how;
        }
        how.whole |= end == DEPENDENT;
        how.patient |= end == TRIMMED && how.tell_apart == c.tells_apart;
        how.tell_apart = c.tells_apart;
    }
}

/* ---- failures without promises ----------------------------------------------------------------------------------- */

/* Returns the time in ms for judging a failure again, given the time that it took. */
static int64_t time_again(const check *c, int64_t times, int64_t least, int64_t most)
{
    int64_t ms = times * c->result->check_ns / 1000000, limit = c->options->oracle.time_ms;
    ms = ms < least ? least : ms > most ? most : ms;
    return limit && limit < ms ? limit : ms;
}

/* The search with promises missed an error of the model. */
static void replace_result(aph_check_result *failure, const aph_check_result *error)
{
    failure->evidence = APH_NIL;
    aphi_check_result_error(failure, error->error, error->message);
    failure->line = error->line;
}

/* Judges the history without these promises. *lost: it has lost responses. If the model is found to make an invalid
 * call, this error replaces the failure. */
static aph_check_verdict judge_again(const check *source, manner how, unsigned dropped, int64_t ms, bool *lost)
{
    aph_model model = aphi_promises_drop(source->model, dropped);
    aph_check_options options = *source->options;
    options.explain = false;
    options.progress = NULL;
    options.oracle.time_ms = ms;
    options.oracle.tell_apart |= how.tell_apart || (dropped & APHI_PROMISE_ALIKE);
    aph_check_result *r = aphi_check_result_make(source->result->file, model.name);
    check c = {.model = &model, .options = &options, .bytes = source->bytes, .size = source->size, .result = r,
               .verdict_only = true};
    check_until_done(c, (manner){0});
    aph_check_verdict verdict = r->verdict;
    *lost = r->observations > r->operations + r->responses;
    if (r->error == APH_CHECK_MODEL_CALL)
        replace_result(source->result, r);
    aph_check_result_free(r);
    return verdict;
}

/* Keeps the last observations up to the line. */
static void keep_last(check *c, uint64_t line)
{
    aphi_lookahead_event o = {0};
    c->trace = open_trace(c);
    c->ahead = aphi_lookahead_open(c->trace);
    while (o.seen.line < line && aphi_lookahead_next(c->ahead, &o) > 0) {
        size_t kept = c->kept_count < KEPT ? c->kept_count++ : KEPT - 1;
        if (kept == KEPT - 1)
            memmove(c->kept, c->kept + 1, kept * sizeof *c->kept);
        c->kept[kept] = o;
        if (aphi_heap_is_full())
            aph_collect();
    }
    aphi_lookahead_close(c->ahead);
    aphi_trace_close(c->trace);
}

static void report_false_promise(check *c, unsigned promise)
{
    char pair[320] = "";
    uint64_t line = (uint64_t)aph_int_of(aph_field(c->result->evidence, "line"));
    c->kept = aphi_alloc(KEPT * sizeof *c->kept);
    aph_root_add(mark_batch, c);
    keep_last(c, line);
    find_pair(c, promise, c->kept, c->kept_count, UINT64_MAX, pair, sizeof pair);
    aph_root_remove(mark_batch, c);
    free(c->kept);
    fill_false_promise(c, promise, "the model explains the history", pair);
    c->result->line = line;
}

/* Returns the promise without which the history has an explanation; a set if no single one is at fault. */
static unsigned find_false_promise(const check *c, manner how, unsigned promises, int64_t ms)
{
    bool lost;
    for (size_t i = 0; i < PROMISES; i++)
        if ((promises & suspects[i]) && judge_again(c, how, suspects[i], ms, &lost) == APH_CHECK_PASS)
            return suspects[i];
    return promises;
}

static void check_distinguishing(check *c, manner how)
{
    how.tell_apart = true;
    c->result->verdict = APH_CHECK_PASS;
    c->result->evidence = APH_NIL;
    c->result->check_ns = c->result->evidence_ns = 0;
    check_until_done(*c, how);
}

/* Judges the failure without rpc or eager, too. Each step is tested for rpc when it is run, and without rpc a search
 * can take very long and a history with lost responses is judged less strictly, so here only a pass matters. */
static aph_check_verdict judge_without_any(const check *c, manner how, unsigned promises)
{
    bool lost = false;
    aph_check_verdict verdict = judge_again(c, how, promises, time_again(c, 5, 50, 1000), &lost);
    return c->model->rpc && (verdict != APH_CHECK_PASS || lost) ? APH_CHECK_FAIL : verdict;
}

/* A failure is judged again: first without the promises that only make the search faster, then without any. */
static void verify_failure(check *c, manner how)
{
    unsigned promises = aphi_promises_in_use(c->model, &c->options->oracle), wrong = 0;
    promises &= how.tell_apart ? ~(unsigned)APHI_PROMISE_ALIKE : ~0u;
    unsigned heavy = promises & (unsigned)(APHI_PROMISE_RPC | APHI_PROMISE_EAGER), light = promises & ~heavy;
    bool lost, again = can_read_again(c);
    int64_t light_ms = time_again(c, 20, 200, 5000);
    aph_check_verdict verdict = !again ? APH_CHECK_UNKNOWN : APH_CHECK_FAIL;
    if (light && again)
        verdict = judge_again(c, how, light, light_ms, &lost);
    if (verdict == APH_CHECK_PASS)
        wrong = find_false_promise(c, how, light, light_ms);
    else if (verdict == APH_CHECK_UNKNOWN && again && (light & APHI_PROMISE_ALIKE) &&
             judge_again(c, how, APHI_PROMISE_ALIKE, light_ms, &lost) == APH_CHECK_PASS)
        wrong = APHI_PROMISE_ALIKE;
    else if (heavy && verdict == APH_CHECK_FAIL && (verdict = judge_without_any(c, how, promises)) == APH_CHECK_PASS)
        wrong = heavy;
    if (c->result->verdict != APH_CHECK_FAIL)
        return;
    if (wrong == APHI_PROMISE_ALIKE)
        check_distinguishing(c, how);
    else if (wrong)
        report_false_promise(c, wrong);
    else if (promises && verdict != APH_CHECK_FAIL)
        c->result->evidence = aph_put(c->result->evidence, "promises", aph_str("unverified"));
}

/* Returns false if the codec cannot encode a request of the trace: then its messages never were bytes. */
static bool requests_are_encoded(check c)
{
    aphi_observation o;
    aph_value bytes;
    bool encoded = can_read_again(&c);
    c.trace = encoded ? open_trace(&c) : NULL;
    while (encoded && aphi_trace_next(c.trace, &o) > 0) {
        if (o.kind == APHI_SENT && !aphi_is_signal(o.message) && o.connection < APH_ACCEPTED)
            encoded = aph_encode(c.model->codec, APH_TO_SERVER, o.message, &bytes);
        if (aphi_heap_is_full())
            aph_collect();
    }
    if (c.trace)
        aphi_trace_close(c.trace);
    return encoded;
}

/* A failure is an error of the model if no server could have sent a message that the model allows. */
static void verify_codec(check *c)
{
    char text[480];
    uint64_t line = (uint64_t)aph_int_of(aph_field(c->result->evidence, "line"));
    if (!aphi_unreadable_find(c->model, &c->result->evidence, text, sizeof text) || !requests_are_encoded(*c))
        return;
    fill_fault(c, APH_FAULT_CODEC, text, line);
}

static void check_and_verify(check c)
{
    manner how = check_until_done(c, (manner){0});
    if (c.result->verdict == APH_CHECK_FAIL && !is_stopped(&c))
        verify_failure(&c, how);
    if (c.result->verdict == APH_CHECK_FAIL)
        verify_codec(&c);
}

/* Returns a copy of the model without the promises that do not hold in the environment: where messages are lost and
 * duplicated, a response cannot be assigned to a request. */
static aph_model model_in_environment(const aph_model *model, const char *environment)
{
    aph_model copy = *model;
    aphi_env env;
    if (aphi_env_named(environment, &env) && env.lossy) {
        copy.rpc = false;
        copy.part = NULL;
        copy.commute = NULL;
        copy.reads = NULL;
    }
    return copy;
}

static const aph_check_options defaults;

static bool has_environment(const aph_check_options *options, aph_check_result *r)
{
    if (aphi_env_named(options->oracle.environment, &(aphi_env){0}))
        return true;
    char message[200];
    snprintf(message, sizeof message, "environment %.60s: unknown; use " APHI_ENV_NAMES, options->oracle.environment);
    aphi_check_result_error(r, APH_CHECK_OPTIONS, message);
    return false;
}

static void check_over_network(check *c, const aph_network *network)
{
    size_t limit_before = aphi_heap_limit;
    aphi_heap_limit = c->options->oracle.memory;
    c->trace = open_trace(c);
    if (!aphi_check_derived(c->model, network, c->options, c->trace, c->result))
        fill_trace_error(c->result, c->trace);
    else if (c->result->verdict == APH_CHECK_FAIL)
        verify_codec(c);
    aphi_trace_close(c->trace);
    aphi_heap_limit = limit_before;
}

/* Decides by the derivation, over the given network or the one that the environment names. */
static void check_by_derivation(check c)
{
    aph_loaded_network named = {0};
    aph_load_error error;
    if (c.options->network)
        check_over_network(&c, c.options->network);
    else if (aph_network_load(c.options->oracle.environment, &named, &error))
        check_over_network(&c, named.network);
    else
        aphi_check_result_error(c.result, APH_CHECK_OPTIONS, error.message);
    aph_network_unload(&named);
}

static aph_check_result *check_trace(const aph_model *model, const char *file, const void *bytes, size_t size,
                                     const aph_check_options *options)
{
    aph_check_result *r = aphi_check_result_make(file, model->name);
    aph_model copy = model_in_environment(model, options->oracle.environment);
    check c = {.model = &copy, .options = options, .bytes = bytes, .size = size, .result = r};
    aphi_guard_watch(options->stop);
    aphi_guard_forget_call_fault();
    if (options->derive || options->network)
        check_by_derivation(c);
    else if (has_environment(options, r))
        check_and_verify(c);
    aphi_guard_watch(NULL);
    const char *message;
    aph_fault fault = aphi_guard_call_fault(&message);
    if (fault)
        fill_fault(&c, fault, message, 0);
    return r;
}

aph_check_result *aph_check_file(const aph_model *model, const char *path, const aph_check_options *options)
{
    return check_trace(model, path, NULL, 0, options ? options : &defaults);
}

aph_check_result *aph_check_memory(const aph_model *model, const void *bytes, size_t size,
                                   const aph_check_options *options)
{
    return check_trace(model, "memory", bytes ? bytes : "", size, options ? options : &defaults);
}

/* ---- explanations ------------------------------------------------------------------------------------------------ */

static aph_value part_of(aph_value explanation, aph_value part)
{
    for (size_t i = 0; i < aph_count(explanation); i++)
        if (aph_field(aph_at(explanation, i), "part") == part)
            return aph_at(explanation, i);
    return APH_NIL;
}

static void replay_parts(const aph_model *model, const aphi_history_capture *all, aph_value explanation,
                         aph_check_result *r)
{
    for (size_t i = 0; i < all->count; i++) {
        char why[200] = "it is not explained";
        aph_value name = all->parts[i].part, part = part_of(explanation, name);
        if (part && aphi_replay(model, &all->parts[i].history, part, why, sizeof why))
            continue;
        char *text = aph_json_text(name, NULL);
        r->verdict = APH_CHECK_FAIL;
        snprintf(r->message, sizeof r->message, "%s%.200s%s%s", name ? "part " : "", name ? text : "",
                 name ? ": " : "", why);
        free(text);
        return;
    }
}

static void replay_trace(const aph_model *model, const aph_check_options *options, aph_value explanation,
                         aph_check_result *r)
{
    aphi_trace_options reading = {.format = options->format, .model = model, .ignore_times = options->ignore_times,
                                  .ignore_quiet = options->ignore_quiet};
    aphi_trace *trace = aphi_trace_open(r->file, &reading);
    aphi_lookahead *ahead = aphi_lookahead_open(trace);
    aphi_history_capture all;
    aphi_lookahead_event o;
    int status;
    aphi_history_capture_init(&all, model, options->oracle.environment,
                              model->part && aph_has(aph_at(explanation, 0), aph_str("part")));
    while ((status = aphi_lookahead_next(ahead, &o)) > 0)
        aphi_history_capture_add(&all, &o, aphi_trace_paired(trace));
    r->format = aphi_trace_format_of(trace);
    if (status < 0)
        fill_trace_error(r, trace);
    else
        replay_parts(model, &all, explanation, r);
    aphi_history_capture_deinit(&all);
    aphi_lookahead_close(ahead);
    aphi_trace_close(trace);
}

aph_check_result *aph_check_explanation(const aph_model *model, const char *path, const aph_check_options *options,
                                        aph_value explanation)
{
    aph_check_result *r = aphi_check_result_make(path, model->name);
    const aph_check_options *used = options ? options : &defaults;
    aph_model copy = model_in_environment(model, used->oracle.environment);
    if (has_environment(used, r))
        replay_trace(&copy, used, explanation, r);
    return r;
}

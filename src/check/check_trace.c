/* SPDX-License-Identifier: Apache-2.0
 *
 * check_trace.c - the check of one trace against one model.
 *
 * Idea:       observations are read in batches and fed to the partitions, so that reading and checking are timed
 *             separately without a clock call per observation. A trace whose partitions depend on each other is checked
 *             again as a whole; one that fails after explanations were dropped is checked again patiently.
 * Read next:  oracle/partitions.h, check_result.c */
#include <antiphon/check.h>

#include "base/clock.h"
#include "base/memory.h"
#include "check/check_result.h"
#include "check/history_capture.h"
#include "env/env.h"
#include "oracle/evidence.h"
#include "oracle/explanation.h"
#include "oracle/partitions.h"
#include "oracle/replay.h"
#include "trace/lookahead.h"
#include "tree/step_guard.h"

#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

enum { BATCH = 4096 };

typedef struct check {
    const aph_model *model;         /* as returned by aphi_model_in_environment */
    const aph_check_options *options;
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
}

static bool is_stopped(const check *c)
{
    return c->options->stop && *c->options->stop;
}

/* ---- feeding ----------------------------------------------------------------------------------------------------- */

static void read_batch(check *c)
{
    for (c->batch_count = 0; c->batch_count < BATCH; c->batch_count++) {
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
        return aphi_partitions_received(c->partitions, o->seen.line, o->seen.connection, o->seen.message);
    case APHI_LOST: return aphi_partitions_lost(c->partitions, o->seen.line, o->seen.connection, o->foretold);
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
}

static bool is_passing(check *c)
{
    return c->verdict == APH_PASS && !aphi_partitions_are_tied(c->partitions);
}

static bool wants_more(check *c)
{
    return aphi_partitions_wants_more(c->partitions);
}

static void feed_all(check *c)
{
    aph_check_result *r = c->result;
    size_t fed;
    do {
        read_batch(c);
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
    c->result->evidence = aphi_evidence_value(rejecting->oracle, rejecting->part);
    c->result->evidence_ns = aphi_clock_ns() - begin;
}

static void fill_fault(check *c, aph_fault fault, const char *message, uint64_t line)
{
    static const aph_check_error errors[] = {
        [APH_FAULT_REQUEST] = APH_CHECK_TRACE_REQUEST, [APH_FAULT_ANSWER] = APH_CHECK_TRACE_ORPHAN,
        [APH_FAULT_CRASH] = APH_CHECK_MODEL_CRASH,     [APH_FAULT_STUCK] = APH_CHECK_MODEL_STUCK,
        [APH_FAULT_IMPURE] = APH_CHECK_MODEL_IMPURE,   [APH_FAULT_PROMISE] = APH_CHECK_MODEL_PROMISE,
        [APH_FAULT_CALL] = APH_CHECK_MODEL_CALL};
    char text[480];
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
}

_Static_assert(APH_CHECK_TRACE_LONG - APH_CHECK_TRACE_IO == APHI_TRACE_LONG - APHI_TRACE_IO, "the same order");

static void fill_trace_error(aph_check_result *r, const aphi_trace *trace)
{
    const aphi_trace_error *e = aphi_trace_error_of(trace);
    aphi_check_result_error(r, (aph_check_error)(APH_CHECK_TRACE_IO + (e->fault - APHI_TRACE_IO)), e->message);
    r->line = e->line;
    r->column = e->column;
}

static void fill_explanation(check *c)
{
    size_t n;
    aph_check_result *r = c->result;
    const aphi_partition *partitions = aphi_partitions_all(c->partitions, &n);
    aph_value *parts = aphi_alloc((n + 1) * sizeof *parts);
    r->explanation_holds = true;
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

static void fill_result(check *c)
{
    fill_statistics(c);
    if (c->verdict == APH_FAIL)
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
    else if (c->options->explain)
        fill_explanation(c);
}

/* ---- attempts ---------------------------------------------------------------------------------------------------- */

typedef enum attempt {
    DONE,
    DEPENDENT, /* the partitions depend on each other: check the state as a whole */
    TRIMMED,   /* failed after explanations were dropped: keep them all */
} attempt;

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
    feed_all(c);
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
    aphi_trace_options options = {.format = c->options->format, .model = c->model};
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

static attempt check_once(check *c, bool whole, bool patient)
{
    aph_oracle_options options = c->options->oracle;
    options.whole |= whole;
    options.patient |= patient;
    options.order = c->options->explain;
    c->result->operations = c->result->observations = 0;
    prefault_pages();
    aph_root_add(mark_batch, c);
    aphi_history_capture_init(&c->histories, c->model, options.environment, aphi_partitions_apply(c->model, &options));
    c->trace = open_trace(c);
    c->ahead = aphi_lookahead_open(c->trace);
    c->batch = aphi_alloc(BATCH * sizeof *c->batch);
    attempt end = check_partitions(c, &options);
    aph_root_remove(mark_batch, c);
    aphi_partitions_close(c->partitions);
    aphi_lookahead_close(c->ahead);
    aphi_trace_close(c->trace);
    aphi_history_capture_deinit(&c->histories);
    free(c->batch);
    return end;
}

/* Returns false for a pipe, which can be read only once. */
static bool can_read_again(const check *c)
{
    struct stat s;
    return c->bytes || (strcmp(c->result->file, "-") && stat(c->result->file, &s) == 0 && S_ISREG(s.st_mode));
}

static void check_until_done(check source)
{
    bool again = can_read_again(&source);
    attempt end;
    for (bool whole = false, patient = !again;; whole |= end == DEPENDENT, patient |= end == TRIMMED) {
        check c = source;
        end = check_once(&c, whole, patient);
        if (end == DONE)
            return;
        if (!again) {
            aphi_check_result_error(source.result, APH_CHECK_TRACE_IO,
                                    "a connection has pending requests for several parts of the state, so the trace "
                                    "must be read twice, which excludes standard input and pipes; name a file, or use "
                                    "--whole");
            return;
        }
    }
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

static aph_check_result *check_trace(const aph_model *model, const char *file, const void *bytes, size_t size,
                                     const aph_check_options *options)
{
    aph_check_result *r = aphi_check_result_make(file, model->name);
    aph_model copy = model_in_environment(model, options->oracle.environment);
    if (has_environment(options, r)) {
        aphi_guard_watch(options->stop);
        check_until_done((check){.model = &copy, .options = options, .bytes = bytes, .size = size, .result = r});
        aphi_guard_watch(NULL);
    }
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
    aphi_trace *trace = aphi_trace_open(r->file, &(aphi_trace_options){.format = options->format, .model = model});
    aphi_lookahead *ahead = aphi_lookahead_open(trace);
    aphi_history_capture all;
    aphi_lookahead_event o;
    int status;
    aphi_history_capture_init(&all, model, options->oracle.environment,
                              aph_has(aph_at(explanation, 0), aph_str("part")));
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

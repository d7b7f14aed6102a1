/* SPDX-License-Identifier: Apache-2.0
 *
 * check_trace.c - one trace, one model, one result.
 *
 * Idea:       observations are read in batches and fed to the oracle, so that reading and checking are timed apart
 *             without a clock call for each. What came of it is told by check_result.c. */
#include "check/check_trace.h"

#include "base/clock.h"
#include "base/memory.h"
#include "check/check_result.h"
#include "check/prefault.h"
#include "env/env.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { BATCH = 4096 };

typedef aphi_check judgement;

static void mark_judgement(void *context)
{
    judgement *j = context;
    aph_mark(j->result);
    for (size_t i = 0; i < j->batch_count; i++) {
        aph_mark(j->batch[i].seen.message);
        aph_mark(j->batch[i].answer);
    }
}

/* ---- feeding ----------------------------------------------------------------------------------------------------- */

static void read_batch(judgement *j)
{
    for (j->batch_count = 0; j->batch_count < BATCH; j->batch_count++) {
        j->status = aphi_lookahead_next(j->ahead, &j->batch[j->batch_count]);
        if (j->status <= 0)
            return;
    }
}

static aph_verdict feed(judgement *j, const aphi_lookahead_event *o)
{
    aph_lookahead known = {o->future, o->answer, o->order, o->alone, o->shown, o->sought};
    switch (o->seen.kind) {
    case APHI_SENT:
        j->operations++;
        return aphi_partitions_sent(j->partitions, o->seen.line, o->seen.connection, o->seen.message, &known);
    case APHI_RECEIVED:
        return aphi_partitions_received(j->partitions, o->seen.line, o->seen.connection, o->seen.message);
    case APHI_LOST: return aphi_partitions_lost(j->partitions, o->seen.line, o->seen.connection, o->foretold);
    default: return j->verdict;
    }
}

static void feed_batch(judgement *j, size_t from, bool (*on)(judgement *))
{
    for (size_t i = from; i < j->batch_count && on(j); i++) {
        const aphi_lookahead_event *o = &j->batch[i];
        j->line = o->seen.line;
        j->observations++;
        j->verdict = feed(j, o);
        if (j->options->explain)
            aphi_history_capture_add(&j->histories, o, aphi_trace_paired(j->trace));
    }
}

static bool passing(judgement *j)
{
    return j->verdict == APH_PASS && !aphi_partitions_are_tied(j->partitions);
}

static bool wanted(judgement *j)
{
    return aphi_partitions_wants_more(j->partitions);
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

static void close_judgement(judgement *j)
{
    aph_root_remove(mark_judgement, j);
    aphi_partitions_close(j->partitions);
    if (j->ahead)
        aphi_lookahead_close(j->ahead);
    aphi_trace_close(j->trace);
    aphi_history_capture_deinit(&j->histories);
    free(j->batch);
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
    aphi_prefault();
    j->result = aph_object();
    aph_root_add(mark_judgement, j);
    aphi_history_capture_init(&j->histories, j->model, options.environment, aphi_partitions_apply(j->model, &options));
    j->trace = aphi_trace_open(j->file, &(aphi_trace_options){.format = j->options->format, .model = j->model});
    j->ahead = aphi_lookahead_open(j->trace);
    j->batch = aphi_alloc(BATCH * sizeof *j->batch);
    j->partitions = aphi_partitions_open(j->model, &options, error, sizeof error);
    if (!j->partitions) {
        char message[320];
        snprintf(message, sizeof message, "model %s: %s", j->model->name, error);
        aphi_check_result_error(j, APHI_EXIT_MODEL_CRASH, message);
        return JUDGED;
    }
    feed_all(j);
    if (aphi_partitions_are_tied(j->partitions))
        return TIED;
    const aphi_partition *rejecting = aphi_partitions_rejecting(j->partitions);
    if (rejecting && aph_oracle_limit(rejecting->oracle) == APH_LIMIT_WINDOW)
        return IMPATIENT;
    aphi_check_result(j);
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
    aphi_check_result_error(j, APHI_EXIT_TRACE_IO,
                    "a connection has requests for several parts of the state in flight at once, so the trace has to "
                    "be read a second time, which standard input or a pipe cannot: name a file, or use --whole");
}

aph_model aphi_model_in(const aph_model *model, const char *environment)
{
    aph_model its = *model;
    aphi_env env;
    if (aphi_env_named(environment, &env) && env.lossy) {
        its.rpc = false;
        its.part = NULL;
        its.commute = NULL;
        its.reads = NULL;
    }
    return its;
}

aph_value aphi_check_trace(const aph_model *model, const char *file, const aphi_check_options *options)
{
    int64_t spent_ns = 0;
    aph_model its = aphi_model_in(model, options->oracle.environment);
    bool again = can_read_again(file);
    for (bool whole = false, patient = !again;;) {
        judgement j = {.model = &its, .options = options, .file = file, .check_ns = spent_ns};
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

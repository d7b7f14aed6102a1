/* SPDX-License-Identifier: Apache-2.0
 *
 * campaign_run.c - single runs of a campaign. */
#include "tester/campaign_internal.h"

#include "base/clock.h"

#include <antiphon/check.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum {
    CHECK_MS_MAX = 30000, /* for checking the trace of a run */
    CHECK_MS_MIN = 1000,  /* at the start of a campaign, and when its time is up */
};

void aphi_campaign_note(const aphi_campaign_state *c, const char *text)
{
    if (c->options->callbacks.note)
        c->options->callbacks.note(c->options->callbacks.context, text);
}

bool aphi_campaign_is_stopped(const aphi_campaign_state *c) { return c->options->stop && *c->options->stop; }

void aphi_campaign_trouble(aphi_campaign_state *c, const char *why)
{
    c->result.outcome = APHI_RUN_TROUBLE;
    snprintf(c->result.why, sizeof c->result.why, "%s", why);
}

void aphi_campaign_name_trace(aphi_campaign_state *c, const char *file)
{
    snprintf(c->result.trace, sizeof c->result.trace, "%s/%s", c->options->folder, file);
}

static void forward_progress(void *context, const aphi_run_facts *facts)
{
    aphi_campaign_state *c = context;
    aphi_run_facts all = *facts;
    all.requests += c->result.requests;
    all.answers += c->result.answers;
    all.ns = aphi_clock_ns() - c->began;
    if (c->options->callbacks.progress)
        c->options->callbacks.progress(c->options->callbacks.context, c->result.runs, &all);
}

aphi_run *aphi_campaign_run(aphi_campaign_state *c, const aphi_run_options *how, bool traced)
{
    aphi_run_options options = *how;
    char error[512];
    if (!aphi_subject_reset(options.subject, error, sizeof error)) {
        c->result.unstarted = true;
        aphi_campaign_trouble(c, error);
        if (aphi_campaign_is_stopped(c))
            c->result.outcome = APHI_RUN_STOPPED;
        return NULL;
    }
    options.trace = -1;
    options.trace_name = c->result.trace;
    if (traced) {
        options.trace = open(c->result.trace, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        if (options.trace < 0) {
            snprintf(error, sizeof error, "%.300s: cannot be written: %s; choose another --folder", c->result.trace,
                     strerror(errno));
            aphi_campaign_trouble(c, error);
            return NULL;
        }
    }
    aphi_run *run = aphi_run_execute(&options);
    if (traced && close(options.trace) != 0 && run->outcome != APHI_RUN_TROUBLE) {
        run->outcome = APHI_RUN_TROUBLE; /* some file systems report errors only now */
        snprintf(run->why, sizeof run->why, "%.300s: cannot be written: %s", c->result.trace, strerror(errno));
    }
    return run;
}

aphi_run_options aphi_campaign_run_options(const aphi_campaign_state *c)
{
    const aphi_campaign_options *o = c->options;
    return (aphi_run_options){.model = o->model, .environment = o->environment, .subject = o->subject, .seed = o->seed,
                              .connections = o->connections, .depth = o->depth, .until_ns = c->until,
                              .patience_ns = c->patience_ns ? c->patience_ns : o->patience_ns,
                              .memory = o->memory, .no_check = o->no_check, .stop = c->ignores_stop ? NULL : o->stop,
                              .listen_fd = o->listen_fd, .listen_port = o->listen_port,
                              .progress = forward_progress, .context = (void *)c};
}

aphi_run_options aphi_campaign_script_options(const aphi_campaign_state *c, const aphi_script *script)
{
    aphi_run_options how = aphi_campaign_run_options(c);
    how.script = script;
    how.seed = script->seed;
    return how;
}

void aphi_campaign_raise_patience(const aphi_campaign_state *c, aphi_run_options *how, aphi_run_verdict wanted)
{
    if (wanted == APHI_RUN_STARVED && !c->options->patience_ns)
        how->patience_ns = APHI_PATIENCE_SURE;
}

static aph_value add_counts(aph_value a, aph_value b)
{
    if (aph_kind_of(b) != APH_ARRAY)
        return aph_int((a ? aph_int_of(a) : 0) + aph_int_of(b));
    aph_value sums[2];
    for (size_t i = 0; i < 2; i++)
        sums[i] = add_counts(a ? aph_at(a, i) : APH_NIL, aph_at(b, i));
    return aph_array(2, sums);
}

static aph_value add_totals(aph_value all, aph_value more)
{
    aph_value key, item;
    for (size_t i = 0; more && aph_pair_at(more, i, &key, &item); i++)
        all = aph_set(all ? all : aph_object(), key, add_counts(aph_get(all ? all : aph_object(), key), item));
    return all;
}

void aphi_campaign_keep_run(aphi_campaign_state *c, aphi_run *run)
{
    aphi_run_free(c->result.run);
    c->result.run = run;
    c->result.outcome = run->outcome;
    c->result.fault = run->fault;
    snprintf(c->result.why, sizeof c->result.why, "%s", run->why);
}

void aphi_campaign_count_run(aphi_campaign_state *c, const aphi_run *run)
{
    c->result.runs++;
    c->result.requests += run->facts.requests;
    c->result.answers += run->facts.answers;
    c->result.kinds = add_totals(c->result.kinds, run->kinds);
    c->result.branches = add_totals(c->result.branches, run->branches);
}

/* ---- verdicts ---------------------------------------------------------------------------------------------------- */

/* A trace that is hard to check must not take most of the campaign's time. */
static int64_t check_time_ms(const aphi_campaign_state *c)
{
    int64_t spent_ms = (aphi_clock_ns() - c->began) / 1000000;
    int64_t left_ms = c->options->time_ns ? c->options->time_ns / 1000000 - spent_ms : CHECK_MS_MAX;
    int64_t ms = left_ms < spent_ms ? left_ms : spent_ms;
    return ms < CHECK_MS_MIN ? CHECK_MS_MIN : ms < CHECK_MS_MAX ? ms : CHECK_MS_MAX;
}

aphi_run_verdict aphi_campaign_verdict_of_trace(aphi_campaign_state *c, const aphi_run *run)
{
    static const aphi_run_verdict verdicts[] = {[APH_CHECK_PASS] = APHI_RUN_PASS, [APH_CHECK_FAIL] = APHI_RUN_FAIL,
                                                [APH_CHECK_UNKNOWN] = APHI_RUN_UNKNOWN,
                                                [APH_CHECK_ERROR] = APHI_RUN_UNKNOWN};
    const aphi_campaign_options *o = c->options;
    if (run->outcome != APHI_RUN_UNKNOWN || !run->undecided)
        return run->outcome;
    aph_check_options options = {.oracle = {.environment = o->environment, .memory = o->memory,
                                            .time_ms = check_time_ms(c)},
                                 .format = APH_FORMAT_JSONL, .stop = c->ignores_stop ? NULL : o->stop};
    aph_check_result *r = aph_check_file(o->model, c->result.trace, &options);
    aphi_run_verdict verdict = verdicts[r->verdict];
    aph_check_result_free(r);
    return verdict;
}

bool aphi_campaign_judge_again(aphi_campaign_state *c)
{
    aphi_run *run = c->result.run;
    aphi_run_verdict before = run->outcome;
    c->result.outcome = aphi_campaign_verdict_of_trace(c, run);
    if (before == APHI_RUN_UNKNOWN && c->result.outcome == APHI_RUN_FAIL) {
        run->outcome = APHI_RUN_FAIL;
        snprintf(c->result.why, sizeof c->result.why, "the model cannot explain the observations");
    } else if (c->result.outcome == APHI_RUN_PASS) {
        snprintf(c->result.why, sizeof c->result.why, "the model explains all observations");
    }
    return c->result.outcome != APHI_RUN_PASS;
}

bool aphi_campaign_repeat(aphi_campaign_state *c, const aphi_script *script, unsigned tries, bool counted)
{
    c->repeats = 0;
    for (unsigned i = 0; i < tries; i++) {
        aphi_run_options how = aphi_campaign_script_options(c, script);
        aphi_campaign_raise_patience(c, &how, c->wanted);
        aphi_run *run = aphi_campaign_run(c, &how, true);
        if (!run)
            return false;
        c->repeats++;
        if (counted)
            aphi_campaign_count_run(c, run);
        aphi_campaign_keep_run(c, run);
        if (c->result.outcome == APHI_RUN_UNKNOWN)
            aphi_campaign_judge_again(c);
        if (aphi_run_verdict_blames_subject(c->result.outcome) &&
            (c->wanted == APHI_RUN_PASS || c->result.outcome == c->wanted))
            return true;
        if (run->outcome == APHI_RUN_STOPPED || run->outcome == APHI_RUN_TROUBLE ||
            (c->until && aphi_clock_ns() >= c->until))
            return false;
    }
    return false;
}

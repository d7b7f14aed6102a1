/* SPDX-License-Identifier: Apache-2.0
 *
 * campaign_run.c - single runs of a campaign. */
#include "tester/campaign_internal.h"

#include "base/clock.h"
#include "base/file.h"
#include "check/promises.h"

#include <antiphon/check.h>

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum {
    CHECK_MS_MAX = 30000, /* for checking the trace of a run */
    CHECK_MS_MIN = 1000,  /* at the start of a campaign, and when its time is up */
    CHECK_MS_PASS = 200,  /* of a run that passed */
    SILENCE_MULTIPLE = 4, /* the least patience, in multiples of the longest silence that has ended */
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
    all.losses += c->result.losses;
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
        options.trace = aphi_file_replace(c->result.trace);
        if (options.trace < 0) {
            snprintf(error, sizeof error, "%.300s: cannot be written: %s; choose another --folder", c->result.trace,
                     strerror(errno));
            aphi_campaign_trouble(c, error);
            return NULL;
        }
    }
    aphi_run *run = aphi_run_execute(&options);
    if (run->silence_ns > c->silence_ns)
        c->silence_ns = run->silence_ns;
    c->response_ns = run->response_ns;
    c->silent_ns += run->silent_ns;
    if (traced && close(options.trace) != 0 && run->outcome != APHI_RUN_TROUBLE) {
        run->outcome = APHI_RUN_TROUBLE; /* some file systems report errors only now */
        snprintf(run->why, sizeof run->why, "%.300s: cannot be written: %s", c->result.trace, strerror(errno));
    }
    return run;
}

aphi_run_options aphi_campaign_run_options(const aphi_campaign_state *c)
{
    const aphi_campaign_options *o = c->options;
    return (aphi_run_options){.model = o->model, .environment = o->environment, .network = o->network,
                              .subject = o->subject, .seed = o->seed,
                              .connections = o->connections, .depth = o->depth, .until_ns = c->until,
                              .max_losses = o->max_losses, .losses_before = c->result.excused,
                              .answers_before = c->result.answers,
                              .patience_ns = o->patience_ns, .overrules_model = o->patience_ns != 0,
                              .silence_seen_ns = c->silence_ns,
                              .brief_silences = aphi_subject_is_ours(o->subject) && !o->script && !c->full_silences,
                              .waits = c->habits.waits,
                              .memory = o->memory, .no_check = o->no_check, .tell_apart = c->tell_apart,
                              .stop = c->ignores_stop ? NULL : o->stop,
                              .origins = o->origins, .origin_count = o->origin_count,
                              .progress = forward_progress, .context = (void *)c};
}

aphi_run_options aphi_campaign_script_options(const aphi_campaign_state *c, const aphi_script *script)
{
    aphi_run_options how = aphi_campaign_run_options(c);
    how.script = script;
    how.seed = script->seed;
    return how;
}

int64_t aphi_campaign_patience(const aphi_campaign_state *c, int64_t least)
{
    int64_t slow = SILENCE_MULTIPLE * c->silence_ns;
    return c->options->patience_ns ? c->options->patience_ns : slow > least ? slow : least;
}

void aphi_campaign_raise_patience(const aphi_campaign_state *c, aphi_run_options *how, aphi_run_verdict wanted)
{
    if (wanted == APHI_RUN_STARVED)
        how->patience_ns = aphi_campaign_patience(c, APHI_PATIENCE_SURE);
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
    c->result.losing = run->losing;
    snprintf(c->result.why, sizeof c->result.why, "%s", run->why);
}

void aphi_campaign_count_run(aphi_campaign_state *c, const aphi_run *run)
{
    c->result.runs++;
    c->result.requests += run->facts.requests;
    c->result.answers += run->facts.answers;
    c->result.losses += run->losses.count;
#define X(name) c->result.connections.name += run->connections.name;
    APHI_CONNECTION_COUNTS(X)
#undef X
    c->result.excused = run->losses;
    if (!c->result.lost || run->losing)
        c->result.lost = run->losses.shown;
    c->result.lost_kinds = add_totals(c->result.lost_kinds, run->lost_kinds);
    c->result.kinds = add_totals(c->result.kinds, run->kinds);
    c->result.branches = add_totals(c->result.branches, run->branches);
}

/* ---- verdicts ---------------------------------------------------------------------------------------------------- */

int64_t aphi_campaign_spent_ms(const aphi_campaign_state *c) { return (aphi_clock_ns() - c->began) / 1000000; }

/* A trace that is hard to check must not take most of the campaign's time. */
static int64_t check_time_ms(const aphi_campaign_state *c)
{
    int64_t spent_ms = c->options->script ? CHECK_MS_MAX : aphi_campaign_spent_ms(c);
    int64_t left_ms = CHECK_MS_MAX;
    if (c->options->time_ns)
        left_ms = c->options->time_ns / 1000000 - aphi_campaign_spent_ms(c);
    int64_t ms = left_ms < spent_ms ? left_ms : spent_ms;
    return ms < CHECK_MS_MIN ? CHECK_MS_MIN : ms < CHECK_MS_MAX ? ms : CHECK_MS_MAX;
}

static bool uses_promises(const aphi_campaign_options *o)
{
    return !o->network && aphi_promises_in_use(o->model, &(aph_oracle_options){.environment = o->environment}) != 0;
}

/* The check of a failure also encodes and decodes the messages that the model allows. Lines of JSON can have any. */
static bool uses_codec(const aphi_campaign_options *o) { return o->model->codec && o->model->codec != &aph_codec_json; }

/* Returns true if the check shows that a promise of the model is false, or that its codec cannot read the messages that
 * it allows. This is the result of the campaign. */
static bool blame_model(aphi_campaign_state *c, const aph_check_result *r)
{
    bool codec = r->error == APH_CHECK_MODEL_CODEC;
    if (r->verdict != APH_CHECK_ERROR || (r->error != APH_CHECK_MODEL_PROMISE && !codec))
        return false;
    c->result.fault = codec ? APH_FAULT_CODEC : APH_FAULT_PROMISE;
    snprintf(c->result.why, sizeof c->result.why, "%s", r->message);
    return true;
}

static aph_check_result *check_file(const aphi_campaign_state *c, const char *trace, int64_t time_ms,
                                    bool ignore_quiet)
{
    const aphi_campaign_options *o = c->options;
    aph_check_options options = {.oracle = {.environment = o->environment, .memory = o->memory, .time_ms = time_ms},
                                 .format = APH_FORMAT_JSONL, .stop = c->ignores_stop ? NULL : o->stop,
                                 .network = o->network, .ignore_quiet = ignore_quiet};
    return aph_check_file(o->model, trace, &options);
}

aphi_run_verdict aphi_campaign_check_trace(aphi_campaign_state *c, const aphi_run *run, const char *trace,
                                           int64_t time_ms)
{
    static const aphi_run_verdict verdicts[] = {[APH_CHECK_PASS] = APHI_RUN_PASS, [APH_CHECK_FAIL] = APHI_RUN_FAIL,
                                                [APH_CHECK_UNKNOWN] = APHI_RUN_UNKNOWN,
                                                [APH_CHECK_ERROR] = APHI_RUN_UNKNOWN,
                                                [APH_CHECK_VACUOUS] = APHI_RUN_PASS};
    bool promises = uses_promises(c->options);
    bool failed = run->outcome == APHI_RUN_FAIL && (promises || uses_codec(c->options));
    if (!failed && (run->outcome != APHI_RUN_UNKNOWN || !run->undecided))
        return run->outcome;
    aph_check_result *r = check_file(c, trace, time_ms, false);
    aphi_run_verdict verdict = blame_model(c, r) ? APHI_RUN_TROUBLE : verdicts[r->verdict];
    aph_check_result_free(r);
    if (failed && !promises && verdict != APHI_RUN_TROUBLE)
        return APHI_RUN_FAIL;
    c->tell_apart |= failed && verdict == APHI_RUN_PASS; /* a check distinguishes connections before it fails */
    if (failed && verdict == APHI_RUN_UNKNOWN)
        return APHI_RUN_FAIL;
    return verdict == APHI_RUN_PASS && run->performed < run->actions ? APHI_RUN_UNKNOWN : verdict;
}

aphi_run_verdict aphi_campaign_verdict_of_trace(aphi_campaign_state *c, const aphi_run *run)
{
    return aphi_campaign_check_trace(c, run, c->result.trace, check_time_ms(c));
}

bool aphi_campaign_needs_silence(const aphi_campaign_state *c)
{
    if (c->result.outcome != APHI_RUN_FAIL || !c->result.run || !c->result.run->silences)
        return false;
    aph_check_result *r = check_file(c, c->result.trace, check_time_ms(c), true);
    bool fails = r->verdict == APH_CHECK_FAIL;
    aph_check_result_free(r);
    return !fails;
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

bool aphi_campaign_reject_pass(aphi_campaign_state *c)
{
    aphi_campaign *a = &c->result;
    if (a->outcome != APHI_RUN_PASS || (a->runs & (a->runs - 1)) || c->options->no_check || !uses_promises(c->options))
        return false;
    aph_check_result *r = check_file(c, a->trace, CHECK_MS_PASS, false);
    if (blame_model(c, r)) {
        a->outcome = APHI_RUN_TROUBLE;
    } else if (r->verdict == APH_CHECK_FAIL) {
        a->outcome = a->run->outcome = APHI_RUN_FAIL;
        snprintf(a->why, sizeof a->why, "the model cannot explain the observations");
    }
    aph_check_result_free(r);
    return a->outcome != APHI_RUN_PASS;
}

bool aphi_campaign_repeat(aphi_campaign_state *c, const aphi_script *script, unsigned tries, bool counted)
{
    c->repeats = 0;
    for (unsigned i = 0; i < tries; i++) {
        aphi_run_options how = aphi_campaign_script_options(c, script);
        aphi_campaign_raise_patience(c, &how, c->wanted);
        how.may_be_cut = counted && !c->options->script;
        aphi_run *run = aphi_campaign_run(c, &how, true);
        if (!run)
            return false;
        c->repeats++;
        if (counted)
            aphi_campaign_count_run(c, run);
        aphi_campaign_keep_run(c, run);
        if (c->result.outcome == APHI_RUN_UNKNOWN || c->result.outcome == APHI_RUN_FAIL)
            aphi_campaign_judge_again(c);
        if (c->result.outcome == APHI_RUN_UNKNOWN && counted && !*c->unjudged)
            snprintf(c->unjudged, sizeof c->unjudged, "a script that failed before could not be judged: %.400s",
                     c->result.why);
        if (aphi_run_verdict_blames_subject(c->result.outcome) &&
            (c->wanted == APHI_RUN_PASS || c->result.outcome == c->wanted))
            return true;
        if (run->outcome == APHI_RUN_STOPPED || run->cut || c->result.outcome == APHI_RUN_TROUBLE ||
            (c->until && aphi_clock_ns() >= c->until))
            return false;
    }
    return false;
}

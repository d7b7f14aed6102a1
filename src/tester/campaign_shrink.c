/* SPDX-License-Identifier: Apache-2.0
 *
 * campaign_shrink.c - shrinking the failing script of a campaign. */
#include "tester/campaign_internal.h"

#include "base/clock.h"
#include "base/file.h"
#include "generate/generator.h"
#include "script/expression.h"
#include "tester/model_habits.h"
#include "tree/step_guard.h"
#include "value/heap.h"

#include <string.h>
#include <unistd.h>

enum {
    REPEATS_MAX = 60,        /* runs of the shrunk script until it fails again */
    REPEATS_MAX_STOPPED = 5, /* the same after a signal */
};
static const int64_t SHRINKING = 30000000000;       /* the default limit, in ns */
static const int64_t PATIENCE_SHRINKING = 60000000; /* for candidates; a silence is confirmed with more patience */

/* A failure that the check blames on the codec of the model is not that of the script. */
static aphi_run_verdict judge_candidate(aphi_campaign_state *c, const aphi_run *run)
{
    aphi_campaign before = c->result;
    aphi_run_verdict outcome = aphi_campaign_verdict_of_trace(c, run);
    if (outcome != APHI_RUN_TROUBLE || run->outcome != APHI_RUN_FAIL || c->result.fault != APH_FAULT_CODEC)
        return outcome;
    c->result = before;
    return APHI_RUN_PASS;
}

/* Returns the number of actions of the script that were begun. The run may have logged more openings than the script
 * has, one of them for the preamble before an action that was not performed. */
static int count_begun(const aphi_run *run)
{
    size_t logged = aphi_run_script(run)->count;
    return (int)(run->performed + (logged > run->performed));
}

/* Returns the number of actions that were begun if the run has the wanted verdict, 0 if not, -1 if the run was not
 * possible. */
static int run_candidate(aphi_campaign_state *c, const aphi_script *candidate)
{
    aphi_run_options how = aphi_campaign_script_options(c, candidate);
    how.progress = NULL;
    how.patience_ns = aphi_campaign_patience(c, c->result.needs_silence ? APHI_PATIENCE : PATIENCE_SHRINKING);
    how.brief_silences = true;
    if (aphi_campaign_is_stopped(c))
        return -1;
    aphi_run *run = aphi_campaign_run(c, &how, true);
    if (!run)
        return -1;
    aphi_run_verdict outcome = judge_candidate(c, run);
    bool timed_out = outcome == APHI_RUN_UNKNOWN && aphi_clock_ns() >= c->until;
    bool valid = !timed_out && (outcome != APHI_RUN_TROUBLE || run->fault != APH_FAULT_NONE);
    c->skipped_candidate |= valid && outcome == APHI_RUN_UNKNOWN;
    int taken = !valid ? -1 : outcome == c->wanted ? count_begun(run) : 0;
    if (!valid && !timed_out)
        memcpy(c->run_error, run->why, sizeof c->run_error);
    aphi_run_free(run);
    return taken;
}

/* Returns true if the run that failed sent the message. Most actions of a candidate have their labels in that run. */
static bool was_sent(const aphi_script *failed, const aphi_action *a)
{
    size_t i = aphi_script_index(failed, a->label);
    if (i < failed->count && failed->actions[i].send == a->send)
        return true;
    for (i = 0; i < failed->count; i++)
        if (failed->actions[i].send == a->send)
            return true;
    return false;
}

/* Returns false if the candidate has a new request that the model does not know. A subject may fail because of it where
 * the model never receives it, such as on a connection that the model closes. */
static bool is_known(const aphi_campaign_state *c, const aphi_script *candidate)
{
    const aphi_script *failed = aphi_run_script(c->result.run);
    for (size_t i = 0; i < candidate->count; i++) {
        const aphi_action *a = &candidate->actions[i];
        if (a->send && !aphi_is_signal(a->send) && !aphi_expression_newest(a->send) && !was_sent(failed, a) &&
            !aphi_model_habits_knows(c->options->model, a->send))
            return false;
    }
    return true;
}

/* A subject that is not reset may fail because of the state that another candidate left, so a candidate must fail
 * twice. */
static int try_candidate(void *context, const aphi_script *candidate)
{
    aphi_campaign_state *c = context;
    if (!is_known(c, candidate))
        return 0;
    int taken = run_candidate(c, candidate);
    return taken > 0 && !aphi_subject_is_ours(c->options->subject) ? run_candidate(c, candidate) : taken;
}

/* A failure that needs no silence must not become one that does, since candidates have short ones. */
static void drop_silences(const aphi_campaign_state *c, aphi_script *script)
{
    for (size_t i = 0; i < script->count && !c->result.needs_silence; i++)
        if (script->actions[i].wait == APHI_WAIT_SILENCE)
            script->actions[i].wait = APHI_WAIT_QUIET;
}

/* If n is 0, uses the order of the responses; otherwise a random order. */
static aphi_script reorder(void *context, unsigned n)
{
    aphi_campaign_state *c = context;
    size_t count;
    const aphi_run_event *events = aphi_run_events(c->result.run, &count);
    aphi_script script =
        aphi_processing_orders(aphi_run_script(c->result.run), events, count, n ? &c->choice : NULL);
    drop_silences(c, &script);
    return script;
}

static void forward_step(void *context, const char *what, const aphi_script *best)
{
    aphi_campaign_state *c = context;
    if (c->log)
        fprintf(c->log, "%9.3f s  %4zu actions  %s\n", (double)(aphi_clock_ns() - c->began) / 1e9, best->count, what);
    if (c->options->callbacks.shrinking)
        c->options->callbacks.shrinking(c->options->callbacks.context, what, best);
}

int64_t aphi_campaign_shrink_ns(const aphi_campaign_state *c)
{
    return c->options->shrink_ns ? c->options->shrink_ns : SHRINKING;
}

/* Repeats the shrunk script with a trace. If it does not fail, the run that failed first remains the result. */
static bool confirm_shrunk(aphi_campaign_state *c, const aphi_script *small, const aphi_campaign *before)
{
    aphi_campaign *r = &c->result;
    char trace[sizeof r->trace];
    bool stopped = aphi_campaign_is_stopped(c);
    if (stopped) {
        c->ignores_stop = true;
        aphi_guard_resume();
    }
    r->run = NULL;
    aphi_run_options how = {.patience_ns = aphi_campaign_patience(c, APHI_PATIENCE)};
    aphi_campaign_raise_patience(c, &how, c->wanted);
    c->full_silences = true; /* candidates have brief ones */
    int64_t least = aphi_clock_ns() + APHI_CONFIRM_PATIENCES * how.patience_ns + aphi_campaign_silences_ns(c, small);
    c->until = least > c->until ? least : c->until;
    bool silent = c->wanted == APHI_RUN_STARVED || r->needs_silence;
    unsigned tries = silent ? APHI_CONFIRM_RUNS : REPEATS_MAX;
    bool failed = aphi_campaign_repeat(c, small, stopped ? REPEATS_MAX_STOPPED : tries, false);
    memcpy(trace, r->trace, sizeof trace);
    aphi_campaign_name_trace(c, APHI_TRACE_FILE);
    if (failed && !rename(trace, r->trace)) {
        if (!r->confirmed) {
            r->reproduced = 1;
            r->confirmed = c->repeats;
        }
        aphi_run_free(before->run);
        return true;
    }
    if (r->outcome == APHI_RUN_TROUBLE)
        aphi_campaign_note(c, r->why);
    aphi_run_free(r->run);
    r->run = before->run;
    return false;
}

static const char *why_not_shrunk(const aphi_campaign_state *c, const aphi_shrunk *small)
{
    if (*c->run_error)
        return "not shrunk: the candidates could not be run";
    if (aphi_campaign_is_stopped(c))
        return "not shrunk: stopped by a signal before the failure was reproduced";
    if (!small->failed && small->ns >= aphi_campaign_shrink_ns(c))
        return "not shrunk: no time to reproduce the failure; --shrink-time allows more";
    if (aphi_subject_is_ours(c->options->subject))
        return "not shrunk: no run of the script reproduced the failure";
    return "not shrunk: the failure was not reproduced twice in a row; the target cannot be reset, use --run";
}

/* The run that failed first remains the result. */
static void restore_failure(aphi_campaign_state *c, const aphi_campaign *before)
{
    aphi_campaign *r = &c->result;
    aphi_campaign_name_trace(c, APHI_TRACE_FILE_NEXT);
    unlink(r->trace);
    aphi_campaign_name_trace(c, APHI_TRACE_FILE);
    r->outcome = before->outcome;
    r->fault = before->fault;
    r->unstarted = false;
    memcpy(r->why, before->why, sizeof r->why);
    if (*c->run_error)
        aphi_campaign_note(c, c->run_error);
}

static aphi_shrunk run_shrinker(aphi_campaign_state *c)
{
    const aphi_run *run = c->result.run;
    char path[sizeof c->result.trace];
    snprintf(path, sizeof path, "%.4000s/shrink.log", c->options->folder);
    int log = aphi_file_replace(path); /* optional */
    c->log = log >= 0 ? fdopen(log, "w") : NULL;
    c->values = aphi_generator_values(c->options->model);
    aphi_shrink_options options = {.reorder = run->events_before ? NULL : reorder, .step = forward_step, .context = c,
                                   .budget_ns = aphi_campaign_shrink_ns(c), .values = c->values,
                                   .functions = c->options->model->functions};
    aphi_script failing = aphi_script_copy(aphi_run_script(run));
    drop_silences(c, &failing);
    aphi_shrunk small = aphi_shrink(&failing, try_candidate, &options);
    aphi_script_free(&failing);
    if (c->log)
        fclose(c->log);
    return small;
}

void aphi_campaign_shrink(aphi_campaign_state *c)
{
    aphi_campaign *r = &c->result;
    if (r->presumed || !r->run->script_whole) {
        aphi_campaign_note(c, r->presumed ? "not shrunk: the target cannot be reset; use --run"
                                          : "not shrunk: the run was too long to be repeated");
        return;
    }
    int64_t began = aphi_clock_ns();
    aphi_campaign before = *r;
    r->actions = aphi_run_script(r->run)->count;
    c->until = began + aphi_campaign_shrink_ns(c);
    c->wanted = r->outcome;
    aphi_campaign_name_trace(c, APHI_TRACE_FILE_NEXT);
    aphi_shrunk small = run_shrinker(c);
    r->reproduced = small.reproduced;
    r->confirmed = small.confirmed;
    r->shrink_runs = small.runs;
    r->minimal = small.minimal && !c->skipped_candidate;
    bool may_fail = small.reproduced || (small.failed && !small.confirmed); /* the time may have run out before */
    r->shrunk = (may_fail || aphi_campaign_is_stopped(c)) && confirm_shrunk(c, &small.script, &before);
    if (!r->shrunk) {
        restore_failure(c, &before);
        aphi_campaign_note(c, why_not_shrunk(c, &small));
    }
    aphi_script_free(&small.script);
    r->shrink_ns = aphi_clock_ns() - began;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * run.c - one run of the tester.
 *
 * Idea:       a loop: perform the actions that are due, write the trace, wait for the network, judge, check for silence
 *             and limits.
 * Read next:  run_internal.h, run_send.c, run_receive.c, run_judge.c, run_stop.c; oracle_feed.h, net.h, generator.h */
#include "tester/run_internal.h"

#include "base/clock.h"
#include "base/memory.h"
#include "env/env.h"
#include "tree/step_guard.h"
#include "value/heap.h"

#include <stdlib.h>
#include <string.h>

enum {
    LABELLED_MAX = 1024, /* messages that the holes of later ones can refer to */
    LOSSES_MANY = 200,   /* losses that end a run; fewer are compared with all requests of the run, at its end */
};
static const int64_t HOLD_NS = 500000; /* held calls are answered after this silence */
static const int64_t SHOW_EVERY_NS = 100000000;

const char *aphi_run_verdict_name(aphi_run_verdict o)
{
    static const char *const names[] = {
#define X(name, text) text,
        APHI_RUN_VERDICTS(X)
#undef X
    };
    return names[o];
}

bool aphi_run_verdict_blames_subject(aphi_run_verdict verdict)
{
    return verdict == APHI_RUN_FAIL || verdict == APHI_RUN_STARVED || verdict == APHI_RUN_DEAD ||
           verdict == APHI_RUN_MALFORMED;
}

bool aphi_run_verdict_name_blames_subject(aph_value name)
{
    for (int v = APHI_RUN_PASS; v <= APHI_RUN_TROUBLE; v++)
        if (aph_str_is(name, aphi_run_verdict_name((aphi_run_verdict)v)))
            return aphi_run_verdict_blames_subject((aphi_run_verdict)v);
    return false;
}

void aphi_run_refresh_now(aphi_run_state *r)
{
    if (!r->now_is_fresh)
        r->now = aphi_clock_ns();
    r->now_is_fresh = true;
}

void aphi_run_note(aphi_run_state *r, aphi_run_event_kind kind, int64_t connection, int64_t label, aph_value message,
                   uint64_t number)
{
    int64_t name = connection >= APH_ACCEPTED ? aphi_run_call_name(r, connection)
                                              : aphi_outstanding_name(&r->outstanding, connection);
    aphi_run_log_event(&r->log, &(aphi_run_event){kind, r->now - r->began, name, label, message}, number);
}

/* ---- the loop ---------------------------------------------------------------------------------------------------- */

static int64_t time_to_wait(const aphi_run_state *r)
{
    const aphi_sending *s = &r->sending;
    if (r->calls.held_count)
        return HOLD_NS;
    if (r->judging.feed && aphi_oracle_feed_is_ready(r->judging.feed, r->now))
        return 0;
    if (s->has_next && s->next.wait == APHI_WAIT_PAUSE) {
        int64_t left = s->next.waits_for * 1000 - (r->now - s->acted_at);
        /* If the pause is over, the action waits for something else. */
        return left <= 0 || left > APHI_TICK_NS ? APHI_TICK_NS : left;
    }
    if (s->is_resting || (s->has_next && s->next.wait == APHI_WAIT_QUIET))
        return APHI_IDLE_NS;
    bool probes = r->mode.paired && !r->model->rpc && aphi_outstanding_awaited(&r->outstanding) &&
                  r->judging.probed != aphi_run_log_count(&r->log) + 1;
    if (r->mode.paired ? probes || (s->is_over && !aphi_outstanding_awaited(&r->outstanding))
                       : r->silence.silent_ns < aphi_silence_idle_after(&r->silence))
        return APHI_IDLE_NS;
    return APHI_TICK_NS;
}

static void flush_trace(aphi_run_state *r)
{
    char error[sizeof r->ending.why];
    if (!aphi_run_log_flush(&r->log, error, sizeof error))
        aphi_run_end_untraced(r, error);
}

static void show_progress(aphi_run_state *r)
{
    const aphi_judging *j = &r->judging;
    aphi_run_count_coverage(r);
    r->result.facts = (aphi_run_facts){.requests = r->log.requests, .answers = r->log.responses,
                                       .losses = r->receiving.losses.count, .ns = r->now - r->began,
                                       .explanations = j->explanations, .branches = j->branch_count,
                                       .branches_reached = j->branches_reached};
    if (r->options->progress && r->now - r->shown_at > SHOW_EVERY_NS) {
        r->shown_at = r->now;
        r->options->progress(r->options->context, &r->result.facts);
    }
}

/* Leaves time for the last responses. */
static bool is_too_late_to_send(const aphi_run_state *r)
{
    const aphi_run_options *o = r->options;
    int64_t at = r->now + aphi_silence_slowest(&r->silence);
    return (o->until_ns && at >= o->until_ns) || (o->most_ns && at >= r->began + o->most_ns);
}

/* The verdict of a script is about all of its actions, unless it may be cut. */
static void check_sending(aphi_run_state *r)
{
    const aphi_run_options *o = r->options;
    if ((!o->script || o->may_be_cut) && is_too_late_to_send(r)) {
        r->result.cut |= o->script && !aphi_run_has_sent_all(r);
        aphi_run_stop_sending(r);
    }
    if (!o->script && !r->sending.is_over && aphi_run_has_late_request(r))
        aphi_run_stop_sending(r);
}

static void check_limits(aphi_run_state *r)
{
    const aphi_run_options *o = r->options;
    char what[120];
    if (aphi_run_is_stopped(r))
        APHI_JUDGE_AND_END(r, APHI_RUN_STOPPED, "stopped by a signal");
    bool is_late = o->until_ns && r->now >= o->until_ns;
    if (is_late && o->script && !o->may_be_cut)
        APHI_JUDGE_AND_END(r, APHI_RUN_UNKNOWN, "time limit reached");
    if (is_late && aphi_silence_lacks_message(&r->silence))
        APHI_JUDGE_AND_END(r, APHI_RUN_UNKNOWN, "time limit reached; %s",
                           aphi_silence_describe(&r->silence, r->calls.count, what, sizeof what));
    check_sending(r);
    aphi_run_check_losses(r, LOSSES_MANY);
    if (!r->judging.feed && aphi_heap_is_full())
        aph_collect();
}

/* A function of the model, other than its step, has failed. */
static void check_calls_of_model(aphi_run_state *r)
{
    const char *message;
    aph_fault fault = aphi_guard_call_fault(&message);
    if (!fault)
        return;
    r->ending.ended = false; /* another end may be its consequence */
    aphi_run_end_fault(r, fault, "model %s: %s", r->model->name, message);
}

static void run_turn(aphi_run_state *r)
{
    int64_t before = r->now;
    aphi_run_send(r);
    flush_trace(r);
    if (r->ending.ended)
        return;
    r->now_is_fresh = false;
    bool awaited = aphi_outstanding_awaited(&r->outstanding) > 0;
    int arrivals = aphi_net_run_once(r->net, time_to_wait(r));
    r->now = aphi_clock_ns();
    int64_t passed = r->now - before < APHI_TICK_NS ? r->now - before : APHI_TICK_NS;
    aphi_silence_count(&r->silence, r->now, passed, arrivals > 0, aphi_net_received(r->net), awaited);
    while (r->calls.held_count && arrivals == 0 && !r->ending.ended)
        aphi_run_answer_held_call(r);
    flush_trace(r);
    aphi_run_judge_some(r, arrivals == 0);
    aphi_run_check_silence(r);
    if (r->now - r->checked_at > APHI_TICK_NS) {
        r->checked_at = r->now;
        check_limits(r);
        show_progress(r);
    }
}

/* ---- beginning and end ------------------------------------------------------------------------------------------- */

static void mark_run(void *context)
{
    const aphi_run_state *r = context;
    const aphi_sending *s = &r->sending;
    aphi_outstanding_mark(&r->outstanding);
    aphi_run_log_mark(&r->log);
    for (size_t i = 0; i < s->deferred_count; i++) {
        aph_mark(s->deferred[i].action.send);
        aph_mark(s->deferred[i].part);
    }
    aph_mark(s->state);
    if (s->has_next)
        aph_mark(s->next.send);
    for (size_t i = 0; i < r->calls.held_count; i++)
        aph_mark(r->calls.held[i].response);
    aph_mark(r->judging.branches);
    aph_mark(r->preambles.earlier);
    aph_mark(r->receiving.losses.shown);
    aph_mark(r->result.due);
    aph_mark(r->result.kinds);
    aph_mark(r->result.lost_kinds);
    if (r->options && r->options->script)
        aphi_script_mark(r->options->script);
}

static void set_mode(aphi_run_state *r, const char *environment)
{
    const aphi_run_options *o = r->options;
    aphi_env env = {0};
    aphi_env_named(environment, &env);
    bool paired = (r->model->rpc || r->model->answers || o->waits) && !env.lossy && !o->network;
    r->mode = (aphi_run_mode){.paired = paired, .lossy = env.lossy, .immediate = env.immediate, .buffer = env.buffer};
    r->silence = (aphi_silence){.paired = r->mode.paired, .lossy = r->mode.lossy, .is_fixed = o->patience_ns != 0,
                                .seen_ns = o->silence_seen_ns, .is_brief = o->brief_silences,
                                .patience_ns = o->patience_ns ? o->patience_ns : APHI_PATIENCE,
                                .idle_clock = o->idle_ns ? o->idle_ns : aphi_clock_idle_ns};
}

/* Returns false if the run has ended. */
static bool begin_run(aphi_run_state *r)
{
    const aphi_run_options *o = r->options;
    const char *environment = o->environment ? o->environment : "tcp";
    char error[300];
    socklen_t size;
    const struct sockaddr *address = aphi_subject_address(o->subject, &size);
    set_mode(r, environment);
    r->net = aphi_net_open(r->model->codec, address, size, r->mode.lossy,
                           &(aphi_net_callbacks){r, aphi_run_arrived, aphi_run_oldest_request}, error, sizeof error);
    if (!r->net) {
        aphi_run_end(r, APHI_RUN_TROUBLE, "%s", error);
        return false;
    }
    aphi_net_listen(r->net, o->origins, o->origin_count);
    if (!aphi_run_open_oracle(r, environment) || !aphi_run_open_generator(r))
        return false;
    aphi_run_log_open(&r->log, r->model->name, environment, o->seed, o->trace, o->trace_name);
    return true;
}

/* A run passes only if all observations were judged, and all actions of its script were performed or cut. */
static void settle_pass(aphi_run_state *r)
{
    aphi_run *result = &r->result;
    result->performed = r->sending.performed;
    result->actions = r->options->script && !result->cut ? r->options->script->count : result->performed;
    bool complete = result->performed >= result->actions;
    result->too_hard = result->outcome == APHI_RUN_PASS && r->judging.too_hard;
    result->undecided = result->outcome == APHI_RUN_PASS && r->judging.undecided;
    if (result->outcome == APHI_RUN_PASS && (*r->judging.gave_up || !complete)) {
        result->outcome = APHI_RUN_UNKNOWN;
        snprintf(result->why, sizeof result->why, "%s",
                 *r->judging.gave_up ? r->judging.gave_up : "the script was abandoned");
    }
    size_t n = strlen(result->why);
    if (!complete && (result->outcome == APHI_RUN_UNKNOWN || result->outcome == APHI_RUN_STOPPED))
        snprintf(result->why + n, sizeof result->why - n, "; %zu of %zu actions of the script were performed",
                 result->performed, result->actions);
}

static void fill_result(aphi_run_state *r)
{
    aphi_run *result = &r->result;
    result->outcome = r->ending.outcome;
    result->fault = r->ending.fault;
    memcpy(result->why, r->ending.why, sizeof result->why);
    settle_pass(r);
    result->doubtful = r->ending.doubtful;
    result->unable = r->ending.unable;
    result->unreached = r->ending.unreached;
    result->losing = r->ending.losing;
    if (result->outcome == APHI_RUN_STARVED && r->judging.feed && !r->options->network)
        result->due = aphi_partitions_due(aphi_oracle_feed_partitions(r->judging.feed));
    result->losses = r->receiving.losses;
    result->script_whole = !r->log.actions_cut;
    result->events_before = r->log.discarded;
    result->rejected_event = r->judging.rejected_event - 1;
    result->silence_ns = r->silence.longest_ns;
    result->silences = r->mode.lossy ? 0 : r->judging.silences;
    result->silent_ns = r->judging.silent_ns;
    result->recorded_ns = aphi_silence_recorded_after(&r->silence);
    result->response_ns = aphi_silence_slowest(&r->silence);
    result->suspected_ns = r->ending.suspected_ns;
    result->connections = r->log.connections;
    result->kinds = aphi_run_log_kinds(&r->log);
    result->lost_kinds = aphi_run_log_lost_kinds(&r->log);
    result->branches = r->judging.branches;
}

static int64_t first_free_name(const aphi_run_options *o)
{
    int64_t name = (int64_t)(o->connections + o->spares);
    for (size_t i = 0; o->script && i < o->script->count; i++)
        if (o->script->actions[i].connection >= name)
            name = o->script->actions[i].connection + 1;
    return name;
}

aphi_run *aphi_run_execute(const aphi_run_options *options)
{
    aphi_run_state *r = aphi_alloc_zero(sizeof *r);
    r->options = options;
    r->model = options->model;
    r->labelled = aphi_labelled_open(LABELLED_MAX);
    aphi_outstanding_open(&r->outstanding, first_free_name(options));
    r->receiving.losses = options->losses_before;
    r->receiving.losses.count = 0;
    r->receiving.losses.shown = APH_NIL;
    r->began = r->now = aphi_clock_ns();
    aphi_run_open_calls(r);
    aph_root_add(mark_run, r);
    aphi_heap_limit = options->memory;
    if (aphi_heap_is_tight()) /* because of the previous run */
        aph_collect();
    if (begin_run(r))
        while (!r->ending.ended) {
            run_turn(r);
            check_calls_of_model(r);
        }
    check_calls_of_model(r);
    flush_trace(r);
    show_progress(r);
    fill_result(r);
    aphi_net_close(r->net);
    aphi_run_close_oracle(r);
    aphi_run_close_generator(r);
    aphi_run_close_preambles(r);
    aphi_labelled_close(r->labelled);
    aphi_outstanding_close(&r->outstanding);
    aphi_heap_limit = 0;
    r->options = NULL;
    return &r->result;
}

static aphi_run_state *state_of(const aphi_run *result)
{
    return (aphi_run_state *)(uintptr_t)result; /* its first member */
}

const aphi_script *aphi_run_script(const aphi_run *result) { return aphi_run_log_script(&state_of(result)->log); }

const aphi_run_event *aphi_run_events(const aphi_run *result, size_t *n)
{
    return aphi_run_log_events(&state_of(result)->log, n);
}

void aphi_run_free(aphi_run *result)
{
    if (!result)
        return;
    aphi_run_state *r = state_of(result);
    aph_root_remove(mark_run, r);
    aphi_run_log_free(&r->log);
    free(r);
}

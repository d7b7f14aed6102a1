/* SPDX-License-Identifier: Apache-2.0
 *
 * run.c - one run of the tester.
 *
 * Idea:       a loop of four parts: act (actions whose wait is over), put the trace on disk, one turn of the network,
 *             tell the oracle.
 * Read next:  run_internal.h, then run_send.c, run_receive.c, run_stop.c; live_feed.h, net.h, generator.h */
#include "tester/run_internal.h"

#include "base/clock.h"
#include "base/memory.h"
#include "env/env.h"
#include "value/heap.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    REMEMBERED = 1024,         /* labelled messages */
    JUDGED_AT_ONCE = 4096,     /* observations */
    JUDGED_WAITING = 16,       /* the same, while nothing comes */
};
static const int64_t JUDGE_EVERY = 20000000; /* in a long run; in a short one sooner */
static const int64_t HOLD = 500000;             /* nothing came for so long: those that wait are answered */
static const int64_t SHOW_EVERY = 100000000;
static const int64_t COUNT_EVERY = 500000000; /* branches, in a long run; in a short one sooner, for the generator */

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

/* ---- the loop ---------------------------------------------------------------------------------------------------- */

static int64_t time_to_wait(aphi_run_state *r)
{
    if (r->held_count)
        return HOLD;
    if (r->feed && aphi_live_feed_is_ready(r->feed, r->now))
        return 0;
    if (r->has_action && r->action.wait == APHI_WAIT_PAUSE) {
        int64_t left = r->action.waits_for * 1000 - (r->now - r->acted_at);
        return left <= 0 || left > APHI_TICK ? APHI_TICK : left; /* it is over: the action waits for something else */
    }
    if (r->has_action && r->action.wait == APHI_WAIT_QUIET)
        return APHI_QUIET;
    if (r->paired ? r->over && !r->owed : r->silent < aphi_run_silence(r))
        return APHI_QUIET;
    return APHI_TICK;
}

static void count_branches(aphi_run_state *r)
{
    aph_value name, count;
    aphi_run_facts *facts = &r->result.facts;
    r->result.branches = aphi_partitions_branches(aphi_live_feed_jury(r->feed));
    facts->branches = facts->branches_reached = 0;
    for (size_t i = 0; aph_pair_at(r->result.branches, i, &name, &count); i++) {
        facts->branches++;
        facts->branches_reached += aph_int_of(count) > 0;
    }
}

/* Each frame that the search could go back to stands for explanations that have not been tried. */
static void count_explanations(aphi_run_state *r)
{
    size_t n;
    const aphi_partition *partitions = aphi_partitions_all(aphi_live_feed_jury(r->feed), &n);
    r->result.facts.explanations = 1;
    for (size_t i = 0; i < n; i++)
        if (partitions[i].oracle)
            r->result.facts.explanations += partitions[i].oracle->frame_count;
}

static void show(aphi_run_state *r)
{
    r->result.facts.ns = r->now - r->began;
    if (r->feed && (r->ended || r->now >= r->count_at)) {
        int64_t part = r->result.facts.ns / 16; /* so that it costs a part of the run only */
        r->count_at = r->now + (part < COUNT_EVERY ? part : COUNT_EVERY);
        count_branches(r);
        count_explanations(r);
    }
    if (r->options->progress && r->now - r->shown_at > SHOW_EVERY) {
        r->shown_at = r->now;
        r->options->progress(r->options->context, &r->result.facts);
    }
}

static void look_at_limits(aphi_run_state *r)
{
    const aphi_run_options *o = r->options;
    char what[120];
    if (aphi_run_is_stopped(r))
        APHI_JUDGE_AND_END(r, APHI_RUN_STOPPED, "stopped by a signal");
    bool late = o->until_ns && r->now >= o->until_ns;
    if (late && o->script)
        APHI_JUDGE_AND_END(r, APHI_RUN_UNKNOWN, "the time was up before the script was at its end");
    if (late && aphi_run_is_wordless(r))
        APHI_JUDGE_AND_END(r, APHI_RUN_UNKNOWN, "the time was up, and %s", aphi_run_wordless(r, what, sizeof what));
    if (late || (!r->over && aphi_run_one_is_late(r))) {
        r->over = true;
        r->has_action = false;
        r->aside_count = 0;
    }
    if (!r->feed && aphi_heap_is_full())
        aph_collect();
}

/* While nothing comes there is nothing better to do than to judge: a few observations, then a look whether something
 * came. Where there is never such a moment, all that came is judged now and then: many at once take half the time
 * that they take one by one, for what the search needs is in the processor's caches from the second on. Of a script
 * that is run again nothing else is wanted than the verdict. */
static void judge_some(aphi_run_state *r, bool idle)
{
    int64_t part = (r->now - r->began) / 8, every = part < JUDGE_EVERY ? part : JUDGE_EVERY;
    if (!r->feed)
        return;
    bool is_due = r->options->script || r->now - r->judged_at >= every ||
                  aphi_live_feed_untold(r->feed) >= JUDGED_AT_ONCE;
    if (is_due || idle)
        aphi_run_judge(r, is_due ? UINT64_MAX : JUDGED_WAITING);
    if (is_due || !aphi_live_feed_is_ready(r->feed, r->now))
        r->judged_at = r->now;
}

static void turn(aphi_run_state *r)
{
    int64_t before = r->now;
    aphi_run_act(r);
    aphi_outstanding_write(r);
    if (r->ended)
        return;
    r->awake = false;
    int arrivals = aphi_net_turn(r->net, time_to_wait(r));
    r->now = aphi_clock_ns();
    int64_t passed = r->now - before < APHI_TICK ? r->now - before : APHI_TICK;
    aphi_run_count_silence(r, passed, arrivals > 0, aphi_net_heard(r->net));
    while (r->held_count && arrivals == 0 && !r->ended)
        aphi_run_answer_held(r);
    aphi_outstanding_write(r);
    judge_some(r, arrivals == 0);
    aphi_run_listen_to_silence(r);
    if (r->now - r->looked_at > APHI_TICK) {
        r->looked_at = r->now;
        look_at_limits(r);
        show(r);
    }
}

/* ---- beginning and ending ---------------------------------------------------------------------------------------- */

static void mark_run(void *context)
{
    aphi_run_state *r = context;
    for (size_t i = 0; i < r->moment_count; i++)
        aph_mark(r->moments[i].message);
    for (size_t i = 0; i < r->peer_count; i++)
        for (size_t k = 0; k < r->peers[i].count; k++)
            aph_mark(r->peers[i].queue[(r->peers[i].head + k) & (r->peers[i].capacity - 1)].message);
    for (uint32_t i = 0; i < r->kind_count; i++)
        aph_mark(r->kinds[i].name);
    for (size_t i = 0; i < r->held_count; i++)
        aph_mark(r->held[i].answer);
    for (size_t i = 0; i < r->aside_count; i++) {
        aph_mark(r->aside[i].action.send);
        aph_mark(r->aside[i].part);
    }
    aph_mark(r->state);
    aph_mark(r->result.kinds);
    aph_mark(r->result.branches);
    if (r->has_action)
        aph_mark(r->action.send);
    if (r->options && r->options->script)
        aphi_script_mark(r->options->script);
    aphi_script_mark(&r->script);
}

static bool open_oracle(aphi_run_state *r, const char *environment)
{
    const aphi_run_options *o = r->options;
    char error[300];
    if (o->blind)
        return true;
    /* Where a connection has requests of several parts in flight, its order ties them together. */
    aph_oracle_options judging = {.environment = environment, .memory = o->memory,
                                  .whole = o->script || (o->depth > 1 && !o->apart)};
    r->feed = aphi_live_feed_open(r->model, &judging, r->paired && r->model->rpc, error, sizeof error);
    if (!r->feed) {
        aphi_run_end(r, APHI_RUN_TROUBLE, "%s", error);
        return false;
    }
    aphi_partitions_count_branches(aphi_live_feed_jury(r->feed));
    return true;
}

static bool open_generator(aphi_run_state *r)
{
    const aphi_run_options *o = r->options;
    char error[300];
    if (o->script)
        return true;
    r->generator = aphi_generator_open(r->model, o->seed, o->connections, o->depth, error, sizeof error);
    if (!r->generator) {
        aphi_run_end(r, APHI_RUN_TROUBLE, "%s", error);
        r->result.fault = APH_FAULT_REQUEST;
        return false;
    }
    if (o->apart)
        aphi_generator_keep_apart(r->generator);
    return true;
}

static bool begin(aphi_run_state *r)
{
    const aphi_run_options *o = r->options;
    const char *environment = o->environment ? o->environment : "tcp";
    char error[300];
    socklen_t size;
    const struct sockaddr *address = aphi_subject_address(o->subject, &size);
    aphi_env env = {0};
    aphi_env_named(environment, &env);
    r->datagrams = env.lossy;
    r->solo = env.immediate;
    r->buffer = env.buffer;
    r->paired = (r->model->rpc || r->model->answers) && !r->datagrams;
    r->net = aphi_net_open(r->model->codec, address, size, r->datagrams,
                           &(aphi_listener){r, aphi_run_arrived, aphi_run_asked}, error, sizeof error);
    if (!r->net) {
        aphi_run_end(r, APHI_RUN_TROUBLE, "%s", error);
        return false;
    }
    if (o->caller)
        aphi_net_listen(r->net, o->caller, o->called);
    if (!open_oracle(r, environment) || !open_generator(r))
        return false;
    snprintf(r->script.model, sizeof r->script.model, "%s", r->model->name);
    snprintf(r->script.environment, sizeof r->script.environment, "%s", environment);
    r->script.seed = o->seed;
    aphi_buffer_format(&r->trace, "{\"antiphon\":1,\"model\":\"%s\",\"environment\":\"%s\",\"seed\":%llu}\n",
                       r->model->name, environment, (unsigned long long)o->seed);
    if (o->trace < 0)
        r->trace.n = 0;
    return true;
}

static void tell_kinds(aphi_run_state *r)
{
    r->result.kinds = aph_object();
    for (uint32_t i = 0; i < r->kind_count; i++)
        r->result.kinds = aph_set(r->result.kinds, r->kinds[i].name,
                                  APH_ARRAY_OF(aph_int((int64_t)r->kinds[i].sent),
                                               aph_int((int64_t)r->kinds[i].answered)));
}

aphi_run *aphi_run_go(const aphi_run_options *options)
{
    aphi_run_state *r = aphi_alloc_zero(sizeof *r);
    r->options = options;
    r->model = options->model;
    r->result.blamed = -1;
    r->result.script_whole = true;
    r->waited = aphi_alloc_zero(APHI_WAITED * sizeof *r->waited);
    r->crowds = aphi_alloc_zero(APHI_CROWDS * sizeof *r->crowds);
    r->labelled = aphi_labelled_open(REMEMBERED);
    r->next_name = (int64_t)options->connections;
    r->choice = aphi_choice_seed(options->seed);
    for (size_t i = 0; options->script && i < options->script->count; i++)
        if (options->script->actions[i].connection >= r->next_name)
            r->next_name = options->script->actions[i].connection + 1;
    r->began = r->now = r->acted_at = aphi_clock_ns();
    aph_root_add(mark_run, r);
    if (begin(r))
        while (!r->ended)
            turn(r);
    aphi_outstanding_write(r);
    show(r);
    tell_kinds(r);
    r->result.moments_before = r->log.before;
    aphi_net_close(r->net);
    aphi_live_feed_close(r->feed);
    aphi_generator_close(r->generator);
    aphi_labelled_close(r->labelled);
    for (size_t i = 0; i < r->peer_count; i++)
        free(r->peers[i].queue);
    free(r->peers);
    free(r->in_flight);
    free(r->waited);
    free(r->crowds);
    r->options = NULL;
    r->peer_count = r->held_count = r->aside_count = 0;
    r->has_action = false;
    aphi_buffer_free(&r->trace);
    return &r->result;
}

static aphi_run_state *inside(const aphi_run *result)
{
    return (aphi_run_state *)(uintptr_t)result; /* its first member */
}

const aphi_script *aphi_run_script(const aphi_run *result)
{
    aphi_run_state *r = inside(result);
    if (!r->script.count)
        aphi_run_log_script(&r->log, &r->script);
    return &r->script;
}

const aphi_run_event *aphi_run_moments(const aphi_run *result, size_t *n)
{
    aphi_run_state *r = inside(result);
    int64_t unused;
    if (!r->moments)
        r->moments = aphi_run_log_moments(&r->log, UINT64_MAX, &r->moment_count, &unused);
    *n = r->moment_count;
    return r->moments;
}

void aphi_run_free(aphi_run *result)
{
    if (!result)
        return;
    aphi_run_state *r = inside(result);
    aph_root_remove(mark_run, r);
    aphi_script_free(&r->script);
    free(r->moments);
    aphi_run_log_free(&r->log);
    free(r);
}

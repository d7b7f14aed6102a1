/* SPDX-License-Identifier: Apache-2.0
 *
 * run_send.c - what is sent in a run, and when.
 *
 * Idea:       the actions come from a script or from a generator; either way they are written down as a script, so that
 *             every run can be had again.
 * Aside:      where some requests are to be alone with their part of the state, an action of a busy stretch that has to
 *             wait, for an answer or because it would meet another, waits aside, and those behind it go on: else few
 *             requests would be in flight. Or it joins the one that it would meet, on its connection. Those that would
 *             meet keep their order. What was aside gets a new label when it is performed, for labels rise in a
 *             script. */
#include "tester/run_internal.h"

#include <stdlib.h>

enum {
    ACTIONS_IN_TURN = 256,
    SCRIPT_MAX = 1 << 17,      /* actions that a script may have */
    LOSSY_FLIGHT = 4,          /* requests between two silences, where each may be lost or come twice, in any order */
    DROPPED_MAX = 16,          /* requests lost behind others, before we care */
    STATE_EVERY = 64,          /* requests between two looks at the model's state; more, where that has many parts */
};

static bool is_quiet(const aphi_run_state *r)
{
    return (!r->paired || !r->owed) && aphi_run_is_silent(r);
}

static bool is_aside(const aphi_run_state *r, int64_t label)
{
    for (size_t i = 0; i < r->aside_count; i++)
        if (r->aside[i].action.label == label)
            return true;
    return false;
}

static bool is_answered(const aphi_run_state *r, int64_t label)
{
    return r->waited[(uint64_t)label / 2 & (APHI_WAITED - 1)] != label && !is_aside(r, label);
}

static bool wait_is_over(aphi_run_state *r, const aphi_action *a)
{
    switch (a->wait) {
    case APHI_WAIT_NOTHING: return true;
    case APHI_WAIT_ANSWER: return is_answered(r, a->waits_for - 1);
    case APHI_WAIT_QUIET: return is_quiet(r);
    case APHI_WAIT_PAUSE: return r->now - r->acted_at >= a->waits_for * 1000;
    }
    return true;
}

/* Would the request meet one of its part that is in flight on another connection, though one of them is to be alone? */
static bool would_meet(aphi_run_state *r, const aphi_aside *a)
{
    const aphi_crowd *c = aphi_outstanding_crowd(r, a->part);
    const aphi_peer *p = aphi_outstanding_peer(r, a->action.connection);
    aphi_crowd others = *c;
    for (size_t k = 0; others.all && k < p->count; k++) {
        const aphi_question *q = &p->queue[(p->head + k) & (p->capacity - 1)];
        if (aphi_outstanding_crowd(r, q->part) == c) {
            others.all--;
            others.alone -= q->alone;
        }
    }
    return a->alone ? others.all : others.alone;
}

/* Has it to stay behind one of the first n that are aside? */
static bool is_behind(const aphi_run_state *r, const aphi_aside *a, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (r->aside[i].part == a->part && (r->aside[i].alone || a->alone))
            return true;
    return false;
}

/* The generator keeps parts apart and closes what is idle by what is in flight: it does not see what is aside. */
static bool is_out_of_place(aphi_run_state *r, const aphi_aside *a)
{
    const aphi_peer *p = aphi_outstanding_peer(r, a->action.connection);
    if (!p->count || r->options->script)
        return false;
    return !a->action.send ||
           (r->options->apart && p->queue[(p->head + p->count - 1) & (p->capacity - 1)].part != a->part);
}

/* What the action is about, as of now, for it may have holes. */
static aphi_aside look_at_action(const aphi_run_state *r, const aphi_action *a)
{
    const aph_model *m = r->model;
    if (!m->alone || !a->send)
        return (aphi_aside){.action = *a};
    aph_value message = aphi_expression_fill(a->send, r->labelled, m->functions);
    return (aphi_aside){.action = *a, .part = m->part ? m->part(message) : APH_NIL, .alone = m->alone(message)};
}

/* n: those aside that are before it. */
static bool is_held_up(aphi_run_state *r, const aphi_aside *a, size_t n)
{
    return r->model->alone &&
           (is_out_of_place(r, a) || (a->action.send && (is_behind(r, a, n) || would_meet(r, a))));
}

/* Where the subject closes so often that much of what is sent behind other requests is lost, nothing is. */
static size_t depth_of(const aphi_run_state *r)
{
    return r->dropped > DROPPED_MAX + r->result.facts.answers / 2 ? 1 : r->options->depth;
}

static bool has_room(aphi_run_state *r, const aphi_action *a)
{
    size_t flight = r->datagrams ? LOSSY_FLIGHT : r->paired ? 0 : r->solo ? 1 : r->buffer;
    if ((r->solo && r->owed) || (flight && r->since_quiet >= flight))
        return false;
    aphi_outstanding_peer(r, a->connection);
    /* The system's own buffers are larger than any N, so that to send more would prove nothing. */
    if (r->buffer && r->in_flight[a->connection] >= r->buffer)
        return false;
    return r->options->script || r->in_flight[a->connection] < depth_of(r);
}

/* The state of some explanation, as far as it is one value: objects of several parts are put together. */
static aph_value look_at_state(aphi_run_state *r)
{
    size_t n;
    const aphi_partition *partitions = aphi_partitions_all(aphi_live_feed_jury(r->feed), &n);
    aph_value all = APH_NIL;
    r->state_at = r->result.facts.requests + STATE_EVERY + 16 * n;
    for (size_t i = 0; i < n; i++) {
        aph_value state = partitions[i].oracle ? partitions[i].oracle->core.state : partitions[i].core.state, key, item;
        if (!all || aph_kind_of(state) != APH_OBJECT) {
            all = state;
            continue;
        }
        for (size_t k = 0; aph_pair_at(state, k, &key, &item); k++)
            all = aph_set(all, key, item);
    }
    return all;
}

static bool next_action(aphi_run_state *r)
{
    const aphi_run_options *o = r->options;
    if (r->has_action)
        return true;
    if (r->over)
        return false;
    if (o->script) {
        if (r->script_at == o->script->count) {
            r->over = true;
            return false;
        }
        r->action = o->script->actions[r->script_at++];
        return r->has_action = true;
    }
    uint64_t to_come = r->owed + 2 * r->aside_count;
    if (o->messages && r->result.facts.requests + r->result.facts.answers + to_come >= o->messages) {
        r->over = true;
        return false;
    }
    if (r->owed >= o->connections * o->depth)
        return false;
    if (r->feed && r->result.facts.requests >= r->state_at)
        r->state = look_at_state(r);
    aphi_outstanding_peer(r, (int64_t)o->connections);
    r->action = aphi_generator_next(r->generator, &(aphi_knowledge){.state = r->state, .seen = r->labelled,
                                                                    .in_flight = r->in_flight,
                                                                    .connections = o->connections,
                                                                    .branches = r->result.branches});
    if (!r->action.label) {
        aphi_run_end(r, APHI_RUN_TROUBLE, "%s", aphi_generator_error(r->generator));
        r->result.fault = APH_FAULT_REQUEST;
        return false;
    }
    return r->has_action = true;
}

static void write_down_action(aphi_run_state *r, const aphi_action *a)
{
    if (r->log.action_count == SCRIPT_MAX)
        r->result.script_whole = false;
    else
        aphi_run_log_act(&r->log, a);
}

/* What a script sends must mean something to the model: else its end would say nothing of the subject. */
static bool is_meaningful(aphi_run_state *r, const aphi_action *a, aph_value message)
{
    const char *why;
    if (!r->options->script || !r->feed ||
        aphi_live_feed_knows(r->feed, aphi_outstanding_name(r, a->connection), message, r->now, &why))
        return true;
    aphi_run_end(r, APHI_RUN_TROUBLE, "request %lld: %s", (long long)a->label, why);
    r->result.fault = APH_FAULT_REQUEST;
    return false;
}

static void send_message(aphi_run_state *r, const aphi_action *a)
{
    aph_value message = aphi_expression_fill(a->send, r->labelled, r->model->functions);
    if (!is_meaningful(r, a, message))
        return;
    if (!aphi_net_post(r->net, a->connection, message, a->chunk)) {
        char *text = aph_json_text(message, NULL);
        aphi_run_end(r, APHI_RUN_TROUBLE, "request %lld is one that the model's codec has no bytes for: %.200s",
                     (long long)a->label, text);
        r->result.fault = APH_FAULT_REQUEST;
        free(text);
        return;
    }
    uint32_t what = aphi_outstanding_kind(r, message);
    r->kinds[what].sent++;
    r->result.facts.requests++;
    r->since_quiet++;
    if (!r->paired)
        r->silent = r->wordless = 0; /* what was sent just now may still be answered */
    aphi_labelled_add(r->labelled, a->label, message);
    int64_t name = aphi_outstanding_name(r, a->connection);
    uint64_t number = r->feed ? aphi_live_feed_sent(r->feed, name, message, r->now) : 0;
    const aph_model *m = r->model;
    aphi_outstanding_push(r, a->connection,
                     (aphi_question){.label = a->label, .number = number, .at = r->now, .kind = what,
                                     .message = message, .part = m->alone && m->part ? m->part(message) : APH_NIL,
                                     .alone = m->alone && m->alone(message)});
    aphi_outstanding_note(r, APHI_RUN_EVENT_SENT, a->connection, a->label, message, number);
}

static void rename_wait(aphi_action *a, int64_t old, int64_t label)
{
    if (a->wait == APHI_WAIT_ANSWER && a->waits_for == old + 1)
        a->waits_for = label + 1;
}

/* Labels rise in a script, also where one action came to be performed after a later one. */
static void keep_labels_rising(aphi_run_state *r, aphi_action *a)
{
    if (a->label < r->last_label) {
        int64_t old = a->label;
        a->label = aphi_generator_rename(r->generator, a->connection, old);
        rename_wait(&r->action, old, a->label);
        for (size_t i = 0; i < r->aside_count; i++)
            rename_wait(&r->aside[i].action, old, a->label);
    }
    r->last_label = a->label;
}

static void perform(aphi_run_state *r, aphi_action *a)
{
    keep_labels_rising(r, a);
    write_down_action(r, a);
    if (a->send) {
        send_message(r, a);
    } else {
        aphi_outstanding_part(r, a->connection);
    }
    r->acted_at = r->now;
}

/* What those aside are about is looked at again only when they may go: that costs more. */
static void perform_aside(aphi_run_state *r)
{
    size_t kept = 0;
    for (size_t i = 0; i < r->aside_count; i++) {
        aphi_aside a = r->aside[i];
        bool goes = !r->ended && wait_is_over(r, &a.action) && has_room(r, &a.action) && !is_held_up(r, &a, kept);
        if (goes) {
            a = look_at_action(r, &a.action);
            goes = !is_held_up(r, &a, kept);
        }
        if (goes)
            perform(r, &a.action);
        r->aside[kept] = a;
        kept += !goes;
    }
    r->aside_count = kept;
}

/* Whoever waits in a calm stretch is there to see what it waits for. */
static bool may_wait_aside(aphi_run_state *r)
{
    const aphi_action *a = &r->action;
    return r->model->alone && r->paired && !r->solo && !r->buffer && r->generator && r->aside_count < APHI_ASIDE_MAX &&
           (wait_is_over(r, a) || a->wait == APHI_WAIT_ANSWER) && !aphi_generator_is_calm(r->generator);
}

/* On the connection where its part is in flight it meets nobody, and where parts are kept apart that is what is to be
 * in flight there. */
static void join_its_part(aphi_run_state *r, aphi_aside *a)
{
    aphi_aside joined = *a;
    if (!r->options->apart || !a->action.send || !r->generator || aphi_generator_is_calm(r->generator))
        return;
    joined.action.connection = aphi_outstanding_crowd(r, a->part)->latest;
    if (has_room(r, &joined.action) && !is_held_up(r, &joined, r->aside_count))
        *a = joined;
}

/* False: it has to wait where it is, and so have all behind it. */
static bool perform_or_set_aside(aphi_run_state *r)
{
    bool ready = wait_is_over(r, &r->action) && has_room(r, &r->action);
    if (!ready && !may_wait_aside(r))
        return false;
    aphi_aside a = look_at_action(r, &r->action);
    if (ready && is_held_up(r, &a, r->aside_count))
        join_its_part(r, &a);
    bool goes = ready && !is_held_up(r, &a, r->aside_count);
    if (!goes && !may_wait_aside(r))
        return false;
    r->has_action = false;
    if (goes) {
        perform(r, &a.action);
        return true;
    }
    if (a.action.wait != APHI_WAIT_ANSWER) /* its pause is over, and is no longer one since the latest action */
        a.action.wait = APHI_WAIT_NOTHING;
    r->aside[r->aside_count++] = a;
    return true;
}

void aphi_run_act(aphi_run_state *r)
{
    perform_aside(r);
    for (int i = 0; i < ACTIONS_IN_TURN && !r->ended && next_action(r); i++)
        if (!perform_or_set_aside(r))
            return;
}

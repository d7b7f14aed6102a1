/* SPDX-License-Identifier: Apache-2.0
 *
 * run_send.c - the actions of a run and the time at which each is performed.
 *
 * Idea:       actions come from a script or from a generator. Both kinds are logged as a script, so that every run can
 *             be repeated.
 * Deferred:   if some requests must be alone in their partition of the state, few requests would be in flight. So in a
 *             busy phase, an action that has to wait for a response or for another request of its partition is
 *             deferred, and later actions are performed first. Or it is moved to the connection of the request that it
 *             conflicts with. Conflicting actions keep their order. A deferred action gets a new label when it is
 *             performed, because labels increase in a script. */
#include "tester/run_internal.h"

#include "codec/codec_internal.h"
#include "tree/model_calls.h"
#include "value/heap.h"

#include <stdlib.h>

enum {
    ACTIONS_IN_TURN = 256,
    LOSSY_FLIGHT = 4,          /* requests between two idle times, where each may be lost, duplicated or reordered */
    STATE_EVERY = 64,          /* requests between two reads of the model's state; more for many partitions */
    STATE_EVERY_PARTITION = 16,
};
static const int64_t CALM_MAX_NS = 500000000; /* a calm phase of a slow subject would take the whole run */

bool aphi_run_open_generator(aphi_run_state *r)
{
    const aphi_run_options *o = r->options;
    char error[300];
    r->sending.acted_at = r->now;
    if (o->script)
        return true;
    r->sending.generator = aphi_generator_open(r->model, o->seed, o->connections, o->depth, error, sizeof error);
    if (!r->sending.generator) {
        aphi_run_end_fault(r, APH_FAULT_REQUEST, "%s", error);
        return false;
    }
    if (o->apart)
        aphi_generator_keep_apart(r->sending.generator);
    if (o->silences)
        aphi_generator_add_silences(r->sending.generator, o->silences);
    if (o->spares)
        aphi_generator_add_spares(r->sending.generator, o->spares);
    return true;
}

void aphi_run_close_generator(aphi_run_state *r)
{
    aphi_generator_close(r->sending.generator);
    r->sending = (aphi_sending){0};
}

bool aphi_run_has_sent_all(const aphi_run_state *r)
{
    return r->sending.is_over && !r->sending.has_next && !r->sending.deferred_count;
}

void aphi_run_stop_sending(aphi_run_state *r)
{
    r->sending.is_over = true;
    r->sending.has_next = false;
    r->sending.deferred_count = 0;
}

void aphi_run_send_after_idle(aphi_run_state *r) { r->sending.since_idle = 0; }

/* An action that was to be sent on the connection is withdrawn. */
void aphi_run_block(aphi_run_state *r, int64_t connection)
{
    aphi_sending *s = &r->sending;
    aphi_outstanding_block(&r->outstanding, connection);
    if (!s->generator)
        return;
    if (s->has_next && s->next.connection == connection) {
        aphi_generator_withdraw(s->generator, &s->next);
        s->has_next = false;
    }
    aphi_generator_block(s->generator, connection);
}

void aphi_run_unblock(aphi_run_state *r, int64_t connection)
{
    if (r->sending.generator)
        aphi_generator_unblock(r->sending.generator, connection);
}

void aphi_run_note_end(aphi_run_state *r, int64_t connection)
{
    if (r->sending.generator)
        aphi_generator_note_end(r->sending.generator, connection);
}

/* ---- is an action due? ------------------------------------------------------------------------------------------- */

static bool is_deferred(const aphi_run_state *r, int64_t label)
{
    for (size_t i = 0; i < r->sending.deferred_count; i++)
        if (r->sending.deferred[i].action.label == label)
            return true;
    return false;
}

/* A response may make another one due, on a connection that was blocked; a wait for the one includes the other. */
static bool wait_is_over(aphi_run_state *r, const aphi_action *a)
{
    switch (a->wait) {
    case APHI_WAIT_NOTHING: return true;
    case APHI_WAIT_ANSWER:
        return !aphi_outstanding_has(&r->outstanding, a->waits_for - 1) && !is_deferred(r, a->waits_for - 1) &&
               (!r->outstanding.blocked || r->model->rpc || aphi_run_probe_quiet(r) != APH_FAIL);
    case APHI_WAIT_QUIET:
        return (!r->mode.paired || !aphi_outstanding_awaited(&r->outstanding)) &&
               aphi_run_is_quiet(r);
    case APHI_WAIT_SILENCE: return r->sending.is_silent = r->sending.is_silent || aphi_run_records_silence(r);
    case APHI_WAIT_PAUSE: return r->now - r->sending.acted_at >= a->waits_for * 1000;
    }
    return true;
}

/* Returns true if a request of its partition is in flight on another connection, and one of them must be alone. */
static bool conflicts_with_others(aphi_run_state *r, const aphi_deferred_action *a)
{
    const aphi_partition_load *load = aphi_outstanding_load(&r->outstanding, a->part);
    const aphi_peer *p = aphi_outstanding_peer(&r->outstanding, a->action.connection);
    aphi_partition_load others = *load;
    for (size_t k = 0; others.all && k < p->count; k++) {
        const aphi_outstanding_request *q = aphi_outstanding_at(p, k);
        if (aphi_outstanding_load(&r->outstanding, q->part) == load) {
            others.all--;
            others.alone -= q->alone;
        }
    }
    return a->alone ? others.all : others.alone;
}

/* Returns true if it conflicts with one of the first n deferred actions. */
static bool conflicts_with_deferred(const aphi_run_state *r, const aphi_deferred_action *a, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (r->sending.deferred[i].part == a->part && (r->sending.deferred[i].alone || a->alone))
            return true;
    return false;
}

/* The generator separates partitions and closes idle connections without knowing the deferred actions. */
static bool is_misplaced(aphi_run_state *r, const aphi_deferred_action *a)
{
    const aphi_peer *p = aphi_outstanding_peer(&r->outstanding, a->action.connection);
    if (!p->count || r->options->script)
        return false;
    return !a->action.send || (r->options->apart && aphi_outstanding_at(p, p->count - 1)->part != a->part);
}

/* Finds the partition of the action, which may change with the messages that fill its holes. */
static aphi_deferred_action find_partition(const aphi_run_state *r, const aphi_action *a)
{
    const aph_model *m = r->model;
    if (!m->alone || !a->send)
        return (aphi_deferred_action){.action = *a};
    aph_value message = aphi_expression_fill(a->send, r->labelled, m->functions);
    return (aphi_deferred_action){.action = *a, .part = m->part ? aphi_model_part(m, message) : APH_NIL,
                                  .alone = aphi_model_alone(m, message)};
}

/* n: deferred actions that come before it. */
static bool is_blocked(aphi_run_state *r, const aphi_deferred_action *a, size_t n)
{
    if (!r->model->alone)
        return false;
    return is_misplaced(r, a) || (a->action.send && (conflicts_with_deferred(r, a, n) || conflicts_with_others(r, a)));
}

static bool has_rested(aphi_run_state *r, int64_t connection)
{
    int64_t rested_ns = aphi_outstanding_rested_ns(&r->outstanding, connection, r->now);
    bool is_resting = rested_ns >= 0 && rested_ns < aphi_losses_rest_ns(&r->receiving.losses);
    r->sending.is_resting |= is_resting;
    return !is_resting;
}

static bool has_room(aphi_run_state *r, const aphi_action *a)
{
    const aphi_run_mode *mode = &r->mode;
    size_t flight = mode->lossy ? LOSSY_FLIGHT : mode->paired ? 0 : mode->immediate ? 1 : mode->buffer;
    if ((mode->immediate && aphi_outstanding_awaited(&r->outstanding)) ||
        (flight && r->sending.since_idle >= flight))
        return false;
    const aphi_peer *p = aphi_outstanding_peer(&r->outstanding, a->connection);
    size_t in_flight = p->count;
    if (p->is_blocked && !r->options->script)
        return false;
    /* The buffers of the system are larger, so sending more would prove nothing. */
    if (mode->buffer && in_flight >= mode->buffer)
        return false;
    if (aphi_run_is_careful(r))
        return !in_flight && has_rested(r, a->connection);
    return r->options->script || in_flight < r->options->depth;
}


/* ---- the next action --------------------------------------------------------------------------------------------- */

static bool take_from_script(aphi_run_state *r)
{
    const aphi_script *script = r->options->script;
    aphi_sending *s = &r->sending;
    s->is_over = s->script_at == script->count;
    if (!s->is_over)
        s->next = script->actions[s->script_at++];
    return s->has_next = !s->is_over;
}

static bool generate_action(aphi_run_state *r)
{
    const aphi_run_options *o = r->options;
    aphi_sending *s = &r->sending;
    if (r->judging.feed && r->log.requests >= s->state_due) {
        size_t partitions;
        s->state = aphi_run_explained_state(r, &partitions);
        s->state_due = r->log.requests + STATE_EVERY + STATE_EVERY_PARTITION * partitions;
    }
    if (!aphi_generator_is_calm(s->generator)) {
        s->calm_since = 0;
    } else if (!s->calm_since) {
        s->calm_since = r->now;
    } else if (r->now - s->calm_since > CALM_MAX_NS) {
        aphi_generator_end_phase(s->generator);
        s->calm_since = 0;
    }
    size_t connections = o->connections + o->spares;
    aphi_outstanding_peer(&r->outstanding, (int64_t)connections);
    s->next = aphi_generator_next(s->generator, &(aphi_knowledge){.state = s->state, .seen = r->labelled,
                                                                  .in_flight = r->outstanding.in_flight,
                                                                  .connections = connections,
                                                                  .branches = r->judging.branches});
    if (!s->next.label)
        aphi_run_end_fault(r, APH_FAULT_REQUEST, "%s", aphi_generator_error(s->generator));
    return s->has_next = s->next.label;
}

static bool next_action(aphi_run_state *r)
{
    const aphi_run_options *o = r->options;
    aphi_sending *s = &r->sending;
    if (s->has_next || s->is_over)
        return s->has_next;
    if (o->script)
        return take_from_script(r);
    uint64_t to_come = aphi_outstanding_awaited(&r->outstanding) + 2 * s->deferred_count;
    if (o->messages && r->log.requests + r->log.responses + to_come >= o->messages) {
        s->is_over = true;
        return false;
    }
    size_t usable = aphi_generator_usable(s->generator);
    return aphi_outstanding_awaited(&r->outstanding) < usable * o->depth && generate_action(r);
}

/* ---- performing -------------------------------------------------------------------------------------------------- */

/* A script must send only requests that the model knows; otherwise the verdict would not be about the subject. */
static bool is_known_request(aphi_run_state *r, int64_t label, int64_t name, aph_value message)
{
    const char *why;
    if (!r->options->script || !r->judging.feed || r->model->connections ||
        aphi_oracle_feed_knows(r->judging.feed, name, message, r->now, &why))
        return true;
    aphi_run_end_fault(r, APH_FAULT_REQUEST, "request %lld: %s", (long long)label, why);
    return false;
}

static int64_t patience_of(const aphi_run_state *r, aph_value message)
{
    bool asks = r->model->patience_ms && !r->options->overrules_model;
    int64_t ms = asks ? aphi_model_patience_ms(r->model, message) : 0;
    return ms <= 0 ? 0 : ms < INT64_MAX / 1000000 ? ms * 1000000 : INT64_MAX;
}

void aphi_run_send_message(aphi_run_state *r, int64_t connection, int64_t label, aph_value message, uint32_t chunk)
{
    const aph_model *m = r->model;
    if (m->connections)
        aphi_run_open_connection(r, connection);
    int64_t name = aphi_outstanding_name(&r->outstanding, connection);
    if (!is_known_request(r, label, name, message))
        return;
    if (!aphi_net_post(r->net, connection, message, chunk)) {
        char text[400];
        aphi_encode_describe(text, sizeof text, aphi_net_refusal(r->net), message);
        aphi_run_end_fault(r, APH_FAULT_REQUEST, "request %lld: the model's codec cannot encode it: %s",
                           (long long)label, text);
        return;
    }
    uint32_t kind = aphi_run_log_request(&r->log, aphi_request_kind(m, message));
    r->sending.since_idle++;
    if (!r->mode.paired || !aphi_outstanding_awaited(&r->outstanding))
        aphi_silence_restart(&r->silence);
    if (label)
        aphi_labelled_add(r->labelled, label, message);
    uint64_t number = r->judging.feed ? aphi_oracle_feed_sent(r->judging.feed, name, message, r->now) : 0;
    aph_value part = m->alone && m->part ? aphi_model_part(m, message) : APH_NIL;
    int64_t rested_ns = aphi_outstanding_rested_ns(&r->outstanding, connection, r->now);
    aphi_outstanding_push(&r->outstanding, connection,
                          &(aphi_outstanding_request){.label = label, .number = number, .sent_at = r->now,
                                                      .rested_ns = rested_ns, .kind = kind, .message = message,
                                                      .part = part,
                                                      .alone = m->alone && aphi_model_alone(m, message),
                                                      .patience_ns = patience_of(r, message)});
    aphi_run_note(r, APHI_RUN_EVENT_SENT, connection, label, message, number);
}

static void rename_wait(aphi_action *a, int64_t old, int64_t label)
{
    if (a->wait == APHI_WAIT_ANSWER && a->waits_for == old + 1)
        a->waits_for = label + 1;
}

/* Opens or ends a connection. A model without connections does not receive the opening, and an end is a close. */
static void perform_signal(aphi_run_state *r, const aphi_action *a)
{
    bool opens = a->send == APH_OPENED;
    if (opens && r->model->preamble)
        aphi_run_prepare_connection(r, a->connection);
    else if (opens && r->model->connections)
        aphi_run_open_connection(r, a->connection);
    else if (r->model->connections)
        aphi_run_end_connection(r, a->connection, a->send ? a->send : APH_LEFT);
    else if (!opens)
        aphi_run_close_connection(r, a->connection);
}

/* Gives the action a new label, above all others, and returns the old one. */
static int64_t relabel(aphi_run_state *r, aphi_action *a)
{
    aphi_sending *s = &r->sending;
    int64_t old = a->label;
    a->label = aphi_generator_rename(s->generator, a->connection, old);
    rename_wait(&s->next, old, a->label);
    for (size_t i = 0; i < s->deferred_count; i++)
        rename_wait(&s->deferred[i].action, old, a->label);
    return old;
}

/* Labels increase in a script, even if an action was deferred. */
static void keep_labels_rising(aphi_run_state *r, aphi_action *a)
{
    if (a->label < r->sending.last_label)
        relabel(r, a);
    r->sending.last_label = a->label;
}

/* Logs the opening of the connection, for the preamble that precedes the request: if the preamble fails, the request is
 * never sent, and the opening alone repeats the failure. In a script, the opening gets the label before that of the
 * request; if an action has it, the opening is not logged. */
static void log_opening(aphi_run_state *r, aphi_action *request)
{
    aphi_sending *s = &r->sending;
    int64_t label = s->generator ? relabel(r, request) : request->label - 2;
    if (s->generator && label < s->last_label)
        label = relabel(r, request);
    if (label <= s->last_label)
        return;
    s->last_label = label;
    aphi_run_log_action(&r->log, &(aphi_action){.label = label, .connection = request->connection, .send = APH_OPENED});
}

/* Returns true if no preamble is in progress on the connection of the action, and the connection is open if the action
 * needs that. */
static bool is_prepared(aphi_run_state *r, aphi_action *a)
{
    if (!r->model->preamble)
        return true;
    if (!a->send || aphi_is_signal(a->send))
        return !aphi_run_is_in_preamble_on(r, a->connection);
    if (aphi_run_needs_preamble(r, a->connection))
        log_opening(r, a);
    return aphi_run_prepare_connection(r, a->connection);
}

static void perform_action(aphi_run_state *r, aphi_action *a)
{
    keep_labels_rising(r, a);
    aphi_run_log_action(&r->log, a);
    r->sending.performed++;
    if (!a->send && !r->model->connections)
        aphi_run_close_connection(r, a->connection);
    else if (!a->send || aphi_is_signal(a->send))
        perform_signal(r, a);
    else
        aphi_run_send_message(r, a->connection, a->label,
                              aphi_expression_fill(a->send, r->labelled, r->model->functions), a->chunk);
    r->sending.acted_at = r->now;
}

/* The partition of a deferred action is found again only when it may be performed, because that is slower. */
static void perform_deferred(aphi_run_state *r)
{
    aphi_sending *s = &r->sending;
    size_t kept = 0;
    for (size_t i = 0; i < s->deferred_count; i++) {
        aphi_deferred_action a = s->deferred[i];
        bool goes = !r->ending.ended && wait_is_over(r, &a.action) && has_room(r, &a.action) &&
                    is_prepared(r, &a.action) && !is_blocked(r, &a, kept);
        if (goes) {
            a = find_partition(r, &a.action);
            goes = !is_blocked(r, &a, kept);
        }
        if (goes)
            perform_action(r, &a.action);
        s->deferred[kept] = a;
        kept += !goes;
    }
    s->deferred_count = kept;
}

/* In a calm phase an action observes the response that it waits for, so it is not deferred. */
static bool may_be_deferred(aphi_run_state *r)
{
    const aphi_sending *s = &r->sending;
    return r->model->alone && r->mode.paired && !r->mode.immediate && !r->mode.buffer && s->generator &&
           s->deferred_count < APHI_DEFERRED_MAX && (wait_is_over(r, &s->next) || s->next.wait == APHI_WAIT_ANSWER) &&
           !aphi_generator_is_calm(s->generator);
}

/* Moves the action to the connection that carries its partition. There it conflicts with no request, and if partitions
 * are kept apart, the connection carries no other partition. */
static void move_to_its_partition(aphi_run_state *r, aphi_deferred_action *a)
{
    const aphi_generator *g = r->sending.generator;
    aphi_deferred_action moved = *a;
    if (!r->options->apart || !a->action.send || !g || aphi_generator_is_calm(g))
        return;
    moved.action.connection = aphi_outstanding_load(&r->outstanding, a->part)->latest;
    if (has_room(r, &moved.action) && !is_blocked(r, &moved, r->sending.deferred_count))
        *a = moved;
}

/* Returns false if the next action, and thus all later ones, must wait. */
static bool perform_or_defer(aphi_run_state *r)
{
    aphi_sending *s = &r->sending;
    bool ready = wait_is_over(r, &s->next) && has_room(r, &s->next) && is_prepared(r, &s->next);
    if (!ready && !may_be_deferred(r))
        return false;
    aphi_deferred_action a = find_partition(r, &s->next);
    if (ready && is_blocked(r, &a, s->deferred_count))
        move_to_its_partition(r, &a);
    bool goes = ready && !is_blocked(r, &a, s->deferred_count);
    if (!goes && !may_be_deferred(r))
        return false;
    s->has_next = s->is_silent = false;
    if (goes) {
        perform_action(r, &a.action);
        return true;
    }
    if (a.action.wait != APHI_WAIT_ANSWER) /* its pause is over, and must not be restarted by later actions */
        a.action.wait = APHI_WAIT_NOTHING;
    s->deferred[s->deferred_count++] = a;
    return true;
}

void aphi_run_send(aphi_run_state *r)
{
    r->sending.is_resting = false;
    perform_deferred(r);
    for (int i = 0; i < ACTIONS_IN_TURN && !r->ending.ended && next_action(r); i++)
        if (!perform_or_defer(r))
            return;
}

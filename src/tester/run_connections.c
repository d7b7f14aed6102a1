/* SPDX-License-Identifier: Apache-2.0
 *
 * run_connections.c - the openings and ends of connections in a run, for a model that receives them, and preambles. */
#include "tester/run_internal.h"

#include "base/memory.h"
#include "tree/model_calls.h"

#include <stdlib.h>
#include <string.h>

enum {
    FAILURES_MAX = 32, /* preambles in a row that are not completed */
    STEPS_MAX = 1000,  /* of a preamble */
};

static bool is_open(aphi_run_state *r, int64_t connection)
{
    return aphi_outstanding_peer(&r->outstanding, connection)->is_named;
}

static void observe_sent(aphi_run_state *r, int64_t connection, aph_value signal)
{
    int64_t name = aphi_outstanding_name(&r->outstanding, connection);
    uint64_t number = r->judging.feed ? aphi_oracle_feed_sent(r->judging.feed, name, signal, r->now) : 0;
    aphi_run_note(r, APHI_RUN_EVENT_SENT, connection, 0, signal, number);
    aphi_silence_restart(&r->silence);
}

/* Its outstanding requests are not awaited any more. */
static void retire(aphi_run_state *r, int64_t connection)
{
    aphi_outstanding_request unused;
    while (aphi_outstanding_pop(&r->outstanding, connection, false, &unused))
        continue;
    aphi_outstanding_retire(&r->outstanding, connection, true);
    aphi_run_unblock(r, connection);
    aphi_run_abandon_preamble(r, connection);
    aphi_run_note_end(r, connection);
}

/* A connection that was half-closed is replaced by a new one. */
void aphi_run_open_connection(aphi_run_state *r, int64_t connection)
{
    if (r->mode.lossy)
        return;
    if (aphi_outstanding_peer(&r->outstanding, connection)->is_shut)
        aphi_run_end_connection(r, connection, APH_LEFT);
    if (is_open(r, connection))
        return;
    observe_sent(r, connection, APH_OPENED);
    aphi_net_open_connection(r->net, connection);
}

void aphi_run_end_connection(aphi_run_state *r, int64_t connection, aph_value signal)
{
    bool is_shut = aphi_outstanding_peer(&r->outstanding, connection)->is_shut;
    if (r->mode.lossy || !is_open(r, connection) || (signal == APH_CLOSED && is_shut))
        return;
    observe_sent(r, connection, signal);
    if (signal == APH_CLOSED) {
        aphi_net_half_close(r->net, connection);
        aphi_outstanding_shut(&r->outstanding, connection);
        return;
    }
    if (signal == APH_LEFT)
        aphi_net_close_connection(r->net, connection);
    else
        aphi_net_abort_connection(r->net, connection);
    retire(r, connection);
}

void aphi_run_connection_ended(aphi_run_state *r, int64_t connection, aph_value signal)
{
    int64_t name = aphi_outstanding_name(&r->outstanding, connection);
    aphi_oracle_feed *feed = r->judging.feed;
    uint64_t number = feed ? aphi_oracle_feed_received(feed, name, signal, APHI_NO_REQUEST) : 0;
    aphi_run_note(r, APHI_RUN_EVENT_RECEIVED, connection, 0, signal, number);
    retire(r, connection);
}

/* ---- preambles --------------------------------------------------------------------------------------------------- */

static aphi_preamble *preamble_of(aphi_run_state *r, int64_t connection)
{
    aphi_preambles *p = &r->preambles;
    size_t had = p->count;
    APHI_RESERVE(p->all, p->count, (size_t)connection + 1);
    if (p->count > had)
        memset(p->all + had, 0, (p->count - had) * sizeof *p->all);
    return &p->all[connection];
}

static void perform_step(aphi_run_state *r, int64_t connection, aph_value answer)
{
    aphi_preamble *p = preamble_of(r, connection);
    aph_value message = aphi_model_preamble(r->model, &(aph_preamble){.step = p->step, .answer = answer,
                                                           .earlier = r->preambles.earlier, .number = p->number});
    if (p->step == STEPS_MAX)
        aphi_run_end_fault(r, APH_FAULT_PROMISE, "the preamble of the model has more than %d steps; return APH_NIL "
                           "when it is complete", STEPS_MAX);
    p->is_active = message != APH_NIL;
    if (!p->is_active) {
        r->preambles.earlier = p->step ? answer : r->preambles.earlier;
        r->preambles.failures = 0;
    } else if (message != APH_AWAIT) {
        aphi_run_send_message(r, connection, 0, message, 0);
    }
}

bool aphi_run_needs_preamble(aphi_run_state *r, int64_t connection)
{
    const aphi_preamble *p = preamble_of(r, connection);
    bool is_shut = aphi_outstanding_peer(&r->outstanding, connection)->is_shut;
    return !p->is_active && (!is_open(r, connection) || !p->step || is_shut);
}

bool aphi_run_prepare_connection(aphi_run_state *r, int64_t connection)
{
    aphi_preamble *p = preamble_of(r, connection);
    if (!aphi_run_needs_preamble(r, connection))
        return !p->is_active;
    if (r->model->connections)
        aphi_run_open_connection(r, connection);
    *p = (aphi_preamble){.number = r->preambles.begun++};
    perform_step(r, connection, APH_NIL);
    preamble_of(r, connection)->step++;
    return !preamble_of(r, connection)->is_active;
}

void aphi_run_continue_preamble(aphi_run_state *r, int64_t connection, aph_value message)
{
    if (!r->model->preamble || r->ending.ended || !preamble_of(r, connection)->is_active)
        return;
    perform_step(r, connection, message);
    preamble_of(r, connection)->step++;
}

bool aphi_run_is_in_preamble_on(aphi_run_state *r, int64_t connection)
{
    return preamble_of(r, connection)->is_active;
}

bool aphi_run_is_in_preamble(const aphi_run_state *r)
{
    for (size_t i = 0; i < r->preambles.count; i++)
        if (r->preambles.all[i].is_active)
            return true;
    return false;
}

void aphi_run_abandon_preamble(aphi_run_state *r, int64_t connection)
{
    if (!r->model->preamble)
        return;
    aphi_preamble *p = preamble_of(r, connection);
    bool failed = p->is_active;
    *p = (aphi_preamble){0};
    if (failed && ++r->preambles.failures == FAILURES_MAX)
        APHI_JUDGE_AND_END(r, APHI_RUN_DEAD, "%d connections in a row ended before the preamble of the model was "
                           "complete; check the login and the model's preamble", FAILURES_MAX);
}

void aphi_run_close_preambles(aphi_run_state *r)
{
    free(r->preambles.all);
    r->preambles = (aphi_preambles){0};
}

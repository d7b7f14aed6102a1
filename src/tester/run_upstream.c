/* SPDX-License-Identifier: Apache-2.0
 *
 * run_upstream.c - calls: requests on connections that the subject opens, where the tester is the server.
 *
 * Idea:       the model computes the response. Some calls are held back, so that the subject has several outstanding
 *             calls and gets responses out of order. */
#include "tester/run_internal.h"

#include "codec/codec_internal.h"
#include "tree/model_calls.h"

#include <string.h>

void aphi_run_open_calls(aphi_run_state *r) { r->calls.choice = aphi_choice_seed(r->options->seed); }

int64_t aphi_run_call_name(const aphi_run_state *r, int64_t connection)
{
    return r->model->calls_apart ? r->calls.current : connection;
}

void aphi_run_begin_call(aphi_run_state *r, int64_t connection)
{
    r->calls.current = (aph_origin_of(connection) + 1) * APH_ACCEPTED + (int64_t)r->calls.count;
}

static void answer_call(aphi_run_state *r, const aphi_held_call *call)
{
    r->calls.current = call->name;
    if (call->response == aph_bool(false)) {
        aphi_net_close_connection(r->net, call->connection);
    } else if (!aphi_net_post(r->net, call->connection, call->response, 0)) {
        char text[400];
        aphi_encode_describe(text, sizeof text, aphi_net_refusal(r->net), call->response);
        aphi_run_end_fault(r, APH_FAULT_CODEC, "the model's codec cannot encode the response to a call: %s", text);
        return;
    }
    int64_t name = aphi_run_call_name(r, call->connection);
    uint64_t number = r->judging.feed ? aphi_oracle_feed_sent(r->judging.feed, name, call->response, r->now) : 0;
    aphi_run_note(r, APHI_RUN_EVENT_SENT, call->connection, 0, call->response, number);
}

/* Chooses a held call at random; its connection is served in order. */
void aphi_run_answer_held_call(aphi_run_state *r)
{
    aphi_calls *c = &r->calls;
    size_t i = (size_t)aphi_choice_below(&c->choice, c->held_count), k = 0;
    while (c->held[k].connection != c->held[i].connection)
        k++;
    aphi_held_call call = c->held[k];
    memmove(c->held + k, c->held + k + 1, (--c->held_count - k) * sizeof *c->held);
    answer_call(r, &call);
}

static bool has_held_call(const aphi_calls *c, int64_t connection)
{
    for (size_t i = 0; i < c->held_count; i++)
        if (c->held[i].connection == connection)
            return true;
    return false;
}

void aphi_run_receive_call(aphi_run_state *r, const aphi_arrival *a)
{
    aphi_calls *c = &r->calls;
    aphi_oracle_feed *feed = r->judging.feed;
    aphi_run_begin_call(r, a->connection);
    int64_t name = aphi_run_call_name(r, a->connection);
    uint64_t number = feed ? aphi_oracle_feed_received(feed, name, a->message, APHI_NO_REQUEST) : 0;
    aphi_run_note(r, APHI_RUN_EVENT_RECEIVED, a->connection, 0, a->message, number);
    if (!r->model->respond)
        return;
    aph_value response = aphi_model_respond(r->model, aph_origin_of(a->connection), a->message, c->count++);
    aphi_held_call call = {a->connection, c->current, response};
    if (!r->model->calls_apart || (!has_held_call(c, a->connection) && aphi_choice_chance(&c->choice, 1, 2))) {
        answer_call(r, &call);
        return;
    }
    if (c->held_count == APHI_HELD_CALLS_MAX)
        aphi_run_answer_held_call(r);
    c->held[c->held_count++] = call;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * run_receive.c - what comes in a run: answers, calls, and the ends of connections. */
#include "tester/run_internal.h"

#include "base/clock.h"

#include <stdio.h>
#include <string.h>

enum { BREAKS = 8 }; /* connections that may be broken off, and one more for each answer */

aph_value aphi_run_asked(void *context, int64_t connection)
{
    aphi_run_state *r = context;
    const aphi_peer *p = aphi_outstanding_peer(r, connection);
    return p->count ? p->queue[p->head].message : APH_NIL;
}

static uint64_t tell_received(aphi_run_state *r, const aphi_arrival *a, uint64_t request)
{
    return r->feed ? aphi_live_feed_received(r->feed, aphi_outstanding_name(r, a->connection), a->message, request) : 0;
}

static void arrived_message(aphi_run_state *r, const aphi_arrival *a)
{
    aphi_question q = {.number = APHI_NO_REQUEST};
    bool answer = aphi_outstanding_pop(r, a->connection, &q);
    int64_t label = answer ? q.label + 1 : 0;
    aphi_outstanding_peer(r, a->connection)->was_answered = true;
    if (answer)
        r->kinds[q.kind].answered++;
    r->result.facts.answers++;
    if (label)
        aphi_labelled_add(r->labelled, label, a->message);
    uint64_t number = tell_received(r, a, q.number);
    aphi_outstanding_note(r, APHI_RUN_EVENT_RECEIVED, a->connection, label, a->message, number);
    if (a->last)
        aphi_outstanding_part(r, a->connection);
}

static void answer_call(aphi_run_state *r, aphi_held call)
{
    r->call = call.name;
    if (call.answer == aph_bool(false)) {
        aphi_net_hang_up(r->net, call.connection);
    } else if (!aphi_net_post(r->net, call.connection, call.answer, 0)) {
        aphi_run_end(r, APHI_RUN_TROUBLE, "the model's answer to a call has no bytes in its codec");
        return;
    }
    int64_t name = aphi_outstanding_name(r, call.connection);
    uint64_t number = r->feed ? aphi_live_feed_sent(r->feed, name, call.answer, r->now) : 0;
    aphi_outstanding_note(r, APHI_RUN_EVENT_SENT, call.connection, 0, call.answer, number);
}

/* One of those that wait, not always the one that waits longest; of one connection, which has an order, that one. */
void aphi_run_answer_held(aphi_run_state *r)
{
    size_t i = (size_t)aphi_choice_below(&r->choice, r->held_count), k = 0;
    while (r->held[k].connection != r->held[i].connection)
        k++;
    aphi_held call = r->held[k];
    memmove(r->held + k, r->held + k + 1, (--r->held_count - k) * sizeof *r->held);
    answer_call(r, call);
}

static bool is_held(const aphi_run_state *r, int64_t connection)
{
    for (size_t i = 0; i < r->held_count; i++)
        if (r->held[i].connection == connection)
            return true;
    return false;
}

/* On a connection that the subject opened we are the server: the model says what it answers. Some wait, so that the
 * subject has several at a time and is not answered in the order in which it asked. */
static void arrived_call(aphi_run_state *r, const aphi_arrival *a)
{
    r->call = APH_ACCEPTED + (int64_t)r->called;
    uint64_t number = tell_received(r, a, APHI_NO_REQUEST);
    aphi_outstanding_note(r, APHI_RUN_EVENT_RECEIVED, a->connection, 0, a->message, number);
    if (!r->model->respond)
        return;
    aphi_held call = {a->connection, r->call, r->model->respond(a->message, r->called++)};
    if (!r->model->calls_apart || (!is_held(r, a->connection) && aphi_choice_chance(&r->choice, 1, 2))) {
        answer_call(r, call);
        return;
    }
    if (r->held_count == APHI_HELD_MAX)
        aphi_run_answer_held(r);
    r->held[r->held_count++] = call;
}

/* May the connection end as it did, where the model lets the subject close it? A request may have crossed the close.
 * Where several had, unread ones break the connection off, and answers before them can be lost with it. So it is with
 * servers that close after each answer, and do not wait for us to have read it; one that does no better is rejected. */
static bool crossed(aphi_run_state *r, const aphi_arrival *a, const aphi_peer *p)
{
    if (r->model->closes != APH_CLOSES_SETTLED || a->kind == APHI_ARRIVED_REFUSED)
        return false;
    if (!p->count || p->was_answered)
        return true;
    return a->kind == APHI_ARRIVED_RESET && p->count > 1 &&
           ++r->broken_off <= BREAKS + r->result.facts.answers;
}

static void arrived_end(aphi_run_state *r, const aphi_arrival *a, const char *word)
{
    if (a->connection >= APH_ACCEPTED) {
        if (!r->model->calls_apart)
            aphi_outstanding_note(r, APHI_RUN_EVENT_DROPPED, a->connection, 0, aph_str(word), UINT64_MAX);
        return;
    }
    const aphi_peer *p = aphi_outstanding_peer(r, a->connection);
    size_t owed = p->count;
    bool owes = owed > 0, allowed = crossed(r, a, p);
    aphi_outstanding_note(r, APHI_RUN_EVENT_DROPPED, a->connection, 0, aph_str(word), UINT64_MAX);
    aphi_outstanding_lose(r, a->connection);
    aphi_outstanding_retire(r, a->connection);
    if (allowed) {
        r->dropped += owed;
        return;
    }
    char what[256];
    bool refused = a->kind == APHI_ARRIVED_REFUSED;
    r->result.unreached = refused && !r->result.facts.answers && !r->datagrams;
    snprintf(what, sizeof what, "connection %lld: %s%s%s", (long long)a->connection,
             refused && !r->datagrams ? "the subject did not let us in: " : "", a->why,
             !refused && owes                             ? ", and an answer was owed on it"
             : refused && !r->result.facts.answers        ? "; is it there, at this address?"
                                                          : "");
    /* A close that crosses a request is seen as a reset, or where closing is allowed as an end without an answer. */
    aphi_run_end_dead(r, what, a->kind == APHI_ARRIVED_RESET ||
                                   (r->model->closes == APH_CLOSES_SETTLED && a->kind == APHI_ARRIVED_END));
}

void aphi_run_arrived(void *context, const aphi_arrival *a)
{
    aphi_run_state *r = context;
    if (aphi_arrival_says(a) && a->connection < APH_ACCEPTED)
        r->spoke = true;
    if (r->ended)
        return;
    if (!r->awake) { /* the wait is over: what arrives with this is of now, not of when the wait began */
        r->awake = true;
        r->now = aphi_clock_ns();
    }
    switch (a->kind) {
    case APHI_ARRIVED_CALL: break;
    case APHI_ARRIVED_MESSAGE:
        if (a->connection < APH_ACCEPTED)
            arrived_message(r, a);
        else
            arrived_call(r, a);
        break;
    case APHI_ARRIVED_MALFORMED:
        r->call = APH_ACCEPTED + (int64_t)r->called;
        aphi_outstanding_note(r, APHI_RUN_EVENT_MALFORMED, a->connection, 0, a->message, UINT64_MAX);
        APHI_JUDGE_AND_END(r, APHI_RUN_MALFORMED, "connection %lld: what came is not a message: %s",
                           (long long)a->connection, a->why);
        break;
    case APHI_ARRIVED_BEYOND:
        r->call = APH_ACCEPTED + (int64_t)r->called;
        aphi_outstanding_note(r, APHI_RUN_EVENT_DROPPED, a->connection, 0, aph_str("too long"), UINT64_MAX);
        APHI_JUDGE_AND_END(r, APHI_RUN_UNKNOWN, "connection %lld: %s, which is our limit; a limit of the "
                           "protocol's own belongs in its codec (.limit), and makes it malformed",
                           (long long)a->connection, a->why);
        break;
    case APHI_ARRIVED_END: arrived_end(r, a, "closed"); break;
    case APHI_ARRIVED_RESET: arrived_end(r, a, "reset"); break;
    case APHI_ARRIVED_REFUSED: arrived_end(r, a, "refused"); break;
    case APHI_ARRIVED_CROWD:
        aphi_run_end(r, APHI_RUN_UNKNOWN, "the subject has opened more connections to us than we take: %s", a->why);
        break;
    case APHI_ARRIVED_UNABLE:
        if (a->connection >= APH_ACCEPTED)
            aphi_run_end(r, APHI_RUN_TROUBLE, "a connection that the subject opens to us cannot be taken: %s; "
                         "allow more open files (ulimit -n)", a->why);
        else
            aphi_run_end(r, APHI_RUN_TROUBLE, "connection %lld cannot be opened from here: %s; use fewer "
                         "--connections, or allow more open files (ulimit -n)", (long long)a->connection, a->why);
        break;
    }
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * run_receive.c - arrivals in a run: responses, malformed bytes, and the ends of connections. */
#include "tester/run_internal.h"

#include <stdio.h>
#include <stdlib.h>

enum { BROKEN_OFF_MAX = 8 }; /* connections that may be broken off, and one more for each response */
enum { QUOTED_MAX = 40 };

aph_value aphi_run_oldest_request(void *context, int64_t connection)
{
    aphi_run_state *r = context;
    const aphi_peer *p = aphi_outstanding_peer(&r->outstanding, connection);
    return p->count ? p->queue[p->head].message : APH_NIL;
}

static void receive_response(aphi_run_state *r, const aphi_arrival *a)
{
    aphi_outstanding_request request = {.number = APHI_NO_REQUEST};
    bool was_blocked = aphi_outstanding_peer(&r->outstanding, a->connection)->is_blocked;
    bool is_response = aphi_outstanding_pop(&r->outstanding, a->connection, true, &request);
    int64_t label = is_response && request.label ? request.label + 1 : 0;
    int64_t name = aphi_outstanding_name(&r->outstanding, a->connection);
    aphi_run_log_response(&r->log, is_response ? request.kind : UINT32_MAX);
    aphi_outstanding_note_response(&r->outstanding, a->connection, r->now);
    if (is_response)
        aphi_losses_note_response(&r->receiving.losses, request.rested_ns);
    if (was_blocked)
        aphi_run_unblock(r, a->connection);
    else if (is_response && !request.patience_ns)
        aphi_silence_got_response(&r->silence, r->now - request.sent_at);
    if (label)
        aphi_labelled_add(r->labelled, label, a->message);
    aphi_oracle_feed *feed = r->judging.feed;
    uint64_t number = feed ? aphi_oracle_feed_received(feed, name, a->message, request.number) : 0;
    aphi_run_note(r, APHI_RUN_EVENT_RECEIVED, a->connection, label, a->message, number);
    aphi_run_continue_preamble(r, a->connection, a->message);
    if (a->last)
        aphi_run_close_connection(r, a->connection);
}

/* ---- ends of connections ----------------------------------------------------------------------------------------- */

/* The outstanding requests of the connection will not be answered. */
static void lose_requests(aphi_run_state *r, int64_t connection)
{
    aphi_outstanding_request request;
    aphi_oracle_feed *feed = r->judging.feed;
    while (aphi_outstanding_pop(&r->outstanding, connection, false, &request)) {
        int64_t name = aphi_outstanding_name(&r->outstanding, connection);
        uint64_t number = feed ? aphi_oracle_feed_lost(feed, name, request.number) : 0;
        aphi_run_note(r, APHI_RUN_EVENT_LOST, connection, request.label + 1, APH_NIL, number);
    }
    aphi_outstanding_retire(&r->outstanding, connection, false);
    aphi_run_unblock(r, connection);
    aphi_run_abandon_preamble(r, connection);
}

void aphi_run_close_connection(aphi_run_state *r, int64_t connection)
{
    aphi_run_note(r, APHI_RUN_EVENT_CLOSED, connection, 0, APH_NIL, UINT64_MAX);
    aphi_net_close_connection(r->net, connection);
    lose_requests(r, connection);
}

/* Returns true if the model allows this end of the connection. A request may have crossed the close. If several have,
 * the unread ones cause the system to reset the connection, and earlier responses can be lost. This happens with
 * servers that close after each response without waiting until it is read. A server that always does so is rejected. */
static bool may_close(aphi_run_state *r, const aphi_arrival *a, const aphi_peer *p)
{
    if (r->model->closes != APH_CLOSES_SETTLED || a->kind == APHI_ARRIVED_REFUSED)
        return false;
    if (!p->count || p->was_answered)
        return true;
    return a->kind == APHI_ARRIVED_RESET && p->count > 1 &&
           ++r->receiving.broken_off <= BROKEN_OFF_MAX + r->log.responses;
}

static void end_by_connection(aphi_run_state *r, const aphi_arrival *a, bool outstanding)
{
    char why[256];
    bool refused = a->kind == APHI_ARRIVED_REFUSED, never_answered = !r->log.responses;
    snprintf(why, sizeof why, "connection %lld: %s%s%s", (long long)a->connection,
             refused && !r->mode.lossy ? "cannot connect to the subject: " : "", a->why,
             !refused && outstanding     ? "; a response was outstanding"
             : refused && never_answered ? "; check the address"
                                         : "");
    /* A close that crosses a request appears as a reset or, if closing is allowed, as an end without a response. */
    bool doubtful = a->kind == APHI_ARRIVED_RESET ||
                    (r->model->closes == APH_CLOSES_SETTLED && a->kind == APHI_ARRIVED_END);
    aphi_run_end_dead(r, why, doubtful, refused && never_answered && !r->mode.lossy);
}

bool aphi_run_is_careful(const aphi_run_state *r)
{
    return aphi_losses_need_care(&r->receiving.losses, r->log.responses + r->options->answers_before);
}

/* Decides about the requests that are outstanding when the subject closes the connection. The oldest one is a loss if
 * it was sent alone on a rested connection. Later ones are excused: the subject may have closed after a response. */
static void count_losses(aphi_run_state *r, const aphi_peer *p)
{
    aphi_losses *l = &r->receiving.losses;
    if (!r->mode.paired)
        return;
    if (!p->count && p->was_answered)
        aphi_losses_note_close(l, r->now - p->answered_at);
    l->excused += p->count;
    if (!p->count || aphi_outstanding_at(p, 0)->rested_ns < aphi_losses_rest_ns(l))
        return;
    const aphi_outstanding_request *oldest = aphi_outstanding_at(p, 0);
    l->excused--;
    aphi_losses_add(l, p->name, oldest->label, oldest->message);
    aphi_run_log_loss(&r->log, oldest->kind);
}

static void receive_end(aphi_run_state *r, const aphi_arrival *a, const char *word)
{
    if (r->model->connections && a->connection < APH_ACCEPTED && a->kind != APHI_ARRIVED_REFUSED && !r->mode.lossy) {
        aphi_run_connection_ended(r, a->connection, a->kind == APHI_ARRIVED_END ? APH_CLOSED : APH_BROKEN);
        return;
    }
    if (a->connection >= APH_ACCEPTED) {
        if (!r->model->calls_apart)
            aphi_run_note(r, APHI_RUN_EVENT_DROPPED, a->connection, 0, aph_str(word), UINT64_MAX);
        return;
    }
    const aphi_peer *p = aphi_outstanding_peer(&r->outstanding, a->connection);
    size_t outstanding = p->count;
    bool allowed = may_close(r, a, p);
    if (allowed)
        count_losses(r, p);
    aphi_run_note(r, APHI_RUN_EVENT_DROPPED, a->connection, 0, aph_str(word), UINT64_MAX);
    lose_requests(r, a->connection);
    if (!allowed)
        end_by_connection(r, a, outstanding);
}

/* ---- arrivals ---------------------------------------------------------------------------------------------------- */

static void receive_malformed(aphi_run_state *r, const aphi_arrival *a)
{
    aphi_run_begin_call(r, a->connection);
    aphi_run_note(r, APHI_RUN_EVENT_MALFORMED, a->connection, 0, a->message, UINT64_MAX);
    APHI_JUDGE_AND_END(r, APHI_RUN_MALFORMED, "connection %lld: not a message: %s",
                       (long long)a->connection, a->why);
}

/* Returns the bytes of the message from the wrong one on, as JSON text for free(). */
static char *quote_wrong_bytes(const aphi_arrival *a)
{
    aph_value message = aph_is_str(a->message) ? a->message : aph_str("");
    size_t n;
    const char *bytes = aph_bytes_of(&message, &n);
    size_t from = a->at < n ? a->at : n, count = n - from < QUOTED_MAX ? n - from : QUOTED_MAX;
    return aph_json_text(aph_bytes(bytes + from, count), NULL);
}

/* The message may be valid, so it is not a failure of the subject. */
static void receive_beyond_limit(aphi_run_state *r, const aphi_arrival *a)
{
    aphi_run_begin_call(r, a->connection);
    aphi_run_note(r, APHI_RUN_EVENT_DROPPED, a->connection, 0, aph_str("beyond a limit of Antiphon"), UINT64_MAX);
    char *bytes = quote_wrong_bytes(a);
    APHI_JUDGE_AND_END(r, APHI_RUN_UNKNOWN, "connection %lld: beyond a limit of Antiphon: %s, at %s; give the model "
                       "a codec that rejects such messages (.limit, for long ones) or reads them (.numbers, for "
                       "fractions): see docs/writing-models.md, Limits",
                       (long long)a->connection, a->why, bytes);
    free(bytes);
}

static void end_unable(aphi_run_state *r, const aphi_arrival *a)
{
    r->ending.unable = !r->ending.ended;
    if (a->connection >= APH_ACCEPTED)
        aphi_run_end(r, APHI_RUN_TROUBLE, "cannot accept a connection from the subject: %s; "
                     "allow more open files (ulimit -n)", a->why);
    else
        aphi_run_end(r, APHI_RUN_TROUBLE, "connection %lld: cannot be opened: %s; check the network, use "
                     "fewer --connections, or allow more open files (ulimit -n)", (long long)a->connection, a->why);
}

void aphi_run_arrived(void *context, const aphi_arrival *a)
{
    aphi_run_state *r = context;
    if (aphi_arrival_ends_silence(a) && a->connection < APH_ACCEPTED)
        aphi_silence_got_message(&r->silence);
    if (r->ending.ended)
        return;
    aphi_run_refresh_now(r);
    switch (a->kind) {
    case APHI_ARRIVED_CALL: break;
    case APHI_ARRIVED_MESSAGE:
        if (a->connection < APH_ACCEPTED)
            receive_response(r, a);
        else
            aphi_run_receive_call(r, a);
        break;
    case APHI_ARRIVED_MALFORMED: receive_malformed(r, a); break;
    case APHI_ARRIVED_TOO_LARGE: receive_beyond_limit(r, a); break;
    case APHI_ARRIVED_END: receive_end(r, a, "closed"); break;
    case APHI_ARRIVED_RESET: receive_end(r, a, "reset"); break;
    case APHI_ARRIVED_REFUSED: receive_end(r, a, "refused"); break;
    case APHI_ARRIVED_TOO_MANY:
        aphi_run_end(r, APHI_RUN_UNKNOWN, "the subject opened too many connections to the tester: %s", a->why);
        break;
    case APHI_ARRIVED_UNABLE: end_unable(r, a); break;
    }
}

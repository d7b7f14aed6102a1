/* SPDX-License-Identifier: Apache-2.0
 *
 * run_receive.c - arrivals in a run: responses, malformed bytes, and the ends of connections. */
#include "tester/run_internal.h"

#include <stdio.h>

enum { BROKEN_OFF_MAX = 8 }; /* connections that may be broken off, and one more for each response */

aph_value aphi_run_oldest_request(void *context, int64_t connection)
{
    aphi_run_state *r = context;
    const aphi_peer *p = aphi_outstanding_peer(&r->outstanding, connection);
    return p->count ? p->queue[p->head].message : APH_NIL;
}

static void receive_response(aphi_run_state *r, const aphi_arrival *a)
{
    aphi_outstanding_request request = {.number = APHI_NO_REQUEST};
    bool is_response = aphi_outstanding_pop(&r->outstanding, a->connection, true, &request);
    int64_t label = is_response ? request.label + 1 : 0, name = aphi_outstanding_name(&r->outstanding, a->connection);
    aphi_run_log_response(&r->log, is_response ? request.kind : UINT32_MAX);
    if (label)
        aphi_labelled_add(r->labelled, label, a->message);
    aphi_oracle_feed *feed = r->judging.feed;
    uint64_t number = feed ? aphi_oracle_feed_received(feed, name, a->message, request.number) : 0;
    aphi_run_note(r, APHI_RUN_EVENT_RECEIVED, a->connection, label, a->message, number);
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
    aphi_outstanding_retire(&r->outstanding, connection);
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

static void receive_end(aphi_run_state *r, const aphi_arrival *a, const char *word)
{
    if (a->connection >= APH_ACCEPTED) {
        if (!r->model->calls_apart)
            aphi_run_note(r, APHI_RUN_EVENT_DROPPED, a->connection, 0, aph_str(word), UINT64_MAX);
        return;
    }
    const aphi_peer *p = aphi_outstanding_peer(&r->outstanding, a->connection);
    size_t outstanding = p->count;
    bool allowed = may_close(r, a, p);
    aphi_run_note(r, APHI_RUN_EVENT_DROPPED, a->connection, 0, aph_str(word), UINT64_MAX);
    lose_requests(r, a->connection);
    if (allowed)
        r->receiving.dropped += outstanding;
    else
        end_by_connection(r, a, outstanding);
}

/* ---- arrivals ---------------------------------------------------------------------------------------------------- */

static void receive_malformed(aphi_run_state *r, const aphi_arrival *a)
{
    aphi_run_begin_call(r);
    aphi_run_note(r, APHI_RUN_EVENT_MALFORMED, a->connection, 0, a->message, UINT64_MAX);
    APHI_JUDGE_AND_END(r, APHI_RUN_MALFORMED, "connection %lld: not a message: %s",
                       (long long)a->connection, a->why);
}

static void receive_too_long(aphi_run_state *r, const aphi_arrival *a)
{
    aphi_run_begin_call(r);
    aphi_run_note(r, APHI_RUN_EVENT_DROPPED, a->connection, 0, aph_str("too long"), UINT64_MAX);
    APHI_JUDGE_AND_END(r, APHI_RUN_UNKNOWN, "connection %lld: %s, the limit of the tester; if the protocol "
                       "has a limit, set .limit in the codec; a longer message is then malformed",
                       (long long)a->connection, a->why);
}

static void end_unable(aphi_run_state *r, const aphi_arrival *a)
{
    if (a->connection >= APH_ACCEPTED)
        aphi_run_end(r, APHI_RUN_TROUBLE, "cannot accept a connection from the subject: %s; "
                     "allow more open files (ulimit -n)", a->why);
    else
        aphi_run_end(r, APHI_RUN_TROUBLE, "connection %lld: cannot be opened: %s; use fewer "
                     "--connections or allow more open files (ulimit -n)", (long long)a->connection, a->why);
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
    case APHI_ARRIVED_TOO_LARGE: receive_too_long(r, a); break;
    case APHI_ARRIVED_END: receive_end(r, a, "closed"); break;
    case APHI_ARRIVED_RESET: receive_end(r, a, "reset"); break;
    case APHI_ARRIVED_REFUSED: receive_end(r, a, "refused"); break;
    case APHI_ARRIVED_TOO_MANY:
        aphi_run_end(r, APHI_RUN_UNKNOWN, "the subject opened too many connections to the tester: %s", a->why);
        break;
    case APHI_ARRIVED_UNABLE: end_unable(r, a); break;
    }
}

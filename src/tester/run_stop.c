/* SPDX-License-Identifier: Apache-2.0
 *
 * run_stop.c - the end of a run: completion, exit of the subject, or its silence.
 *
 * Silence:    if the subject does not accept a connection, the kernel retries after one second and after three, so a
 *             subject that is slow to accept gets four seconds. Silence may be due to chance; see
 *             campaign_confirm.c. */
#include "tester/run_internal.h"

#include "base/clock.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const int64_t PATIENCE_CONNECTING_NS = 4000000000;
#define SILENT "the subject is silent, but every explanation has a pending response"
enum {
    PATIENCE_PARTS_EXITING = 4, /* this part of the patience, for a process to exit after its connections end */
    QUOTED_MAX = 40,            /* bytes of an incomplete message */
};

void aphi_run_end_with(aphi_run_state *r, aphi_run_verdict outcome, aph_fault fault, const char *format, ...)
{
    va_list args;
    if (r->ending.ended)
        return;
    r->ending.ended = true;
    r->ending.outcome = outcome;
    r->ending.fault = fault;
    va_start(args, format);
    vsnprintf(r->ending.why, sizeof r->ending.why, format, args);
    va_end(args);
}

void aphi_run_end_untraced(aphi_run_state *r, const char *why)
{
    r->ending.ended = false;
    aphi_run_end(r, APHI_RUN_TROUBLE, "%s", why);
}

bool aphi_run_is_stopped(const aphi_run_state *r) { return r->options->stop && *r->options->stop; }

/* ---- the subject's process --------------------------------------------------------------------------------------- */

/* soon: its connections have ended, which may be observed shortly before the exit. */
static bool has_exited(aphi_run_state *r, bool soon, char *how, size_t size)
{
    int64_t until = aphi_clock_ns() + (soon ? r->silence.patience_ns / PATIENCE_PARTS_EXITING : 0);
    while (aphi_subject_look(r->options->subject, how, size) != APHI_SUBJECT_EXITED) {
        if (aphi_clock_ns() >= until || !aphi_subject_is_ours(r->options->subject))
            return false;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return true;
}

void aphi_run_end_dead(aphi_run_state *r, const char *why, bool doubtful, bool unreached)
{
    char how[160];
    if (r->ending.ended)
        return;
    if (has_exited(r, true, how, sizeof how))
        APHI_JUDGE_AND_END(r, APHI_RUN_DEAD, "the subject %s", how);
    else
        APHI_JUDGE_AND_END(r, APHI_RUN_DEAD, "%s", why);
    r->ending.doubtful = doubtful;
    r->ending.unreached = unreached;
}

/* ---- silence ----------------------------------------------------------------------------------------------------- */

/* The oldest outstanding request, on an accepted connection if there is one. Returns its label, or 0. */
static int64_t oldest_request(const aphi_run_state *r, int64_t *connection)
{
    int64_t label = 0;
    bool is_accepted = false;
    for (size_t i = 0; i < r->outstanding.peer_count; i++) {
        const aphi_peer *p = &r->outstanding.peers[i];
        bool accepted = p->count && !aphi_net_is_connecting(r->net, (int64_t)i);
        if (!p->count || (is_accepted && !accepted) ||
            (label && is_accepted == accepted && p->queue[p->head].label > label))
            continue;
        is_accepted = accepted;
        *connection = (int64_t)i;
        label = p->queue[p->head].label;
    }
    return label;
}

/* Returns the longest silence that is allowed while this request is outstanding. */
static int64_t limit_of(const aphi_run_state *r, const aphi_outstanding_request *q)
{
    int64_t limit = aphi_silence_limit(&r->silence);
    bool raised = r->silence.is_fixed && limit > q->patience_ns;
    return q->patience_ns && !raised ? q->patience_ns : limit;
}

static void note_suspicion(aphi_run_state *r)
{
    int64_t ns = r->silence.silent_ns - r->silence.patience_ns;
    r->ending.suspected_ns = ns > 0 ? ns : 0;
}

/* Describes the incomplete message that has arrived on the connection, or on the first one with such a message if it is
 * negative. */
static void describe_incomplete(aphi_run_state *r, int64_t connection)
{
    size_t n;
    int64_t at = connection < 0 ? 0 : connection;
    const char *bytes = aphi_net_incomplete(r->net, at, &n);
    while (n == 0 && connection < 0 && at + 1 < (int64_t)r->outstanding.peer_count)
        bytes = aphi_net_incomplete(r->net, ++at, &n);
    if (n == 0)
        return;
    char *quoted = aph_json_text(aph_bytes(bytes, n < QUOTED_MAX ? n : QUOTED_MAX), NULL);
    snprintf(r->result.incomplete, sizeof r->result.incomplete, "the beginning of a message, %zu byte%s: %s%s", n,
             n == 1 ? "" : "s", quoted, n > QUOTED_MAX ? "..." : "");
    free(quoted);
    r->result.incomplete_at = aphi_outstanding_name(&r->outstanding, at);
}

/* Ends the run because a response is missing, unless it has ended. label: of its request; 0: unknown. */
static void end_without_response(aphi_run_state *r, int64_t label, int64_t connection, int64_t waited, const char *more)
{
    const char *part = r->result.incomplete;
    if (r->ending.ended)
        return;
    describe_incomplete(r, label ? connection : -1);
    if (label)
        aphi_run_end(r, APHI_RUN_STARVED,
                     "request %lld on connection %lld: no %sresponse within %.1f s%s%s%s; %llu request%s outstanding",
                     (long long)label, (long long)connection, *part ? "complete " : "", (double)waited / 1e9,
                     *part ? ", but " : "", part, more, (unsigned long long)r->outstanding.count,
                     r->outstanding.count == 1 ? "" : "s");
    else if (*part)
        aphi_run_end(r, APHI_RUN_STARVED, "no complete message, but every explanation has a pending response; "
                     "connection %lld has %s%s", (long long)r->result.incomplete_at, part, more);
    else
        aphi_run_end(r, APHI_RUN_STARVED, SILENT "%s", more);
}

static void end_starved(aphi_run_state *r)
{
    char how[160], more[200] = "";
    aphi_subject_state state = aphi_subject_look(r->options->subject, how, sizeof how);
    if (state == APHI_SUBJECT_EXITED) {
        APHI_JUDGE_AND_END(r, APHI_RUN_DEAD, "the subject %s", how);
        return;
    }
    if (aphi_run_breaks_rpc(r))
        return;
    r->ending.doubtful = state != APHI_SUBJECT_STOPPED;
    note_suspicion(r);
    int64_t connection = -1, label = oldest_request(r, &connection);
    bool is_short = state == APHI_SUBJECT_STOPPED || !aphi_silence_is_past_patience(&r->silence, r->now) || !label;
    int64_t waited = is_short ? r->silence.patience_ns
                             : limit_of(r, aphi_outstanding_at(&r->outstanding.peers[connection], 0));
    if (state == APHI_SUBJECT_STOPPED)
        snprintf(more, sizeof more, "; the subject %s", how);
    else if (label && aphi_net_is_connecting(r->net, connection))
        snprintf(more, sizeof more, "; connection not accepted in %.1f s", (double)r->silence.silent_ns / 1e9);
    else if (!aphi_silence_is_past_patience(&r->silence, r->now))
        snprintf(more, sizeof more, "; %s", aphi_silence_describe(&r->silence, r->calls.count, how, sizeof how));
    else if (!aphi_net_idle(r->net))
        snprintf(more, sizeof more, "; the subject does not read its input");
    aphi_run_judge_all(r);
    end_without_response(r, label, connection, waited, more);
}

void aphi_run_check_losses(aphi_run_state *r, uint64_t least)
{
    const aphi_losses *l = &r->receiving.losses;
    if (r->ending.ended || l->count < least || !aphi_losses_exceed(&r->options->max_losses, l->count, r->log.requests))
        return;
    APHI_JUDGE_AND_END(r, APHI_RUN_DEAD, "%llu of %llu requests were lost: the subject closed their connections "
                       "instead of responding; --max-losses allows more",
                       (unsigned long long)l->count, (unsigned long long)r->log.requests);
    r->ending.losing = r->ending.doubtful = r->ending.outcome == APHI_RUN_DEAD;
}

/* Ends a run whose actions are all performed and in which nothing more is expected. */
static void end_complete(aphi_run_state *r)
{
    aphi_run_judge_all(r);
    if (!r->ending.ended && r->judging.feed && !r->model->rpc && !r->mode.lossy && !r->outstanding.any_closed) {
        r->ending.doubtful = true;
        note_suspicion(r);
        if (!aphi_run_judge_complete(r))
            end_without_response(r, 0, -1, 0, "");
    }
    aphi_run_check_losses(r, 0);
    aphi_run_end(r, APHI_RUN_PASS, r->judging.feed ? "the model explains all observations" : "nothing was judged");
}

/* ---- requests that wait ------------------------------------------------------------------------------------------ */

static bool is_late(const aphi_run_state *r, const aphi_outstanding_request *q, int64_t when)
{
    int64_t late = aphi_silence_late_after(&r->silence);
    return when - q->sent_at >= (q->patience_ns > late ? q->patience_ns : late);
}

bool aphi_run_has_late_request(const aphi_run_state *r)
{
    for (size_t i = 0; r->mode.paired && i < r->outstanding.peer_count; i++) {
        const aphi_peer *p = &r->outstanding.peers[i];
        if (p->count && !p->is_blocked && is_late(r, aphi_outstanding_at(p, 0), r->now))
            return true;
    }
    return false;
}

/* Returns true if the silence is too long for one of the requests, or if others got responses while it was late. */
static bool has_overdue_request(const aphi_run_state *r)
{
    bool suspicious = aphi_silence_is_past_patience(&r->silence, r->now);
    for (size_t i = 0; i < r->outstanding.peer_count; i++) {
        const aphi_peer *p = &r->outstanding.peers[i];
        if (!p->count)
            continue;
        const aphi_outstanding_request *q = aphi_outstanding_at(p, 0);
        if (aphi_silence_has_lasted(&r->silence, r->now, limit_of(r, q)) ||
            (suspicious && is_late(r, q, r->now - r->silence.silent_ns)))
            return true;
    }
    return false;
}

/* Returns true if the model allows each outstanding request to wait for longer than usual. */
static bool all_may_take_long(const aphi_run_state *r)
{
    for (size_t i = 0; i < r->outstanding.peer_count; i++) {
        const aphi_peer *p = &r->outstanding.peers[i];
        for (size_t k = 0; k < p->count; k++)
            if (aphi_outstanding_at(p, k)->patience_ns <= aphi_silence_limit(&r->silence))
                return false;
    }
    return true;
}

/* Continues without the responses that are not due in every explanation, or that the model allows to be slow. If no
 * connection is left, the run is over. */
static void set_waiting_aside(aphi_run_state *r)
{
    bool quiet = !r->model->rpc && aphi_run_probe_quiet(r) != APH_FAIL;
    int64_t limit = aphi_silence_limit(&r->silence);
    for (size_t i = 0; i < r->outstanding.peer_count && !r->ending.ended; i++) {
        const aphi_peer *p = &r->outstanding.peers[i];
        if (p->count && (quiet || aphi_outstanding_at(p, 0)->patience_ns > limit))
            aphi_run_block(r, (int64_t)i);
    }
    if (quiet && r->sending.generator && (r->sending.is_over || !aphi_generator_usable(r->sending.generator)))
        aphi_run_stop_sending(r);
}

/* ---- silence ----------------------------------------------------------------------------------------------------- */

bool aphi_run_is_quiet(aphi_run_state *r)
{
    if (!r->model->connections || !r->judging.feed || r->mode.lossy || r->mode.paired)
        return aphi_silence_is_idle(&r->silence, r->now);
    if (r->silence.silent_ns < APHI_IDLE_NS)
        return false;
    aph_verdict quiet = aphi_run_probe_quiet(r);
    return quiet == APH_PASS || (quiet == APH_UNKNOWN && aphi_silence_is_idle(&r->silence, r->now));
}

/* Returns true if a preamble waits for a message, and the model determines whether it is due. */
static bool has_pending_preamble(const aphi_run_state *r)
{
    return aphi_run_is_in_preamble(r) && !r->mode.lossy && r->judging.feed && !r->outstanding.any_closed;
}

static bool is_connecting(const aphi_run_state *r)
{
    bool any = false;
    for (size_t i = 0; i < r->outstanding.peer_count && !any; i++)
        any = aphi_net_is_connecting(r->net, (int64_t)i);
    return any;
}

/* A request that was lost may still be in flight, unless the model has connections. With a lossy network, other
 * silences are recorded (aphi_run_judge_drained). */
bool aphi_run_records_silence(aphi_run_state *r)
{
    if (!aphi_silence_can_be_recorded(&r->silence, r->now) || !aphi_net_idle(r->net))
        return false;
    if (is_connecting(r))
        return aphi_silence_has_lasted(&r->silence, r->now, aphi_silence_limit(&r->silence));
    aph_verdict quiet = aphi_run_probe_quiet(r);
    bool is_certain = !r->mode.lossy && !r->outstanding.any_closed;
    if (quiet == APH_PASS && is_certain && !r->ending.ended)
        aphi_run_judge_silence(r);
    return quiet != APH_FAIL;
}

/* Returns true if a preamble waits for a message, or the next action waits for quiet or a silence, but responses do not
 * belong to requests, so that only the model determines the messages that are due. */
static bool waits_for_model(const aphi_run_state *r)
{
    const aphi_sending *s = &r->sending;
    bool waits = s->has_next && ((r->model->connections && s->next.wait == APHI_WAIT_QUIET) ||
                                 s->next.wait == APHI_WAIT_SILENCE);
    bool known = !r->mode.paired && !r->mode.lossy && r->judging.feed && !r->outstanding.any_closed;
    return (known && waits) || has_pending_preamble(r);
}

/* The same, when the silence has lasted too long. */
static bool is_starved_by_model(aphi_run_state *r)
{
    if (!aphi_silence_has_lasted(&r->silence, r->now, aphi_silence_limit(&r->silence)))
        return false;
    aph_verdict quiet = aphi_run_probe_quiet(r);
    if (quiet == APH_FAIL)
        return true;
    if (has_pending_preamble(r) && quiet == APH_UNKNOWN)
        APHI_JUDGE_AND_END(r, APHI_RUN_UNKNOWN, "the preamble of the model waits for a message; whether the model "
                           "sends it is too hard to decide");
    else if (has_pending_preamble(r))
        aphi_run_end_fault(r, APH_FAULT_PROMISE, "the preamble of the model waits for a message that the model does "
                           "not send; correct the preamble or the model");
    return false;
}

/* Returns true if the subject should have sent or at least read bytes, but has done neither for too long. */
static bool is_starved(aphi_run_state *r)
{
    char how[160];
    int64_t connection = 0;
    bool due = r->mode.paired && r->outstanding.count;
    if (!due && aphi_net_idle(r->net))
        return waits_for_model(r) && is_starved_by_model(r);
    if (!aphi_silence_is_past_patience(&r->silence, r->now))
        return aphi_silence_is_trickling(&r->silence);
    if (due && aphi_run_probe_quiet(r) != APH_FAIL && aphi_net_idle(r->net))
        return false;
    if (aphi_subject_look(r->options->subject, how, sizeof how) == APHI_SUBJECT_STOPPED)
        return true;
    if (due ? !has_overdue_request(r)
            : !aphi_silence_has_lasted(&r->silence, r->now, aphi_silence_limit(&r->silence)))
        return false;
    bool connecting = oldest_request(r, &connection) && aphi_net_is_connecting(r->net, connection);
    return !connecting || r->silence.silent_ns >= PATIENCE_CONNECTING_NS;
}

/* Returns true if no response is due in some explanation. If this is unknown, the silence decides. */
static bool owes_nothing(aphi_run_state *r, aph_verdict otherwise)
{
    aph_verdict quiet = aphi_run_probe_quiet(r);
    return quiet == APH_PASS ||
           (quiet >= otherwise && aphi_silence_has_lasted(&r->silence, r->now, aphi_silence_limit(&r->silence)));
}

/* Returns true if nothing more is expected although requests may be outstanding. */
static bool is_settled(aphi_run_state *r)
{
    int64_t until = r->options->until_ns;
    if (r->mode.paired)
        return r->silence.silent_ns >= APHI_IDLE_NS &&
               (!r->outstanding.count || (!aphi_outstanding_awaited(&r->outstanding) && owes_nothing(r, APH_UNKNOWN)) ||
                (until && r->now >= until && all_may_take_long(r)));
    if (r->mode.lossy || !r->judging.feed || r->outstanding.any_closed)
        return aphi_silence_is_past_patience(&r->silence, r->now);
    return aphi_silence_is_idle(&r->silence, r->now) && owes_nothing(r, APH_FAIL);
}

/* Waits long enough for duplicated responses. */
static bool is_complete(aphi_run_state *r)
{
    return aphi_run_has_sent_all(r) && aphi_net_idle(r->net) && !has_pending_preamble(r) && is_settled(r);
}

void aphi_run_check_silence(aphi_run_state *r)
{
    char how[160];
    /* If responses do not belong to one request each, it is unknown which requests are outstanding; after a silence,
     * none are. */
    if (!r->mode.paired && (aphi_silence_is_idle(&r->silence, r->now) || aphi_run_is_quiet(r))) {
        aphi_outstanding_clear(&r->outstanding);
        if (!r->mode.lossy || aphi_run_judge_drained(r))
            aphi_run_send_after_idle(r);
    }
    if (r->mode.paired && aphi_outstanding_awaited(&r->outstanding) && (!r->model->rpc || r->model->patience_ms) &&
        aphi_silence_is_unusual(&r->silence))
        set_waiting_aside(r);
    if (!r->ending.ended && is_complete(r))
        end_complete(r);
    if (r->ending.ended || r->silence.silent_ns < APHI_TICK_NS)
        return;
    if (has_exited(r, false, how, sizeof how))
        APHI_JUDGE_AND_END(r, APHI_RUN_DEAD, "the subject %s", how);
    else if (is_starved(r))
        end_starved(r);
}

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
#include <time.h>

static const int64_t PATIENCE_CONNECTING_NS = 4000000000;
#define SILENT "the subject is silent, but every explanation has a pending response"
enum { PATIENCE_PARTS_EXITING = 4 }; /* this part of the patience, for a process to exit after its connections end */

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

static void end_starved(aphi_run_state *r)
{
    char how[160], more[200] = "";
    aphi_subject_state state = aphi_subject_look(r->options->subject, how, sizeof how);
    if (state == APHI_SUBJECT_EXITED) {
        APHI_JUDGE_AND_END(r, APHI_RUN_DEAD, "the subject %s", how);
        return;
    }
    r->ending.doubtful = state != APHI_SUBJECT_STOPPED;
    int64_t connection = -1, label = oldest_request(r, &connection);
    if (state == APHI_SUBJECT_STOPPED)
        snprintf(more, sizeof more, "; the subject %s", how);
    else if (label && aphi_net_is_connecting(r->net, connection))
        snprintf(more, sizeof more, "; connection not accepted in %.1f s", (double)r->silence.silent_ns / 1e9);
    else if (!aphi_silence_is_past_patience(&r->silence, r->now))
        snprintf(more, sizeof more, "; %s", aphi_silence_describe(&r->silence, r->calls.count, how, sizeof how));
    else if (!aphi_net_idle(r->net))
        snprintf(more, sizeof more, "; the subject does not read its input");
    if (label)
        APHI_JUDGE_AND_END(r, APHI_RUN_STARVED,
                           "request %lld on connection %lld: no response within %.1f s%s; %llu request%s outstanding",
                           (long long)label, (long long)connection, (double)r->silence.patience_ns / 1e9, more,
                           (unsigned long long)r->outstanding.count, r->outstanding.count == 1 ? "" : "s");
    else
        APHI_JUDGE_AND_END(r, APHI_RUN_STARVED, SILENT "%s", more);
}

/* Ends a run whose actions are all performed and in which nothing more is expected. */
static void end_complete(aphi_run_state *r)
{
    aphi_run_judge_all(r);
    if (!r->ending.ended && r->judging.feed && !r->model->rpc && !r->mode.lossy && !r->outstanding.any_closed) {
        r->ending.doubtful = true;
        if (!aphi_run_judge_complete(r))
            aphi_run_end(r, APHI_RUN_STARVED, SILENT);
    }
    aphi_run_end(r, APHI_RUN_PASS, "the model explains all observations");
}

/* Returns true if the subject should have sent or at least read bytes, but has done neither for longer than the
 * patience. */
static bool is_starved(const aphi_run_state *r)
{
    int64_t connection = 0;
    if (!(r->mode.paired && r->outstanding.count) && aphi_net_idle(r->net))
        return false;
    if (!aphi_silence_is_past_patience(&r->silence, r->now))
        return aphi_silence_is_trickling(&r->silence);
    bool connecting = oldest_request(r, &connection) && aphi_net_is_connecting(r->net, connection);
    return !connecting || r->silence.silent_ns >= PATIENCE_CONNECTING_NS;
}

/* Waits long enough for duplicated responses. If outstanding requests are unknown, only the patience is a criterion. */
static bool is_complete(const aphi_run_state *r)
{
    return aphi_run_has_sent_all(r) && aphi_net_idle(r->net) &&
           (r->mode.paired ? !r->outstanding.count && r->silence.silent_ns >= APHI_IDLE_NS
                           : aphi_silence_is_past_patience(&r->silence, r->now));
}

void aphi_run_check_silence(aphi_run_state *r)
{
    char how[160];
    /* If responses do not belong to one request each, it is unknown which requests are outstanding; after a silence,
     * none are. */
    if (!r->mode.paired && aphi_silence_is_idle(&r->silence, r->now)) {
        aphi_outstanding_clear(&r->outstanding);
        if (!r->mode.lossy || aphi_run_judge_drained(r))
            aphi_run_send_after_idle(r);
    }
    if (is_complete(r))
        end_complete(r);
    if (r->ending.ended || r->silence.silent_ns < APHI_TICK_NS)
        return;
    if (has_exited(r, false, how, sizeof how))
        APHI_JUDGE_AND_END(r, APHI_RUN_DEAD, "the subject %s", how);
    else if (is_starved(r))
        end_starved(r);
}

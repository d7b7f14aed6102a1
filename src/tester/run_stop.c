/* SPDX-License-Identifier: Apache-2.0
 *
 * run_stop.c - how a run ends: by what the oracle says, by the death of the subject, or in silence.
 *
 * Silence:    time counts as silence only while we look: a tick of the loop counts for at most ten milliseconds however
 *             long the machine made us wait. While no processor is idle, somebody waits for one, and it may be the
 *             subject: then only a part of it counts. Whoever sends a part of a message, or calls us, is not silent,
 *             but must answer some time. Where nobody lets us in, the kernel asks again after one second and after
 *             three: a subject that is merely slow to accept is not blamed before that. Silence is doubtful all the
 *             same: campaign.c looks whether it happens again. */
#include "tester/run_internal.h"

#include "base/clock.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const int64_t QUIET_UNPAIRED = 20000000; /* silence that counts as quiet if it is not known what is owed */
static const int64_t PATIENCE_DIALING = 4000000000;
enum {
    PATIENCES_TRICKLING = 25,  /* without a whole message, while bytes come */
    PATIENCES_LATE = 4,        /* for a request while others are answered */
    COUNTED_LOADED = 4,        /* one of so many of its moments counts, while no processor is idle; */
    COUNTED_LOADED_QUIET = 16, /* the same where it is short, and nothing but quiet is told by it */
    PATIENCE_PARTS_DYING = 4,  /* this part of it, for the end of a process to be seen after that of its connections */
};

/* ---- the end ----------------------------------------------------------------------------------------------------- */

void aphi_run_end(aphi_run_state *r, aphi_run_verdict outcome, const char *format, ...)
{
    if (r->ended)
        return;
    r->ended = true;
    r->result.outcome = outcome;
    va_list args;
    va_start(args, format);
    vsnprintf(r->result.why, sizeof r->result.why, format, args);
    va_end(args);
}

static void end_by_fault(aphi_run_state *r, aph_fault fault, const char *message, int64_t connection)
{
    if (fault == APH_FAULT_ANSWER) {
        aphi_run_end(r, APHI_RUN_FAIL, "an answer on connection %lld, on which nothing was asked",
                     (long long)connection);
        return;
    }
    aphi_run_end(r, APHI_RUN_TROUBLE, "%s", message);
    r->result.fault = fault;
}

/* The moment that was told last; its connection, or -1 if it is no longer there. */
static int64_t blame(aphi_run_state *r)
{
    size_t n;
    aphi_run_event *moments = aphi_run_log_moments(&r->log, aphi_live_feed_last(r->feed), &n, &r->result.blamed);
    int64_t connection = r->result.blamed >= 0 ? moments[r->result.blamed].connection : -1;
    free(moments);
    return connection;
}

static void end_by_verdict(aphi_run_state *r, aph_verdict verdict)
{
    const aphi_partition *partition = aphi_partitions_rejecting(aphi_live_feed_jury(r->feed));
    const char *message = "";
    aph_fault fault = partition && partition->oracle ? aph_oracle_fault(partition->oracle, &message) : APH_FAULT_NONE;
    aph_limit limit = partition && partition->oracle ? aph_oracle_limit(partition->oracle) : APH_LIMIT_NONE;
    int64_t connection = blame(r);
    if (fault) {
        end_by_fault(r, fault, message, connection);
    } else if (verdict == APH_FAIL) {
        aphi_run_end(r, APHI_RUN_FAIL, "nothing that the model allows explains what was seen");
    } else {
        r->result.too_hard = true;
        r->result.undecided = limit == APH_LIMIT_WINDOW || limit == APH_LIMIT_TIME;
        aphi_run_end(r, APHI_RUN_UNKNOWN, "%s",
                     limit == APH_LIMIT_MEMORY   ? "the oracle's memory is used up"
                     : limit == APH_LIMIT_SOLVER ? "the solver could not decide in its time"
                     : limit == APH_LIMIT_WINDOW ? "explanations had been given up to save memory"
                                                 : "the oracle took too long");
    }
}

bool aphi_run_is_stopped(const aphi_run_state *r)
{
    return r->options->stop && *r->options->stop;
}

static void hear_verdict(aphi_run_state *r, aph_verdict verdict)
{
    if (verdict == APH_UNKNOWN && aphi_run_is_stopped(r))
        aphi_run_end(r, APHI_RUN_STOPPED, "stopped by a signal");
    else if (verdict != APH_PASS)
        end_by_verdict(r, verdict);
}

void aphi_run_judge(aphi_run_state *r, uint64_t most)
{
    if (r->feed && !r->ended)
        hear_verdict(r, aphi_live_feed_tell(r->feed, r->now, most));
}

void aphi_run_judge_all(aphi_run_state *r)
{
    if (r->feed && !r->ended)
        hear_verdict(r, aphi_live_feed_tell_all(r->feed, r->now));
}

int64_t aphi_run_patience(const aphi_run_state *r)
{
    return r->options->patience_ns ? r->options->patience_ns : APHI_PATIENCE;
}

/* Is the subject's process no more? Its connections may be seen to end a moment before it does. */
static bool has_exited(aphi_run_state *r, bool soon, char *how, size_t size)
{
    int64_t until = aphi_clock_ns() + (soon ? aphi_run_patience(r) / PATIENCE_PARTS_DYING : 0);
    while (aphi_subject_look(r->options->subject, how, size) != APHI_SUBJECT_EXITED) {
        if (aphi_clock_ns() >= until || !aphi_subject_is_ours(r->options->subject))
            return false;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return true;
}

void aphi_run_end_dead(aphi_run_state *r, const char *what, bool doubtful)
{
    char how[160];
    if (r->ended)
        return;
    if (has_exited(r, *what, how, sizeof how))
        APHI_JUDGE_AND_END(r, APHI_RUN_DEAD, "the subject %s", how);
    else
        APHI_JUDGE_AND_END(r, APHI_RUN_DEAD, "%s", what);
    r->result.doubtful = doubtful && *what;
}

/* ---- silence ----------------------------------------------------------------------------------------------------- */

/* A lossy network is given as long as one that owes an answer: what it
 * was too early to call lost would be blamed on the subject. */
int64_t aphi_run_silence(const aphi_run_state *r)
{
    return r->paired ? APHI_QUIET : r->datagrams ? aphi_run_patience(r) : QUIET_UNPAIRED;
}

static int64_t idle_now(const aphi_run_state *r)
{
    return r->options->idle_ns ? r->options->idle_ns() : aphi_clock_idle_ns();
}

void aphi_run_count_silence(aphi_run_state *r, int64_t passed, bool arrived, bool heard)
{
    bool let_in = arrived && !heard; /* or dropped: both begin a silence */
    if (arrived && r->owed && r->silent > r->result.silence_ns)
        r->result.silence_ns = r->silent;
    r->silent = arrived || heard ? 0 : r->silent + passed;
    r->wordless = r->spoke || let_in || (r->paired && !r->owed) ? 0 : r->wordless + passed;
    r->spoke = false;
    bool is_long = r->silent >= (r->paired ? APHI_TICK : APHI_QUIET); /* asking the system takes its time */
    if (is_long && !r->idle_at)
        r->idle = idle_now(r);
    r->idle_at = !is_long ? 0 : r->idle_at ? r->idle_at : r->now;
}

/* Has it been silent for so long, where only one of so many moments counts while no processor is idle? */
static bool is_silent_for(const aphi_run_state *r, int64_t ns, int counted)
{
    if (r->silent < ns || r->silent >= ns * counted || !r->idle_at || r->idle < 0)
        return r->silent >= ns;
    int64_t passed = r->now - r->idle_at, idle = idle_now(r) - r->idle;
    double share = passed <= 0 || idle <= 0 ? 0 : (double)idle / (double)passed;
    return (double)r->silent * (share > 1 ? 1 : share) >= (double)ns;
}

bool aphi_run_is_silent(const aphi_run_state *r)
{
    return is_silent_for(r, aphi_run_silence(r), r->paired ? 1 : r->datagrams ? COUNTED_LOADED : COUNTED_LOADED_QUIET);
}

static bool is_past_patience(const aphi_run_state *r)
{
    return is_silent_for(r, aphi_run_patience(r), COUNTED_LOADED);
}

bool aphi_run_is_wordless(const aphi_run_state *r)
{
    return r->silent < r->wordless && r->wordless >= aphi_run_patience(r);
}

const char *aphi_run_wordless(const aphi_run_state *r, char *text, size_t size)
{
    double seconds = (double)r->wordless / 1e9;
    if (r->called)
        snprintf(text, size, "there was no answer in %.1f s, though the subject called us", seconds);
    else
        snprintf(text, size, "there was no whole message in %.1f s, though bytes came", seconds);
    return text;
}

bool aphi_run_one_is_late(aphi_run_state *r)
{
    int64_t long_ago = r->now - PATIENCES_LATE * aphi_run_patience(r);
    for (size_t i = 0; r->paired && i < r->peer_count; i++)
        if (r->peers[i].count && r->peers[i].queue[r->peers[i].head].at < long_ago)
            return true;
    return false;
}

/* The oldest request without an answer, on a connection that somebody accepted if there is one; its label, or 0. */
static int64_t oldest_owed(const aphi_run_state *r, int64_t *connection)
{
    int64_t label = 0;
    bool let_in = false;
    for (size_t i = 0; i < r->peer_count; i++) {
        const aphi_peer *p = &r->peers[i];
        bool in = p->count && !aphi_net_is_dialing(r->net, (int64_t)i);
        if (!p->count || (let_in && !in) || (label && let_in == in && p->queue[p->head].label > label))
            continue;
        let_in = in;
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
        aphi_run_end_dead(r, "", false);
        return;
    }
    r->result.doubtful = state != APHI_SUBJECT_STOPPED;
    int64_t connection = -1, label = oldest_owed(r, &connection);
    if (state == APHI_SUBJECT_STOPPED)
        snprintf(more, sizeof more, "; the subject %s", how);
    else if (label && aphi_net_is_dialing(r->net, connection))
        snprintf(more, sizeof more, ": nobody accepted the connection in %.1f s", (double)r->silent / 1e9);
    else if (!is_past_patience(r))
        snprintf(more, sizeof more, ": %s", aphi_run_wordless(r, how, sizeof how));
    else if (!aphi_net_idle(r->net))
        snprintf(more, sizeof more, ", and the subject does not read what is sent to it");
    if (label)
        APHI_JUDGE_AND_END(r, APHI_RUN_STARVED, "request %lld on connection %lld was not answered in %.1f s%s",
                           (long long)label, (long long)connection, (double)aphi_run_patience(r) / 1e9, more);
    else
        APHI_JUDGE_AND_END(r, APHI_RUN_STARVED, "the subject owes something in every explanation, and is silent%s",
                           more);
}

/* Nothing more is to be done, and nothing more is to come. */
static void end_quietly(aphi_run_state *r)
{
    aphi_run_judge_all(r);
    if (!r->ended && r->feed && !r->model->rpc && !r->datagrams && !r->left) {
        aph_verdict verdict = aphi_live_feed_quiet(r->feed);
        r->result.doubtful = true;
        if (verdict == APH_FAIL)
            aphi_run_end(r, APHI_RUN_STARVED, "the subject owes something in every explanation, and is silent");
        else if (verdict != APH_PASS)
            end_by_verdict(r, verdict);
    }
    aphi_run_end(r, APHI_RUN_PASS, "everything that was seen is explained");
}

/* Where answers are not of one request each, nobody knows what is owed; after a silence, nothing. */
static void call_it_even(aphi_run_state *r)
{
    aphi_question a;
    for (size_t i = 0; r->owed && i < r->peer_count; i++)
        while (aphi_outstanding_pop(r, (int64_t)i, &a))
            continue;
    if (!r->datagrams)
        r->since_quiet = 0;
    if (!r->datagrams || !r->feed || r->drained == aphi_run_log_count(&r->log))
        return;
    aphi_run_judge_all(r);
    r->drained = aphi_run_log_count(&r->log);
    r->since_quiet = 0;
    if (!r->ended && aphi_live_feed_quiet(r->feed) != APH_PASS)
        end_by_verdict(r, APH_UNKNOWN);
}

/* It owes us something, if only to read, and nothing has come for longer than that may last. */
static bool is_starved(const aphi_run_state *r)
{
    int64_t connection = 0;
    if (!(r->paired && r->owed) && aphi_net_idle(r->net))
        return false;
    if (!is_past_patience(r))
        return aphi_run_is_wordless(r) && r->wordless >= PATIENCES_TRICKLING * aphi_run_patience(r);
    bool dialing = oldest_owed(r, &connection) && aphi_net_is_dialing(r->net, connection);
    return !dialing || r->silent >= PATIENCE_DIALING;
}

void aphi_run_listen_to_silence(aphi_run_state *r)
{
    char how[160];
    if (!r->paired && aphi_run_is_silent(r))
        call_it_even(r);
    /* What comes twice would come now. Where nobody knows what is owed, only patience tells that nothing more will. */
    if (r->over && !r->has_action && !r->aside_count && aphi_net_idle(r->net) &&
        (r->paired ? !r->owed && r->silent >= APHI_QUIET : is_past_patience(r)))
        end_quietly(r);
    if (r->ended || r->silent < APHI_TICK)
        return;
    if (has_exited(r, false, how, sizeof how))
        aphi_run_end_dead(r, "", false);
    else if (is_starved(r))
        end_starved(r);
}

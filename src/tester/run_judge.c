/* SPDX-License-Identifier: Apache-2.0
 *
 * run_judge.c - live judging of a run: feeding the oracle, its verdict, and the coverage of the model.
 *
 * Idea:       while nothing arrives, a few observations are judged at a time. Otherwise all waiting observations are
 *             judged from time to time: in batches they take half the time, because the data of the search stay in the
 *             processor's caches. A script is judged at once, because only its verdict is needed. */
#include "tester/run_internal.h"

#include <stdio.h>

enum {
    BATCH_MAX = 4096, /* observations that may wait */
    BATCH_IDLE = 16,  /* judged at a time while nothing arrives */
};
static const int64_t JUDGE_EVERY_NS = 20000000; /* in a long run; sooner in a short one */
static const int64_t COUNT_EVERY_NS = 500000000; /* the same; the generator needs the counts early */

bool aphi_run_open_oracle(aphi_run_state *r, const char *environment)
{
    const aphi_run_options *o = r->options;
    char error[300];
    if (o->no_check)
        return true;
    /* If a connection has requests of several partitions in flight, their order makes the partitions depend on each
     * other. */
    aph_oracle_options options = {.environment = environment, .memory = o->memory, .tell_apart = o->tell_apart,
                                  .whole = o->script || (o->depth > 1 && !o->apart)};
    bool paired = r->mode.paired && r->model->rpc;
    r->judging.feed = aphi_oracle_feed_open(r->model, o->network, &options, paired, error, sizeof error);
    if (!r->judging.feed) {
        aphi_run_end_fault(r, APH_FAULT_CRASH, "model %s: %s", r->model->name, error);
        return false;
    }
    if (!o->network)
        aphi_partitions_count_branches(aphi_oracle_feed_partitions(r->judging.feed));
    return true;
}

void aphi_run_close_oracle(aphi_run_state *r)
{
    aphi_oracle_feed_close(r->judging.feed);
    r->judging.feed = NULL;
}

/* ---- verdicts ---------------------------------------------------------------------------------------------------- */

/* Does not end the run: its end may be known already, as if the subject has exited. */
static void give_up(aphi_run_state *r, aph_limit limit, const char *message)
{
    aphi_judging *j = &r->judging;
    const char *why = limit == APH_LIMIT_MEMORY     ? "the oracle reached its memory limit"
                      : limit == APH_LIMIT_SOLVER   ? "the solver reached its time limit"
                      : limit == APH_LIMIT_WINDOW   ? "explanations were discarded to save memory"
                      : limit == APH_LIMIT_BRANCHES ? message
                                                    : "the oracle reached its time limit";
    if (*j->gave_up)
        return;
    j->too_hard = true;
    /* The limit of the branches of a derivation is ours, that of the branches of a step is not. */
    j->undecided = limit != APH_LIMIT_SOLVER && (limit != APH_LIMIT_BRANCHES || r->options->network);
    snprintf(j->gave_up, sizeof j->gave_up, "%s", why);
}

static void end_by_verdict(aphi_run_state *r, aph_verdict verdict)
{
    const char *message;
    aph_fault fault = aphi_oracle_feed_fault(r->judging.feed, &message);
    aph_limit limit = aphi_oracle_feed_limit(r->judging.feed);
    int64_t connection;
    r->judging.rejected_event = 1 + aphi_run_log_find(&r->log, aphi_oracle_feed_last(r->judging.feed), &connection);
    if (fault == APH_FAULT_ANSWER)
        aphi_run_end(r, APHI_RUN_FAIL, "connection %lld: response without a request", (long long)connection);
    else if (fault == APH_FAULT_REQUEST)
        aphi_run_end_fault(r, fault, "%s", message);
    else if (fault)
        aphi_run_end_fault(r, fault, "model %s: %s", r->model->name, message);
    else if (verdict == APH_FAIL)
        aphi_run_end(r, APHI_RUN_FAIL, "the model cannot explain the observations");
    else
        give_up(r, limit, message);
}

static void accept_verdict(aphi_run_state *r, aph_verdict verdict)
{
    if (verdict == APH_UNKNOWN && aphi_run_is_stopped(r))
        aphi_run_end(r, APHI_RUN_STOPPED, "stopped by a signal");
    else if (verdict != APH_PASS)
        end_by_verdict(r, verdict);
}

void aphi_run_judge_all(aphi_run_state *r)
{
    if (r->judging.feed && !r->ending.ended)
        accept_verdict(r, aphi_oracle_feed_advance_all(r->judging.feed, r->now));
}

void aphi_run_judge_some(aphi_run_state *r, bool nothing_arrives)
{
    aphi_judging *j = &r->judging;
    if (!j->feed)
        return;
    int64_t part = (r->now - r->began) / 8, every = part < JUDGE_EVERY_NS ? part : JUDGE_EVERY_NS;
    bool is_due =
        r->options->script || r->now - j->judged_at >= every || aphi_oracle_feed_waiting(j->feed) >= BATCH_MAX;
    if ((is_due || nothing_arrives) && !r->ending.ended)
        accept_verdict(r, aphi_oracle_feed_advance(j->feed, r->now, is_due ? UINT64_MAX : BATCH_IDLE));
    if (is_due || !aphi_oracle_feed_is_ready(j->feed, r->now))
        j->judged_at = r->now;
    if (*j->gave_up && r->options->script) /* it is continued, so that its whole trace can be judged */
        aphi_run_close_oracle(r);
    else if (*j->gave_up)
        aphi_run_end(r, APHI_RUN_PASS, "the observations could not be judged"); /* becomes UNKNOWN, with the reason */
}

void aphi_run_judge_silence(aphi_run_state *r)
{
    uint64_t number = r->judging.feed ? aphi_oracle_feed_silence(r->judging.feed) : 0;
    aphi_run_log_event(&r->log, &(aphi_run_event){.kind = APHI_RUN_EVENT_QUIET, .at_ns = r->now - r->began,
                                                  .connection = r->log.latest_connection}, number);
    r->judging.silences++;
    r->judging.silent_ns += r->silence.silent_ns;
    aphi_run_judge_all(r);
}

bool aphi_run_judge_drained(aphi_run_state *r)
{
    aphi_judging *j = &r->judging;
    if (j->feed && j->drained == aphi_run_log_count(&r->log))
        return false;
    aphi_run_judge_all(r);
    if (!r->ending.ended)
        aphi_run_judge_silence(r);
    j->drained = aphi_run_log_count(&r->log);
    return true;
}

bool aphi_run_judge_complete(aphi_run_state *r)
{
    aph_verdict verdict = aphi_oracle_feed_quiet(r->judging.feed, r->now);
    if (verdict == APH_UNKNOWN)
        end_by_verdict(r, verdict);
    return verdict != APH_FAIL;
}

bool aphi_run_breaks_rpc(aphi_run_state *r)
{
    if (!r->model->rpc || !r->judging.feed)
        return false;
    aphi_run_judge_all(r);
    if (!r->ending.ended && aphi_oracle_feed_may_be_quiet(r->judging.feed, r->now) == APH_UNKNOWN)
        end_by_verdict(r, APH_UNKNOWN);
    return r->ending.ended;
}

aph_verdict aphi_run_probe_quiet(aphi_run_state *r)
{
    aphi_judging *j = &r->judging;
    if (r->model->rpc || r->mode.lossy || r->outstanding.any_closed)
        return r->outstanding.count ? APH_FAIL : APH_PASS;
    if (!j->feed)
        return APH_PASS;
    if (j->probed != aphi_run_log_count(&r->log) + 1) {
        aphi_run_judge_all(r);
        j->probed = aphi_run_log_count(&r->log) + 1;
        j->quiet = r->ending.ended ? APH_UNKNOWN : aphi_oracle_feed_may_be_quiet(j->feed, r->now);
    }
    return j->quiet;
}

/* ---- coverage ---------------------------------------------------------------------------------------------------- */

static void count_branches(aphi_judging *j)
{
    aph_value name, count;
    j->branches = aphi_partitions_branches(aphi_oracle_feed_partitions(j->feed));
    j->branch_count = j->branches_reached = 0;
    for (size_t i = 0; aph_pair_at(j->branches, i, &name, &count); i++) {
        j->branch_count++;
        j->branches_reached += aph_int_of(count) > 0;
    }
}

/* Each frame that the search can backtrack to stands for explanations that were not tried. */
static void count_explanations(aphi_judging *j)
{
    size_t n;
    const aphi_partition *partitions = aphi_partitions_all(aphi_oracle_feed_partitions(j->feed), &n);
    j->explanations = 1;
    for (size_t i = 0; i < n; i++)
        if (partitions[i].oracle)
            j->explanations += partitions[i].oracle->frame_count;
}

void aphi_run_count_coverage(aphi_run_state *r)
{
    aphi_judging *j = &r->judging;
    if (!j->feed || (!r->ending.ended && r->now < j->count_due))
        return;
    int64_t part = (r->now - r->began) / 16; /* bounds the share of the run's time */
    if (r->options->network)
        return;
    j->count_due = r->now + (part < COUNT_EVERY_NS ? part : COUNT_EVERY_NS);
    count_branches(j);
    count_explanations(j);
}

aph_value aphi_run_explained_state(const aphi_run_state *r, size_t *n)
{
    *n = 1;
    if (r->options->network)
        return aphi_oracle_feed_state(r->judging.feed);
    const aphi_partition *partitions = aphi_partitions_all(aphi_oracle_feed_partitions(r->judging.feed), n);
    aph_value merged = APH_NIL;
    for (size_t i = 0; i < *n; i++) {
        aph_value state = partitions[i].oracle ? partitions[i].oracle->core.state : partitions[i].core.state, key, item;
        if (!merged || aph_kind_of(state) != APH_OBJECT) {
            merged = state;
            continue;
        }
        for (size_t k = 0; aph_pair_at(state, k, &key, &item); k++)
            merged = aph_set(merged, key, item);
    }
    return merged;
}

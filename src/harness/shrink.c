/* SPDX-License-Identifier: Apache-2.0
 *
 * shrink.c - make a failing script small, by running smaller ones.
 *
 * Idea:       1. Run it again, to know how often it fails. 2. Cut it off where it failed. 3. Make each request wait for
 *             the answer before it: if it still fails, all that follows is reproducible. 4. Guess what matters
 *             (relevance.c). 5. Remove pieces: whole connections, then requests (pieces.c). 6. Take all single steps,
 *             round after round, until a round changes nothing (polish.c). 7. Say how often the result fails.
 * Cost:       Runs: a few for a guess that is right, else about k log(n/k) for k needed of n actions; then some ten for
 *             each action that is left. A subject that fails with a rate p takes up to log(0.02)/log(1-p) as many.
 * Read next:  trial.h, tests/property/test_shrink_planted.c */
#include "harness/shrink.h"

#include "base/clock.h"
#include "harness/candidate.h"
#include "harness/pieces.h"
#include "harness/polish.h"
#include "harness/trial.h"

enum {
    PROBE = 8,      /* actions that show what waiting costs */
    ONE_BY_ONE = 3, /* actions cut off at the end, beside the many */
};

/* ---- the first runs ---------------------------------------------------------------------------------------------- */

static bool first_failure(aphi_trial *s, unsigned runs)
{
    for (unsigned i = 1; i <= runs && !s->over; i++) {
        if (!aphi_trial_run(s, &s->candidate))
            continue;
        aphi_trial_accept(s);
        aphi_trial_learn(s, 1, i);
        return true;
    }
    return false;
}

/* Makes it fail again, if need be with waits, and learns how often it does. */
static bool establish(aphi_trial *s)
{
    aphi_candidate_copy(s);
    bool failed = first_failure(s, APHI_TRIES_MAX);
    if (!failed) {
        aphi_candidate_copy(s);
        aphi_candidate_wait_for_holes(&s->candidate);
        failed = first_failure(s, APHI_TRIES_MAX / 2);
    }
    if (!failed) {
        aphi_candidate_copy(s);
        aphi_candidate_wait_for_each(&s->candidate);
        failed = first_failure(s, APHI_TRIES_MAX / 2);
    }
    size_t taken = s->taken;
    for (int i = 0; failed && i < 2; i++)
        aphi_trial_check(s);
    if (failed)
        aphi_trial_measure(s);
    s->shaken = false;
    s->taken = taken;
    return failed;
}

/* Removes what comes after the failure: there where the run says, or else by halves. */
static void cut_off(aphi_trial *s)
{
    if (aphi_pieces_cut(s, s->taken) || s->taken > 0)
        return;
    size_t passes = 0;
    while (!s->over && s->best.count - passes > 1 + s->best.count / 16) {
        size_t middle = passes + (s->best.count - passes) / 2;
        if (!aphi_pieces_cut(s, middle))
            passes = middle;
    }
}

/* Where an answer never comes, waiting for it could use up the budget: a few actions show what it costs. */
static bool waiting_is_cheap(aphi_trial *s)
{
    if (s->best.count <= PROBE)
        return true;
    aphi_candidate_copy(s);
    s->candidate.count = PROBE;
    aphi_candidate_wait_for_each(&s->candidate);
    aphi_trial_run(s, &s->candidate);
    int64_t all = s->last_ns * (int64_t)(s->best.count / PROBE);
    return !s->over && all < (s->deadline - s->start) / 10;
}

/* Makes the order of requests and answers certain, if it still fails then. The failing answer is the last then, or
 * about the last: one by one finds it. */
static void put_in_order(aphi_trial *s)
{
    if (waiting_is_cheap(s)) {
        aphi_candidate_copy(s);
        aphi_candidate_wait_for_each(&s->candidate);
        if (aphi_trial_fails(s)) {
            aphi_trial_tell(s, "fails too if each request waits for the answer before it");
            aphi_pieces_cut(s, s->taken);
            for (int i = 0; i < ONE_BY_ONE && aphi_pieces_cut(s, s->best.count - 1); i++)
                ;
            return;
        }
    }
    aphi_candidate_copy(s);
    aphi_candidate_wait_for_holes(&s->candidate);
    if (aphi_trial_fails(s))
        aphi_trial_tell(s, "fails too if each request waits for the answers that it refers to");
}

/* ---- the result -------------------------------------------------------------------------------------------------- */

static unsigned failures(aphi_trial *s, const aphi_script *script, unsigned runs, unsigned *ran)
{
    unsigned failed = 0;
    for (*ran = 0; *ran < runs; ++*ran) {
        bool f = aphi_trial_run(s, script);
        if (s->over)
            break;
        failed += f;
    }
    return failed;
}

/* How often it fails. A script that fails only sometimes may do so more often with more waits: then they are worth
 * it. */
static void confirm(aphi_trial *s, aphi_shrunk *result)
{
    unsigned wanted = s->options->confirm ? s->options->confirm : 10, ran;
    result->reproduced = failures(s, &s->best, wanted, &result->confirmed);
    aphi_candidate_copy(s);
    aphi_candidate_wait_for_each(&s->candidate);
    if (result->reproduced == result->confirmed || aphi_trial_key(&s->candidate, 0) == aphi_trial_key(&s->best, 0))
        return;
    unsigned failed = failures(s, &s->candidate, wanted, &ran);
    if (ran < wanted || failed < result->reproduced + 2)
        return;
    aphi_trial_accept(s);
    result->reproduced = failed;
    result->confirmed = ran;
    aphi_trial_tell(s, "fails more often if each request waits for the answer before it");
}

/* Is it minimal? */
static bool shrink(aphi_trial *s)
{
    bool minimal;
    cut_off(s);
    put_in_order(s);
    do {
        aphi_pieces_guess(s);
        aphi_pieces_connections(s);
        aphi_pieces_actions(s);
        minimal = aphi_polish(s);
    } while (aphi_trial_fall_back(s));
    return minimal;
}

aphi_shrunk aphi_shrink(const aphi_script *failing, aphi_shrink_run *run, const aphi_shrink_options *options)
{
    int64_t budget = options->budget_ns ? options->budget_ns : INT64_C(30000000000);
    aphi_trial s;
    aphi_shrunk result = {0};
    aphi_trial_init(&s, failing, run, options);
    s.deadline = s.start + budget / 10 * 8; /* the rest is for confirm */
    if (failing->count > 0 && establish(&s)) {
        result.minimal = shrink(&s);
        s.over = s.stopped;
        s.deadline = s.start + budget;
        confirm(&s, &result);
    }
    aphi_trial_deinit(&s);
    result.script = s.best;
    result.runs = s.runs;
    result.ns = aphi_clock_ns() - s.start;
    return result;
}

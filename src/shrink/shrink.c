/* SPDX-License-Identifier: Apache-2.0
 *
 * shrink.c - make a failing script small, by running smaller ones.
 *
 * Idea:       1. Run it again, with each request waiting for the answer before it, in the order of sending and in that
 *             of the answers: if it fails so, all that follows is reproducible. If not, run it as it was, to know how
 *             often it fails. 2. Cut it off where it failed. 3. Guess what matters (slice.c). 4. Remove pieces:
 *             whole connections, then requests (delta_debug.c). 5. Take all single steps, round after round, until a round
 *             changes nothing (single_steps.c). 6. Say how often the result fails.
 * Cost:       Runs: a few for a guess that is right, else about k log(n/k) for k needed of n actions; then some ten for
 *             each action that is left. A subject that fails with a rate p takes up to log(0.02)/log(1-p) as many.
 *             Where few runs fit into the time, those that only make sure are left out, and cutting comes first.
 * Read next:  shrink_runner.h, tests/property/test_shrink_planted.c */
#include "shrink/shrink.h"

#include "base/clock.h"
#include "shrink/script_edit.h"
#include "shrink/delta_debug.h"
#include "shrink/single_steps.h"
#include "shrink/shrink_runner.h"

enum {
    PROBE_FEW = 8,    /* actions that show what waiting costs */
    PROBE = 64,
    ONE_BY_ONE = 3,   /* actions cut off at the end, beside the many */
    ORDERS = 4,       /* that are tried of a script that fails by chance */
    CHECKS = 3,       /* runs before it is believed that a script always fails */
    ROUNDS = 60,      /* of making it fail again, while there is time: */
    ESTABLISHING = 3, /* this part of it */
};

/* ---- the first runs ---------------------------------------------------------------------------------------------- */

/* How long the first n actions take, if each waits. */
static int64_t time_of_waiting(aphi_shrink_runner *s, size_t n)
{
    aphi_script_edit_copy(s);
    s->candidate.count = n;
    aphi_script_edit_wait_for_each(&s->candidate);
    aphi_shrink_runner_run(s, &s->candidate);
    return s->last_ns;
}

/* Where answers never come, waiting for them could use up the budget: a few actions show what it costs, beyond the
 * start of the subject. */
static bool waiting_is_cheap(aphi_shrink_runner *s)
{
    if (s->best.count <= PROBE)
        return true;
    int64_t few = time_of_waiting(s, PROBE_FEW);
    if (s->hurried)
        return true; /* it is the start of the subject that takes time, and so would another probe */
    int64_t more = time_of_waiting(s, PROBE);
    int64_t all = (more - few) / (PROBE - PROBE_FEW) * (int64_t)s->best.count;
    return !s->over && all < (s->deadline - s->start) / 10;
}

/* The candidate in which each request waits for the answer before it: in the order of sending, then in others. */
static bool make_serial(aphi_shrink_runner *s, unsigned n)
{
    if (n && !s->options->reorder)
        return false;
    if (n)
        aphi_script_edit_reordered(s, n - 1);
    else
        aphi_script_edit_copy(s);
    aphi_script_edit_wait_for_each(&s->candidate);
    return true;
}

static bool fails_once(aphi_shrink_runner *s, unsigned ran)
{
    if (!aphi_shrink_runner_run(s, &s->candidate))
        return false;
    aphi_shrink_runner_accept(s);
    aphi_shrink_runner_learn(s, 1, ran);
    return true;
}

/* In one of the ways there are: one by one, if that takes no more than its time, in one order after another; as it was,
 * where chance must help; and with waits for what its holes need. */
static bool fails_in_some_way(aphi_shrink_runner *s, bool *serial)
{
    s->cheap = waiting_is_cheap(s);
    int64_t enough = s->start + (s->deadline - s->start) / ESTABLISHING;
    for (unsigned i = 0; !s->over && i < (aphi_clock_ns() < enough ? ROUNDS : APHI_TRIES_MAX); i++) {
        *serial = s->cheap && make_serial(s, i) && fails_once(s, 1);
        if (*serial) {
            aphi_shrink_runner_report(s, "fails too if each request waits for the answer before it%s",
                            !i ? "" : i == 1 ? ", in the order of the answers" : ", in another order");
            return true;
        }
        aphi_script_edit_copy(s);
        if (fails_once(s, i + 1))
            return true;
        aphi_script_edit_copy(s);
        aphi_script_edit_wait_for_holes(&s->candidate);
        if (fails_once(s, i + 1))
            return true;
    }
    return false;
}

/* How often does best fail? That it did once says little. */
static void learn_rate(aphi_shrink_runner *s)
{
    size_t taken = s->taken;
    for (int i = 0; i < CHECKS && !s->hurried; i++)
        aphi_shrink_runner_check(s);
    aphi_shrink_runner_measure(s);
    s->shaken = false;
    s->taken = taken;
}

/* Removes what comes after the failure: there where the run says, or else by halves. Serially, the failing answer is
 * about the last: one by one finds it. */
static void cut_off(aphi_shrink_runner *s, bool serial)
{
    bool cut = aphi_delta_debug_cut(s, s->taken);
    for (int i = 0; serial && !s->hurried && i < ONE_BY_ONE && aphi_delta_debug_cut(s, s->best.count - 1); i++)
        ;
    if (cut || s->taken > 0)
        return;
    size_t passes = 0;
    while (!s->over && s->best.count - passes > 1 + s->best.count / 16) {
        size_t middle = passes + (s->best.count - passes) / 2;
        if (!aphi_delta_debug_cut(s, middle))
            passes = middle;
    }
}

/* What failed by chance is put in order, if it still fails then. */
static void put_in_order(aphi_shrink_runner *s)
{
    for (unsigned i = 0; i < ORDERS && s->cheap && make_serial(s, i); i++) {
        if (!aphi_shrink_runner_fails(s))
            continue;
        aphi_shrink_runner_report(s, "fails too if each request waits for the answer before it");
        s->failed = s->ran = 1; /* what was learnt before was of another kind */
        learn_rate(s);
        return;
    }
    aphi_script_edit_copy(s);
    aphi_script_edit_wait_for_holes(&s->candidate);
    if (aphi_shrink_runner_fails(s))
        aphi_shrink_runner_report(s, "fails too if each request waits for the answers that it refers to");
}

/* ---- the result -------------------------------------------------------------------------------------------------- */

static unsigned failures(aphi_shrink_runner *s, const aphi_script *script, unsigned runs, unsigned *ran)
{
    unsigned failed = 0;
    for (*ran = 0; *ran < runs; ++*ran) {
        bool f = aphi_shrink_runner_run(s, script);
        if (s->over)
            break;
        failed += f;
    }
    return failed;
}

/* How often it fails. A script that fails only sometimes may do so more often with more waits: then they are worth
 * it. */
static void confirm(aphi_shrink_runner *s, aphi_shrunk *result)
{
    unsigned wanted = s->options->confirm ? s->options->confirm : 10, ran;
    result->reproduced = failures(s, &s->best, wanted, &result->confirmed);
    aphi_script_edit_copy(s);
    aphi_script_edit_wait_for_each(&s->candidate);
    if (result->reproduced == result->confirmed ||
        aphi_shrink_runner_key(&s->candidate, 0) == aphi_shrink_runner_key(&s->best, 0))
        return;
    unsigned failed = failures(s, &s->candidate, wanted, &ran);
    if (ran < wanted || failed < result->reproduced + 2)
        return;
    aphi_shrink_runner_accept(s);
    result->reproduced = failed;
    result->confirmed = ran;
    aphi_shrink_runner_report(s, "fails more often if each request waits for the answer before it");
}

/* Is it minimal? */
static bool shrink(aphi_shrink_runner *s, bool serial)
{
    bool minimal;
    cut_off(s, serial);
    if (!serial)
        put_in_order(s);
    do {
        aphi_delta_debug_guess(s);
        aphi_delta_debug_connections(s);
        aphi_delta_debug_actions(s);
        minimal = aphi_single_steps(s);
    } while (aphi_shrink_runner_fall_back(s));
    return minimal;
}

aphi_shrunk aphi_shrink(const aphi_script *failing, aphi_shrink_run *run, const aphi_shrink_options *options)
{
    int64_t budget = options->budget_ns ? options->budget_ns : INT64_C(30000000000);
    aphi_shrink_runner s;
    aphi_shrunk result = {0};
    aphi_shrink_runner_init(&s, failing, run, options);
    s.deadline = s.start + budget / 10 * 8; /* the rest is for confirm */
    bool serial;
    if (failing->count > 0 && fails_in_some_way(&s, &serial)) {
        result.failed = true;
        learn_rate(&s);
        result.minimal = shrink(&s, serial);
        s.over = s.stopped;
        s.deadline = s.start + budget;
        confirm(&s, &result);
    }
    aphi_shrink_runner_deinit(&s);
    result.script = s.best;
    result.runs = s.runs;
    result.ns = aphi_clock_ns() - s.start;
    return result;
}

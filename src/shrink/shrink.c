/* SPDX-License-Identifier: Apache-2.0
 *
 * shrink.c - the stages of shrinking a failing script.
 *
 * Idea:       1. Run it again with each request waiting for the previous response, in request order and in response
 *                order. If it still fails, the following stages are deterministic; otherwise run it unchanged to
 *             estimate its failure rate. 2. Cut it off after the failure. 3. Guess the relevant actions (slice.c).
 *             4. Remove whole connections, then actions (delta_debug.c). 5. Try all single steps, round after round,
 *             until a round changes nothing (single_steps.c). 6. Measure the failure rate of the result.
 * Cost:       A few runs if the guess is right, otherwise about k log(n/k) if k of n actions are needed; then about ten
 *             for each remaining action. A failure rate p multiplies this by up to log(0.02)/log(1-p). If few runs fit
 *             into the budget, confirming runs are skipped, and cutting comes first.
 * Read next:  shrink_internal.h, tests/property/test_shrink_planted.c */
#include "shrink/shrink_internal.h"

#include "base/clock.h"

enum {
    PROBE_FEW = 8,    /* actions of the two probes that measure the cost of waiting */
    PROBE = 64,
    SINGLE_CUTS = 3,  /* actions cut off one at a time at the end */
    ORDERS = 4,       /* orders tried for a script that fails only sometimes */
    CHECKS = 3,       /* runs before a script is assumed to fail always */
    ROUNDS = 60,      /* attempts to reproduce the failure, in the first part of the budget: */
    REPRODUCE_PART = 3,
};

/* ---- the first runs ---------------------------------------------------------------------------------------------- */

/* Returns the time of a run of the first n actions if each waits. */
static int64_t measure_waiting(aphi_shrink_runner *s, size_t n)
{
    aphi_script_edit_copy(s);
    s->candidate.count = n;
    aphi_script_edit_wait_for_each(&s->candidate);
    aphi_shrink_runner_run(s, &s->candidate);
    return s->last_ns;
}

/* If responses never arrive, waiting for them could use up the budget. Two probes measure the cost of waiting,
 * excluding the start of the subject. */
static bool is_waiting_cheap(aphi_shrink_runner *s)
{
    if (s->best.count <= PROBE)
        return true;
    int64_t few = measure_waiting(s, PROBE_FEW);
    if (s->is_slow)
        return true; /* most of the time is the start of the subject, which each run needs */
    int64_t more = measure_waiting(s, PROBE);
    int64_t all = (more - few) / (PROBE - PROBE_FEW) * (int64_t)s->best.count;
    return !s->over && all < (s->deadline - s->start) / 10;
}

/* Makes a candidate in which each request waits for the previous response; if n is 0, in the original order. */
static bool make_serial(aphi_shrink_runner *s, unsigned n)
{
    if (n && !s->options->reorder)
        return false;
    aphi_script other = n ? s->options->reorder(s->options->context, n - 1) : (aphi_script){0};
    aphi_script_edit_set(s, n ? &other : &s->best);
    aphi_script_free(&other);
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

/* Tries serial runs in several orders, if waiting is cheap; then the unchanged script; then a script that waits for the
 * responses that its holes refer to. */
static bool reproduce_failure(aphi_shrink_runner *s, bool *serial)
{
    s->waits_are_cheap = is_waiting_cheap(s);
    int64_t enough = s->start + (s->deadline - s->start) / REPRODUCE_PART;
    for (unsigned i = 0; !s->over && i < (aphi_clock_ns() < enough ? ROUNDS : APHI_TRIES_MAX); i++) {
        *serial = s->waits_are_cheap && make_serial(s, i) && fails_once(s, 1);
        if (*serial) {
            aphi_shrink_runner_report(s, "still fails if each request waits for the previous response%s",
                                      !i ? "" : i == 1 ? ", in the order of responses" : ", in another order");
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

static void measure_rate(aphi_shrink_runner *s)
{
    size_t taken = s->actions_taken;
    for (int i = 0; i < CHECKS && !s->is_slow; i++)
        aphi_shrink_runner_check(s);
    aphi_shrink_runner_measure(s);
    s->rate_dropped = false;
    s->actions_taken = taken;
}

/* Removes the actions after the failure, using the number that the run reported, or by bisection. In a serial run the
 * failing response is one of the last, so cutting one at a time finds it. */
static void cut_end(aphi_shrink_runner *s, bool serial)
{
    bool cut = aphi_delta_debug_cut(s, s->actions_taken);
    for (int i = 0; serial && !s->is_slow && i < SINGLE_CUTS && aphi_delta_debug_cut(s, s->best.count - 1); i++)
        ;
    if (cut || s->actions_taken > 0)
        return;
    size_t passes = 0;
    while (!s->over && s->best.count - passes > 1 + s->best.count / 16) {
        size_t middle = passes + (s->best.count - passes) / 2;
        if (!aphi_delta_debug_cut(s, middle))
            passes = middle;
    }
}

/* Serializes a script that fails only intermittently, if the serial script still fails. */
static void make_best_serial(aphi_shrink_runner *s)
{
    for (unsigned i = 0; i < ORDERS && s->waits_are_cheap && make_serial(s, i); i++) {
        if (!aphi_shrink_runner_fails(s))
            continue;
        aphi_shrink_runner_report(s, "still fails if each request waits for the previous response");
        s->failed = s->ran = 1; /* the rate of the concurrent script does not apply */
        measure_rate(s);
        return;
    }
    aphi_script_edit_copy(s);
    aphi_script_edit_wait_for_holes(&s->candidate);
    if (aphi_shrink_runner_fails(s))
        aphi_shrink_runner_report(s, "still fails if each request waits for the responses that it refers to");
}

/* ---- the result -------------------------------------------------------------------------------------------------- */

static unsigned count_failures(aphi_shrink_runner *s, const aphi_script *script, unsigned runs, unsigned *ran)
{
    unsigned failed = 0;
    for (*ran = 0; *ran < runs; ++*ran) {
        bool fails = aphi_shrink_runner_run(s, script);
        if (s->over)
            break;
        failed += fails;
    }
    return failed;
}

/* Measures the failure rate. If waiting for each response raises it, the waits are kept. */
static void confirm_result(aphi_shrink_runner *s, aphi_shrunk *result)
{
    unsigned wanted = s->options->confirm ? s->options->confirm : 10, ran;
    result->reproduced = count_failures(s, &s->best, wanted, &result->confirmed);
    aphi_script_edit_copy(s);
    aphi_script_edit_wait_for_each(&s->candidate);
    if (result->reproduced == result->confirmed ||
        aphi_shrink_runner_key(&s->candidate, 0) == aphi_shrink_runner_key(&s->best, 0))
        return;
    unsigned failed = count_failures(s, &s->candidate, wanted, &ran);
    if (ran < wanted || failed < result->reproduced + 2)
        return;
    aphi_shrink_runner_accept(s);
    result->reproduced = failed;
    result->confirmed = ran;
    aphi_shrink_runner_report(s, "fails more often if each request waits for the previous response");
}

/* Returns true if the result is minimal. */
static bool run_stages(aphi_shrink_runner *s, bool serial)
{
    bool minimal;
    cut_end(s, serial);
    if (!serial)
        make_best_serial(s);
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
    s.deadline = s.start + budget / 10 * 8; /* the rest is for confirm_result */
    bool serial;
    if (failing->count > 0 && reproduce_failure(&s, &serial)) {
        result.failed = true;
        measure_rate(&s);
        result.minimal = run_stages(&s, serial);
        s.over = s.stopped;
        s.deadline = s.start + budget;
        confirm_result(&s, &result);
    }
    aphi_shrink_runner_deinit(&s);
    result.script = s.best;
    result.runs = s.runs;
    result.ns = aphi_clock_ns() - s.start;
    return result;
}

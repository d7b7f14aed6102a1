/* SPDX-License-Identifier: Apache-2.0
 *
 * shrink_runner.c - runs of candidates against subjects that do not always fail.
 *
 * Idea:       If best fails only with probability p, a failing run is proof, but a passing run is only weak evidence: a
 *             candidate is rejected after n passing runs with (1-p)^n < 0.02. p is estimated by running best itself
 *             from time to time. Candidates cannot be used for this, because they are selected by their results.
 * Invariants: 1. Best has failed in exactly this form. If it was a candidate, it has failed twice, unless few runs fit
 *                into the budget.
 *             2. A rejected candidate is not run again.
 *             3. While best always fails, it is also the reliable script. A best that then passes is replaced by the
 *                reliable one, but only a few times: perhaps only large scripts always fail, in many ways.
 * Cost:       If best always fails, one run for a passing candidate and two for a failing one; otherwise n and about
 *             2/p runs. */
#include "shrink/shrink_internal.h"

#include <stdarg.h>
#include <stdlib.h>
#include "base/clock.h"
#include "base/memory.h"

enum {
    CHECK_EVERY = 8,   /* passing candidates between two runs of best */
    RUNS_ENOUGH = 80,  /* with fewer runs in the budget, is_slow is set */
    FALLBACKS_MAX = 5,
};

static void mark_scripts(void *context)
{
    aphi_shrink_runner *s = context;
    aphi_script_mark(&s->best);
    aphi_script_mark(&s->candidate);
    aphi_script_mark(&s->reliable);
}

void aphi_shrink_runner_init(aphi_shrink_runner *s, const aphi_script *failing, aphi_shrink_run *run,
                             const aphi_shrink_options *options)
{
    *s = (aphi_shrink_runner){
        .options = options, .run = run, .start = aphi_clock_ns(), .best = aphi_script_copy(failing)};
    aph_root_add(mark_scripts, s);
}

void aphi_shrink_runner_deinit(aphi_shrink_runner *s)
{
    aph_root_remove(mark_scripts, s);
    aphi_script_free(&s->candidate);
    aphi_script_free(&s->reliable);
    aphi_intern_free(&s->candidates);
    free(s->passed);
}

void aphi_shrink_runner_report(aphi_shrink_runner *s, const char *format, ...)
{
    if (!s->options->step)
        return;
    char text[200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    s->options->step(s->options->context, text, &s->best);
}

/* ---- passing runs of candidates ---------------------------------------------------------------------------------- */

static uint64_t mix_hash(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash ^ (hash >> 29);
}

uint64_t aphi_shrink_runner_key(const aphi_script *script, uint64_t salt)
{
    uint64_t hash = salt;
    for (size_t i = 0; i < script->count; i++) {
        const aphi_action *a = &script->actions[i];
        hash = mix_hash(hash, (uint64_t)a->label);
        hash = mix_hash(hash, (uint64_t)a->connection);
        hash = mix_hash(hash, aph_hash(a->send));
        hash = mix_hash(hash, a->chunk);
        hash = mix_hash(hash, a->wait);
        hash = mix_hash(hash, (uint64_t)a->waits_for);
    }
    return hash;
}

/* The number of passing runs of a candidate, valid until the next call. */
static unsigned *passed_runs(aphi_shrink_runner *s, uint64_t key)
{
    size_t known = s->candidates.count;
    uint32_t i = aphi_intern_number(&s->candidates, &key, sizeof key);
    APHI_RESERVE(s->passed, s->passed_capacity, s->candidates.count);
    if (i == known)
        s->passed[i] = 0;
    return &s->passed[i];
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

bool aphi_shrink_runner_run(aphi_shrink_runner *s, const aphi_script *script)
{
    int64_t now = aphi_clock_ns();
    s->over = s->over || now >= s->deadline;
    if (s->over || s->must_fall_back)
        return false;
    int result = s->run(s->options->context, script);
    s->last_ns = aphi_clock_ns() - now;
    s->is_slow = s->last_ns > (s->deadline - s->start) / RUNS_ENOUGH;
    s->runs++;
    if (result < 0)
        s->stopped = s->over = true;
    if (result > 0)
        s->actions_taken = result > 1 ? (size_t)result : 0;
    return result > 0;
}

double aphi_shrink_runner_rate(const aphi_shrink_runner *s)
{
    double p = s->ran > 0 ? s->failed / s->ran : 1;
    return p < 0.05 ? 0.05 : p;
}

static bool is_certain(const aphi_shrink_runner *s) { return aphi_shrink_runner_rate(s) > 0.99; }

unsigned aphi_shrink_runner_tries(const aphi_shrink_runner *s, double may_miss)
{
    if (s->options->tries)
        return s->options->tries;
    unsigned n = 1;
    for (double missed = 1 - aphi_shrink_runner_rate(s); missed > may_miss && n < APHI_TRIES_MAX;
         missed *= 1 - aphi_shrink_runner_rate(s))
        n++;
    return n;
}

void aphi_shrink_runner_learn(aphi_shrink_runner *s, double failed, double ran)
{
    s->failed += failed;
    s->ran += ran;
    if (s->ran > 2 * APHI_TRIES_MAX) {
        s->failed /= 2;
        s->ran /= 2;
    }
}

static void copy_script(aphi_script *to, const aphi_script *from)
{
    aphi_script_free(to);
    *to = aphi_script_copy(from);
}

void aphi_shrink_runner_check(aphi_shrink_runner *s)
{
    s->passed_since_check = 0;
    bool was_certain = is_certain(s), failed = aphi_shrink_runner_run(s, &s->best);
    if (s->over)
        return;
    if (was_certain && !failed) {
        s->rate_dropped = true;
        s->must_fall_back = s->reliable.count > 0 && s->fallbacks < FALLBACKS_MAX &&
                  aphi_shrink_runner_key(&s->reliable, 0) != aphi_shrink_runner_key(&s->best, 0);
    }
    aphi_shrink_runner_learn(s, failed, 1);
    if (is_certain(s))
        copy_script(&s->reliable, &s->best);
}

void aphi_shrink_runner_measure(aphi_shrink_runner *s)
{
    while (!is_certain(s) && s->ran < APHI_TRIES_MAX && !s->over && !s->must_fall_back)
        aphi_shrink_runner_check(s);
}

/* A candidate must fail twice: of many candidates that fail rarely, some fail by chance, and accepting them would lower
 * the rate. Best itself would fail again with a probability of 0.98. */
static bool fails_again(aphi_shrink_runner *s, unsigned *passed)
{
    if (s->is_slow && is_certain(s))
        return true;
    unsigned runs = is_certain(s) ? 2 : (unsigned)(4 / aphi_shrink_runner_rate(s));
    for (unsigned i = 0; i < runs && !s->over; i++) {
        if (aphi_shrink_runner_run(s, &s->candidate))
            return true;
        ++*passed;
    }
    return false;
}

/* Evidence about the rate of the previous best counts a little less. */
void aphi_shrink_runner_accept(aphi_shrink_runner *s)
{
    aphi_script old = s->best;
    s->best = s->candidate;
    s->candidate = old;
    s->failed *= 0.9;
    s->ran *= 0.9;
}

bool aphi_shrink_runner_fails_within(aphi_shrink_runner *s, unsigned runs)
{
    uint64_t key = aphi_shrink_runner_key(&s->candidate, 0);
    if (s->candidate.count == 0 || key == aphi_shrink_runner_key(&s->best, 0))
        return false;
    unsigned *passed = passed_runs(s, key);
    while (!s->over && !s->must_fall_back && *passed < runs) {
        if (aphi_shrink_runner_run(s, &s->candidate)) {
            if (!fails_again(s, passed))
                continue;
            aphi_shrink_runner_accept(s);
            if (!is_certain(s))
                aphi_shrink_runner_check(s);
            return true;
        }
        ++*passed;
        if (++s->passed_since_check >= CHECK_EVERY)
            aphi_shrink_runner_check(s);
    }
    return false;
}

unsigned aphi_shrink_runner_passed(aphi_shrink_runner *s)
{
    return *passed_runs(s, aphi_shrink_runner_key(&s->candidate, 0));
}

bool aphi_shrink_runner_fails(aphi_shrink_runner *s)
{
    return aphi_shrink_runner_fails_within(s, aphi_shrink_runner_tries(s, APHI_MISSED));
}

static bool report_step(aphi_shrink_runner *s, const char *step)
{
    if (step)
        aphi_shrink_runner_report(s, "%s", step);
    return true;
}

bool aphi_shrink_runner_fails_simpler(aphi_shrink_runner *s, const char *step)
{
    return aphi_shrink_runner_fails_within(s, aphi_shrink_runner_tries(s, APHI_MISSED_SIMPLER)) && report_step(s, step);
}

bool aphi_shrink_runner_fails_as_often(aphi_shrink_runner *s, const char *step)
{
    uint64_t key = aphi_shrink_runner_key(&s->candidate, 0x0f7e);
    if (s->over || s->must_fall_back || *passed_runs(s, key) > 0 ||
        aphi_shrink_runner_key(&s->candidate, 0) == aphi_shrink_runner_key(&s->best, 0))
        return false;
    bool certain = is_certain(s);
    unsigned wanted = certain ? 4 : 10, failed = 0, ran = 0;
    unsigned enough = certain ? wanted : (unsigned)(aphi_shrink_runner_rate(s) * wanted * 0.8 + 1);
    while (ran < wanted && failed + (wanted - ran) >= enough && !s->over) {
        failed += aphi_shrink_runner_run(s, &s->candidate);
        ran++;
    }
    if (s->over)
        return false;
    if (failed < enough) {
        *passed_runs(s, key) = ran;
        return false;
    }
    aphi_shrink_runner_accept(s);
    aphi_shrink_runner_learn(s, failed, ran);
    return report_step(s, step);
}

bool aphi_shrink_runner_fall_back(aphi_shrink_runner *s)
{
    if (!s->must_fall_back)
        return false;
    s->must_fall_back = s->rate_dropped = false;
    s->fallbacks++;
    *passed_runs(s, aphi_shrink_runner_key(&s->best, 0)) = 2 * APHI_TRIES_MAX; /* it is not tried again */
    copy_script(&s->best, &s->reliable);
    s->failed = s->ran = 2;
    aphi_shrink_runner_report(s, "fell back: the last script did not always fail");
    return true;
}

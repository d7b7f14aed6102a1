/* SPDX-License-Identifier: Apache-2.0
 *
 * shrink_runner.c - running candidates, with subjects that do not always fail.
 *
 * Idea:       A run that fails proves something, one that passes little, if the best script fails only with a rate p: a
 *             candidate passes for good after n runs with (1-p)^n < 0.02. p is learnt by running the best itself now
 *             and then: candidates that pass say nothing about it, and those that fail are chosen for it.
 * Invariants: 1. Best has failed, in a run, as it stands; taken from candidates, it has done so twice, unless runs are
 *                so slow that few of them fit into the time.
 *             2. A candidate is not run again if it passed often enough.
 *             3. While best always fails, firm is such a one. A best that turns out not to always fail is given up for
 *                it.
 *                But not for ever: it may be that only a large script always fails, since it fails in many ways.
 * Cost:       One run for a candidate that passes, two for one that fails, if best always fails; n and some 2/p
 *             otherwise. */
#include "shrink/shrink_runner.h"

#include <stdarg.h>
#include <stdlib.h>
#include "base/clock.h"
#include "base/memory.h"

enum {
    CHECK_EVERY = 8, /* passing candidates, until best is run again */
    RUNS_ENOUGH = 80, /* in the time that there is, for each of them to be sure */
    FALLS_MAX = 5,   /* times to go back to a script that always failed */
};

static void mark_scripts(void *context)
{
    aphi_shrink_runner *s = context;
    aphi_script_mark(&s->best);
    aphi_script_mark(&s->candidate);
    aphi_script_mark(&s->firm);
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
    aphi_script_free(&s->firm);
    free(s->table);
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

/* ---- what is known of candidates --------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash ^ (hash >> 29);
}

uint64_t aphi_shrink_runner_key(const aphi_script *script, uint64_t salt)
{
    uint64_t hash = salt;
    for (size_t i = 0; i < script->count; i++) {
        const aphi_action *a = &script->actions[i];
        hash = mix(hash, (uint64_t)a->label);
        hash = mix(hash, (uint64_t)a->connection);
        hash = mix(hash, aph_hash(a->send));
        hash = mix(hash, a->chunk);
        hash = mix(hash, a->wait);
        hash = mix(hash, (uint64_t)a->waits_for);
    }
    return hash ? hash : 1;
}

static aphi_shrink_tried *slot_of(aphi_shrink_tried *table, size_t size, uint64_t key)
{
    size_t i = (size_t)key & (size - 1);
    while (table[i].key && table[i].key != key)
        i = (i + 1) & (size - 1);
    return &table[i];
}

static aphi_shrink_tried *lookup(aphi_shrink_runner *s, uint64_t key)
{
    if (2 * (s->table_count + 1) > s->table_size) {
        size_t size = s->table_size ? 2 * s->table_size : 256;
        aphi_shrink_tried *larger = aphi_alloc_zero(size * sizeof *larger);
        for (size_t i = 0; i < s->table_size; i++) {
            if (s->table[i].key)
                *slot_of(larger, size, s->table[i].key) = s->table[i];
        }
        free(s->table);
        s->table = larger;
        s->table_size = size;
    }
    aphi_shrink_tried *t = slot_of(s->table, s->table_size, key);
    if (!t->key) {
        t->key = key;
        s->table_count++;
    }
    return t;
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

bool aphi_shrink_runner_run(aphi_shrink_runner *s, const aphi_script *script)
{
    int64_t now = aphi_clock_ns();
    s->over = s->over || now >= s->deadline;
    if (s->over || s->fell)
        return false;
    int result = s->run(s->options->context, script);
    s->last_ns = aphi_clock_ns() - now;
    s->hurried = s->last_ns > (s->deadline - s->start) / RUNS_ENOUGH;
    s->runs++;
    if (result < 0)
        s->stopped = s->over = true;
    if (result > 0)
        s->taken = result > 1 ? (size_t)result : 0;
    return result > 0;
}

double aphi_shrink_runner_rate(const aphi_shrink_runner *s)
{
    double p = s->ran > 0 ? s->failed / s->ran : 1;
    return p < 0.05 ? 0.05 : p;
}

bool aphi_shrink_runner_is_certain(const aphi_shrink_runner *s) { return aphi_shrink_runner_rate(s) > 0.99; }

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

/* Candidates that pass say nothing about how often best fails, those that fail say too much of good: it is run
 * itself. */
void aphi_shrink_runner_check(aphi_shrink_runner *s)
{
    s->passed_since_check = 0;
    bool was_certain = aphi_shrink_runner_is_certain(s), failed = aphi_shrink_runner_run(s, &s->best);
    if (s->over)
        return;
    if (was_certain && !failed) {
        s->shaken = true;
        s->fell = s->firm.count > 0 && s->falls < FALLS_MAX &&
                  aphi_shrink_runner_key(&s->firm, 0) != aphi_shrink_runner_key(&s->best, 0);
    }
    aphi_shrink_runner_learn(s, failed, 1);
    if (aphi_shrink_runner_is_certain(s))
        copy_script(&s->firm, &s->best);
}

/* Before much is concluded from candidates that pass. */
void aphi_shrink_runner_measure(aphi_shrink_runner *s)
{
    while (!aphi_shrink_runner_is_certain(s) && s->ran < APHI_TRIES_MAX && !s->over && !s->fell)
        aphi_shrink_runner_check(s);
}

/* It failed once; it must do so again: of many candidates that fail rarely some fail by luck, and each would make it
 * rarer. Best itself would with a probability of 0.98. */
static bool fails_again(aphi_shrink_runner *s, aphi_shrink_tried *t)
{
    if (s->hurried && aphi_shrink_runner_is_certain(s))
        return true;
    unsigned runs = aphi_shrink_runner_is_certain(s) ? 2 : (unsigned)(4 / aphi_shrink_runner_rate(s));
    for (unsigned i = 0; i < runs && !s->over; i++) {
        if (aphi_shrink_runner_run(s, &s->candidate))
            return true;
        t->runs++;
    }
    return false;
}

/* The candidate has failed: it is the best now. What is known of the one before counts a little less. */
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
    aphi_shrink_tried *t = lookup(s, key);
    while (!s->over && !s->fell && t->runs < runs) {
        if (aphi_shrink_runner_run(s, &s->candidate)) {
            if (!fails_again(s, t))
                continue;
            aphi_shrink_runner_accept(s);
            if (!aphi_shrink_runner_is_certain(s))
                aphi_shrink_runner_check(s);
            return true;
        }
        t->runs++;
        if (++s->passed_since_check >= CHECK_EVERY)
            aphi_shrink_runner_check(s);
    }
    return false;
}

unsigned aphi_shrink_runner_tried(aphi_shrink_runner *s)
{
    return lookup(s, aphi_shrink_runner_key(&s->candidate, 0))->runs;
}

bool aphi_shrink_runner_fails(aphi_shrink_runner *s) { return aphi_shrink_runner_fails_within(s, aphi_shrink_runner_tries(s, APHI_MISSED)); }

bool aphi_shrink_runner_fails_simpler(aphi_shrink_runner *s)
{
    return aphi_shrink_runner_fails_within(s, aphi_shrink_runner_tries(s, APHI_MISSED_SIMPLER));
}

/* For steps that could make it rarer. */
bool aphi_shrink_runner_fails_as_often(aphi_shrink_runner *s)
{
    uint64_t key = aphi_shrink_runner_key(&s->candidate, 0x0f7e);
    if (s->over || s->fell || lookup(s, key)->runs > 0 ||
        aphi_shrink_runner_key(&s->candidate, 0) == aphi_shrink_runner_key(&s->best, 0))
        return false;
    unsigned wanted = aphi_shrink_runner_is_certain(s) ? 4 : 10, failed = 0, ran = 0;
    unsigned enough = aphi_shrink_runner_is_certain(s) ? wanted : (unsigned)(aphi_shrink_runner_rate(s) * wanted * 0.8 + 1);
    while (ran < wanted && failed + (wanted - ran) >= enough && !s->over) {
        failed += aphi_shrink_runner_run(s, &s->candidate);
        ran++;
    }
    if (s->over)
        return false;
    if (failed < enough) {
        lookup(s, key)->runs = ran;
        return false;
    }
    aphi_shrink_runner_accept(s);
    aphi_shrink_runner_learn(s, failed, ran);
    return true;
}

/* And never again to the one that did not always fail. */
bool aphi_shrink_runner_fall_back(aphi_shrink_runner *s)
{
    if (!s->fell)
        return false;
    s->fell = s->shaken = false;
    s->falls++;
    lookup(s, aphi_shrink_runner_key(&s->best, 0))->runs = 2 * APHI_TRIES_MAX;
    copy_script(&s->best, &s->firm);
    s->failed = s->ran = 2;
    aphi_shrink_runner_report(s, "that did not always fail");
    return true;
}

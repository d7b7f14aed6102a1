/* SPDX-License-Identifier: Apache-2.0
 *
 * shrink.c - make a failing script small, by running smaller ones.
 *
 * Idea:       1. Run it again, to know how often it fails. 2. Cut it off where it failed. 3. Make each request wait for
 *             the answer before it: if it still fails, everything after is reproducible. 4. Guess what matters
 *             (relevance.c).
 *             5. Remove pieces: whole connections, then requests; then 6. all single steps, round after round, until
 *             a round changes nothing: requests, connections, waits, fields.
 *             Pieces are chosen by belief: each action has a probability of being needed, raised whenever a candidate
 *             without it passes, and the piece that promises most is removed next. This is delta debugging that
 *             remembers; a subject that fails only sometimes fits in: that a candidate passed says less about it then.
 * Invariants: 1. `best` has failed, in a run, as it stands. 2. A candidate is not run again if it passed often enough.
 *             3. Whatever is removed, an action still waits for what it would have had to wait for behind the removed
 *                one.
 * Cost:       Runs: about k log(n/k) for k needed of n actions, a few for a guess that is right, then some ten for each
 *             action that is left. With a rate p of failing, up to log(0.02)/log(1-p) as many.
 * Read next:  relevance.h, simplify.h, tests/property/test_shrink_planted.c */
#include "harness/shrink.h"

#include <stdarg.h>
#include <stdlib.h>
#include "base/clock.h"
#include "base/memory.h"
#include "harness/expression.h"
#include "harness/relevance.h"
#include "harness/simplify.h"

/* The chance of taking a candidate that fails for one that passes: without some actions, and otherwise simpler. */
#define MISSED         0.02
#define MISSED_SIMPLER 0.15

enum {
    TRIES_MAX = 20,
    CHECK_EVERY = 8,     /* passing candidates, until best is run again */
    PAIRS_MAX = 8,       /* actions, of which all pairs are tried */
    FALLS_MAX = 5,       /* times to go back to a script that always failed */
    CONNECTIONS_MIN = 4, /* from which on whole connections are removed first */
    PROBE = 8,           /* actions that show what waiting costs */
};

typedef struct tried {
    uint64_t key;  /* of the candidate; 0: free */
    unsigned runs; /* that passed */
} tried;

typedef struct shrinker {
    const aphi_shrink_options *options;
    aphi_shrink_run *run;
    aphi_script best, candidate;
    aphi_script firm;   /* the last best that failed in each of its runs; count 0: there is none */
    unsigned falls;     /* times that best turned out to be less firm */
    double failed, ran; /* evidence on how often best fails; older runs count less */
    bool fell;          /* best passed, that had always failed: nothing is tried until fall_back */
    bool shaken;        /* it fails less often than it was thought: what was learnt may be wrong */
    unsigned passed_since_check;
    uint64_t runs;
    int64_t start, deadline, busy_ns, last_ns;
    bool stopped; /* a run said so */
    bool over;    /* stopped, or the budget is used up */
    size_t taken; /* actions that the last failing run took */
    tried *table;
    size_t table_size, table_count;
} shrinker;

static void mark_scripts(void *context)
{
    shrinker *s = context;
    aphi_script_mark(&s->best);
    aphi_script_mark(&s->candidate);
    aphi_script_mark(&s->firm);
}

static void tell(shrinker *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void tell(shrinker *s, const char *format, ...)
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

static uint64_t key_of(const aphi_script *script, uint64_t salt)
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

static tried *slot_of(tried *table, size_t size, uint64_t key)
{
    size_t i = (size_t)key & (size - 1);
    while (table[i].key && table[i].key != key)
        i = (i + 1) & (size - 1);
    return &table[i];
}

static tried *lookup(shrinker *s, uint64_t key)
{
    if (2 * (s->table_count + 1) > s->table_size) {
        size_t size = s->table_size ? 2 * s->table_size : 256;
        tried *larger = aphi_alloc_zero(size * sizeof *larger);
        for (size_t i = 0; i < s->table_size; i++) {
            if (s->table[i].key)
                *slot_of(larger, size, s->table[i].key) = s->table[i];
        }
        free(s->table);
        s->table = larger;
        s->table_size = size;
    }
    tried *t = slot_of(s->table, s->table_size, key);
    if (!t->key) {
        t->key = key;
        s->table_count++;
    }
    return t;
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

/* Does it fail? False too if it is over. */
static bool run_once(shrinker *s, const aphi_script *script)
{
    int64_t now = aphi_clock_ns();
    s->over = s->over || now >= s->deadline;
    if (s->over || s->fell)
        return false;
    int result = s->run(s->options->context, script);
    s->last_ns = aphi_clock_ns() - now;
    s->busy_ns += s->last_ns;
    s->runs++;
    if (result < 0)
        s->stopped = s->over = true;
    if (result > 0)
        s->taken = (size_t)result;
    return result > 0;
}

static double least(double a, double b) { return a < b ? a : b; }

static double rate(const shrinker *s)
{
    double p = s->ran > 0 ? s->failed / s->ran : 1;
    return p < 0.05 ? 0.05 : p;
}

static bool is_certain(const shrinker *s) { return rate(s) > 0.99; }

/* Runs of a candidate before it counts as passing. */
static unsigned tries(const shrinker *s, double may_miss)
{
    if (s->options->tries)
        return s->options->tries;
    unsigned n = 1;
    for (double missed = 1 - rate(s); missed > may_miss && n < TRIES_MAX; missed *= 1 - rate(s))
        n++;
    return n;
}

static void learn(shrinker *s, double failed, double ran)
{
    s->failed += failed;
    s->ran += ran;
    if (s->ran > 2 * TRIES_MAX) {
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
static void check_best(shrinker *s)
{
    s->passed_since_check = 0;
    bool was_certain = is_certain(s), failed = run_once(s, &s->best);
    if (s->over)
        return;
    if (was_certain && !failed) {
        s->shaken = true;
        s->fell = s->firm.count > 0 && s->falls < FALLS_MAX && key_of(&s->firm, 0) != key_of(&s->best, 0);
    }
    learn(s, failed, 1);
    if (is_certain(s))
        copy_script(&s->firm, &s->best);
}

/* Before much is concluded from candidates that pass. */
static void measure_best(shrinker *s)
{
    while (!is_certain(s) && s->ran < TRIES_MAX && !s->over && !s->fell)
        check_best(s);
}

/* It failed once; it must do so again: of many candidates that fail rarely some fail by luck, and each would make it
 * rarer. Best itself would with a probability of 0.98. */
static bool fails_again(shrinker *s, tried *t)
{
    unsigned runs = is_certain(s) ? 2 : (unsigned)(4 / rate(s));
    for (unsigned i = 0; i < runs && !s->over; i++) {
        if (run_once(s, &s->candidate))
            return true;
        t->runs++;
    }
    return false;
}

/* The candidate has failed: it is the best now. What is known of the one before counts a little less. */
static void accept(shrinker *s)
{
    aphi_script old = s->best;
    s->best = s->candidate;
    s->candidate = old;
    s->failed *= 0.9;
    s->ran *= 0.9;
}

/* Runs the candidate until it fails, or has passed in so many runs, earlier ones counted. If it fails it is the best
 * now. */
static bool fails_within(shrinker *s, unsigned runs)
{
    uint64_t key = key_of(&s->candidate, 0);
    if (s->candidate.count == 0 || key == key_of(&s->best, 0))
        return false;
    tried *t = lookup(s, key);
    while (!s->over && !s->fell && t->runs < runs) {
        if (run_once(s, &s->candidate)) {
            if (!fails_again(s, t))
                continue;
            accept(s);
            if (!is_certain(s))
                check_best(s);
            return true;
        }
        t->runs++;
        if (++s->passed_since_check >= CHECK_EVERY)
            check_best(s);
    }
    return false;
}

static bool fails(shrinker *s) { return fails_within(s, tries(s, MISSED)); }

static bool fails_simpler(shrinker *s) { return fails_within(s, tries(s, MISSED_SIMPLER)); }

/* Is the candidate as good as best in how often it fails? Then it is the best now. For steps that could make it
 * rarer. */
static bool fails_as_often(shrinker *s)
{
    uint64_t key = key_of(&s->candidate, 0x0f7e);
    if (s->over || s->fell || lookup(s, key)->runs > 0 || key_of(&s->candidate, 0) == key_of(&s->best, 0))
        return false;
    unsigned wanted = is_certain(s) ? 4 : 10, failed = 0, ran = 0;
    unsigned enough = is_certain(s) ? wanted : (unsigned)(rate(s) * wanted * 0.8 + 0.5);
    while (ran < wanted && failed + (wanted - ran) >= enough && !s->over) {
        failed += run_once(s, &s->candidate);
        ran++;
    }
    if (s->over)
        return false;
    if (failed < enough) {
        lookup(s, key)->runs = ran;
        return false;
    }
    accept(s);
    learn(s, failed, ran);
    return true;
}

/* ---- candidates -------------------------------------------------------------------------------------------------- */

static void begin_candidate(shrinker *s)
{
    aphi_script *c = &s->candidate;
    memcpy(c->model, s->best.model, sizeof c->model);
    memcpy(c->environment, s->best.environment, sizeof c->environment);
    c->seed = s->best.seed;
    c->count = 0;
}

static void copy_best(shrinker *s)
{
    begin_candidate(s);
    for (size_t i = 0; i < s->best.count; i++)
        aphi_script_add(&s->candidate, &s->best.actions[i]);
}

/* The index of the request with that label, or with that answer; count if there is none. Labels rise. */
static size_t index_of(const aphi_script *script, int64_t label)
{
    int64_t request = label % 2 == 0 ? label - 1 : label;
    size_t low = 0, high = script->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (script->actions[middle].label < request)
            low = middle + 1;
        else
            high = middle;
    }
    return low < script->count && script->actions[low].label == request ? low : script->count;
}

/* The candidate is best without the actions marked. Who waited for the answer to a request that is gone waits for the
 * one to the request before it; who waited for nothing, for what those just removed before it waited for: they held it
 * up too. */
static void without(shrinker *s, const bool *removed)
{
    begin_candidate(s);
    const aphi_script *b = &s->best;
    int64_t *kept_before =
        aphi_alloc((b->count + 1) * sizeof *kept_before); /* the label of the last request kept, or 0 */
    aphi_action held = {.wait = APHI_WAIT_NOTHING};       /* by those just removed */
    int64_t kept = 0;
    for (size_t i = 0; i < b->count; i++) {
        aphi_action a = b->actions[i];
        size_t asked = a.wait == APHI_WAIT_ANSWER ? index_of(b, a.waits_for) : b->count;
        kept_before[i] = kept;
        if (asked < i && removed[asked]) {
            a.wait = kept_before[asked] ? APHI_WAIT_ANSWER : APHI_WAIT_NOTHING;
            a.waits_for = kept_before[asked] ? kept_before[asked] + 1 : 0;
        }
        if (a.wait == APHI_WAIT_NOTHING) {
            a.wait = held.wait;
            a.waits_for = held.waits_for;
        }
        held = removed[i] ? a : (aphi_action){.wait = APHI_WAIT_NOTHING};
        if (removed[i])
            continue;
        aphi_script_add(&s->candidate, &a);
        if (a.send != APH_NIL)
            kept = a.label;
    }
    free(kept_before);
}

/* Each action of the candidate waits for the answer to the request before it. */
static void wait_for_each(aphi_script *c)
{
    int64_t last = 0;
    for (size_t i = 0; i < c->count; i++) {
        aphi_action *a = &c->actions[i];
        a->wait = last ? APHI_WAIT_ANSWER : APHI_WAIT_NOTHING;
        a->waits_for = last ? last + 1 : 0;
        if (a->send != APH_NIL)
            last = a->label;
    }
}

/* Each action of the candidate that waits for nothing waits for the answers that its holes need. */
static void wait_for_holes(aphi_script *c)
{
    for (size_t i = 0; i < c->count; i++) {
        aphi_action *a = &c->actions[i];
        int64_t label = a->send == APH_NIL ? 0 : aphi_expression_newest(a->send);
        if (a->wait != APHI_WAIT_NOTHING || label == 0 || label % 2 != 0)
            continue;
        a->wait = APHI_WAIT_ANSWER;
        a->waits_for = label;
    }
}

static size_t connections_of(const aphi_script *script, int64_t **numbers)
{
    size_t n = 0, capacity = 0;
    int64_t *all = NULL;
    for (size_t i = 0; i < script->count; i++) {
        size_t k = 0;
        while (k < n && all[k] != script->actions[i].connection)
            k++;
        if (k < n)
            continue;
        APHI_RESERVE(all, capacity, n + 1);
        all[n++] = script->actions[i].connection;
    }
    *numbers = all;
    return n;
}

/* ---- the first runs ---------------------------------------------------------------------------------------------- */

static bool first_failure(shrinker *s, unsigned runs)
{
    for (unsigned i = 1; i <= runs && !s->over; i++) {
        if (!run_once(s, &s->candidate))
            continue;
        accept(s);
        learn(s, 1, i);
        return true;
    }
    return false;
}

/* Makes it fail again, if need be with waits, and learns how often it does. */
static bool establish(shrinker *s)
{
    copy_best(s);
    bool failed = first_failure(s, TRIES_MAX);
    if (!failed) {
        copy_best(s);
        wait_for_holes(&s->candidate);
        failed = first_failure(s, TRIES_MAX / 2);
    }
    if (!failed) {
        copy_best(s);
        wait_for_each(&s->candidate);
        failed = first_failure(s, TRIES_MAX / 2);
    }
    size_t taken = s->taken;
    for (int i = 0; failed && i < 2; i++)
        check_best(s);
    if (failed)
        measure_best(s);
    s->shaken = false;
    s->taken = taken;
    return failed;
}

static bool cut_to(shrinker *s, size_t count)
{
    size_t before = s->best.count;
    if (count == 0 || count >= before)
        return false;
    copy_best(s);
    s->candidate.count = count;
    if (!fails(s))
        return false;
    tell(s, "cut off %zu of %zu actions at the end", before - count, before);
    return true;
}

/* Removes what comes after the failure: there where the run says, or else by halves. */
static void cut_off(shrinker *s)
{
    if (cut_to(s, s->taken) || s->taken > 1)
        return;
    size_t passes = 0;
    while (!s->over && s->best.count - passes > 1 + s->best.count / 16) {
        size_t middle = passes + (s->best.count - passes) / 2;
        if (!cut_to(s, middle))
            passes = middle;
    }
}

/* Where an answer never comes, waiting for it could use up the budget: a few actions show what it costs. */
static bool waiting_is_cheap(shrinker *s)
{
    if (s->best.count <= PROBE)
        return true;
    copy_best(s);
    s->candidate.count = PROBE;
    wait_for_each(&s->candidate);
    run_once(s, &s->candidate);
    int64_t all = s->last_ns * (int64_t)(s->best.count / PROBE);
    return !s->over && all < (s->deadline - s->start) / 10;
}

/* Makes the order of requests and answers certain, if it still fails then. */
static void put_in_order(shrinker *s)
{
    if (waiting_is_cheap(s)) {
        copy_best(s);
        wait_for_each(&s->candidate);
        if (fails(s)) {
            tell(s, "fails too if each request waits for the answer before it");
            return;
        }
    }
    copy_best(s);
    wait_for_holes(&s->candidate);
    if (fails(s))
        tell(s, "fails too if each request waits for the answers that it refers to");
}

/* ---- removing pieces --------------------------------------------------------------------------------------------- */

static void guess_what_matters(shrinker *s)
{
    for (aphi_relevance level = APHI_RELEVANCE_REFERS; level > APHI_RELEVANCE_NONE && !s->over; level--) {
        size_t n = s->best.count, kept = 0;
        aphi_relevance *levels = aphi_alloc((n + 1) * sizeof *levels);
        bool *removed = aphi_alloc((n + 1) * sizeof *removed);
        aphi_relevance_guess(&s->best, levels);
        for (size_t i = 0; i < n; i++) {
            removed[i] = levels[i] < level;
            kept += !removed[i];
        }
        without(s, removed);
        bool failed = kept * 5 < n * 4 && fails(s);
        if (failed)
            tell(s, "removed %zu of %zu actions that seem to have nothing to do with the last", n - kept, n);
        free(levels);
        free(removed);
        if (failed)
            return;
    }
}

typedef struct unit { /* actions that are removed together */
    double needed;    /* the probability that it is */
    double at_first;
    size_t actions; /* that it has */
    size_t position;
    bool removed; /* in the candidate at hand */
} unit;

static int compare_units(const void *a, const void *b)
{
    const unit *x = *(unit *const *)a, *y = *(unit *const *)b;
    if (x->needed != y->needed)
        return x->needed < y->needed ? -1 : 1;
    return (x->position > y->position) - (x->position < y->position);
}

/* Marks the units whose removal promises to take most actions away; false if all seem to be needed. order: room. */
static bool choose_units(unit *units, size_t n, unit **order, double *all_free)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        units[i].removed = false;
        if (units[i].actions > 0 && units[i].needed < 1 - MISSED)
            order[count++] = &units[i];
    }
    qsort(order, count, sizeof *order, compare_units);
    double chance = 1, gain = 0, actions = 0;
    size_t chosen = 0;
    for (size_t i = 0; i < count; i++) {
        chance *= 1 - order[i]->needed;
        actions += (double)order[i]->actions;
        if (chance * actions <= gain)
            continue;
        gain = chance * actions;
        chosen = i + 1;
        *all_free = chance;
    }
    for (size_t i = 0; i < chosen; i++)
        order[i]->removed = true;
    return chosen > 0;
}

/* The candidate without them passed once more. */
static void believe(const shrinker *s, unit *units, size_t n, double all_free)
{
    double p = rate(s) < 0.18 ? 0.18 : rate(s); /* so that no unit is tried more than some twenty times */
    for (size_t i = 0; i < n; i++) {
        if (units[i].removed)
            units[i].needed = least(1, units[i].needed / (1 - p * all_free));
    }
}

/* The actions that are left keep their units; those of the units removed are gone. */
static void keep_units(shrinker *s, unit *units, size_t n, size_t *unit_of, size_t before)
{
    size_t kept = 0;
    for (size_t i = 0; i < before; i++) {
        if (!units[unit_of[i]].removed)
            unit_of[kept++] = unit_of[i];
    }
    for (size_t i = 0; i < n; i++)
        units[i].actions = 0;
    for (size_t i = 0; i < s->best.count; i++)
        units[unit_of[i]].actions++;
}

static void remove_units(shrinker *s, unit *units, size_t n, size_t *unit_of, const char *what)
{
    unit **order = aphi_alloc((n + 1) * sizeof *order);
    bool *removed = aphi_alloc((s->best.count + 1) * sizeof *removed);
    double all_free = 1;
    while (!s->over && !s->fell && choose_units(units, n, order, &all_free)) {
        size_t before = s->best.count;
        for (size_t i = 0; i < before; i++)
            removed[i] = units[unit_of[i]].removed;
        without(s, removed);
        unsigned runs = lookup(s, key_of(&s->candidate, 0))->runs;
        if (fails_within(s, runs < TRIES_MAX ? runs + 1 : runs)) {
            tell(s, "removed %zu of %zu %s", before - s->best.count, before, what);
            keep_units(s, units, n, unit_of, before);
            if (cut_to(s, s->taken))
                keep_units(s, units, n, unit_of, s->best.count);
        } else {
            believe(s, units, n, all_free);
        }
        for (size_t i = 0; s->shaken && i < n; i++)
            units[i].needed = units[i].at_first;
        s->shaken = false;
    }
    free(order);
    free(removed);
}

static void remove_connections(shrinker *s)
{
    int64_t *numbers;
    size_t n = connections_of(&s->best, &numbers), count = s->best.count;
    if (n >= CONNECTIONS_MIN && n * 2 <= count) {
        unit *units = aphi_alloc_zero(n * sizeof *units);
        size_t *unit_of = aphi_alloc(count * sizeof *unit_of);
        for (size_t k = 0; k < n; k++) {
            units[k] = (unit){.needed = 2.0 / (double)(n + 2), .at_first = 2.0 / (double)(n + 2), .position = k};
        }
        for (size_t i = 0; i < count; i++) {
            for (size_t k = 0; k < n; k++) {
                if (numbers[k] == s->best.actions[i].connection)
                    unit_of[i] = k;
            }
            units[unit_of[i]].actions++;
        }
        remove_units(s, units, n, unit_of, "actions, by connection");
        free(units);
        free(unit_of);
    }
    free(numbers);
}

/* At first, what seems relevant is more likely to be needed, and the last action most. */
static void remove_actions(shrinker *s)
{
    size_t n = s->best.count;
    unit *units = aphi_alloc_zero((n + 1) * sizeof *units);
    size_t *unit_of = aphi_alloc((n + 1) * sizeof *unit_of);
    aphi_relevance *levels = aphi_alloc((n + 1) * sizeof *levels);
    aphi_relevance_guess(&s->best, levels);
    double usual = least(0.25, 4.0 / (double)(n + 1));
    for (size_t i = 0; i < n; i++) {
        double more = levels[i] == APHI_RELEVANCE_REFERS ? 0.3 : levels[i] == APHI_RELEVANCE_SHARES ? usual : 0;
        double needed = i + 1 == n ? 0.8 : least(0.6, usual + more);
        units[i] = (unit){.needed = needed, .at_first = needed, .actions = 1, .position = i};
        unit_of[i] = i;
    }
    remove_units(s, units, n, unit_of, "actions");
    free(units);
    free(unit_of);
    free(levels);
}

/* ---- single steps ------------------------------------------------------------------------------------------------ */
/* Each goes through all steps of its kind; true if one was taken. */

static bool removes(shrinker *s, size_t i, size_t k)
{
    bool *removed = aphi_alloc_zero(s->best.count * sizeof *removed);
    removed[i] = removed[k] = true;
    without(s, removed);
    free(removed);
    return fails(s);
}

static bool single_actions(shrinker *s)
{
    bool taken = false, again = true;
    while (again && !s->over) {
        again = false;
        for (size_t i = s->best.count; i-- > 0;) {
            if (s->best.count < 2 || i >= s->best.count || !removes(s, i, i))
                continue;
            tell(s, "removed one of %zu actions", s->best.count + 1);
            taken = again = true;
        }
    }
    return taken;
}

/* Two that are needed only because of each other. */
static bool pairs_of_actions(shrinker *s)
{
    bool taken = false;
    for (size_t i = 1; i < s->best.count && s->best.count <= PAIRS_MAX && tries(s, MISSED) <= 2; i++) {
        for (size_t k = 0; k < i && i < s->best.count && s->best.count > 2; k++) {
            if (!removes(s, i, k))
                continue;
            tell(s, "removed two of %zu actions together", s->best.count + 2);
            taken = true;
        }
    }
    return taken;
}

static void rename_connection(aphi_script *c, int64_t from, int64_t to)
{
    for (size_t i = 0; i < c->count; i++) {
        if (c->actions[i].connection == from)
            c->actions[i].connection = to;
    }
}

static bool merge_connections(shrinker *s)
{
    int64_t *numbers;
    bool taken = false;
    size_t n = connections_of(&s->best, &numbers);
    if (n > 2) {
        copy_best(s);
        for (size_t i = 1; i < n; i++)
            rename_connection(&s->candidate, numbers[i], numbers[0]);
        if (fails_simpler(s)) {
            tell(s, "all on one connection");
            free(numbers);
            return true;
        }
    }
    for (size_t i = n; i-- > 1;) {
        for (size_t k = 0; k < i; k++) {
            copy_best(s);
            rename_connection(&s->candidate, numbers[i], numbers[k]);
            if (!fails_simpler(s))
                continue;
            tell(s, "one connection less");
            taken = true;
            break;
        }
    }
    free(numbers);
    return taken;
}

/* Connections 0, 1, ... in the order of their first use. */
static bool number_connections(shrinker *s)
{
    int64_t *numbers;
    size_t n = connections_of(&s->best, &numbers);
    copy_best(s);
    for (size_t i = 0; i < s->candidate.count; i++) {
        for (size_t k = 0; k < n; k++) {
            if (s->best.actions[i].connection == numbers[k])
                s->candidate.actions[i].connection = (int64_t)k;
        }
    }
    free(numbers);
    return fails_simpler(s);
}

static bool drop_waits(shrinker *s)
{
    bool taken = false;
    copy_best(s);
    for (size_t i = 0; i < s->candidate.count; i++)
        s->candidate.actions[i].wait = APHI_WAIT_NOTHING;
    for (size_t i = 0; i < s->candidate.count; i++)
        s->candidate.actions[i].waits_for = 0;
    if (fails_as_often(s)) {
        tell(s, "nothing waits");
        return true;
    }
    for (size_t i = 0; i < s->best.count; i++) {
        if (s->best.actions[i].wait == APHI_WAIT_NOTHING)
            continue;
        copy_best(s);
        s->candidate.actions[i].wait = APHI_WAIT_NOTHING;
        s->candidate.actions[i].waits_for = 0;
        if (!fails_as_often(s))
            continue;
        tell(s, "one wait less");
        taken = true;
    }
    return taken;
}

/* A wait for quiet becomes one for an answer, a pause is halved. */
static bool shorten_waits(shrinker *s)
{
    bool taken = false;
    int64_t last = 0;
    for (size_t i = 0; i < s->best.count; i++) {
        aphi_wait wait = s->best.actions[i].wait;
        copy_best(s);
        aphi_action *a = &s->candidate.actions[i];
        if (wait == APHI_WAIT_QUIET && last) {
            a->wait = APHI_WAIT_ANSWER;
            a->waits_for = last + 1;
        } else if (wait == APHI_WAIT_PAUSE) {
            a->waits_for /= 2;
        }
        if (s->best.actions[i].send != APH_NIL)
            last = s->best.actions[i].label;
        if ((wait != APHI_WAIT_QUIET && wait != APHI_WAIT_PAUSE) || !fails_as_often(s))
            continue;
        tell(s, "a shorter wait");
        taken = true;
    }
    return taken;
}

static bool whole_writes(shrinker *s)
{
    bool taken = false;
    copy_best(s);
    for (size_t i = 0; i < s->candidate.count; i++)
        s->candidate.actions[i].chunk = 0;
    if (fails_simpler(s)) {
        tell(s, "every message in one write");
        return true;
    }
    for (size_t i = 0; i < s->best.count; i++) {
        copy_best(s);
        s->candidate.actions[i].chunk = 0;
        if (!fails_simpler(s))
            continue;
        tell(s, "one message more in one write");
        taken = true;
    }
    return taken;
}

/* The same value in several requests is one thing that they speak of: simplified in all of them at once. */
static bool simplify_everywhere(shrinker *s, aph_value leaf, size_t n)
{
    aph_value simpler;
    copy_best(s);
    if (!aphi_simpler_leaf(leaf, n, &simpler))
        return false;
    for (size_t i = 0; i < s->candidate.count; i++) {
        aph_value *send = &s->candidate.actions[i].send;
        if (*send != APH_NIL)
            *send = aphi_replace_leaves(*send, leaf, simpler);
    }
    return true;
}

static bool simplify_leaves(shrinker *s)
{
    bool taken = false;
    for (size_t i = 0; i < s->best.count && !s->over; i++) {
        aph_value leaf;
        for (size_t k = 0; aphi_leaf_at(s->best.actions[i].send, k, &leaf); k++) {
            for (size_t n = 0; aphi_leaf_at(s->best.actions[i].send, k, &leaf) && simplify_everywhere(s, leaf, n);) {
                bool failed = fails_simpler(s);
                if (failed)
                    tell(s, "a simpler value");
                taken = taken || failed;
                n = failed ? 0 : n + 1;
            }
        }
    }
    return taken;
}

/* Takes steps in single messages, as long as one does. */
static bool simplify_each(shrinker *s, bool (*form_at)(aph_value v, size_t n, aph_value *form))
{
    bool taken = false;
    for (size_t i = 0; i < s->best.count && !s->over; i++) {
        aph_value simpler;
        for (size_t n = 0; form_at(s->best.actions[i].send, n, &simpler) && !s->over;) {
            copy_best(s);
            s->candidate.actions[i].send = simpler;
            bool failed = simpler != APH_NIL && fails_simpler(s);
            if (failed)
                tell(s, "a simpler message");
            taken = taken || failed;
            n = failed ? n : n + 1;
        }
    }
    return taken;
}

static bool drop_fields(shrinker *s) { return simplify_each(s, aphi_smaller); }

static bool simplify_messages(shrinker *s) { return simplify_each(s, aphi_simpler); }

/* A hole for a message that is gone is filled from another one: say from which. */
static bool mend_holes(shrinker *s)
{
    bool taken = false;
    for (size_t i = 0; i < s->best.count; i++) {
        int64_t label;
        for (size_t n = 0; aphi_hole_at(s->best.actions[i].send, n, &label); n++) {
            if (index_of(&s->best, label) < s->best.count)
                continue;
            for (size_t k = i; k-- > 0;) {
                copy_best(s);
                aph_value *send = &s->candidate.actions[i].send;
                *send = aphi_relabel(*send, label, s->best.actions[k].label + (label % 2 == 0));
                if (s->best.actions[k].send == APH_NIL || !fails_as_often(s))
                    continue;
                tell(s, "a hole refers to what is there");
                taken = true;
                break;
            }
        }
    }
    return taken;
}

/* Until a round of all single steps changes nothing. */
static bool polish(shrinker *s)
{
    static bool (*const steps[])(shrinker *) = {
        single_actions, pairs_of_actions, merge_connections, number_connections, whole_writes, shorten_waits,
        drop_waits,     drop_fields,      simplify_leaves,   simplify_messages,  mend_holes,
    };
    bool changed = true;
    while (changed && !s->over && !s->fell) {
        changed = false;
        measure_best(s);
        for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
            changed = steps[i](s) || changed;
        changed = changed || s->shaken;
        s->shaken = false;
    }
    return !s->over;
}

/* ---- the result -------------------------------------------------------------------------------------------------- */

static unsigned failures(shrinker *s, const aphi_script *script, unsigned runs, unsigned *ran)
{
    unsigned failed = 0;
    for (*ran = 0; *ran < runs; ++*ran) {
        bool f = run_once(s, script);
        if (s->over)
            break;
        failed += f;
    }
    return failed;
}

/* How often it fails. A script that fails only sometimes may do so more often with more waits: then they are worth
 * it. */
static void confirm(shrinker *s, aphi_shrunk *result)
{
    unsigned wanted = s->options->confirm ? s->options->confirm : 10, ran;
    result->reproduced = failures(s, &s->best, wanted, &result->confirmed);
    copy_best(s);
    wait_for_each(&s->candidate);
    if (result->reproduced == result->confirmed || key_of(&s->candidate, 0) == key_of(&s->best, 0))
        return;
    unsigned failed = failures(s, &s->candidate, wanted, &ran);
    if (ran < wanted || failed < result->reproduced + 2)
        return;
    accept(s);
    result->reproduced = failed;
    result->confirmed = ran;
    tell(s, "fails more often if each request waits for the answer before it");
}

/* Goes back to the last script that failed in each of its runs, and never again to the one that did not. Not for ever:
 * it may be that only a large script always fails, since it fails in many ways. */
static bool fall_back(shrinker *s)
{
    if (!s->fell)
        return false;
    s->fell = s->shaken = false;
    s->falls++;
    lookup(s, key_of(&s->best, 0))->runs = 2 * TRIES_MAX;
    copy_script(&s->best, &s->firm);
    s->failed = s->ran = 2;
    tell(s, "that did not always fail");
    return true;
}

/* Is it minimal? */
static bool shrink(shrinker *s)
{
    bool minimal;
    cut_off(s);
    put_in_order(s);
    cut_to(s, s->taken);
    do {
        guess_what_matters(s);
        remove_connections(s);
        remove_actions(s);
        minimal = polish(s);
    } while (fall_back(s));
    return minimal;
}

aphi_shrunk aphi_shrink(const aphi_script *failing, aphi_shrink_run *run, const aphi_shrink_options *options)
{
    int64_t budget = options->budget_ns ? options->budget_ns : INT64_C(30000000000);
    shrinker s = {.options = options, .run = run, .start = aphi_clock_ns(), .best = aphi_script_copy(failing)};
    s.deadline = s.start + budget / 10 * 8; /* the rest is for confirm */
    aph_root_add(mark_scripts, &s);
    aphi_shrunk result = {0};
    if (establish(&s)) {
        result.minimal = shrink(&s);
        if (!s.stopped)
            s.over = false;
        s.deadline = s.start + budget;
        confirm(&s, &result);
    }
    aph_root_remove(mark_scripts, &s);
    aphi_script_free(&s.candidate);
    aphi_script_free(&s.firm);
    free(s.table);
    result.script = s.best;
    result.runs = s.runs;
    result.ns = aphi_clock_ns() - s.start;
    return result;
}

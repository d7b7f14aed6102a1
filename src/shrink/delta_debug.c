/* SPDX-License-Identifier: Apache-2.0
 *
 * delta_debug.c - removing actions from the best script, in large pieces first.
 *
 * Idea:       Each unit (an action, a connection) has a probability of being needed. The set whose removal promises
 *             most, its size times the probability that none of it is needed, is removed next. If that fails, it is
 *             gone; if it passes, its units are needed with a higher probability, by Bayes: q becomes q / (1 - p f),
 *             where f is the probability that none was needed and p how often a script fails that could. This is delta
 *             debugging that remembers, and in which a pass counts for less if the subject fails only sometimes.
 * Cost:       About k log(n/k) runs for k needed of n; then, for p < 1, some log(0.02)/log(1-p) for each that is left.
 * Not done:   Halves, quarters, ...: they forget what each pass said. */
#include "shrink/delta_debug.h"

#include <stdlib.h>
#include "base/memory.h"
#include "shrink/script_edit.h"
#include "shrink/slice.h"

enum { CONNECTIONS_MIN = 4 }; /* from which on whole connections are removed first */

static double least(double a, double b) { return a < b ? a : b; }

bool aphi_delta_debug_cut(aphi_shrink_runner *s, size_t count)
{
    size_t before = s->best.count;
    if (count == 0 || count >= before)
        return false;
    aphi_script_edit_copy(s);
    s->candidate.count = count;
    if (!aphi_shrink_runner_fails(s))
        return false;
    aphi_shrink_runner_report(s, "cut off %zu of %zu actions at the end", before - count, before);
    return true;
}

void aphi_delta_debug_guess(aphi_shrink_runner *s)
{
    for (aphi_script_slice level = APHI_SLICE_REFERS; level > APHI_SLICE_NONE && !s->over; level--) {
        size_t n = s->best.count, kept = 0;
        aphi_script_slice *levels = aphi_alloc((n + 1) * sizeof *levels);
        bool *removed = aphi_alloc((n + 1) * sizeof *removed);
        aphi_script_slice_guess(&s->best, levels);
        for (size_t i = 0; i < n; i++) {
            removed[i] = levels[i] < level;
            kept += !removed[i];
        }
        aphi_script_edit_without(s, removed);
        bool failed = kept * 5 < n * 4 && aphi_shrink_runner_fails(s);
        if (failed)
            aphi_shrink_runner_report(s, "removed %zu of %zu actions that seem to have nothing to do with the last",
                                      n - kept, n);
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
        if (units[i].actions > 0 && units[i].needed < 1 - APHI_MISSED)
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
static void believe(const aphi_shrink_runner *s, unit *units, size_t n, double all_free)
{
    double p = aphi_shrink_runner_rate(s) < 0.18
                   ? 0.18
                   : aphi_shrink_runner_rate(s); /* so that no unit is tried more than some twenty times */
    for (size_t i = 0; i < n; i++) {
        if (units[i].removed)
            units[i].needed = least(1, units[i].needed / (1 - p * all_free));
    }
}

/* The actions that are left keep their units; those of the units removed are gone. */
static void keep_units(aphi_shrink_runner *s, unit *units, size_t n, size_t *unit_of, size_t before)
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

static void remove_units(aphi_shrink_runner *s, unit *units, size_t n, size_t *unit_of, const char *what)
{
    unit **order = aphi_alloc((n + 1) * sizeof *order);
    bool *removed = aphi_alloc((s->best.count + 1) * sizeof *removed);
    double all_free = 1;
    while (!s->over && !s->fell && choose_units(units, n, order, &all_free)) {
        size_t before = s->best.count;
        for (size_t i = 0; i < before; i++)
            removed[i] = units[unit_of[i]].removed;
        aphi_script_edit_without(s, removed);
        unsigned runs = aphi_shrink_runner_tried(s);
        if (aphi_shrink_runner_fails_within(s, runs < APHI_TRIES_MAX ? runs + 1 : runs)) {
            aphi_shrink_runner_report(s, "removed %zu of %zu %s", before - s->best.count, before, what);
            keep_units(s, units, n, unit_of, before);
            if (aphi_delta_debug_cut(s, s->taken))
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

void aphi_delta_debug_connections(aphi_shrink_runner *s)
{
    int64_t *numbers;
    size_t n = aphi_script_edit_connections(&s->best, &numbers), count = s->best.count;
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
void aphi_delta_debug_actions(aphi_shrink_runner *s)
{
    size_t n = s->best.count;
    unit *units = aphi_alloc_zero((n + 1) * sizeof *units);
    size_t *unit_of = aphi_alloc((n + 1) * sizeof *unit_of);
    aphi_script_slice *levels = aphi_alloc((n + 1) * sizeof *levels);
    aphi_script_slice_guess(&s->best, levels);
    double usual = least(0.25, 4.0 / (double)(n + 1));
    for (size_t i = 0; i < n; i++) {
        double more = levels[i] == APHI_SLICE_REFERS ? 0.3 : levels[i] == APHI_SLICE_SHARES ? usual : 0;
        double needed = i + 1 == n ? 0.8 : least(0.6, usual + more);
        units[i] = (unit){.needed = needed, .at_first = needed, .actions = 1, .position = i};
        unit_of[i] = i;
    }
    remove_units(s, units, n, unit_of, "actions");
    free(units);
    free(unit_of);
    free(levels);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * delta_debug.c - removal of actions from the best script, in large sets first.
 *
 * Idea:       Probabilistic delta debugging. Each unit (an action, a connection) has a probability of being needed. The
 *             next set to remove maximizes its size times the probability f that none of its units is needed. If the
 *             script still fails, the set is removed; if it passes, the probability q of each unit in it becomes, by
 *             Bayes, q / (1 - p f), where p is the failure rate. A pass counts for less if the subject fails only
 *             sometimes.
 * Cost:       About k log(n/k) runs if k of n units are needed; then, for p < 1, log(0.02)/log(1-p) for each remaining
 *             unit.
 * Not done:   Removing halves, quarters, ..., which discards the information from passing runs. */
#include "shrink/shrink_internal.h"

#include <stdlib.h>
#include "base/memory.h"

enum { CONNECTIONS_MIN = 4 }; /* fewer connections are not removed as a whole */

static double min_of(double a, double b) { return a < b ? a : b; }

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
            aphi_shrink_runner_report(s, "removed %zu of %zu actions that seem unrelated to the last",
                                      n - kept, n);
        free(levels);
        free(removed);
        if (failed)
            return;
    }
}

typedef struct unit { /* actions that are removed together */
    double needed;    /* probability */
    double needed_first;
    size_t actions;
    size_t position;
    bool removed;     /* in the current candidate */
} unit;

static int compare_units(const void *a, const void *b)
{
    const unit *x = *(unit *const *)a, *y = *(unit *const *)b;
    if (x->needed != y->needed)
        return x->needed < y->needed ? -1 : 1;
    return (x->position > y->position) - (x->position < y->position);
}

/* Marks the units with the largest expected number of removed actions. Returns false if all seem needed. order: scratch
 * space for n elements. */
static bool choose_units(unit *units, size_t n, unit **order, double *none_needed)
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
        *none_needed = chance;
    }
    for (size_t i = 0; i < chosen; i++)
        order[i]->removed = true;
    return chosen > 0;
}

/* Updates the probabilities after the candidate without the marked units passed. */
static void raise_needed(const aphi_shrink_runner *s, unit *units, size_t n, double none_needed)
{
    double rate = aphi_shrink_runner_rate(s), p = rate < 0.18 ? 0.18 : rate; /* limits tries of a unit to about 20 */
    for (size_t i = 0; i < n; i++)
        if (units[i].removed)
            units[i].needed = min_of(1, units[i].needed / (1 - p * none_needed));
}

/* Assigns the remaining actions to their units. */
static void update_units(aphi_shrink_runner *s, unit *units, size_t n, size_t *unit_of, size_t before)
{
    size_t kept = 0;
    for (size_t i = 0; i < before; i++)
        if (!units[unit_of[i]].removed)
            unit_of[kept++] = unit_of[i];
    for (size_t i = 0; i < n; i++)
        units[i].actions = 0;
    for (size_t i = 0; i < s->best.count; i++)
        units[unit_of[i]].actions++;
}

static void remove_units(aphi_shrink_runner *s, unit *units, size_t n, size_t *unit_of, const char *what)
{
    unit **order = aphi_alloc((n + 1) * sizeof *order);
    bool *removed = aphi_alloc((s->best.count + 1) * sizeof *removed);
    double none_needed = 1;
    while (!s->over && !s->must_fall_back && choose_units(units, n, order, &none_needed)) {
        size_t before = s->best.count;
        for (size_t i = 0; i < before; i++)
            removed[i] = units[unit_of[i]].removed;
        aphi_script_edit_without(s, removed);
        unsigned runs = aphi_shrink_runner_passed(s);
        if (aphi_shrink_runner_fails_within(s, runs < APHI_TRIES_MAX ? runs + 1 : runs)) {
            aphi_shrink_runner_report(s, "removed %zu of %zu %s", before - s->best.count, before, what);
            update_units(s, units, n, unit_of, before);
            if (aphi_delta_debug_cut(s, s->actions_taken))
                update_units(s, units, n, unit_of, s->best.count);
        } else {
            raise_needed(s, units, n, none_needed);
        }
        for (size_t i = 0; s->rate_dropped && i < n; i++)
            units[i].needed = units[i].needed_first;
        s->rate_dropped = false;
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
        for (size_t k = 0; k < n; k++)
            units[k] = (unit){.needed = 2.0 / (double)(n + 2), .needed_first = 2.0 / (double)(n + 2), .position = k};
        for (size_t i = 0; i < count; i++) {
            for (size_t k = 0; k < n; k++)
                if (numbers[k] == s->best.actions[i].connection)
                    unit_of[i] = k;
            units[unit_of[i]].actions++;
        }
        remove_units(s, units, n, unit_of, "actions, by connection");
        free(units);
        free(unit_of);
    }
    free(numbers);
}

/* Initially, relevant actions are more likely to be needed, and the last one most. */
void aphi_delta_debug_actions(aphi_shrink_runner *s)
{
    size_t n = s->best.count;
    unit *units = aphi_alloc_zero((n + 1) * sizeof *units);
    size_t *unit_of = aphi_alloc((n + 1) * sizeof *unit_of);
    aphi_script_slice *levels = aphi_alloc((n + 1) * sizeof *levels);
    aphi_script_slice_guess(&s->best, levels);
    double usual = min_of(0.25, 4.0 / (double)(n + 1));
    for (size_t i = 0; i < n; i++) {
        double more = levels[i] == APHI_SLICE_REFERS ? 0.3 : levels[i] == APHI_SLICE_SHARES ? usual : 0;
        double needed = i + 1 == n ? 0.8 : min_of(0.6, usual + more);
        units[i] = (unit){.needed = needed, .needed_first = needed, .actions = 1, .position = i};
        unit_of[i] = i;
    }
    remove_units(s, units, n, unit_of, "actions");
    free(units);
    free(unit_of);
    free(levels);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * single_steps.c - single simplifying steps, round after round, until a round changes nothing.
 *
 * Idea:       Requests are removed first, because the other steps need runs for each remaining request. Steps that can
 *             lower the failure rate (waits) are taken only if the script fails as often as before.
 * Invariants: Every step makes the script smaller in a well-founded order, so rounds end; see simplify.c for messages.
 * Cost:       About ten candidates for each action. Rejected candidates are not run again, so the last round is
 *             cheap. */
#include "shrink/shrink_internal.h"

#include <stdlib.h>
#include "base/memory.h"
#include "script/simplify.h"

enum { PAIRS_MAX = 8 }; /* actions of a script for which all pairs are tried */

/* Each of these functions tries all steps of its kind, and returns true if one was taken. */

static bool fails_without(aphi_shrink_runner *s, size_t i, size_t k)
{
    bool *removed = aphi_alloc_zero(s->best.count * sizeof *removed);
    removed[i] = removed[k] = true;
    aphi_script_edit_without(s, removed);
    free(removed);
    return aphi_shrink_runner_fails(s);
}

static bool remove_single_actions(aphi_shrink_runner *s)
{
    bool taken = false, again = true;
    while (again && !s->over) {
        again = false;
        for (size_t i = s->best.count; i-- > 0;) {
            if (s->best.count < 2 || i >= s->best.count || !fails_without(s, i, i))
                continue;
            aphi_shrink_runner_report(s, "removed one of %zu actions", s->best.count + 1);
            taken = again = true;
        }
    }
    return taken;
}

/* Removes pairs of actions that are needed only because of each other. */
static bool remove_pairs(aphi_shrink_runner *s)
{
    bool taken = false;
    for (size_t i = 1; i < s->best.count && s->best.count <= PAIRS_MAX && aphi_shrink_runner_tries(s, APHI_MISSED) <= 2;
         i++) {
        for (size_t k = 0; k < i && i < s->best.count && s->best.count > 2; k++) {
            if (!fails_without(s, i, k))
                continue;
            aphi_shrink_runner_report(s, "removed two of %zu actions together", s->best.count + 2);
            taken = true;
        }
    }
    return taken;
}

static void rename_connection(aphi_script *c, int64_t from, int64_t to)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->actions[i].connection == from)
            c->actions[i].connection = to;
}

static bool merge_connections(aphi_shrink_runner *s)
{
    int64_t *numbers;
    bool taken = false, all = false;
    size_t n = aphi_script_edit_connections(&s->best, &numbers);
    if (n > 2) {
        aphi_script_edit_copy(s);
        for (size_t i = 1; i < n; i++)
            rename_connection(&s->candidate, numbers[i], numbers[0]);
        all = aphi_shrink_runner_fails_simpler(s, "all on one connection");
    }
    for (size_t i = n; i-- > 1 && !all;) {
        bool merged = false;
        for (size_t k = 0; k < i && !merged; k++) {
            aphi_script_edit_copy(s);
            rename_connection(&s->candidate, numbers[i], numbers[k]);
            merged = aphi_shrink_runner_fails_simpler(s, "removed a connection");
        }
        taken |= merged;
    }
    free(numbers);
    return all || taken;
}

/* Renumbers connections as 0, 1, ... in the order of their first use. */
static bool number_connections(aphi_shrink_runner *s)
{
    int64_t *numbers;
    size_t n = aphi_script_edit_connections(&s->best, &numbers);
    aphi_script_edit_copy(s);
    for (size_t i = 0; i < s->candidate.count; i++) {
        for (size_t k = 0; k < n; k++)
            if (s->best.actions[i].connection == numbers[k])
                s->candidate.actions[i].connection = (int64_t)k;
    }
    free(numbers);
    return aphi_shrink_runner_fails_simpler(s, NULL);
}

static void drop_wait(aphi_action *a)
{
    a->wait = APHI_WAIT_NOTHING;
    a->waits_for = 0;
}

static void drop_chunk(aphi_action *a) { a->chunk = 0; }

typedef bool fails_with(aphi_shrink_runner *s, const char *step);

/* Changes all actions at once or, if that fails, one after the other. */
static bool change_actions(aphi_shrink_runner *s, void (*change)(aphi_action *a), fails_with *fails, const char *all,
                           const char *one)
{
    bool taken = false;
    aphi_script_edit_copy(s);
    for (size_t i = 0; i < s->candidate.count; i++)
        change(&s->candidate.actions[i]);
    if (fails(s, all))
        return true;
    for (size_t i = 0; i < s->best.count; i++) {
        aphi_script_edit_copy(s);
        change(&s->candidate.actions[i]);
        taken |= fails(s, one);
    }
    return taken;
}

static bool drop_waits(aphi_shrink_runner *s)
{
    return change_actions(s, drop_wait, aphi_shrink_runner_fails_as_often, "removed all waits", "removed a wait");
}

static bool drop_chunks(aphi_shrink_runner *s)
{
    return change_actions(s, drop_chunk, aphi_shrink_runner_fails_simpler, "wrote every message at once",
                          "wrote one more message at once");
}

/* Replaces a wait for quiet with one for a response; halves pauses. */
static bool shorten_waits(aphi_shrink_runner *s)
{
    bool taken = false;
    int64_t last = 0;
    for (size_t i = 0; i < s->best.count; i++) {
        aphi_wait wait = s->best.actions[i].wait;
        aphi_script_edit_copy(s);
        aphi_action *a = &s->candidate.actions[i];
        if (wait == APHI_WAIT_QUIET && last) {
            a->wait = APHI_WAIT_ANSWER;
            a->waits_for = last + 1;
        } else if (wait == APHI_WAIT_PAUSE) {
            a->waits_for /= 2;
        }
        if (s->best.actions[i].send != APH_NIL)
            last = s->best.actions[i].label;
        if (wait == APHI_WAIT_QUIET || wait == APHI_WAIT_PAUSE)
            taken |= aphi_shrink_runner_fails_as_often(s, "shortened a wait");
    }
    return taken;
}

/* Simplifies a value in all requests together, since equal values probably mean the same thing. */
static bool simplify_leaf(aphi_shrink_runner *s, aph_value leaf, size_t n)
{
    aph_value simpler;
    aphi_script_edit_copy(s);
    if (!aphi_simpler_leaf(leaf, n, &simpler))
        return false;
    for (size_t i = 0; i < s->candidate.count; i++) {
        aph_value *send = &s->candidate.actions[i].send;
        if (*send != APH_NIL)
            *send = aphi_replace_leaves(*send, leaf, simpler);
    }
    return true;
}

static bool simplify_leaves(aphi_shrink_runner *s)
{
    bool taken = false;
    for (size_t i = 0; i < s->best.count && !s->over; i++) {
        aph_value leaf;
        for (size_t k = 0; aphi_leaf_at(s->best.actions[i].send, k, &leaf); k++) {
            for (size_t n = 0; aphi_leaf_at(s->best.actions[i].send, k, &leaf) && simplify_leaf(s, leaf, n);) {
                bool failed = aphi_shrink_runner_fails_simpler(s, "simplified a value");
                taken = taken || failed;
                n = failed ? 0 : n + 1;
            }
        }
    }
    return taken;
}

/* Simplifies single messages, while a step succeeds. */
static bool simplify_each(aphi_shrink_runner *s, bool (*form_at)(aph_value v, size_t n, aph_value *form))
{
    bool taken = false;
    for (size_t i = 0; i < s->best.count && !s->over; i++) {
        aph_value simpler;
        for (size_t n = 0; form_at(s->best.actions[i].send, n, &simpler) && !s->over;) {
            aphi_script_edit_copy(s);
            s->candidate.actions[i].send = simpler;
            bool failed = simpler != APH_NIL && aphi_shrink_runner_fails_simpler(s, "simplified a message");
            taken = taken || failed;
            n = failed ? n : n + 1;
        }
    }
    return taken;
}

static bool drop_fields(aphi_shrink_runner *s) { return simplify_each(s, aphi_smaller); }

static bool simplify_messages(aphi_shrink_runner *s) { return simplify_each(s, aphi_simpler); }

typedef struct renaming {
    int64_t from, to;
} renaming;

static int64_t rename_label(const void *context, int64_t label)
{
    const renaming *r = context;
    return label == r->from ? r->to : label;
}

/* Makes a hole that refers to a removed message refer to the message that now fills it. */
static bool relabel_holes(aphi_shrink_runner *s)
{
    bool taken = false;
    for (size_t i = 0; i < s->best.count; i++) {
        int64_t label;
        for (size_t n = 0; aphi_hole_at(s->best.actions[i].send, n, &label); n++) {
            if (aphi_script_index(&s->best, label) < s->best.count)
                continue;
            for (size_t k = i; k-- > 0;) {
                aphi_script_edit_copy(s);
                aph_value *send = &s->candidate.actions[i].send;
                renaming new = {label, s->best.actions[k].label + (label % 2 == 0)};
                *send = aphi_relabel(*send, rename_label, &new);
                if (s->best.actions[k].send == APH_NIL ||
                    !aphi_shrink_runner_fails_as_often(s, "made a hole refer to a message of the script"))
                    continue;
                taken = true;
                break;
            }
        }
    }
    return taken;
}

bool aphi_single_steps(aphi_shrink_runner *s)
{
    static bool (*const steps[])(aphi_shrink_runner *) = {
        remove_single_actions, remove_pairs, merge_connections, number_connections,    drop_chunks,
        shorten_waits,  drop_waits,       drop_fields,       aphi_substitute_simpler, aphi_substitute_request,
        simplify_leaves, simplify_messages, relabel_holes,
    };
    bool changed = true;
    while (changed && !s->over && !s->must_fall_back) {
        changed = false;
        aphi_shrink_runner_measure(s);
        for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
            changed = steps[i](s) || changed;
        changed = changed || s->rate_dropped;
        s->rate_dropped = false;
    }
    return !s->over;
}

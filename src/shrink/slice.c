/* SPDX-License-Identifier: Apache-2.0
 *
 * slice.c - a guess at the relevant actions of a failing script: a slice, computed backwards from the last request.
 *
 * Idea:       A run stops at the failing response, so the last request is usually relevant, with the requests that its
 *             holes refer to, and those that have a string or an integer in common with it. Values that occur in every
 *             fourth request (usually the kind) are ignored. Waits are ignored too: each action may wait for the
 *             previous one.
 * Cost:       n log n for n leaves of the script. A wrong guess costs one run. */
#include "shrink/shrink_internal.h"

#include <stdlib.h>
#include "base/memory.h"
#include "script/simplify.h"

typedef struct mention {
    aph_value leaf;
    size_t action;
} mention;

typedef struct guess {
    const aphi_script *script;
    aphi_script_slice *levels;
    mention *mentions; /* sorted by leaf, then action */
    size_t count, capacity;
    size_t *queue; /* actions whose references are to be followed */
    size_t queued;
} guess;

static int compare_mentions(const void *a, const void *b)
{
    const mention *x = a, *y = b;
    if (x->leaf != y->leaf)
        return (uintptr_t)x->leaf < (uintptr_t)y->leaf ? -1 : 1;
    return (x->action > y->action) - (x->action < y->action);
}

static void collect_mentions(guess *g)
{
    for (size_t i = 0; i < g->script->count; i++) {
        aph_value leaf;
        for (size_t k = 0; aphi_leaf_at(g->script->actions[i].send, k, &leaf); k++) {
            if (aph_kind_of(leaf) == APH_BOOL)
                continue;
            APHI_RESERVE(g->mentions, g->capacity, g->count + 1);
            g->mentions[g->count++] = (mention){leaf, i};
        }
    }
    if (g->count > 0)
        qsort(g->mentions, g->count, sizeof *g->mentions, compare_mentions);
}

/* Returns the first mention of the leaf; *n receives their number. */
static const mention *mentions_of(const guess *g, aph_value leaf, size_t *n)
{
    size_t low = 0, high = g->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if ((uintptr_t)g->mentions[middle].leaf < (uintptr_t)leaf)
            low = middle + 1;
        else
            high = middle;
    }
    for (*n = 0; low + *n < g->count && g->mentions[low + *n].leaf == leaf; ++*n) {
    }
    return g->mentions + low;
}

static void raise_action(guess *g, size_t action, aphi_script_slice level)
{
    if (g->levels[action] >= level)
        return;
    g->levels[action] = level;
    g->queue[g->queued++] = action;
}

static void follow_references(guess *g, size_t from, aphi_script_slice level)
{
    for (size_t i = from; i < g->queued; i++) {
        const aphi_action *a = &g->script->actions[g->queue[i]];
        int64_t label;
        for (size_t k = 0; aphi_hole_at(a->send, k, &label); k++) {
            size_t request = aphi_script_index(g->script, label);
            if (request < g->script->count)
                raise_action(g, request, level);
        }
    }
}

static void raise_sharing(guess *g, size_t action, aphi_script_slice level)
{
    size_t common = g->script->count / 4 > 4 ? g->script->count / 4 : 4, n;
    aph_value leaf;
    for (size_t k = 0; aphi_leaf_at(g->script->actions[action].send, k, &leaf); k++) {
        const mention *those = mentions_of(g, leaf, &n);
        for (size_t i = 0; i < n && n < common; i++)
            raise_action(g, those[i].action, level);
    }
}

void aphi_script_slice_guess(const aphi_script *s, aphi_script_slice *levels)
{
    guess g = {.script = s, .levels = levels};
    for (size_t i = 0; i < s->count; i++)
        levels[i] = APHI_SLICE_NONE;
    size_t last = s->count;
    while (last > 0 && s->actions[last - 1].send == APH_NIL)
        last--;
    if (last-- == 0)
        return;
    g.queue = aphi_alloc(3 * s->count * sizeof *g.queue); /* an action is raised at most once to each level */
    collect_mentions(&g);
    raise_action(&g, last, APHI_SLICE_REFERS);
    follow_references(&g, 0, APHI_SLICE_REFERS);
    size_t close_by = g.queued;
    raise_sharing(&g, last, APHI_SLICE_SHARES);
    follow_references(&g, close_by, APHI_SLICE_SHARES);
    for (size_t i = 0, followed = g.queued; i < g.queued; i++) {
        raise_sharing(&g, g.queue[i], APHI_SLICE_DISTANT);
        follow_references(&g, followed, APHI_SLICE_DISTANT);
        followed = g.queued;
    }
    free(g.mentions);
    free(g.queue);
}

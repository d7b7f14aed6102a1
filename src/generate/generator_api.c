/* SPDX-License-Identifier: Apache-2.0
 *
 * generator_api.c - the functions that a generator calls: random choices, known messages, holes. */
#include "generate/generator_api.h"

#include "value/heap.h"

enum { HOLE_LOOKS = 256 }; /* the latest messages, candidates for a hole */

uint64_t aph_gen_below(aph_gen *g, uint64_t n) { return aphi_choice_below(&g->choice, n); }

size_t aph_gen_weighted_(aph_gen *g, size_t n, const unsigned *weights)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += weights[i];
    if (sum == 0)
        return aph_gen_below(g, n);
    uint64_t at = aph_gen_below(g, sum);
    size_t i = 0;
    while (at >= weights[i])
        at -= weights[i++];
    return i;
}

typedef struct value_search {
    size_t n;
    const aph_value *values;
    aph_value found;
} value_search;

static bool find_among(void *context, aph_value key, aph_value item)
{
    value_search *a = context;
    (void)key;
    for (size_t i = 0; i < a->n && !a->found; i++)
        if (a->values[i] == item)
            a->found = item;
    return !a->found;
}

aph_value aph_gen_oneof_(aph_gen *g, size_t n, const aph_value *values)
{
    value_search a = {.n = n, .values = values};
    if (aph_kind_of(g->wish) == APH_OBJECT)
        aphi_pairs(g->wish, find_among, &a);
    return a.found && aphi_choice_chance(&g->choice, 3, 4) ? a.found : values[aph_gen_below(g, n)];
}

bool aph_gen_seen(aph_gen *g, size_t i, int64_t *label, aph_value *message)
{
    return aphi_labelled_latest(g->known->seen, i, label, message);
}

aph_value aph_gen_state(aph_gen *g) { return g->known->state; }
int64_t aph_gen_connection(aph_gen *g) { return g->connection; }
size_t aph_gen_connections(aph_gen *g) { return g->known->connections; }
aph_value aph_gen_wish(aph_gen *g) { return g->wish; }
uint64_t aph_gen_number(aph_gen *g) { return g->number; }

/* An empty string in a response often means that there is no value, for instance a cookie that a logout ends. */
static bool is_skipped(aph_gen *g, bool answers, aph_value found)
{
    return answers && aph_str_is(found, "") && aphi_choice_chance(&g->choice, 7, 8);
}

/* Takes each suitable message with a probability of one half, latest first, and otherwise the oldest. Takes a skipped
 * message only if there is no other. */
aph_value aphi_gen_hole(aph_gen *g, bool answers, aph_value path, const char *function)
{
    int64_t label, chosen = 0, skipped = 0;
    aph_value message, found;
    for (size_t i = 0; i < HOLE_LOOKS && aph_gen_seen(g, i, &label, &message); i++) {
        if ((label % 2 == 0) != answers || !aphi_path_find(message, path, &found))
            continue;
        if (is_skipped(g, answers, found)) {
            skipped = label;
            continue;
        }
        chosen = label;
        if (aphi_choice_chance(&g->choice, 1, 2))
            break;
    }
    chosen = chosen ? chosen : skipped;
    return chosen ? aph_hole(chosen, path, function) : APH_NIL;
}

aph_value aph_gen_hole(aph_gen *g, aph_value path, const char *function)
{
    return aphi_gen_hole(g, true, path, function);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * taste.c - weighted choices that learn. */
#include "harness/taste.h"

#include <stdlib.h>
#include "base/memory.h"
#include "value/heap.h"

enum { LIKING_MORE = 48 }; /* for a branch that was reached */

void aphi_taste_deinit(aphi_taste *t)
{
    free(t->drawn);
    *t = (aphi_taste){0};
}

void aphi_taste_begin(aphi_taste *t)
{
    t->drawn_count = 0;
}

void aphi_taste_draw(aphi_taste *t, aphi_option *option)
{
    APHI_RESERVE(t->drawn, t->drawn_capacity, t->drawn_count + 1);
    t->drawn[t->drawn_count++] = option;
}

uint64_t aphi_option_pull(const aphi_option *o)
{
    return (uint64_t)o->weight * (16 + o->liking);
}

static uint64_t pull_of(const aphi_option *o, bool untried)
{
    return untried ? (o->uses ? 0 : o->weight) : aphi_option_pull(o);
}

size_t aphi_taste_pick(aphi_taste *t, aphi_option *options, size_t n, aphi_choice *c)
{
    bool untried = false;
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        untried = untried || options[i].uses == 0;
    for (size_t i = 0; i < n; i++)
        sum += pull_of(&options[i], untried);
    uint64_t at = aphi_choice_below(c, sum);
    size_t i = 0;
    while (at >= pull_of(&options[i], untried))
        at -= pull_of(&options[i++], untried);
    aphi_taste_draw(t, &options[i]);
    return i;
}

void aphi_taste_use(aphi_taste *t)
{
    for (size_t i = 0; i < t->drawn_count; i++) {
        aphi_option *o = t->drawn[i];
        o->uses++;
        o->liking -= (o->liking + 15) / 16;
        t->recent[t->counted++ % APHI_TASTE_RECENT] = o;
    }
    t->drawn_count = 0;
}

static bool count_reached(void *context, aph_value name, aph_value times)
{
    (void)name;
    *(size_t *)context += aph_is_int(times) && aph_int_of(times) > 0;
    return true;
}

void aphi_taste_learn(aphi_taste *t, aph_value branches)
{
    size_t reached = 0;
    if (branches == t->branches || aph_kind_of(branches) != APH_OBJECT)
        return;
    t->branches = branches;
    aphi_pairs(branches, count_reached, &reached);
    if (reached > t->reached)
        for (uint64_t i = 0; i < t->counted && i < APHI_TASTE_RECENT; i++) {
            aphi_option *o = t->recent[i];
            o->liking = o->liking + LIKING_MORE < APHI_LIKING_MAX ? o->liking + LIKING_MORE : APHI_LIKING_MAX;
        }
    t->reached = reached;
}

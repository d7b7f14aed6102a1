/* SPDX-License-Identifier: Apache-2.0
 *
 * weights.c - adaptive weighted choices. */
#include "generate/weights.h"

#include <stdlib.h>
#include "base/memory.h"

enum { BONUS_MORE = 48 }; /* for a new branch */

void aphi_weights_deinit(aphi_weights *t)
{
    free(t->drawn);
    *t = (aphi_weights){0};
}

void aphi_weights_begin(aphi_weights *t) { t->drawn_count = 0; }

void aphi_weights_draw(aphi_weights *t, aphi_weighted *option)
{
    APHI_RESERVE(t->drawn, t->drawn_capacity, t->drawn_count + 1);
    t->drawn[t->drawn_count++] = option;
}

uint64_t aphi_weighted_now(const aphi_weighted *o) { return (uint64_t)o->weight * (16 + o->bonus); }

static uint64_t weight_of(const aphi_weighted *o, bool untried)
{
    return untried ? (o->uses ? 0 : o->weight) : aphi_weighted_now(o);
}

size_t aphi_weights_pick(aphi_weights *t, aphi_weighted *options, size_t n, aphi_choice *c)
{
    bool untried = false;
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        untried = untried || options[i].uses == 0;
    for (size_t i = 0; i < n; i++)
        sum += weight_of(&options[i], untried);
    uint64_t at = aphi_choice_below(c, sum);
    size_t i = 0;
    while (at >= weight_of(&options[i], untried))
        at -= weight_of(&options[i++], untried);
    aphi_weights_draw(t, &options[i]);
    return i;
}

void aphi_weights_use(aphi_weights *t)
{
    for (size_t i = 0; i < t->drawn_count; i++) {
        aphi_weighted *o = t->drawn[i];
        o->uses++;
        o->bonus -= (o->bonus + 15) / 16;
        t->recent[t->used++ % APHI_WEIGHTS_RECENT] = o;
    }
    t->drawn_count = 0;
}

void aphi_weights_learn(aphi_weights *t, aph_value branches)
{
    size_t reached = 0;
    aph_value name, times;
    if (branches == t->branches || aph_kind_of(branches) != APH_OBJECT)
        return;
    t->branches = branches;
    for (size_t i = 0; aph_pair_at(branches, i, &name, &times); i++)
        reached += aph_is_int(times) && aph_int_of(times) > 0;
    if (reached > t->reached)
        for (uint64_t i = 0; i < t->used && i < APHI_WEIGHTS_RECENT; i++) {
            aphi_weighted *o = t->recent[i];
            o->bonus = o->bonus + BONUS_MORE < APHI_WEIGHT_MAX ? o->bonus + BONUS_MORE : APHI_WEIGHT_MAX;
        }
    t->reached = reached;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * weights.h - weighted choices that learn: what led to a branch of the model not reached before is chosen more often.
 *
 * A draw makes choices; only if what came of it is used do they count. What counted lately is liked more when a branch
 * is reached for the first time, and each use without such an effect wears that off. */
#ifndef APHI_GENERATE_WEIGHTS_H
#define APHI_GENERATE_WEIGHTS_H

#include <antiphon/value.h>
#include "base/choice.h"

typedef struct aphi_weighted {
    uint32_t weight; /* as declared; at least 1 */
    uint32_t liking; /* in sixteenths on top of 1: 0 is indifferent */
    uint64_t uses;
} aphi_weighted;

enum { APHI_WEIGHTS_RECENT = 32, APHI_WEIGHT_MAX = 16 * 15 };

typedef struct aphi_weights {
    aphi_weighted *recent[APHI_WEIGHTS_RECENT]; /* that counted last */
    uint64_t counted;
    aphi_weighted **drawn;                    /* in the draw under way */
    size_t drawn_count, drawn_capacity;
    aph_value branches;                     /* as last learnt from; to be marked by the owner */
    size_t reached;                         /* branches, by then */
} aphi_weights;

void aphi_weights_deinit(aphi_weights *t);
/* Forgets what was drawn and not used. */
void aphi_weights_begin(aphi_weights *t);
/* One of n > 0 options by weight and liking; among those never used, while there are any. */
size_t aphi_weights_pick(aphi_weights *t, aphi_weighted *options, size_t n, aphi_choice *c);
void aphi_weights_draw(aphi_weights *t, aphi_weighted *option); /* this one */
/* What was drawn since begin is used. */
void aphi_weights_use(aphi_weights *t);
/* branches: an object of counts by name, or APH_NIL. */
void aphi_weights_learn(aphi_weights *t, aph_value branches);
/* Its weight as it is now, in sixteenths. */
uint64_t aphi_weighted_pull(const aphi_weighted *o);

#endif

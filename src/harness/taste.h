/* SPDX-License-Identifier: Apache-2.0
 *
 * taste.h - weighted choices that learn: what led to a branch of the model not reached before is chosen more often.
 *
 * A draw makes choices; only if what came of it is used do they count. What counted lately is liked more when a branch
 * is reached for the first time, and each use without such an effect wears that off. */
#ifndef APHI_HARNESS_TASTE_H
#define APHI_HARNESS_TASTE_H

#include <antiphon/value.h>
#include "base/choice.h"

typedef struct aphi_option {
    uint32_t weight; /* as declared; at least 1 */
    uint32_t liking; /* in sixteenths on top of 1: 0 is indifferent */
    uint64_t uses;
} aphi_option;

enum { APHI_TASTE_RECENT = 32, APHI_LIKING_MAX = 16 * 15 };

typedef struct aphi_taste {
    aphi_option *recent[APHI_TASTE_RECENT]; /* that counted last */
    uint64_t counted;
    aphi_option **drawn;                    /* in the draw under way */
    size_t drawn_count, drawn_capacity;
    aph_value branches;                     /* as last learnt from; to be marked by the owner */
    size_t reached;                         /* branches, by then */
} aphi_taste;

void aphi_taste_deinit(aphi_taste *t);
/* Forgets what was drawn and not used. */
void aphi_taste_begin(aphi_taste *t);
/* One of n > 0 options by weight and liking; among those never used, while there are any. */
size_t aphi_taste_pick(aphi_taste *t, aphi_option *options, size_t n, aphi_choice *c);
void aphi_taste_draw(aphi_taste *t, aphi_option *option); /* this one */
/* What was drawn since begin is used. */
void aphi_taste_use(aphi_taste *t);
/* branches: an object of counts by name, or APH_NIL. */
void aphi_taste_learn(aphi_taste *t, aph_value branches);
/* Its weight as it is now, in sixteenths. */
uint64_t aphi_option_pull(const aphi_option *o);

#endif

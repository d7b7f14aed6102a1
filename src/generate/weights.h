/* SPDX-License-Identifier: Apache-2.0
 *
 * weights.h - adaptive weighted choices: options that led to a new branch of the model are chosen more often.
 *
 * The options of a draw count only if its result is used. When a branch is reached for the first time, the options used
 * last get a bonus, which decays with each later use. */
#ifndef APHI_GENERATE_WEIGHTS_H
#define APHI_GENERATE_WEIGHTS_H

#include <antiphon/value.h>
#include "base/random_choice.h"

typedef struct aphi_weighted {
    uint32_t weight; /* as declared; at least 1 */
    uint32_t bonus;  /* factor 1 + bonus / 16 */
    uint64_t uses;
} aphi_weighted;

enum { APHI_WEIGHTS_RECENT = 32, APHI_WEIGHT_MAX = 16 * 15 };

typedef struct aphi_weights {
    aphi_weighted *recent[APHI_WEIGHTS_RECENT]; /* used last */
    uint64_t used;
    aphi_weighted **drawn;                  /* in the current draw */
    size_t drawn_count, drawn_capacity;
    aph_value branches;                     /* of the latest aphi_weights_learn; marked by the owner */
    size_t reached;                         /* of these branches */
} aphi_weights;

void aphi_weights_deinit(aphi_weights *t);
/* Begins a draw, and discards one that was not used. */
void aphi_weights_begin(aphi_weights *t);
/* Picks one of n > 0 options by weight and bonus, among the unused ones while there are any. */
size_t aphi_weights_pick(aphi_weights *t, aphi_weighted *options, size_t n, aphi_choice *c);
void aphi_weights_draw(aphi_weights *t, aphi_weighted *option); /* picks this option */
/* Records that the options drawn since aphi_weights_begin are used. */
void aphi_weights_use(aphi_weights *t);
/* Gives a bonus if more branches are reached than before. branches: an object of counts by name, or APH_NIL. */
void aphi_weights_learn(aphi_weights *t, aph_value branches);
/* Returns the current weight, with the bonus, in sixteenths. */
uint64_t aphi_weighted_now(const aphi_weighted *o);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * branching.h - where runs part: at a fork one receiver is picked, and all complete runs from there are sorted by what it
 * takes next. */
#ifndef APHI_EXPLORE_BRANCHING_H
#define APHI_EXPLORE_BRANCHING_H

#include "explore/explore_state.h"

enum { APHI_CHOICE_LATER = UINT16_MAX };

typedef struct aphi_choice {
    uint16_t channel; /* or APHI_CHOICE_LATER: what is there sleeps, it takes what comes later */
    uint16_t slot;
} aphi_choice;

typedef struct aphi_choices {
    aphi_choice *at;
    size_t count, capacity;
} aphi_choices;

typedef enum aphi_branching_end {
    APHI_BRANCHING_FORK,
    APHI_BRANCHING_SEQUENCE, /* a complete one */
    APHI_BRANCHING_BLOCKED,  /* no sequence: who sleeps is not woken any more */
} aphi_branching_end;

/* Goes on from the situation at hand to the next fork, or to the end. At a fork, the choices of its receiver were
 * added. */
aphi_branching_end aphi_branching_descend(aphi_explore_state *at, aphi_choices *all, unsigned *receiver);
void aphi_branching_take(aphi_explore_state *at, unsigned receiver, aphi_choice choice);

#endif

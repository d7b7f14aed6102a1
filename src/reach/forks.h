/* SPDX-License-Identifier: Apache-2.0
 *
 * forks.h - where runs part: at a fork one receiver is picked, and all complete runs from there are sorted by what it
 * takes next. */
#ifndef APHI_REACH_FORKS_H
#define APHI_REACH_FORKS_H

#include "reach/situation.h"

enum { APHI_CHOICE_LATER = UINT16_MAX };

typedef struct aphi_choice {
    uint16_t channel; /* or APHI_CHOICE_LATER: what is there sleeps, it takes what comes later */
    uint16_t slot;
} aphi_choice;

typedef struct aphi_choices {
    aphi_choice *at;
    size_t count, capacity;
} aphi_choices;

typedef enum aphi_forks_end {
    APHI_FORKS_FORK,
    APHI_FORKS_SEQUENCE, /* a complete one */
    APHI_FORKS_BLOCKED,  /* no sequence: who sleeps is not woken any more */
} aphi_forks_end;

/* Goes on from the situation at hand to the next fork, or to the end. At a fork, the choices of its receiver were
 * added. */
aphi_forks_end aphi_forks_descend(aphi_situation *at, aphi_choices *all, unsigned *receiver);
void aphi_forks_take(aphi_situation *at, unsigned receiver, aphi_choice choice);

#endif

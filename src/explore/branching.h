/* SPDX-License-Identifier: Apache-2.0
 *
 * branching.h - forks of the search: the receiver to branch on, and its choices. */
#ifndef APHI_EXPLORE_BRANCHING_H
#define APHI_EXPLORE_BRANCHING_H

#include "explore/explore_state.h"

enum { APHI_CHOICE_LATER = UINT16_MAX };

typedef struct aphi_choice {
    uint16_t channel; /* or APHI_CHOICE_LATER: the present messages sleep, and it takes a later one */
    uint16_t slot;
} aphi_choice;

typedef struct aphi_choices {
    aphi_choice *list;
    size_t count, capacity;
} aphi_choices;

typedef enum aphi_branching_result {
    APHI_BRANCHING_FORK,
    APHI_BRANCHING_SEQUENCE, /* a complete run */
    APHI_BRANCHING_BLOCKED,  /* a dead end: a sleeping receiver cannot be woken */
} aphi_branching_result;

/* Runs to the next fork, or to the end. At a fork, sets *receiver and appends its choices to *all. */
aphi_branching_result aphi_branching_run_to_fork(aphi_explore_state *run, aphi_choices *all, unsigned *receiver);
void aphi_branching_apply(aphi_explore_state *run, unsigned receiver, aphi_choice choice);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * explore.h - visit every partially ordered run of a model exactly once.
 *
 * An explorer is one worker: it has a tree to search, or a branch of it that somebody gave away. A branch is a list of
 * small numbers, which choice to take at each fork on the way to it, and means the same to every explorer of the same
 * plan: it can be kept in a file or sent elsewhere. */
#ifndef APHI_EXPLORE_EXPLORE_H
#define APHI_EXPLORE_EXPLORE_H

#include "explore/compiled_model.h"

typedef struct aphi_explorer aphi_explorer;

typedef struct aphi_branch {
    uint16_t *choices; /* free() frees it */
    size_t count, capacity;
    double share;      /* of the whole tree, if all branches of a fork were alike */
} aphi_branch;

typedef struct aphi_explored {
    uint64_t sequences;  /* complete ones that were visited */
    uint64_t deadlocks;  /* of these */
    uint64_t blocked;    /* ends of branches that are no sequences: effort in vain */
    uint64_t forks;
} aphi_explored;

/* Called at each complete sequence; false stops the search after it. The explorer can be asked for its events. */
typedef bool aphi_visit(void *context, aphi_explorer *e);

aphi_explorer *aphi_explorer_open(const aphi_compiled_model *plan, aphi_visit *visit, void *context);
void aphi_explorer_close(aphi_explorer *e);
/* Begins at the root, or at a branch. False: the branch does not exist in this model. */
bool aphi_explorer_begin(aphi_explorer *e, const aphi_branch *branch);
/* What is pending is to take about so many bytes at most, or two forks; 0, as at the beginning: no bound. */
void aphi_explorer_bound(aphi_explorer *e, size_t bytes);
/* Goes on until so many more forks were met or all is done, which it returns: true, nothing is left. It stops at the
 * bound, too: then some must be given away before it can go on. */
bool aphi_explorer_go(aphi_explorer *e, uint64_t forks);
/* Does what is pending take more than that part of the bound? */
bool aphi_explorer_is_full(const aphi_explorer *e, double part);
/* One run to its end, by random choices at forks; draw(n) is below n. False: it was blocked. It leaves nothing to
 * search. */
bool aphi_explorer_walk(aphi_explorer *e, uint64_t (*draw)(void *context, uint64_t n), void *context);
/* Gives a branch away, the largest that is left; false if there is none. branch is written over. */
bool aphi_explorer_split(aphi_explorer *e, aphi_branch *branch);
/* The share of the whole tree that is left to this explorer, if all branches of a fork were alike. */
double aphi_explorer_left(const aphi_explorer *e);
aphi_explored aphi_explorer_told(const aphi_explorer *e);
bool aphi_explorer_stopped(const aphi_explorer *e); /* visit returned false */

/* ---- the sequence at hand, inside a visit ------------------------------------------------------------------------ */

/* What a thread did: an event for each state that it has left. */
typedef struct aphi_step {
    uint32_t state;       /* of the plan, before it */
    uint16_t input;       /* of a receive */
    uint16_t peer;        /* the sender of what was received, a thread */
    uint16_t peer_index;  /* which of its events that was, from 0 */
    bool sync;            /* of a receive */
} aphi_step;

const aphi_step *aphi_explorer_steps(const aphi_explorer *e, size_t thread, size_t *count);
/* The state that the thread has come to, a number of the plan. */
uint32_t aphi_explorer_state(const aphi_explorer *e, size_t thread);

#endif

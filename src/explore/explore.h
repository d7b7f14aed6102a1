/* SPDX-License-Identifier: Apache-2.0
 *
 * explore.h - exploration: each partially ordered run of a model exactly once.
 *
 * An explorer is one worker. It searches the whole tree of runs, or a branch of it. A branch is the list of choices at
 * the forks on the path to it. It is valid for every explorer of the same model, so it can be stored in a file or sent
 * to another process. */
#ifndef APHI_EXPLORE_EXPLORE_H
#define APHI_EXPLORE_EXPLORE_H

#include "explore/compiled_model.h"

typedef struct aphi_explorer aphi_explorer;

typedef struct aphi_branch {
    uint16_t *choices; /* malloc()ed */
    size_t count, capacity;
    double share;      /* estimated share of the whole tree: branches of a fork count equally */
} aphi_branch;

typedef struct aphi_explore_stats {
    uint64_t sequences;  /* complete sequences visited */
    uint64_t deadlocks;  /* of these */
    uint64_t blocked;    /* dead ends: branches without a sequence */
    uint64_t forks;
} aphi_explore_stats;

/* Called at each complete sequence; the functions at the end return its steps. Return false to stop the search. */
typedef bool aphi_visit(void *context, aphi_explorer *e);

aphi_explorer *aphi_explorer_open(const aphi_compiled_model *model, aphi_visit *visit, void *context);
void aphi_explorer_close(aphi_explorer *e);
/* Begins at the root (NULL) or at a branch. Returns false if the branch does not exist in this model. */
bool aphi_explorer_begin(aphi_explorer *e, const aphi_branch *branch);
/* Limits the memory of pending forks to about `bytes`, but at least two forks. 0, the default: no limit. */
void aphi_explorer_limit_memory(aphi_explorer *e, size_t bytes);
/* Searches until `forks` more forks have been visited, the memory limit is reached, or the search is complete. Returns
 * true if the search is complete. At the memory limit, split off branches before the next call. */
bool aphi_explorer_run(aphi_explorer *e, uint64_t forks);
/* Returns true if pending forks use more than the fraction `part` of the memory limit. */
bool aphi_explorer_exceeds(const aphi_explorer *e, double part);
/* Makes one run with random choices at forks; draw(n) returns a number below n. Returns false at a dead end. Nothing is
 * pending afterwards. */
bool aphi_explorer_random_run(aphi_explorer *e, uint64_t (*draw)(void *context, uint64_t n), void *context);
/* Splits off the largest pending branch and overwrites *branch with it. Returns false if none is pending. */
bool aphi_explorer_split(aphi_explorer *e, aphi_branch *branch);
/* Returns the estimated pending share of the whole tree: branches of a fork count equally. */
double aphi_explorer_share_left(const aphi_explorer *e);
aphi_explore_stats aphi_explorer_stats(const aphi_explorer *e);
bool aphi_explorer_stopped(const aphi_explorer *e); /* visit returned false */

/* ---- the current sequence, inside a visit ------------------------------------------------------------------------ */

/* A step of a thread: the event by which it leaves a state. */
typedef struct aphi_step {
    uint32_t state;       /* of the compiled model, before the step */
    uint16_t input;       /* of a receive */
    uint16_t peer;        /* for a receive: the thread that sent */
    uint16_t peer_index;  /* of the send, from 0 */
    bool sync;            /* of a receive */
} aphi_step;

const aphi_step *aphi_explorer_steps(const aphi_explorer *e, size_t thread, size_t *count);
/* The current state of the thread, in the compiled model. */
uint32_t aphi_explorer_state(const aphi_explorer *e, size_t thread);

#endif

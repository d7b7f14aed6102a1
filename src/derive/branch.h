/* SPDX-License-Identifier: Apache-2.0
 *
 * branch.h - a state of the tester: a server, a network, and the constraints on the server's choices; see branch.c. */
#ifndef APHI_DERIVE_BRANCH_H
#define APHI_DERIVE_BRANCH_H

#include "derive/derivation.h"
#include "tree/tree.h"

typedef struct aphi_branch {
    aph_tree *server, *network; /* owned */
    aph_value in, out;          /* packets to and from the server, outside the network: bi and bo of figure 4.11 */
    aph_value store;            /* constraints: V of figure 4.8 */
    uint32_t fresh;             /* symbols are numbered below this */
    aph_value closed;           /* object: the connections that the server has closed */
    aph_value numbers;          /* object: connection that the server opened, as observed -> the model's number */
    aph_value received;         /* array: connection and message of the packet that the server has received last */
    bool muted;                 /* the response to the latest request is lost */
    bool moved;                 /* since its name was last compared */
    size_t at;                  /* number of matched observations */
    bool settled;               /* it has matched all observations, and waits for the next one */
    uint32_t delivered;         /* packets to the server since the observation before delivered_at */
    size_t delivered_at;
    uint32_t idle;              /* events since the server received, the network absorbed, or the branch waited */
} aphi_branch;

/* The solver of a derivation. */
typedef struct aphi_branch_solver {
    int64_t solver_ms;
    bool undecided;             /* the solver gave up on a branch, which was dropped */
} aphi_branch_solver;

aphi_branch aphi_branch_first(const aph_model *model, const aph_model *network, aphi_tree_fault *fault);
aphi_branch aphi_branch_fork(const aphi_branch *b);
void aphi_branch_drop(aphi_branch *b);
void aphi_branch_mark(const aphi_branch *b);

/* Answers the event that *tree, the server or the network of a branch, waits for. */
void aphi_branch_answer(aph_tree **tree, aph_value answer);
/* Adds a condition to the constraints. Returns false if it contradicts them: the branch throws. */
bool aphi_branch_assume(aphi_branch_solver *s, aphi_branch *b, aph_value condition);
/* Answers a choice by a new symbol. */
bool aphi_branch_choose(aphi_branch_solver *s, aphi_branch *b, aph_tree **tree, const aph_event *e);
/* Returns the same value for branches that have the same futures. Renames the symbols of the branch. */
aph_value aphi_branch_name(aphi_branch *b);

#endif

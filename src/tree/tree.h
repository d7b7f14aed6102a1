/* SPDX-License-Identifier: Apache-2.0
 *
 * tree.h - trees of models whose faults are reported instead of aborting the program. */
#ifndef APHI_TREE_TREE_H
#define APHI_TREE_TREE_H

#include <antiphon/oracle.h>

/* The first fault of the models that share it. After a crash or timeout, no more values may be created. */
typedef struct aphi_tree_fault {
    const aph_model *model; /* NULL: no fault */
    aph_fault kind;         /* APH_FAULT_NONE: a limit of step_guard.h was reached */
    char message[280];
} aphi_tree_fault;

/* Returns the model after these answers to the events of the step that started in this state. After a fault of the
 * model, the tree is APH_EVENT_NEVER. *fault must outlive the tree and all trees made from it by answers. */
aph_tree *aphi_tree_resume(const aph_model *model, aph_value state, aph_value answers, aphi_tree_fault *fault);
/* Returns the same model as in t, a tree of a model, with another state and other answers. */
aph_tree *aphi_tree_replace(const aph_tree *t, aph_value state, aph_value answers);
/* Returns the answers since aph_tree_state; APH_NIL for a tree that was not made from a model. */
aph_value aphi_tree_answers(const aph_tree *t);

#endif

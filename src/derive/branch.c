/* SPDX-License-Identifier: Apache-2.0
 *
 * branch.c - the symbolic state of a branch (Li, "Testing by dualization", figure 4.8).
 *
 * Idea:       an internal choice is answered by a new symbol, a guard or a condition is added to the constraints, and a
 *             branch whose constraints have no solution throws. The store of src/solve keeps constraints in normal form
 *             and determines symbols (x = 3); these are substituted at once, in the trees, too: a tree of a model is
 *             its state and its answers, so it is run again with these replaced.
 * Invariants: 1. the constraints of a branch can be satisfied
 *             2. a symbol that is determined occurs nowhere in the branch
 * Cost:       one run of the step for each event of server or network, and for each substitution. */
#include "derive/branch.h"

#include "solve/store.h"
#include "tree/model_calls.h"

enum { ROOTS = 6 };

static aph_value initial_state(const aph_model *model)
{
    return aphi_model_initial(model);
}

static aph_tree *start(const aph_model *model, aph_value state, aphi_tree_fault *fault)
{
    return aphi_tree_resume(model, state, aph_array(0, NULL), fault);
}

aphi_branch aphi_branch_first(const aph_model *model, const aph_model *network, aphi_tree_fault *fault)
{
    aph_value none = aph_array(0, NULL), state = initial_state(model), store = APH_NIL;
    aphi_branch b = {.in = none, .out = none, .closed = aph_object(), .numbers = aph_object(), .moved = true};
    b.fresh = aphi_store_normalize(1, &state, &store);
    b.server = start(model, state, fault);
    b.network = start(network, initial_state(network), fault);
    return b;
}

aphi_branch aphi_branch_fork(const aphi_branch *b)
{
    aphi_branch copy = *b;
    aph_tree_keep(copy.server);
    aph_tree_keep(copy.network);
    return copy;
}

void aphi_branch_drop(aphi_branch *b)
{
    aph_tree_drop(b->server);
    aph_tree_drop(b->network);
}

void aphi_branch_mark(const aphi_branch *b)
{
    aph_mark(b->in);
    aph_mark(b->out);
    aph_mark(b->received);
    aph_mark(b->store);
    aph_mark(b->closed);
    aph_mark(b->numbers);
}

static void replace_tree(aph_tree **tree, aph_tree *next)
{
    aph_tree_drop(*tree);
    *tree = next;
}

/* A tree that has failed, or was abandoned, stays as it is. */
void aphi_branch_answer(aph_tree **tree, aph_value answer)
{
    if (aph_tree_event(*tree).kind != APH_EVENT_NEVER)
        replace_tree(tree, aph_tree_answer(*tree, answer));
}

/* ---- values of a branch that may contain symbols ----------------------------------------------------------------- */

static void get_roots(const aphi_branch *b, aph_value roots[ROOTS])
{
    roots[0] = aph_tree_state(b->server);
    roots[1] = aphi_tree_answers(b->server);
    roots[2] = aph_tree_state(b->network);
    roots[3] = aphi_tree_answers(b->network);
    roots[4] = b->in;
    roots[5] = b->out;
}

static void replace_roots(aphi_branch *b, const aph_value roots[ROOTS])
{
    aph_value before[ROOTS];
    get_roots(b, before);
    if (roots[0] != before[0] || roots[1] != before[1])
        replace_tree(&b->server, aphi_tree_replace(b->server, roots[0], roots[1]));
    if (roots[2] != before[2] || roots[3] != before[3])
        replace_tree(&b->network, aphi_tree_replace(b->network, roots[2], roots[3]));
    b->in = roots[4];
    b->out = roots[5];
}

/* ---- constraints ------------------------------------------------------------------------------------------------- */

static void substitute(aphi_branch *b, const aphi_bindings *values)
{
    aph_value roots[ROOTS];
    get_roots(b, roots);
    for (int i = 0; i < ROOTS; i++)
        roots[i] = aphi_substitute(roots[i], values);
    replace_roots(b, roots);
}

bool aphi_branch_assume(aphi_branch_solver *s, aphi_branch *b, aph_value condition)
{
    aphi_bindings determined = {0};
    aphi_sat sat = aphi_store_assume(b->store, condition, s->solver_ms, &b->store, &determined);
    if (sat == APHI_SAT && aphi_bindings_count(&determined))
        substitute(b, &determined);
    s->undecided |= sat == APHI_UNDECIDED;
    aphi_bindings_deinit(&determined);
    return sat == APHI_SAT;
}

/* Figure 4.8, lines 8 and 9. */
bool aphi_branch_choose(aphi_branch_solver *s, aphi_branch *b, aph_tree **tree, const aph_event *e)
{
    aph_value x = aph_symbol(e->sort, b->fresh++);
    aph_event event = *e; /* the tree is replaced */
    aphi_branch_answer(tree, x);
    return !event.bounded || (aphi_branch_assume(s, b, aph_and(aph_le(aph_int(event.low), x),
                                                               aph_le(x, aph_int(event.high)))));
}

aph_value aphi_branch_name(aphi_branch *b)
{
    aph_value roots[ROOTS];
    get_roots(b, roots);
    if (b->store || b->fresh) {
        b->fresh = aphi_store_normalize(ROOTS, roots, &b->store);
        replace_roots(b, roots);
    }
    return APH_ARRAY_OF(aph_int((int64_t)b->at), aph_array(ROOTS, roots), b->store, b->closed, b->numbers,
                        aph_bool(b->muted));
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * explore.c - visit every partially ordered run of a model exactly once.
 *
 * Idea:       the only free choice of a run is which message a receive takes. What is not a receive is done at once, so
 *             a situation is: everybody waits, for a message or for somebody to take one. A fork picks one receiver and
 *             sorts all runs from here by what it takes next: each message that it could take now, or one that comes
 *             later.
 *             Sorting is what makes it exactly once: no run is in two branches, and none in neither. In the last branch
 *             the messages that are there sleep: the receiver waits until another one comes.
 *             That branch may be empty, which is told early where it can be (branching.c).
 * Picture:    fork: D takes a, or b, or what comes later (a and b sleep)
 *                   |--- a --- ...      the situation before the fork is kept once;
 *                   |--- b --- ...      each branch begins with a copy of it
 *                   `--- later --- ...
 *             Nothing is left at a fork whose branches were all entered or given away; at the bottom it is forgotten,
 *             but for the way that was taken there.
 * Invariants: 1. a message that a receiver could take stays so until it takes one: only the owner of a port receives
 *             from
 *                it, and at most one message a channel can be taken. (Where all senders share one queue, it may come to
 *                be behind another: shared_queue.c.)
 *             2. asleep is part of candidates, and all of them when a receiver begins to sleep
 *             3. messages and steps below the marks of a kept situation are never written over: branches only append
 * Cost:       a copy of the situation a branch, some hundred bytes; memory is that times the depth of the tree.
 * Not done:   race tables, as in the literature: there, a complete run is analysed for what could have been different.
 *             Here the question is asked before the run goes on, so a branch costs what is different about it only.
 * Read next:  compiled_model.h; docs/reach.md, for the argument; tests/property/test_explore.c. */
#include "explore/explore.h"

#include "base/memory.h"
#include "explore/branching.h"

#include <stdlib.h>
#include <string.h>

typedef struct fork {
    uint32_t first, next, end; /* its choices */
    uint32_t all;              /* how many there were, before some were given away */
    uint16_t receiver;
} fork_point;

struct aphi_explorer {
    aphi_explore_state at;      /* the situation at hand; at.now is kept[depth] */
    char *kept;             /* situations, at.size bytes each */
    size_t kept_capacity;   /* in situations */
    fork_point *forks;
    size_t depth, fork_capacity;
    aphi_choices choices;
    uint16_t *prefix;       /* ways taken at the forks before the first: nothing is left there */
    size_t prefix_count, prefix_capacity;
    double prefix_share;    /* of the tree, beyond them */
    size_t bound;           /* bytes; SIZE_MAX: none */
    aphi_visit *visit;
    void *context;
    aphi_explored told;
    bool stopped;
};

/* ---- forks ------------------------------------------------------------------------------------------------------- */

/* The situation at hand is kept; from now on the one at hand is the next place. */
static void push_fork(aphi_explorer *e, unsigned receiver, size_t first)
{
    if (e->depth + 2 > e->kept_capacity) {
        e->kept_capacity = 2 * (e->depth + 2);
        e->kept = aphi_realloc(e->kept, e->kept_capacity * e->at.size);
    }
    APHI_RESERVE(e->forks, e->fork_capacity, e->depth + 1);
    e->forks[e->depth++] = (fork_point){.first = (uint32_t)first, .next = (uint32_t)first,
                                        .end = (uint32_t)e->choices.count, .all = (uint32_t)(e->choices.count - first),
                                        .receiver = (uint16_t)receiver};
    e->told.forks++;
}

static void end_sequence(aphi_explorer *e)
{
    e->told.sequences++;
    e->told.deadlocks += e->at.head->ended != e->at.everybody;
    if (e->visit && !e->visit(e->context, e))
        e->stopped = true;
}

/* Goes on from the situation at hand until a fork, which it pushes, or the end. */
static void descend(aphi_explorer *e)
{
    size_t first = e->choices.count;
    unsigned receiver;
    switch (aphi_branching_descend(&e->at, &e->choices, &receiver)) {
    case APHI_BRANCHING_FORK: push_fork(e, receiver, first); return;
    case APHI_BRANCHING_SEQUENCE: end_sequence(e); return;
    case APHI_BRANCHING_BLOCKED: e->told.blocked++; return;
    }
}

/* The next branch of the newest fork becomes the situation at hand. */
static void enter_next(aphi_explorer *e)
{
    fork_point *f = &e->forks[e->depth - 1];
    aphi_choice c = e->choices.at[f->next++];
    aphi_explore_state_at(&e->at, e->kept + e->depth * e->at.size);
    memcpy(e->at.now, e->kept + (e->depth - 1) * e->at.size, e->at.size);
    aphi_branching_take(&e->at, f->receiver, c);
}

/* Arrays grow by doubling: half of the bound is for what is in them. */
static bool is_beyond(const aphi_explorer *e, size_t bytes)
{
    size_t used = e->depth * (e->at.size + sizeof *e->forks) + e->choices.count * sizeof *e->choices.at;
    return used > bytes / 2 && e->depth > 2;
}

bool aphi_explorer_is_full(const aphi_explorer *e, double part)
{
    return e->bound != SIZE_MAX && is_beyond(e, (size_t)((double)e->bound * part));
}

void aphi_explorer_bound(aphi_explorer *e, size_t bytes)
{
    e->bound = bytes ? bytes : SIZE_MAX;
}

bool aphi_explorer_go(aphi_explorer *e, uint64_t forks)
{
    uint64_t until = e->told.forks + forks;
    while (e->depth && e->told.forks < until && !e->stopped && !is_beyond(e, e->bound)) {
        fork_point *f = &e->forks[e->depth - 1];
        if (f->next == f->end) {
            e->choices.count = f->first;
            e->depth--;
            continue;
        }
        enter_next(e);
        descend(e);
    }
    return e->depth == 0 || e->stopped;
}

/* ---- beginning, branches ----------------------------------------------------------------------------------------- */

aphi_explorer *aphi_explorer_open(const aphi_compiled_model *plan, aphi_visit *visit, void *context)
{
    aphi_explorer *e = aphi_alloc_zero(sizeof *e);
    aphi_explore_state_open(&e->at, plan);
    e->kept_capacity = 16;
    e->kept = aphi_alloc(e->kept_capacity * e->at.size);
    APHI_RESERVE(e->choices.at, e->choices.capacity, 1);
    e->visit = visit;
    e->context = context;
    e->bound = SIZE_MAX;
    return e;
}

void aphi_explorer_close(aphi_explorer *e)
{
    aphi_explore_state_close(&e->at);
    free(e->kept);
    free(e->forks);
    free(e->choices.at);
    free(e->prefix);
    free(e);
}

/* Forgets forks at the bottom at which nothing is left. */
static void drop_bottom(aphi_explorer *e)
{
    size_t n = 0;
    while (n < e->depth && e->forks[n].next == e->forks[n].end)
        n++;
    if (n == 0)
        return;
    APHI_RESERVE(e->prefix, e->prefix_capacity, e->prefix_count + n);
    for (size_t i = 0; i < n; i++) {
        e->prefix[e->prefix_count++] = (uint16_t)(e->forks[i].next - 1 - e->forks[i].first);
        e->prefix_share /= e->forks[i].all;
    }
    uint32_t base = n < e->depth ? e->forks[n].first : (uint32_t)e->choices.count;
    e->depth -= n;
    e->choices.count -= base;
    memmove(e->forks, e->forks + n, e->depth * sizeof *e->forks);
    memmove(e->kept, e->kept + n * e->at.size, e->depth * e->at.size);
    memmove(e->choices.at, e->choices.at + base, e->choices.count * sizeof *e->choices.at);
    for (size_t i = 0; i < e->depth; i++) {
        e->forks[i].first -= base;
        e->forks[i].next -= base;
        e->forks[i].end -= base;
    }
}

static void begin(aphi_explorer *e)
{
    e->depth = e->choices.count = e->prefix_count = 0;
    e->prefix_share = 1;
    e->stopped = false;
    aphi_explore_state_at(&e->at, e->kept);
    aphi_explore_state_begin(&e->at);
    descend(e);
}

bool aphi_explorer_begin(aphi_explorer *e, const aphi_branch *branch)
{
    begin(e);
    if (!branch)
        return true;
    for (size_t i = 0; i < branch->count; i++) {
        fork_point *f = e->forks;
        if (e->depth == 0 || branch->choices[i] >= f->all)
            return false;
        f->next = f->first + branch->choices[i];
        enter_next(e);
        f->end = f->next; /* the others belong to somebody else */
        descend(e);
        drop_bottom(e);
    }
    return true;
}

bool aphi_explorer_walk(aphi_explorer *e, uint64_t (*draw)(void *context, uint64_t n), void *context)
{
    uint64_t before = e->told.sequences;
    begin(e);
    for (size_t i = 0; e->depth == i + 1; i++) {
        fork_point *f = &e->forks[i];
        f->next = f->first + (uint32_t)draw(context, f->all);
        enter_next(e);
        f->end = f->next;
        descend(e);
    }
    e->depth = 0;
    return e->told.sequences > before;
}

bool aphi_explorer_split(aphi_explorer *e, aphi_branch *branch)
{
    drop_bottom(e);
    if (e->depth == 0)
        return false;
    APHI_RESERVE(branch->choices, branch->capacity, e->prefix_count + 1);
    branch->count = e->prefix_count + 1;
    branch->share = e->prefix_share / e->forks[0].all;
    if (e->prefix_count)
        memcpy(branch->choices, e->prefix, e->prefix_count * sizeof *e->prefix);
    branch->choices[e->prefix_count] = (uint16_t)(--e->forks[0].end - e->forks[0].first);
    drop_bottom(e);
    return true;
}

double aphi_explorer_left(const aphi_explorer *e)
{
    double left = 0, each = e->prefix_share;
    for (size_t i = 0; i < e->depth; i++) {
        each /= e->forks[i].all;
        left += each * (e->forks[i].end - e->forks[i].next);
    }
    return left;
}

aphi_explored aphi_explorer_told(const aphi_explorer *e)
{
    return e->told;
}

bool aphi_explorer_stopped(const aphi_explorer *e)
{
    return e->stopped;
}

const aphi_step *aphi_explorer_steps(const aphi_explorer *e, size_t thread, size_t *count)
{
    *count = e->at.done[thread];
    return e->at.steps + e->at.plan->threads[thread].log;
}

uint32_t aphi_explorer_state(const aphi_explorer *e, size_t thread)
{
    return e->at.state[thread];
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * explore.c - exploration: each partially ordered run of a model exactly once.
 *
 * Idea:       the only nondeterminism in a run is which message each receive takes. All other events are done
 *             immediately, so between receives every thread has ended, or waits to receive or to send. A fork picks one
 *             receiver and partitions all runs by the next message that it takes: each message that it can take now, or
 *             a later one. So each run is visited exactly once. In the branch "later", the present messages sleep (a
 *             sleep set): the receiver waits for another message. That branch may be empty; branching.c detects this
 *             early where possible.
 * Picture:    fork: D takes a, or b, or a later message (a and b sleep)
 *                   |--- a --- ...      the state before the fork is saved once;
 *                   |--- b --- ...      each branch begins with a copy of it
 *                   `--- later --- ...
 *             A fork is exhausted when all its branches were entered or split off. Exhausted forks next to the root are
 *             dropped; only the choices taken there are kept.
 * Invariants: 1. a message that a receiver can take remains available until it takes one: only the owner of a port
 *                receives from it, and a channel offers at most one message. (In a queue shared by all senders, a later
 *                message may move ahead: port_queue.c.)
 *             2. asleep is a subset of candidates, and equal to it when a receiver begins to sleep
 *             3. messages and steps of a saved state are never overwritten: branches only append
 * Cost:       one copy of the state per branch, a few hundred bytes; memory is one copy per level of the tree.
 * Not done:   race tables. Reachability testing analyses a complete run and runs each race variant again from a prefix.
 *             Here the choice is made before the run continues, so branches share their prefix.
 * Read next:  compiled_model.h; docs/message-passing.md for the proof; tests/property/test_explore.c. */
#include "explore/explore.h"

#include "base/memory.h"
#include "explore/explore_state.h"

#include <string.h>

typedef struct fork_point {
    uint32_t first, next, end; /* its choices */
    uint32_t choice_count;     /* number before any were split off */
    uint16_t receiver;
} fork_point;

struct aphi_explorer {
    aphi_explore_state run; /* the current state; run.block is saved[depth] */
    char *saved;            /* states before the forks, run.size bytes each */
    size_t saved_capacity;  /* in states */
    fork_point *forks;
    size_t depth, fork_capacity;
    aphi_choices choices;
    uint16_t *prefix;       /* choices at dropped forks */
    size_t prefix_count, prefix_capacity;
    double prefix_share;    /* share of the tree below the dropped forks */
    size_t memory_limit;    /* bytes; SIZE_MAX: none */
    aphi_visit *visit;
    void *context;
    aphi_explore_stats stats;
    bool stopped;
};

/* ---- forks ------------------------------------------------------------------------------------------------------- */

/* Saves the current state and makes the next block the current one. */
static void push_fork(aphi_explorer *e, unsigned receiver, size_t first)
{
    if (e->depth + 2 > e->saved_capacity) {
        e->saved_capacity = 2 * (e->depth + 2);
        e->saved = aphi_realloc(e->saved, e->saved_capacity * e->run.size);
    }
    APHI_RESERVE(e->forks, e->fork_capacity, e->depth + 1);
    e->forks[e->depth++] = (fork_point){.first = (uint32_t)first, .next = (uint32_t)first,
                                        .end = (uint32_t)e->choices.count, .receiver = (uint16_t)receiver,
                                        .choice_count = (uint32_t)(e->choices.count - first)};
    e->stats.forks++;
}

static void end_sequence(aphi_explorer *e)
{
    e->stats.sequences++;
    e->stats.deadlocks += e->run.sets->ended != e->run.all_threads;
    if (e->visit && !e->visit(e->context, e))
        e->stopped = true;
}

/* Runs from the current state to the next fork, which it pushes, or to the end. */
static void run_to_fork(aphi_explorer *e)
{
    size_t first = e->choices.count;
    unsigned receiver;
    switch (aphi_branching_run_to_fork(&e->run, &e->choices, &receiver)) {
    case APHI_BRANCHING_FORK: push_fork(e, receiver, first); return;
    case APHI_BRANCHING_SEQUENCE: end_sequence(e); return;
    case APHI_BRANCHING_BLOCKED: e->stats.blocked++; return;
    }
}

/* Makes the next branch of the newest fork the current state. */
static void enter_next(aphi_explorer *e)
{
    fork_point *f = &e->forks[e->depth - 1];
    aphi_choice c = e->choices.list[f->next++];
    aphi_explore_state_use(&e->run, e->saved + e->depth * e->run.size);
    memcpy(e->run.block, e->saved + (e->depth - 1) * e->run.size, e->run.size);
    aphi_branching_apply(&e->run, f->receiver, c);
}

/* Arrays grow by doubling, so their contents may take half of the limit. */
static bool uses_more_than(const aphi_explorer *e, size_t bytes)
{
    size_t used = e->depth * (e->run.size + sizeof *e->forks) + e->choices.count * sizeof *e->choices.list;
    return used > bytes / 2 && e->depth > 2;
}

bool aphi_explorer_exceeds(const aphi_explorer *e, double part)
{
    return e->memory_limit != SIZE_MAX && uses_more_than(e, (size_t)((double)e->memory_limit * part));
}

void aphi_explorer_limit_memory(aphi_explorer *e, size_t bytes)
{
    e->memory_limit = bytes ? bytes : SIZE_MAX;
}

bool aphi_explorer_run(aphi_explorer *e, uint64_t forks)
{
    uint64_t until = e->stats.forks + forks;
    while (e->depth && e->stats.forks < until && !e->stopped && !uses_more_than(e, e->memory_limit)) {
        fork_point *f = &e->forks[e->depth - 1];
        if (f->next == f->end) {
            e->choices.count = f->first;
            e->depth--;
            continue;
        }
        enter_next(e);
        run_to_fork(e);
    }
    return e->depth == 0 || e->stopped;
}

/* ---- branches ---------------------------------------------------------------------------------------------------- */

aphi_explorer *aphi_explorer_open(const aphi_compiled_model *model, aphi_visit *visit, void *context)
{
    aphi_explorer *e = aphi_alloc_zero(sizeof *e);
    aphi_explore_state_open(&e->run, model);
    e->saved_capacity = 16;
    e->saved = aphi_alloc(e->saved_capacity * e->run.size);
    APHI_RESERVE(e->choices.list, e->choices.capacity, 1);
    e->visit = visit;
    e->context = context;
    e->memory_limit = SIZE_MAX;
    return e;
}

void aphi_explorer_close(aphi_explorer *e)
{
    aphi_explore_state_close(&e->run);
    APHI_FREE_ALL(e->saved, e->forks, e->choices.list, e->prefix, e);
}

/* Drops the exhausted forks next to the root. */
static void drop_exhausted_forks(aphi_explorer *e)
{
    size_t n = 0;
    while (n < e->depth && e->forks[n].next == e->forks[n].end)
        n++;
    if (n == 0)
        return;
    APHI_RESERVE(e->prefix, e->prefix_capacity, e->prefix_count + n);
    for (size_t i = 0; i < n; i++) {
        e->prefix[e->prefix_count++] = (uint16_t)(e->forks[i].next - 1 - e->forks[i].first);
        e->prefix_share /= e->forks[i].choice_count;
    }
    uint32_t base = n < e->depth ? e->forks[n].first : (uint32_t)e->choices.count;
    e->depth -= n;
    e->choices.count -= base;
    memmove(e->forks, e->forks + n, e->depth * sizeof *e->forks);
    memmove(e->saved, e->saved + n * e->run.size, e->depth * e->run.size);
    memmove(e->choices.list, e->choices.list + base, e->choices.count * sizeof *e->choices.list);
    for (size_t i = 0; i < e->depth; i++) {
        e->forks[i].first -= base;
        e->forks[i].next -= base;
        e->forks[i].end -= base;
    }
}

static void begin_run(aphi_explorer *e)
{
    e->depth = e->choices.count = e->prefix_count = 0;
    e->prefix_share = 1;
    e->stopped = false;
    aphi_explore_state_use(&e->run, e->saved);
    aphi_explore_state_begin(&e->run);
    run_to_fork(e);
}

bool aphi_explorer_begin(aphi_explorer *e, const aphi_branch *branch)
{
    begin_run(e);
    if (!branch)
        return true;
    for (size_t i = 0; i < branch->count; i++) {
        fork_point *f = e->forks;
        if (e->depth == 0 || branch->choices[i] >= f->choice_count)
            return false;
        f->next = f->first + branch->choices[i];
        enter_next(e);
        f->end = f->next; /* the other branches belong to other explorers */
        run_to_fork(e);
        drop_exhausted_forks(e);
    }
    return true;
}

bool aphi_explorer_random_run(aphi_explorer *e, uint64_t (*draw)(void *context, uint64_t n), void *context)
{
    uint64_t before = e->stats.sequences;
    begin_run(e);
    for (size_t i = 0; e->depth == i + 1; i++) {
        fork_point *f = &e->forks[i];
        f->next = f->first + (uint32_t)draw(context, f->choice_count);
        enter_next(e);
        f->end = f->next;
        run_to_fork(e);
    }
    e->depth = 0;
    return e->stats.sequences > before;
}

bool aphi_explorer_split(aphi_explorer *e, aphi_branch *branch)
{
    drop_exhausted_forks(e);
    if (e->depth == 0)
        return false;
    APHI_RESERVE(branch->choices, branch->capacity, e->prefix_count + 1);
    branch->count = e->prefix_count + 1;
    branch->share = e->prefix_share / e->forks[0].choice_count;
    if (e->prefix_count)
        memcpy(branch->choices, e->prefix, e->prefix_count * sizeof *e->prefix);
    branch->choices[e->prefix_count] = (uint16_t)(--e->forks[0].end - e->forks[0].first);
    drop_exhausted_forks(e);
    return true;
}

double aphi_explorer_share_left(const aphi_explorer *e)
{
    double left = 0, each = e->prefix_share;
    for (size_t i = 0; i < e->depth; i++) {
        each /= e->forks[i].choice_count;
        left += each * (e->forks[i].end - e->forks[i].next);
    }
    return left;
}

aphi_explore_stats aphi_explorer_stats(const aphi_explorer *e)
{
    return e->stats;
}

bool aphi_explorer_stopped(const aphi_explorer *e)
{
    return e->stopped;
}

const aphi_step *aphi_explorer_steps(const aphi_explorer *e, size_t thread, size_t *count)
{
    *count = e->run.done[thread];
    return e->run.steps + e->run.model->threads[thread].first_step;
}

uint32_t aphi_explorer_state(const aphi_explorer *e, size_t thread)
{
    return e->run.state[thread];
}

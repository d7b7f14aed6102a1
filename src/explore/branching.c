/* SPDX-License-Identifier: Apache-2.0
 *
 * branching.c - where runs part: which receiver to sort by, and what it may take.
 *
 * Idea:       a fork that has no last branch, "what comes later", is better than one that has: so a receiver that
 *             nobody can send anything new to is picked first; and a branch is left as soon as a receiver that sleeps
 *             can no longer be woken. Both are told from what components may still send, which errs on the safe side
 *             only.
 * Invariants: what is picked depends on the situation alone, not on how it came about (but for ports with one
 *             queue). */
#include "explore/branching.h"

#include "base/memory.h"
#include "explore/shared_queue.h"

/* ---- what can still happen --------------------------------------------------------------------------------------- */

static inline const uint64_t *row_of(const aphi_explore_state *at, unsigned thread)
{
    const aphi_compiled_model *p = at->plan;
    return p->later + (size_t)p->states[at->state[thread]].row * p->thread_count;
}

/* Inputs among `reach` that a message from sender would bring anew: in a channel that keeps order, and is not empty, it
 * would be behind. */
static inline uint64_t anew(const aphi_explore_state *at, unsigned sender, unsigned receiver, uint64_t reach)
{
    const aphi_compiled_thread *r = &at->plan->threads[receiver];
    uint64_t full = at->nonempty[receiver] & ~r->unordered & ~r->ordered;
    if (r->inputs > 64)
        return reach;
    while (full && reach) {
        const aphi_compiled_channel *c = &at->plan->channels[r->into[__builtin_ctzll(full)]];
        if (c->sender == sender)
            reach &= ~c->inputs;
        full &= full - 1;
    }
    return reach;
}

static inline bool waits_on(const aphi_explore_state *at, unsigned thread, unsigned receiver)
{
    const aphi_compiled_state *s = &at->plan->states[at->state[thread]];
    return (s->kind == APHI_COMPILED_PASS || s->kind == APHI_COMPILED_POST) &&
           at->plan->channels[s->channel].receiver == receiver;
}

/* May x, if it goes on, get y going? */
static inline bool rouses(const aphi_explore_state *at, unsigned x, unsigned y)
{
    const aphi_compiled_state *s = &at->plan->states[at->state[y]];
    if (s->kind != APHI_COMPILED_RECEIVE)
        return waits_on(at, y, x);
    uint64_t reach = row_of(at, x)[y] & s->open;
    return reach && (!(at->head->slept >> y & 1) || anew(at, x, y, reach));
}

/* Threads that may go on if those of `seed` do, and those of `frozen` do not. */
static uint64_t roused(const aphi_explore_state *at, uint64_t seed, uint64_t frozen)
{
    uint64_t live = seed, fresh = seed, rest = at->everybody & ~seed & ~frozen & ~at->head->ended;
    while (fresh && rest) {
        unsigned x = (unsigned)__builtin_ctzll(fresh);
        fresh &= fresh - 1;
        for (uint64_t others = rest; others; others &= others - 1) {
            unsigned y = (unsigned)__builtin_ctzll(others);
            if (rouses(at, x, y)) {
                uint64_t bit = (uint64_t)1 << y;
                live |= bit;
                fresh |= bit;
                rest &= ~bit;
            }
        }
    }
    return live;
}

/* Threads, whoever they are, that may send the receiver something new, if they go on. */
static uint64_t suppliers(const aphi_explore_state *at, unsigned receiver)
{
    uint64_t open = at->plan->states[at->state[receiver]].open, found = 0;
    uint64_t others = at->everybody & ~at->head->ended & ~((uint64_t)1 << receiver);
    for (; others; others &= others - 1) {
        unsigned x = (unsigned)__builtin_ctzll(others);
        uint64_t reach = row_of(at, x)[receiver] & open;
        if (reach && anew(at, x, receiver, reach))
            found |= (uint64_t)1 << x;
    }
    return found;
}

/* Can those that sleep still be woken? One that reads a queue shared by all may also be stuck for good. */
static bool hopeful(const aphi_explore_state *at)
{
    uint64_t asleep = at->head->slept & ~at->head->awake & ~at->queue_readers;
    return !asleep || !(asleep & ~roused(at, at->head->awake, 0));
}

/* The receiver to sort by. *complete: nothing new can come to it. */
static unsigned pick(const aphi_explore_state *at, bool *complete)
{
    uint64_t awake = at->head->awake, doubtful = 0, from[APHI_ALTS_COMPONENTS_MAX];
    *complete = true;
    for (uint64_t rest = awake & ~at->queue_readers; rest; rest &= rest - 1) {
        unsigned r = (unsigned)__builtin_ctzll(rest);
        from[r] = suppliers(at, r);
        if (!from[r])
            return r;
        doubtful |= (uint64_t)1 << r;
    }
    for (uint64_t rest = doubtful; rest; rest &= rest - 1) {
        unsigned r = (unsigned)__builtin_ctzll(rest);
        uint64_t bit = (uint64_t)1 << r;
        if (!(from[r] & roused(at, awake & ~bit, bit)))
            return r;
    }
    *complete = false;
    return (unsigned)__builtin_ctzll(awake);
}

/* ---- forks ------------------------------------------------------------------------------------------------------- */

static void add_choice(aphi_choices *all, unsigned channel, unsigned slot)
{
    APHI_RESERVE(all->at, all->capacity, all->count + 1);
    all->at[all->count++] = (aphi_choice){.channel = (uint16_t)channel, .slot = (uint16_t)slot};
}

static void list_choices(const aphi_explore_state *at, unsigned receiver, bool complete, aphi_choices *all)
{
    const aphi_compiled_thread *r = &at->plan->threads[receiver];
    for (uint64_t rest = at->candidates[receiver] & ~at->asleep[receiver]; rest; rest &= rest - 1) {
        unsigned channel = r->into[__builtin_ctzll(rest)];
        if (at->plan->channels[channel].medium != APHI_MEDIUM_UNORDERED) {
            add_choice(all, channel, at->first[channel]);
            continue;
        }
        for (unsigned slot = at->slept_until[channel]; slot < at->end[channel]; slot++)
            if (aphi_explore_state_takes(at, receiver, channel, slot))
                add_choice(all, channel, slot);
    }
    if (!complete)
        add_choice(all, APHI_CHOICE_LATER, 0);
}

void aphi_branching_take(aphi_explore_state *at, unsigned receiver, aphi_choice c)
{
    if (c.channel == APHI_CHOICE_LATER)
        aphi_explore_state_sleep(at, receiver);
    else
        aphi_explore_state_receive(at, receiver, c.channel, c.slot);
}

aphi_branching_end aphi_branching_descend(aphi_explore_state *at, aphi_choices *all, unsigned *receiver)
{
    for (;;) {
        bool complete;
        if (at->plan->port_queues)
            aphi_shared_queue_refresh(at);
        if (!at->head->awake)
            return at->head->slept && !aphi_shared_queue_stuck(at) ? APHI_BRANCHING_BLOCKED : APHI_BRANCHING_SEQUENCE;
        if (at->head->slept && !hopeful(at))
            return APHI_BRANCHING_BLOCKED;
        *receiver = pick(at, &complete);
        size_t first = all->count;
        list_choices(at, *receiver, complete, all);
        if (all->count > first + 1)
            return APHI_BRANCHING_FORK;
        all->count = first;
        aphi_branching_take(at, *receiver, all->at[first]);
    }
}

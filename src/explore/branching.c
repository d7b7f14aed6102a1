/* SPDX-License-Identifier: Apache-2.0
 *
 * branching.c - forks of the search: the receiver to branch on, and its choices.
 *
 * Idea:       a fork without the branch "later" is best, so the search first picks a receiver that no new message can
 *             reach (its choices are a persistent set). A branch is abandoned as soon as a sleeping receiver cannot be
 *             woken. Both use an overapproximation of the messages that components may still send.
 * Invariants: the picked receiver depends on the current state alone, not on the path to it (except with ports that
 *             have one queue for all senders). */
#include "explore/explore_state.h"

#include "base/memory.h"

/* ---- possible future messages ------------------------------------------------------------------------------------ */

static inline const uint64_t *may_send_of(const aphi_explore_state *run, unsigned thread)
{
    const aphi_compiled_model *p = run->model;
    return p->may_send + (size_t)p->states[run->state[thread]].may_send_row * p->thread_count;
}

/* Returns the inputs for which another message from the sender would be a new candidate. In an ordered channel that is
 * not empty, it would not be at the front. */
static inline uint64_t new_inputs(const aphi_explore_state *run, unsigned sender, unsigned receiver, uint64_t inputs)
{
    const aphi_compiled_thread *r = &run->model->threads[receiver];
    uint64_t occupied = run->nonempty[receiver] & ~r->unordered & ~r->shared_queue;
    if (r->inputs > 64)
        return inputs;
    while (occupied && inputs) {
        const aphi_compiled_channel *c = &run->model->channels[r->incoming[__builtin_ctzll(occupied)]];
        if (c->sender == sender)
            inputs &= ~c->inputs;
        occupied &= occupied - 1;
    }
    return inputs;
}

static inline bool waits_to_send(const aphi_explore_state *run, unsigned thread, unsigned receiver)
{
    const aphi_compiled_state *s = &run->model->states[run->state[thread]];
    return (s->kind == APHI_COMPILED_PASS || s->kind == APHI_COMPILED_POST) &&
           run->model->channels[s->channel].receiver == receiver;
}

/* Returns true if steps of x may enable y to continue. */
static inline bool may_enable(const aphi_explore_state *run, unsigned x, unsigned y)
{
    const aphi_compiled_state *s = &run->model->states[run->state[y]];
    if (s->kind != APHI_COMPILED_RECEIVE)
        return waits_to_send(run, y, x);
    uint64_t inputs = may_send_of(run, x)[y] & s->open;
    return inputs && (!(run->sets->sleepers >> y & 1) || new_inputs(run, x, y, inputs));
}

/* Returns the threads that may continue if the threads in `seed` continue and those in `frozen` do not. */
static uint64_t may_run(const aphi_explore_state *run, uint64_t seed, uint64_t frozen)
{
    uint64_t live = seed, fresh = seed, rest = run->all_threads & ~seed & ~frozen & ~run->sets->ended;
    while (fresh && rest) {
        unsigned x = (unsigned)__builtin_ctzll(fresh);
        fresh &= fresh - 1;
        for (uint64_t others = rest; others; others &= others - 1) {
            unsigned y = (unsigned)__builtin_ctzll(others);
            if (may_enable(run, x, y)) {
                uint64_t bit = (uint64_t)1 << y;
                live |= bit;
                fresh |= bit;
                rest &= ~bit;
            }
        }
    }
    return live;
}

/* Returns the threads that may send a new candidate to the receiver. */
static uint64_t new_senders(const aphi_explore_state *run, unsigned receiver)
{
    uint64_t open = run->model->states[run->state[receiver]].open, found = 0;
    uint64_t others = run->all_threads & ~run->sets->ended & ~((uint64_t)1 << receiver);
    for (; others; others &= others - 1) {
        unsigned x = (unsigned)__builtin_ctzll(others);
        uint64_t inputs = may_send_of(run, x)[receiver] & open;
        if (inputs && new_inputs(run, x, receiver, inputs))
            found |= (uint64_t)1 << x;
    }
    return found;
}

/* Returns false if a sleeping receiver cannot be woken. Readers of shared queues are ignored: they may remain stuck. */
static bool sleepers_can_wake(const aphi_explore_state *run)
{
    uint64_t asleep = run->sets->sleepers & ~run->sets->awake & ~run->shared_readers;
    return !asleep || !(asleep & ~may_run(run, run->sets->awake, 0));
}

/* Returns the receiver to branch on. Sets *complete if it cannot get a new candidate. */
static unsigned pick_receiver(const aphi_explore_state *run, bool *complete)
{
    uint64_t awake = run->sets->awake, undecided = 0, from[APHI_ALTS_COMPONENTS_MAX];
    *complete = true;
    for (uint64_t rest = awake & ~run->shared_readers; rest; rest &= rest - 1) {
        unsigned r = (unsigned)__builtin_ctzll(rest);
        from[r] = new_senders(run, r);
        if (!from[r])
            return r;
        undecided |= (uint64_t)1 << r;
    }
    for (uint64_t rest = undecided; rest; rest &= rest - 1) {
        unsigned r = (unsigned)__builtin_ctzll(rest);
        uint64_t bit = (uint64_t)1 << r;
        if (!(from[r] & may_run(run, awake & ~bit, bit)))
            return r;
    }
    *complete = false;
    return (unsigned)__builtin_ctzll(awake);
}

/* ---- forks ------------------------------------------------------------------------------------------------------- */

static void add_choice(aphi_choices *all, unsigned channel, unsigned slot)
{
    APHI_RESERVE(all->list, all->capacity, all->count + 1);
    all->list[all->count++] = (aphi_choice){.channel = (uint16_t)channel, .slot = (uint16_t)slot};
}

static void list_choices(const aphi_explore_state *run, unsigned receiver, bool complete, aphi_choices *all)
{
    const aphi_compiled_thread *r = &run->model->threads[receiver];
    for (uint64_t rest = run->candidates[receiver] & ~run->asleep[receiver]; rest; rest &= rest - 1) {
        unsigned channel = r->incoming[__builtin_ctzll(rest)];
        if (run->model->channels[channel].medium != APHI_MEDIUM_UNORDERED) {
            add_choice(all, channel, run->first[channel]);
            continue;
        }
        for (unsigned slot = run->slept_until[channel]; slot < run->end[channel]; slot++)
            if (aphi_explore_state_accepts(run, receiver, channel, slot))
                add_choice(all, channel, slot);
    }
    if (!complete)
        add_choice(all, APHI_CHOICE_LATER, 0);
}

void aphi_branching_apply(aphi_explore_state *run, unsigned receiver, aphi_choice c)
{
    if (c.channel == APHI_CHOICE_LATER)
        aphi_explore_state_sleep(run, receiver);
    else
        aphi_explore_state_receive(run, receiver, c.channel, c.slot);
}

aphi_branching_result aphi_branching_run_to_fork(aphi_explore_state *run, aphi_choices *all, unsigned *receiver)
{
    for (;;) {
        bool complete;
        if (run->model->has_shared_queues)
            aphi_port_queue_refresh(run);
        if (!run->sets->awake)
            return !run->sets->sleepers || aphi_port_queue_stuck(run) ? APHI_BRANCHING_SEQUENCE
                                                                        : APHI_BRANCHING_BLOCKED;
        if (run->sets->sleepers && !sleepers_can_wake(run))
            return APHI_BRANCHING_BLOCKED;
        *receiver = pick_receiver(run, &complete);
        size_t first = all->count;
        list_choices(run, *receiver, complete, all);
        if (all->count > first + 1)
            return APHI_BRANCHING_FORK;
        all->count = first;
        aphi_branching_apply(run, *receiver, all->list[first]);
    }
}

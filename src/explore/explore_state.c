/* SPDX-License-Identifier: Apache-2.0
 *
 * explore_state.c - take a step of a run.
 *
 * Idea:       who could receive what is kept up to date as messages come and states change, never looked for.
 * Invariants: 1. between calls every thread is in a terminal state, or waits: in a receive, in a synchronous send that
 *             is in
 *                its channel, or in an asynchronous one whose channel is full
 *             2. candidates of a channel that keeps order speak of the message at its front
 *             3. candidates of ports with one queue are left to shared_queue.c
 * Cost:       a few table lookups an event. */
#include "explore/explore_state.h"

#include "base/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void aphi_explore_state_open(aphi_explore_state *at, const aphi_compiled_model *plan)
{
    size_t threads = plan->thread_count, channels = plan->channel_count;
    *at = (aphi_explore_state){.plan = plan};
    at->size = sizeof *at->head + threads * (3 * sizeof(uint64_t) + sizeof(uint32_t) + sizeof(uint16_t)) +
               channels * 2 * sizeof(uint16_t);
    if (plan->unordered)
        at->size += channels * (sizeof(uint64_t) + sizeof(uint16_t));
    at->size = (at->size + 7) / 8 * 8;
    at->messages = aphi_alloc((plan->message_room + 1) * sizeof *at->messages);
    at->steps = aphi_alloc((plan->log_room + 1) * sizeof *at->steps);
    at->everybody = threads == 64 ? UINT64_MAX : ((uint64_t)1 << threads) - 1;
    for (size_t t = 0; t < threads; t++)
        if (plan->threads[t].ordered)
            at->queue_readers |= (uint64_t)1 << t;
}

void aphi_explore_state_close(aphi_explore_state *at)
{
    free(at->messages);
    free(at->steps);
}

void aphi_explore_state_at(aphi_explore_state *at, void *block)
{
    size_t threads = at->plan->thread_count, channels = at->plan->channel_count;
    char *p = at->now = block;
    at->head = (void *)p;
    p += sizeof *at->head;
    at->nonempty = (void *)p;
    at->candidates = at->nonempty + threads;
    at->asleep = at->candidates + threads;
    at->taken = at->asleep + threads;
    at->state = (void *)(at->taken + (at->plan->unordered ? channels : 0));
    at->done = (void *)(at->state + threads);
    at->first = at->done + threads;
    at->end = at->first + channels;
    at->slept_until = at->end + channels;
}

/* ---- candidates -------------------------------------------------------------------------------------------------- */

static inline const aphi_compiled_move *move_by(const aphi_explore_state *at, unsigned receiver, unsigned input)
{
    return aphi_compiled_find(at->plan, &at->plan->states[at->state[receiver]], input,
                          at->plan->threads[receiver].inputs <= 64);
}

static inline const aphi_message *message_in(const aphi_explore_state *at, unsigned channel, unsigned slot)
{
    return &at->messages[at->plan->channels[channel].base + slot];
}

bool aphi_explore_state_takes(const aphi_explore_state *at, unsigned receiver, unsigned channel, unsigned slot)
{
    return !(at->taken[channel] >> slot & 1) && move_by(at, receiver, message_in(at, channel, slot)->input);
}

static bool takes_any(const aphi_explore_state *at, unsigned receiver, unsigned channel)
{
    for (unsigned slot = at->first[channel]; slot < at->end[channel]; slot++)
        if (aphi_explore_state_takes(at, receiver, channel, slot))
            return true;
    return false;
}

/* The thread has come to a receive: what could it take? */
static void look_around(aphi_explore_state *at, unsigned thread)
{
    const aphi_compiled_thread *t = &at->plan->threads[thread];
    uint64_t found = 0;
    for (uint64_t rest = at->nonempty[thread] & ~t->ordered; rest; rest &= rest - 1) {
        unsigned bit = (unsigned)__builtin_ctzll(rest), channel = t->into[bit];
        unsigned input = message_in(at, channel, at->first[channel])->input;
        bool can = t->unordered >> bit & 1 ? takes_any(at, thread, channel) : move_by(at, thread, input) != NULL;
        found |= (uint64_t)can << bit;
    }
    at->candidates[thread] = found;
    if (found)
        at->head->awake |= (uint64_t)1 << thread;
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

static void put(aphi_explore_state *at, unsigned channel, aphi_message message)
{
    const aphi_compiled_channel *c = &at->plan->channels[channel];
    uint64_t bit = (uint64_t)1 << c->bit;
    bool front = at->first[channel] == at->end[channel] || c->medium == APHI_MEDIUM_UNORDERED;
    at->messages[c->base + at->end[channel]++] = message;
    at->nonempty[c->receiver] |= bit;
    if (!front || c->medium == APHI_MEDIUM_PORT || !move_by(at, c->receiver, message.input))
        return;
    at->candidates[c->receiver] |= bit;
    at->asleep[c->receiver] &= ~bit;
    at->head->awake |= (uint64_t)1 << c->receiver;
}

static inline void note_step(aphi_explore_state *at, unsigned thread, aphi_step step)
{
    step.state = at->state[thread];
    at->steps[at->plan->threads[thread].log + at->done[thread]++] = step;
}

static bool is_full(const aphi_explore_state *at, unsigned channel)
{
    unsigned in_transit = (unsigned)(at->end[channel] - at->first[channel]);
    const aphi_compiled_channel *c = &at->plan->channels[channel];
    if (c->medium == APHI_MEDIUM_UNORDERED)
        in_transit = at->end[channel] - (unsigned)__builtin_popcountll(at->taken[channel]);
    return in_transit >= c->capacity;
}

/* The thread goes on until it has to wait. */
static void go_on(aphi_explore_state *at, unsigned thread)
{
    const aphi_compiled_model *p = at->plan;
    for (;;) {
        const aphi_compiled_state *s = &p->states[at->state[thread]];
        switch ((aphi_compiled_kind)s->kind) {
        case APHI_COMPILED_TERMINAL:
            at->head->ended |= (uint64_t)1 << thread;
            return;
        case APHI_COMPILED_RECEIVE:
            look_around(at, thread);
            return;
        case APHI_COMPILED_PASS:
            put(at, s->channel, (aphi_message){.input = s->input, .index = at->done[thread], .sync = true});
            return;
        case APHI_COMPILED_POST:
            if (is_full(at, s->channel))
                return;
            put(at, s->channel, (aphi_message){.input = s->input, .index = at->done[thread]});
            break;
        case APHI_COMPILED_LOCAL:
            break;
        }
        note_step(at, thread, (aphi_step){0});
        at->state[thread] = p->moves[s->first].target;
    }
}

void aphi_explore_state_begin(aphi_explore_state *at)
{
    memset(at->now, 0, at->size);
    for (size_t t = 0; t < at->plan->thread_count; t++)
        at->state[t] = at->plan->threads[t].initial;
    for (size_t t = 0; t < at->plan->thread_count; t++)
        go_on(at, (unsigned)t);
}

static void take_out(aphi_explore_state *at, unsigned channel, unsigned slot)
{
    const aphi_compiled_channel *c = &at->plan->channels[channel];
    if (c->medium == APHI_MEDIUM_UNORDERED) {
        at->taken[channel] |= (uint64_t)1 << slot;
        while (at->first[channel] < at->end[channel] && (at->taken[channel] >> at->first[channel] & 1))
            at->first[channel]++;
    } else {
        at->first[channel]++;
    }
    if (at->first[channel] == at->end[channel])
        at->nonempty[c->receiver] &= ~((uint64_t)1 << c->bit);
}

static void wake(aphi_explore_state *at, unsigned thread)
{
    const aphi_compiled_thread *t = &at->plan->threads[thread];
    uint64_t bit = (uint64_t)1 << thread;
    at->candidates[thread] = at->asleep[thread] = 0;
    at->head->awake &= ~bit;
    at->head->slept &= ~bit;
    for (uint64_t rest = t->unordered; rest; rest &= rest - 1)
        at->slept_until[t->into[__builtin_ctzll(rest)]] = 0;
}

/* The sender of what was taken may go on: it waited for that, or for room. */
static void release(aphi_explore_state *at, unsigned channel, bool sync)
{
    unsigned sender = at->plan->channels[channel].sender;
    const aphi_compiled_state *s = &at->plan->states[at->state[sender]];
    if (sync) {
        note_step(at, sender, (aphi_step){0});
        at->state[sender] = at->plan->moves[s->first].target;
        go_on(at, sender);
    } else if (s->kind == APHI_COMPILED_POST && s->channel == channel) {
        go_on(at, sender);
    }
}

void aphi_explore_state_receive(aphi_explore_state *at, unsigned receiver, unsigned channel, unsigned slot)
{
    aphi_message m = *message_in(at, channel, slot);
    const aphi_compiled_move *move = move_by(at, receiver, m.input);
    assert(move);
    note_step(at, receiver, (aphi_step){.input = m.input, .peer = at->plan->channels[channel].sender,
                                        .peer_index = m.index, .sync = m.sync});
    take_out(at, channel, slot);
    wake(at, receiver);
    at->state[receiver] = move->target;
    release(at, channel, m.sync);
    go_on(at, receiver);
}

void aphi_explore_state_sleep(aphi_explore_state *at, unsigned receiver)
{
    const aphi_compiled_thread *t = &at->plan->threads[receiver];
    uint64_t bit = (uint64_t)1 << receiver;
    at->asleep[receiver] = at->candidates[receiver];
    at->head->slept |= bit;
    at->head->awake &= ~bit;
    for (uint64_t rest = t->unordered; rest; rest &= rest - 1) {
        unsigned channel = t->into[__builtin_ctzll(rest)];
        at->slept_until[channel] = at->end[channel];
    }
}

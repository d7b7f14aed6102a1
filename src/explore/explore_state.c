/* SPDX-License-Identifier: Apache-2.0
 *
 * explore_state.c - steps of a run.
 *
 * Idea:       candidates are updated incrementally as messages arrive and thread states change.
 * Invariants: 1. between calls every thread is in a terminal state, or waits: in a receive, in a synchronous send whose
 *                message is in its channel, or in an asynchronous send to a full channel
 *             2. a candidate of an ordered channel refers to the message at its front
 *             3. candidates of ports with one queue for all senders are computed by port_queue.c
 * Cost:       a few table lookups per event. */
#include "explore/explore_state.h"

#include "base/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void aphi_explore_state_open(aphi_explore_state *run, const aphi_compiled_model *model)
{
    size_t threads = model->thread_count, channels = model->channel_count;
    *run = (aphi_explore_state){.model = model};
    run->size = sizeof *run->sets + threads * (3 * sizeof(uint64_t) + sizeof(uint32_t) + sizeof(uint16_t)) +
               channels * 2 * sizeof(uint16_t);
    if (model->has_unordered)
        run->size += channels * (sizeof(uint64_t) + sizeof(uint16_t));
    run->size = (run->size + 7) / 8 * 8;
    run->messages = aphi_alloc((model->message_capacity + 1) * sizeof *run->messages);
    run->steps = aphi_alloc((model->step_capacity + 1) * sizeof *run->steps);
    run->all_threads = threads == 64 ? UINT64_MAX : ((uint64_t)1 << threads) - 1;
    for (size_t t = 0; t < threads; t++)
        if (model->threads[t].shared_queue)
            run->shared_readers |= (uint64_t)1 << t;
}

void aphi_explore_state_close(aphi_explore_state *run)
{
    free(run->messages);
    free(run->steps);
}

void aphi_explore_state_use(aphi_explore_state *run, void *block)
{
    size_t threads = run->model->thread_count, channels = run->model->channel_count;
    char *p = run->block = block;
    run->sets = (void *)p;
    p += sizeof *run->sets;
    run->nonempty = (void *)p;
    run->candidates = run->nonempty + threads;
    run->asleep = run->candidates + threads;
    run->taken = run->asleep + threads;
    run->state = (void *)(run->taken + (run->model->has_unordered ? channels : 0));
    run->done = (void *)(run->state + threads);
    run->first = run->done + threads;
    run->end = run->first + channels;
    run->slept_until = run->end + channels;
}

/* ---- candidates -------------------------------------------------------------------------------------------------- */

static inline const aphi_compiled_move *receive_move(const aphi_explore_state *run, unsigned receiver, unsigned input)
{
    return aphi_compiled_receive(run->model, &run->model->states[run->state[receiver]], input,
                                 run->model->threads[receiver].inputs <= 64);
}

static inline const aphi_message *message_in(const aphi_explore_state *run, unsigned channel, unsigned slot)
{
    return &run->messages[run->model->channels[channel].base + slot];
}

bool aphi_explore_state_accepts(const aphi_explore_state *run, unsigned receiver, unsigned channel, unsigned slot)
{
    return !(run->taken[channel] >> slot & 1) && receive_move(run, receiver, message_in(run, channel, slot)->input);
}

static bool accepts_any(const aphi_explore_state *run, unsigned receiver, unsigned channel)
{
    for (unsigned slot = run->first[channel]; slot < run->end[channel]; slot++)
        if (aphi_explore_state_accepts(run, receiver, channel, slot))
            return true;
    return false;
}

/* Computes the candidates of a thread that has reached a receive. */
static void find_candidates(aphi_explore_state *run, unsigned thread)
{
    const aphi_compiled_thread *t = &run->model->threads[thread];
    uint64_t found = 0;
    for (uint64_t rest = run->nonempty[thread] & ~t->shared_queue; rest; rest &= rest - 1) {
        unsigned bit = (unsigned)__builtin_ctzll(rest), channel = t->incoming[bit];
        unsigned input = message_in(run, channel, run->first[channel])->input;
        bool open = t->unordered >> bit & 1 ? accepts_any(run, thread, channel)
                                           : receive_move(run, thread, input) != NULL;
        found |= (uint64_t)open << bit;
    }
    run->candidates[thread] = found;
    if (found)
        run->sets->awake |= (uint64_t)1 << thread;
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

static void put_message(aphi_explore_state *run, unsigned channel, aphi_message message)
{
    const aphi_compiled_channel *c = &run->model->channels[channel];
    uint64_t bit = (uint64_t)1 << c->bit;
    bool front = run->first[channel] == run->end[channel] || c->medium == APHI_MEDIUM_UNORDERED;
    run->messages[c->base + run->end[channel]++] = message;
    run->nonempty[c->receiver] |= bit;
    if (!front || c->medium == APHI_MEDIUM_PORT || !receive_move(run, c->receiver, message.input))
        return;
    run->candidates[c->receiver] |= bit;
    run->asleep[c->receiver] &= ~bit;
    run->sets->awake |= (uint64_t)1 << c->receiver;
}

static inline void append_step(aphi_explore_state *run, unsigned thread, aphi_step step)
{
    step.state = run->state[thread];
    run->steps[run->model->threads[thread].first_step + run->done[thread]++] = step;
}

static bool is_full(const aphi_explore_state *run, unsigned channel)
{
    unsigned in_transit = (unsigned)(run->end[channel] - run->first[channel]);
    const aphi_compiled_channel *c = &run->model->channels[channel];
    if (c->medium == APHI_MEDIUM_UNORDERED)
        in_transit = run->end[channel] - (unsigned)__builtin_popcountll(run->taken[channel]);
    return in_transit >= c->capacity;
}

/* Runs the thread until it ends or waits. */
static void run_thread(aphi_explore_state *run, unsigned thread)
{
    const aphi_compiled_model *p = run->model;
    for (;;) {
        const aphi_compiled_state *s = &p->states[run->state[thread]];
        switch ((aphi_compiled_kind)s->kind) {
        case APHI_COMPILED_TERMINAL:
            run->sets->ended |= (uint64_t)1 << thread;
            return;
        case APHI_COMPILED_RECEIVE:
            find_candidates(run, thread);
            return;
        case APHI_COMPILED_PASS:
            put_message(run, s->channel, (aphi_message){.input = s->input, .index = run->done[thread], .sync = true});
            return;
        case APHI_COMPILED_POST:
            if (is_full(run, s->channel))
                return;
            put_message(run, s->channel, (aphi_message){.input = s->input, .index = run->done[thread]});
            break;
        case APHI_COMPILED_LOCAL:
            break;
        }
        append_step(run, thread, (aphi_step){0});
        run->state[thread] = p->moves[s->first].target;
    }
}

void aphi_explore_state_begin(aphi_explore_state *run)
{
    memset(run->block, 0, run->size);
    for (size_t t = 0; t < run->model->thread_count; t++)
        run->state[t] = run->model->threads[t].initial;
    for (size_t t = 0; t < run->model->thread_count; t++)
        run_thread(run, (unsigned)t);
}

static void remove_message(aphi_explore_state *run, unsigned channel, unsigned slot)
{
    const aphi_compiled_channel *c = &run->model->channels[channel];
    if (c->medium == APHI_MEDIUM_UNORDERED) {
        run->taken[channel] |= (uint64_t)1 << slot;
        while (run->first[channel] < run->end[channel] && (run->taken[channel] >> run->first[channel] & 1))
            run->first[channel]++;
    } else {
        run->first[channel]++;
    }
    if (run->first[channel] == run->end[channel])
        run->nonempty[c->receiver] &= ~((uint64_t)1 << c->bit);
}

static void clear_sleep(aphi_explore_state *run, unsigned thread)
{
    const aphi_compiled_thread *t = &run->model->threads[thread];
    uint64_t bit = (uint64_t)1 << thread;
    run->candidates[thread] = run->asleep[thread] = 0;
    run->sets->awake &= ~bit;
    run->sets->sleepers &= ~bit;
    for (uint64_t rest = t->unordered; rest; rest &= rest - 1)
        run->slept_until[t->incoming[__builtin_ctzll(rest)]] = 0;
}

/* Resumes the sender if it waited for the receive or for room in the channel. */
static void resume_sender(aphi_explore_state *run, unsigned channel, bool sync)
{
    unsigned sender = run->model->channels[channel].sender;
    const aphi_compiled_state *s = &run->model->states[run->state[sender]];
    if (sync) {
        append_step(run, sender, (aphi_step){0});
        run->state[sender] = run->model->moves[s->first].target;
        run_thread(run, sender);
    } else if (s->kind == APHI_COMPILED_POST && s->channel == channel) {
        run_thread(run, sender);
    }
}

void aphi_explore_state_receive(aphi_explore_state *run, unsigned receiver, unsigned channel, unsigned slot)
{
    aphi_message m = *message_in(run, channel, slot);
    const aphi_compiled_move *move = receive_move(run, receiver, m.input);
    assert(move);
    append_step(run, receiver, (aphi_step){.input = m.input, .peer = run->model->channels[channel].sender,
                                           .peer_index = m.index, .sync = m.sync});
    remove_message(run, channel, slot);
    clear_sleep(run, receiver);
    run->state[receiver] = move->target;
    resume_sender(run, channel, m.sync);
    run_thread(run, receiver);
}

void aphi_explore_state_sleep(aphi_explore_state *run, unsigned receiver)
{
    const aphi_compiled_thread *t = &run->model->threads[receiver];
    uint64_t bit = (uint64_t)1 << receiver;
    run->asleep[receiver] = run->candidates[receiver];
    run->sets->sleepers |= bit;
    run->sets->awake &= ~bit;
    for (uint64_t rest = t->unordered; rest; rest &= rest - 1) {
        unsigned channel = t->incoming[__builtin_ctzll(rest)];
        run->slept_until[channel] = run->end[channel];
    }
}

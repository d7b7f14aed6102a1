/* SPDX-License-Identifier: Apache-2.0
 *
 * counting.c - the number of partially ordered runs of a model, without visiting each.
 *
 * Idea:       the search is that of explore.c, whose forks partition the runs. The number of runs below a fork depends
 *             only on the state and the sleeping messages at the fork, not on the path to it, so it is memoized.
 * Invariants: two states with the same key have the same forks, choice by choice, and the same number of sequences. The
 *             key has the states of all threads, the messages in each channel in order, and the sleeping ones among
 *             them. These determine all other fields of a state.
 * Cost:       a key of a few dozen bytes and two counts for each distinct fork.
 * Not done:   ports with one queue for all senders: the possible fronts depend on the whole run so far, so nothing is
 *             memoized, and all sequences are visited. */
#include "explore/counting.h"

#include "base/memory.h"
#include "explore/explore_state.h"
#include "base/intern.h"

#include <string.h>

enum { FORKS_BETWEEN = 1024 }; /* between two checks of the limits */

typedef struct count {
    aphi_uint128 sequences, deadlocks;
} count;

typedef struct counter {
    aphi_explore_state run;
    aphi_choices choices;
    char *saved;            /* states of the forks on the path */
    size_t saved_capacity;
    aphi_intern memo;
    count *counts;          /* by key */
    size_t count_capacity;
    unsigned char *key;
    uint64_t forks;
    double done;            /* share of the tree */
    void (*progress)(double share);
    const volatile sig_atomic_t *stop;
    size_t memory_limit;    /* of memo and counts, in bytes */
    bool overflow, stopped, too_large;
} counter;

/* ---- keys -------------------------------------------------------------------------------------------------------- */

enum { NUMBER_BYTES = 10 }; /* maximum */

static unsigned char *put_number(unsigned char *p, uint64_t number)
{
    for (; number > 127; number >>= 7)
        *p++ = (unsigned char)(number | 128);
    *p++ = (unsigned char)number;
    return p;
}

/* In an unordered channel, received slots are omitted, and slots that sleep are marked. */
static unsigned char *put_channel(const aphi_explore_state *run, unsigned channel, unsigned char *p)
{
    const aphi_compiled_channel *c = &run->model->channels[channel];
    bool unordered = c->medium == APHI_MEDIUM_UNORDERED;
    for (unsigned slot = run->first[channel]; slot < run->end[channel]; slot++) {
        if (unordered && run->taken[channel] >> slot & 1)
            continue;
        bool sleeps = unordered && slot < run->slept_until[channel];
        p = put_number(p, 2 * (run->messages[c->base + slot].input + 1u) + sleeps);
    }
    return put_number(p, 0);
}

static size_t make_key(const aphi_explore_state *run, unsigned char *key)
{
    unsigned char *p = put_number(key, run->sets->sleepers);
    for (unsigned t = 0; t < run->model->thread_count; t++) {
        const aphi_compiled_thread *thread = &run->model->threads[t];
        p = put_number(p, run->state[t] - thread->base);
        p = put_number(p, run->nonempty[t]);
        if (run->sets->sleepers >> t & 1)
            p = put_number(p, run->asleep[t]);
        for (uint64_t rest = run->nonempty[t]; rest; rest &= rest - 1)
            p = put_channel(run, thread->incoming[__builtin_ctzll(rest)], p);
    }
    return (size_t)(p - key);
}

/* ---- counting ---------------------------------------------------------------------------------------------------- */

static aphi_uint128 add_checked(counter *k, aphi_uint128 a, aphi_uint128 b)
{
    k->overflow |= a + b < a;
    return a + b;
}

static void check_limits(counter *k)
{
    if (++k->forks % FORKS_BETWEEN)
        return;
    /* Uses capacities, not sizes: arrays grow by a factor of two, the hash table by four. */
    size_t used = k->memo.byte_capacity + k->memo.start_capacity * sizeof *k->memo.start +
                  k->memo.slot_count * sizeof *k->memo.slots + k->count_capacity * sizeof *k->counts;
    k->too_large |= used > k->memory_limit;
    k->stopped |= k->too_large || (k->stop && *k->stop);
    if (k->progress)
        k->progress(k->done);
}

static count count_from(counter *k, size_t depth, double share);

static count count_branches(counter *k, size_t depth, unsigned receiver, size_t first, double share)
{
    count all = {0};
    size_t end = k->choices.count;
    if (depth + 2 > k->saved_capacity) {
        k->saved_capacity = 2 * (depth + 2);
        k->saved = aphi_realloc(k->saved, k->saved_capacity * k->run.size);
    }
    for (size_t i = first; i < end && !k->stopped; i++) {
        aphi_choice choice = k->choices.list[i];
        aphi_explore_state_use(&k->run, k->saved + (depth + 1) * k->run.size);
        memcpy(k->run.block, k->saved + depth * k->run.size, k->run.size);
        aphi_branching_apply(&k->run, receiver, choice);
        count more = count_from(k, depth + 1, share / (double)(end - first));
        all.sequences = add_checked(k, all.sequences, more.sequences);
        all.deadlocks += more.deadlocks;
    }
    return all;
}

/* Counts from the current state, which is saved[depth]. */
static count count_from(counter *k, size_t depth, double share)
{
    unsigned receiver;
    size_t first = k->choices.count;
    count found = {0};
    aphi_branching_result end = aphi_branching_run_to_fork(&k->run, &k->choices, &receiver);
    if (end != APHI_BRANCHING_FORK) {
        k->done += share;
        found.sequences = end == APHI_BRANCHING_SEQUENCE;
        found.deadlocks = found.sequences && k->run.sets->ended != k->run.all_threads;
        return found;
    }
    check_limits(k);
    uint32_t number = 0;
    bool memoizes = !k->run.model->has_shared_queues;
    if (memoizes) {
        size_t before = k->memo.count;
        number = aphi_intern_number(&k->memo, k->key, make_key(&k->run, k->key));
        if (number < before) {
            k->choices.count = first;
            k->done += share;
            return k->counts[number];
        }
    }
    found = count_branches(k, depth, receiver, first, share);
    k->choices.count = first;
    if (memoizes) {
        APHI_RESERVE(k->counts, k->count_capacity, k->memo.count);
        k->counts[number] = found;
    }
    return found;
}

aphi_sequence_count aphi_count_sequences(const aphi_compiled_model *model, size_t memory_limit,
                                         const volatile sig_atomic_t *stop, void (*progress)(double share))
{
    counter k = {.memory_limit = memory_limit, .stop = stop, .progress = progress, .saved_capacity = 16};
    aphi_explore_state_open(&k.run, model);
    k.saved = aphi_alloc(k.saved_capacity * k.run.size);
    k.key = aphi_alloc(NUMBER_BYTES * (1 + 3 * model->thread_count + model->channel_count + model->message_capacity));
    aphi_explore_state_use(&k.run, k.saved);
    aphi_explore_state_begin(&k.run);
    count all = count_from(&k, 0, 1);
    aphi_sequence_count result = {.sequences = all.sequences, .deadlocks = all.deadlocks, .overflow = k.overflow,
                                  .stopped = k.stopped, .too_large = k.too_large, .states = k.memo.count};
    aphi_explore_state_close(&k.run);
    aphi_intern_free(&k.memo);
    APHI_FREE_ALL(k.saved, k.choices.list, k.counts, k.key);
    return result;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * counting.c - how many partially ordered runs a model has, without visiting them.
 *
 * Idea:       the search of explore.c, whose forks sort all runs so that each is in one branch only. How many there are
 *             beyond a fork depends on the situation there and on what sleeps, not on how it came about: so that is
 *             counted once, and remembered.
 * Invariants: two situations of one key have the same forks, choice by choice, and so the same number of sequences. The
 *             key has the states of all threads, what is in transit in each channel, in its order, and what of it
 *             sleeps; all else of a situation follows from these: what could be received, who is awake, who waits for
 *             what, and how much room there is.
 * Cost:       a key for each fork that is different, some dozen bytes, and two counts.
 * Not done:   ports with one queue for all senders: what can be at the front there depends on the whole run so far, so
 *             nothing is remembered, and all sequences are visited. */
#include "explore/counting.h"

#include "base/memory.h"
#include "explore/branching.h"
#include "base/intern.h"

#include <stdlib.h>
#include <string.h>

enum { FORKS_BETWEEN = 1024 }; /* looks at the clock, and at *stop */

typedef struct count {
    aphi_uint128 sequences, deadlocks;
} count;

typedef struct counter {
    aphi_explore_state at;
    aphi_choices choices;
    char *kept;             /* the situations of the forks on the way */
    size_t kept_capacity;
    aphi_intern memo;
    count *counts;          /* of each key */
    size_t count_capacity;
    unsigned char *key;
    uint64_t forks;
    double done;            /* share of the whole */
    void (*progress)(double share);
    const volatile sig_atomic_t *stop;
    size_t bytes;           /* that may be remembered */
    bool overflow, stopped, too_large;
} counter;

/* ---- keys -------------------------------------------------------------------------------------------------------- */

enum { NUMBER_BYTES = 10 }; /* at most */

static unsigned char *put(unsigned char *p, uint64_t number)
{
    for (; number > 127; number >>= 7)
        *p++ = (unsigned char)(number | 128);
    *p++ = (unsigned char)number;
    return p;
}

/* Of an unordered channel it matters what was taken out of the middle, and what came before its receiver went to
 * sleep. */
static unsigned char *put_channel(const aphi_explore_state *at, unsigned channel, unsigned char *p)
{
    const aphi_compiled_channel *c = &at->plan->channels[channel];
    bool unordered = c->medium == APHI_MEDIUM_UNORDERED;
    for (unsigned slot = at->first[channel]; slot < at->end[channel]; slot++) {
        if (unordered && at->taken[channel] >> slot & 1)
            continue;
        bool sleeps = unordered && slot < at->slept_until[channel];
        p = put(p, 2 * (at->messages[c->base + slot].input + 1u) + sleeps);
    }
    return put(p, 0);
}

static size_t make_key(const aphi_explore_state *at, unsigned char *key)
{
    unsigned char *p = put(key, at->head->slept);
    for (unsigned t = 0; t < at->plan->thread_count; t++) {
        const aphi_compiled_thread *thread = &at->plan->threads[t];
        p = put(p, at->state[t] - thread->base);
        p = put(p, at->nonempty[t]);
        if (at->head->slept >> t & 1)
            p = put(p, at->asleep[t]);
        for (uint64_t rest = at->nonempty[t]; rest; rest &= rest - 1)
            p = put_channel(at, thread->into[__builtin_ctzll(rest)], p);
    }
    return (size_t)(p - key);
}

/* ---- counting ---------------------------------------------------------------------------------------------------- */

static aphi_uint128 sum(counter *k, aphi_uint128 a, aphi_uint128 b)
{
    k->overflow |= a + b < a;
    return a + b;
}

static void look_up(counter *k)
{
    if (++k->forks % FORKS_BETWEEN)
        return;
    /* Arrays grow by doubling, and the table of keys by four. */
    size_t held = k->memo.byte_capacity + k->memo.start_capacity * sizeof *k->memo.start +
                  k->memo.slot_count * sizeof *k->memo.slots + k->count_capacity * sizeof *k->counts;
    k->too_large |= held > k->bytes;
    k->stopped |= k->too_large || (k->stop && *k->stop);
    if (k->progress)
        k->progress(k->done);
}

static count count_from(counter *k, size_t depth, double share);

static count count_branches(counter *k, size_t depth, unsigned receiver, size_t first, double share)
{
    count all = {0};
    size_t end = k->choices.count;
    if (depth + 2 > k->kept_capacity) {
        k->kept_capacity = 2 * (depth + 2);
        k->kept = aphi_realloc(k->kept, k->kept_capacity * k->at.size);
    }
    for (size_t i = first; i < end && !k->stopped; i++) {
        aphi_choice choice = k->choices.at[i];
        aphi_explore_state_at(&k->at, k->kept + (depth + 1) * k->at.size);
        memcpy(k->at.now, k->kept + depth * k->at.size, k->at.size);
        aphi_branching_take(&k->at, receiver, choice);
        count more = count_from(k, depth + 1, share / (double)(end - first));
        all.sequences = sum(k, all.sequences, more.sequences);
        all.deadlocks += more.deadlocks;
    }
    return all;
}

/* From the situation at hand, which is kept[depth]. */
static count count_from(counter *k, size_t depth, double share)
{
    unsigned receiver;
    size_t first = k->choices.count;
    count found = {0};
    aphi_branching_end end = aphi_branching_descend(&k->at, &k->choices, &receiver);
    if (end != APHI_BRANCHING_FORK) {
        k->done += share;
        found.sequences = end == APHI_BRANCHING_SEQUENCE;
        found.deadlocks = found.sequences && k->at.head->ended != k->at.everybody;
        return found;
    }
    look_up(k);
    uint32_t number = 0;
    bool remembers = !k->at.plan->port_queues;
    if (remembers) {
        size_t before = k->memo.count;
        number = aphi_intern_number(&k->memo, k->key, make_key(&k->at, k->key));
        if (number < before) {
            k->choices.count = first;
            k->done += share;
            return k->counts[number];
        }
    }
    found = count_branches(k, depth, receiver, first, share);
    k->choices.count = first;
    if (remembers) {
        APHI_RESERVE(k->counts, k->count_capacity, k->memo.count);
        k->counts[number] = found;
    }
    return found;
}

aphi_counted aphi_counting(const aphi_compiled_model *plan, size_t bytes, const volatile sig_atomic_t *stop,
                           void (*progress)(double share))
{
    counter k = {.bytes = bytes, .stop = stop, .progress = progress, .kept_capacity = 16};
    aphi_explore_state_open(&k.at, plan);
    k.kept = aphi_alloc(k.kept_capacity * k.at.size);
    k.key = aphi_alloc(NUMBER_BYTES * (1 + 3 * plan->thread_count + plan->channel_count + plan->message_room));
    aphi_explore_state_at(&k.at, k.kept);
    aphi_explore_state_begin(&k.at);
    count all = count_from(&k, 0, 1);
    aphi_counted answer = {.sequences = all.sequences, .deadlocks = all.deadlocks, .overflow = k.overflow,
                           .stopped = k.stopped, .too_large = k.too_large, .situations = k.memo.count};
    aphi_explore_state_close(&k.at);
    aphi_intern_free(&k.memo);
    free(k.kept);
    free(k.choices.at);
    free(k.counts);
    free(k.key);
    return answer;
}

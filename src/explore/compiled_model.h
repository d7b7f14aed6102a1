/* SPDX-License-Identifier: Apache-2.0
 *
 * compiled_model.h - a model made ready for the search: flat arrays, small numbers, bit sets.
 *
 * States of all components are numbered through. What a component can receive, a pair of port and label, is an input,
 * numbered within the component. A channel is a sender and a port; channels into a component have bits within it. */
#ifndef APHI_EXPLORE_COMPILED_MODEL_H
#define APHI_EXPLORE_COMPILED_MODEL_H

#include "alts/alts.h"

enum { APHI_COMPILED_MESSAGES_MAX = 64 }; /* in an unordered channel */

typedef enum aphi_compiled_kind {
    APHI_COMPILED_TERMINAL,
    APHI_COMPILED_RECEIVE,
    APHI_COMPILED_POST,  /* an asynchronous send */
    APHI_COMPILED_PASS,  /* a synchronous one */
    APHI_COMPILED_LOCAL,
} aphi_compiled_kind;

typedef struct aphi_compiled_state {
    uint64_t open;       /* inputs that it receives; number n is bit n % 64 */
    uint32_t first;      /* of its moves */
    uint32_t row;        /* of `later` */
    uint16_t count;      /* moves */
    uint16_t channel, input, label; /* of a send; label also of a local event */
    uint8_t kind;
} aphi_compiled_state;

typedef struct aphi_compiled_move {
    uint32_t target;
    uint16_t input;      /* of a receive; moves of a state are sorted by it */
} aphi_compiled_move;

typedef struct aphi_compiled_channel {
    uint64_t inputs;     /* of its port, as in aphi_compiled_state.open */
    uint32_t base;       /* of its messages, in the array of all */
    uint32_t capacity;   /* UINT32_MAX: no limit */
    uint16_t sender, receiver, port;
    uint8_t bit;         /* within the receiver */
    uint8_t medium;
} aphi_compiled_channel;

typedef struct aphi_compiled_thread {
    uint32_t initial;    /* a state of the plan */
    uint32_t base, states;
    uint32_t depth;      /* events, at most */
    uint32_t log;        /* where its events begin, in the array of all */
    uint16_t inputs;     /* how many; from input_base on in input_ports and input_labels */
    uint32_t input_base;
    uint16_t into[64];   /* channels by their bits */
    uint16_t into_count;
    uint64_t ordered;    /* those of mediums that keep one queue a port */
    uint64_t unordered;
} aphi_compiled_thread;

typedef struct aphi_compiled_model {
    const aphi_alts *alts;
    aphi_compiled_thread *threads;
    aphi_compiled_state *states;
    aphi_compiled_move *moves;
    aphi_compiled_channel *channels;
    uint16_t *input_ports, *input_labels;
    /* later[row * thread_count + t]: inputs of t that a component in a state with that row may send it, sooner or
     * later, whatever happens. */
    uint64_t *later;
    size_t thread_count, state_count, channel_count, input_count, message_room, log_room;
    bool port_queues;    /* some port has one queue for all */
    bool unordered;
} aphi_compiled_model;

/* The model must be sound (aphi_alts_check) and outlive the plan. False: it is too large; why says what of it. */
bool aphi_compiled_make(aphi_compiled_model *p, const aphi_alts *a, char *why, size_t size);
void aphi_compiled_free(aphi_compiled_model *p);

/* How many bits are set. Inline, because not every processor that we build for has an instruction for it. */
static inline uint32_t aphi_compiled_bits(uint64_t set)
{
    set -= set >> 1 & 0x5555555555555555u;
    set = (set & 0x3333333333333333u) + (set >> 2 & 0x3333333333333333u);
    return (uint32_t)(((set + (set >> 4)) & 0x0f0f0f0f0f0f0f0fu) * 0x0101010101010101u >> 56);
}

/* The move of a receiving state by an input, or NULL. */
static inline const aphi_compiled_move *aphi_compiled_find(const aphi_compiled_model *p, const aphi_compiled_state *s,
                                                           unsigned input, bool exact)
{
    uint64_t bit = (uint64_t)1 << (input & 63);
    if (s->kind != APHI_COMPILED_RECEIVE || !(s->open & bit))
        return NULL;
    if (exact)
        return &p->moves[s->first + aphi_compiled_bits(s->open & (bit - 1))];
    for (uint32_t i = s->first; i < s->first + s->count; i++)
        if (p->moves[i].input == input)
            return &p->moves[i];
    return NULL;
}

#endif

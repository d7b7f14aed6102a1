/* SPDX-License-Identifier: Apache-2.0
 *
 * compiled_model.h - a model in the form that the search uses: flat arrays, small numbers, bit sets.
 *
 * States of all components are numbered consecutively. An input is a pair of port and label that a component can
 * receive, numbered within the component. A channel is a pair of sender and port; the incoming channels of a component
 * are numbered as bits. */
#ifndef APHI_EXPLORE_COMPILED_MODEL_H
#define APHI_EXPLORE_COMPILED_MODEL_H

#include "alts/alts.h"

enum { APHI_COMPILED_MESSAGES_MAX = 64 }; /* in an unordered channel */

typedef enum aphi_compiled_kind {
    APHI_COMPILED_TERMINAL,
    APHI_COMPILED_RECEIVE,
    APHI_COMPILED_POST,  /* an asynchronous send */
    APHI_COMPILED_PASS,  /* a synchronous send */
    APHI_COMPILED_LOCAL,
} aphi_compiled_kind;

typedef struct aphi_compiled_state {
    uint64_t open;                  /* inputs that the state receives; input n is bit n % 64 */
    uint32_t first;                 /* index of its moves */
    uint32_t may_send_row;          /* row of may_send */
    uint16_t count;                 /* of moves */
    uint16_t channel, input, label; /* of a send; label also of a local event */
    uint8_t kind;
} aphi_compiled_state;

typedef struct aphi_compiled_move {
    uint32_t target;
    uint16_t input;      /* of a receive; moves of a state are sorted by it */
} aphi_compiled_move;

typedef struct aphi_compiled_channel {
    uint64_t inputs;     /* of its port, as in aphi_compiled_state.open */
    uint32_t base;       /* index of its messages, in the array of all */
    uint32_t capacity;   /* UINT32_MAX: no limit */
    uint16_t sender, receiver, port;
    uint8_t bit;         /* within the receiver */
    uint8_t medium;
} aphi_compiled_channel;

typedef struct aphi_compiled_thread {
    uint32_t initial;      /* state */
    uint32_t base, states;
    uint32_t depth;        /* maximal number of events */
    uint32_t first_step;   /* index of its steps, in the array of all */
    uint16_t inputs;       /* number of inputs, at input_base in input_ports and input_labels */
    uint32_t input_base;
    uint16_t incoming[64]; /* channels, by bit */
    uint16_t incoming_count;
    uint64_t shared_queue; /* incoming channels of ports with one queue for all senders */
    uint64_t unordered;    /* incoming channels of unordered ports */
} aphi_compiled_thread;

typedef struct aphi_compiled_model {
    const aphi_alts *alts;
    aphi_compiled_thread *threads;
    aphi_compiled_state *states;
    aphi_compiled_move *moves;
    aphi_compiled_channel *channels;
    uint16_t *input_ports, *input_labels;
    /* may_send[row * thread_count + t] has the inputs of t that a component in a state with that row may send, now or
     * later. It is an overapproximation. */
    uint64_t *may_send;
    size_t thread_count, state_count, channel_count, input_count, message_capacity, step_capacity;
    bool has_shared_queues;    /* some port has one queue for all senders */
    bool has_unordered;
} aphi_compiled_model;

/* The model must be sound (aphi_alts_check) and outlive the result. Returns false if it is too large. */
bool aphi_compiled_model_build(aphi_compiled_model *p, const aphi_alts *a, char *why, size_t size);
void aphi_compiled_model_free(aphi_compiled_model *p);

/* Returns the number of set bits. Written out, because some targets have no instruction for it. */
static inline uint32_t aphi_compiled_popcount(uint64_t set)
{
    set -= set >> 1 & 0x5555555555555555u;
    set = (set & 0x3333333333333333u) + (set >> 2 & 0x3333333333333333u);
    return (uint32_t)(((set + (set >> 4)) & 0x0f0f0f0f0f0f0f0fu) * 0x0101010101010101u >> 56);
}

/* Returns the move of a receiving state on an input, or NULL. Set `exact` if the component has at most 64 inputs. */
static inline const aphi_compiled_move *aphi_compiled_receive(const aphi_compiled_model *p,
                                                              const aphi_compiled_state *s, unsigned input, bool exact)
{
    uint64_t bit = (uint64_t)1 << (input & 63);
    if (s->kind != APHI_COMPILED_RECEIVE || !(s->open & bit))
        return NULL;
    if (exact)
        return &p->moves[s->first + aphi_compiled_popcount(s->open & (bit - 1))];
    for (uint32_t i = s->first; i < s->first + s->count; i++)
        if (p->moves[i].input == input)
            return &p->moves[i];
    return NULL;
}

#endif

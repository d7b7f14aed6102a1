/* SPDX-License-Identifier: Apache-2.0
 *
 * explore_state.h - the state of a run: thread states, messages in transit, candidates of receivers.
 *
 * All data that backtracking restores is in one block, which is copied whole. Messages and steps are only appended, so
 * backtracking restores just the ends of their lists. */
#ifndef APHI_EXPLORE_EXPLORE_STATE_H
#define APHI_EXPLORE_EXPLORE_STATE_H

#include "explore/explore.h"

typedef struct aphi_message {
    uint16_t input;  /* number within the receiver */
    uint16_t index;  /* of the sender's event */
    bool sync;       /* the sender waits */
} aphi_message;

/* Sets of threads. */
typedef struct aphi_explore_sets {
    uint64_t awake;    /* have a candidate that does not sleep */
    uint64_t sleepers; /* have a candidate that sleeps */
    uint64_t ended;    /* are in a terminal state */
} aphi_explore_sets;

typedef struct aphi_explore_state {
    const aphi_compiled_model *model;
    char *block;             /* all pointers below, up to slept_until, point into it */
    size_t size;             /* of the block, in bytes */
    aphi_explore_sets *sets;
    uint64_t *nonempty;      /* by thread: incoming channels with messages, as bits */
    uint64_t *candidates;    /* of these, the channels from which it can receive now */
    uint64_t *asleep;        /* of these, the channels that sleep */
    uint64_t *taken;         /* by unordered channel: slots already received */
    uint32_t *state;         /* by thread */
    uint16_t *done;          /* by thread: number of its steps */
    uint16_t *first, *end;   /* by channel: slots in transit */
    uint16_t *slept_until;   /* by unordered channel: slots below it sleep */
    /* Not in the block. */
    aphi_message *messages;
    aphi_step *steps;
    uint64_t all_threads;    /* as a set */
    uint64_t shared_readers; /* threads that own a port with one queue for all senders */
} aphi_explore_state;

void aphi_explore_state_open(aphi_explore_state *run, const aphi_compiled_model *model);
void aphi_explore_state_close(aphi_explore_state *run);
/* Switches to the state in this block, run->size bytes, which the caller owns. */
void aphi_explore_state_use(aphi_explore_state *run, void *block);
void aphi_explore_state_begin(aphi_explore_state *run); /* sets the initial state */
/* The receiver takes that message; then all threads run until the next receive. */
void aphi_explore_state_receive(aphi_explore_state *run, unsigned receiver, unsigned channel, unsigned slot);
/* Puts all candidates of the receiver to sleep. */
void aphi_explore_state_sleep(aphi_explore_state *run, unsigned receiver);
/* Returns true if that slot of an unordered channel has a message that the receiver can take. */
bool aphi_explore_state_accepts(const aphi_explore_state *run, unsigned receiver, unsigned channel, unsigned slot);

#endif

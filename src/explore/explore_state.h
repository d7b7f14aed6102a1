/* SPDX-License-Identifier: Apache-2.0
 *
 * explore_state.h - the state of a run: thread states, messages in transit, candidates of receivers.
 *
 * All data that backtracking restores is in one block, which is copied whole. Messages and steps are only appended, so
 * backtracking only restores the ends of their lists. */
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
    uint64_t awake;    /* threads with a candidate that does not sleep */
    uint64_t sleepers; /* threads with a candidate that sleeps */
    uint64_t ended;    /* threads in a terminal state */
} aphi_explore_sets;

typedef struct aphi_explore_state {
    const aphi_compiled_model *model;
    char *block;             /* all pointers below, up to slept_until, point into it */
    size_t size;             /* of the block, in bytes */
    aphi_explore_sets *sets;
    uint64_t *nonempty;      /* by thread: incoming channels with messages, as bits */
    uint64_t *candidates;    /* subset of nonempty: channels from which the thread can receive now */
    uint64_t *asleep;        /* subset of candidates: channels that sleep */
    uint64_t *taken;         /* by unordered channel: slots already received */
    uint32_t *state;         /* by thread */
    uint16_t *done;          /* by thread: number of its steps */
    uint16_t *first, *end;   /* by channel: slots in transit */
    uint16_t *slept_until;   /* by unordered channel: slots below this one sleep */
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
/* The receiver takes the message; then all threads run to their next receive. */
void aphi_explore_state_receive(aphi_explore_state *run, unsigned receiver, unsigned channel, unsigned slot);
/* Puts all candidates of the receiver to sleep. */
void aphi_explore_state_sleep(aphi_explore_state *run, unsigned receiver);
/* Returns true if the slot of an unordered channel has a message that the receiver can take. */
bool aphi_explore_state_accepts(const aphi_explore_state *run, unsigned receiver, unsigned channel, unsigned slot);

/* ---- forks ------------------------------------------------------------------------------------------------------- */

enum { APHI_CHOICE_LATER = UINT16_MAX };

typedef struct aphi_choice {
    uint16_t channel; /* or APHI_CHOICE_LATER: the present messages sleep; it takes a later one */
    uint16_t slot;
} aphi_choice;

typedef struct aphi_choices {
    aphi_choice *list;
    size_t count, capacity;
} aphi_choices;

typedef enum aphi_branching_result {
    APHI_BRANCHING_FORK,
    APHI_BRANCHING_SEQUENCE, /* a complete run */
    APHI_BRANCHING_BLOCKED,  /* a dead end: a sleeping receiver cannot be woken */
} aphi_branching_result;

/* Runs to the next fork, or to the end. At a fork, sets *receiver and appends its choices to *all. */
aphi_branching_result aphi_branching_run_to_fork(aphi_explore_state *run, aphi_choices *all, unsigned *receiver);
void aphi_branching_apply(aphi_explore_state *run, unsigned receiver, aphi_choice choice);

/* ---- ports with one queue for all senders ------------------------------------------------------------------------ */

/* Updates the candidates at these ports. */
void aphi_port_queue_refresh(aphi_explore_state *run);
/* Precondition: only sleeping receivers have candidates. Returns true if all these receivers can be stuck, each behind
 * a message that it does not receive. Returns false if at least one can still take a sleeping message. */
bool aphi_port_queue_stuck(aphi_explore_state *run);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * explore_state.h - where a run is: the state of each thread, what is in transit, who could receive what.
 *
 * What has to be restored when the search goes back lies in one block (`now`), which is copied whole. Messages and
 * steps are only ever appended, so going back needs no more than the old ends of their lists. */
#ifndef APHI_EXPLORE_EXPLORE_STATE_H
#define APHI_EXPLORE_EXPLORE_STATE_H

#include "explore/explore.h"

typedef struct aphi_message {
    uint16_t input;  /* of the receiver */
    uint16_t index;  /* the sender's event */
    bool sync;       /* the sender waits */
} aphi_message;

/* Sets of threads. */
typedef struct aphi_explore_state_head {
    uint64_t awake;  /* those with a candidate that does not sleep */
    uint64_t slept;  /* those of whose candidates some sleep */
    uint64_t ended;  /* those in a terminal state */
} aphi_explore_state_head;

typedef struct aphi_explore_state {
    const aphi_compiled_model *plan;
    char *now;                /* the block; what follows points into it */
    size_t size;              /* of it */
    aphi_explore_state_head *head;
    uint64_t *nonempty;       /* by thread: channels into it that hold something, by their bits */
    uint64_t *candidates;     /* of these, those from which it could receive now */
    uint64_t *asleep;         /* of these, those which it is not to receive from */
    uint64_t *taken;          /* by channel, unordered ones only: slots that were received */
    uint32_t *state;          /* by thread */
    uint16_t *done;           /* by thread: its steps so far */
    uint16_t *first, *end;    /* by channel: what is in transit; all below first was received */
    uint16_t *slept_until;    /* by channel, unordered ones only: slots below it sleep */
    /* Not in the block: only appended to. */
    aphi_message *messages;
    aphi_step *steps;
    uint64_t everybody;       /* all threads */
    uint64_t queue_readers;   /* those who own a port with one queue for all senders */
} aphi_explore_state;

void aphi_explore_state_open(aphi_explore_state *at, const aphi_compiled_model *plan);
void aphi_explore_state_close(aphi_explore_state *at);
/* From now on the situation is the one in this block, of at->size bytes; the caller's. */
void aphi_explore_state_at(aphi_explore_state *at, void *block);
void aphi_explore_state_begin(aphi_explore_state *at); /* of the model */
/* The receiver takes that message, and everybody goes on as far as possible without another receive. */
void aphi_explore_state_receive(aphi_explore_state *at, unsigned receiver, unsigned channel, unsigned slot);
/* The receiver is not to take what it could take now. */
void aphi_explore_state_sleep(aphi_explore_state *at, unsigned receiver);
/* Is there, in the slot of an unordered channel, a message that the receiver could take? */
bool aphi_explore_state_takes(const aphi_explore_state *at, unsigned receiver, unsigned channel, unsigned slot);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * situation.h - where a run is: the state of each thread, what is in transit, who could receive what.
 *
 * What has to be restored when the search goes back lies in one block (`now`), which is copied whole. Messages and
 * steps are only ever appended, so going back needs no more than the old ends of their lists. */
#ifndef APHI_REACH_SITUATION_H
#define APHI_REACH_SITUATION_H

#include "reach/explore.h"

typedef struct aphi_message {
    uint16_t input;  /* of the receiver */
    uint16_t index;  /* the sender's event */
    bool sync;       /* the sender waits */
} aphi_message;

/* Sets of threads. */
typedef struct aphi_situation_head {
    uint64_t awake;  /* those with a candidate that does not sleep */
    uint64_t slept;  /* those of whose candidates some sleep */
    uint64_t ended;  /* those in a terminal state */
} aphi_situation_head;

typedef struct aphi_situation {
    const aphi_plan *plan;
    char *now;                /* the block; what follows points into it */
    size_t size;              /* of it */
    aphi_situation_head *head;
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
} aphi_situation;

void aphi_situation_open(aphi_situation *at, const aphi_plan *plan);
void aphi_situation_close(aphi_situation *at);
/* From now on the situation is the one in this block, of at->size bytes; the caller's. */
void aphi_situation_at(aphi_situation *at, void *block);
void aphi_situation_begin(aphi_situation *at); /* of the model */
/* The receiver takes that message, and everybody goes on as far as possible without another receive. */
void aphi_situation_receive(aphi_situation *at, unsigned receiver, unsigned channel, unsigned slot);
/* The receiver is not to take what it could take now. */
void aphi_situation_sleep(aphi_situation *at, unsigned receiver);
/* Is there, in the slot of an unordered channel, a message that the receiver could take? */
bool aphi_situation_takes(const aphi_situation *at, unsigned receiver, unsigned channel, unsigned slot);

#endif

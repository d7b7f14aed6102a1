/* SPDX-License-Identifier: Apache-2.0
 *
 * causal_history.h - what a situation must say of how it came about, so that race sets can be told where several components send
 * to one queue.
 *
 * Of the target all events are kept, and of the others what they have sent to it. Each component and each message knows
 * of so many of the target's events. If the target itself owns a queue with several senders, who could have been first
 * in it depends on everything before: then all events of all components are kept, and what is known of each. */
#ifndef APHI_LOCAL_CAUSAL_HISTORY_H
#define APHI_LOCAL_CAUSAL_HISTORY_H

#include "local/reduced_model.h"
#include "base/intern.h"

typedef struct aphi_causal_history {
    const aphi_reduced_model *ground;
    bool whole;              /* all events are kept */
    bool overflow;           /* there were more than a stamp can number */
    size_t width;            /* numbers of a clock: one, or one for each component */
    size_t event_size;       /* numbers of an event */
    size_t *rooms;           /* [port * components + sender]: where room is noted, from 1; 0: it never lacks */
    size_t room_count, room_size;
    aphi_intern events, clocks;
    uint32_t *now;           /* scratch: clocks and rooms */
} aphi_causal_history;

/* A message: who sends what. */
typedef struct aphi_causal_message {
    size_t sender, receiver;
    uint16_t port, label;
    uint32_t stamp;          /* of an asynchronous one */
} aphi_causal_message;

typedef struct aphi_causal_rival {
    uint32_t port, label, sender;
} aphi_causal_rival;

/* An event of the target. */
typedef struct aphi_causal_event {
    uint32_t op, sync, port, label, peer;
    size_t rival_count;
} aphi_causal_event;

enum { APHI_CAUSAL_STAMPS = 256 };

void aphi_causal_open(aphi_causal_history *p, const aphi_reduced_model *g);
void aphi_causal_close(aphi_causal_history *p);
/* How many numbers a situation needs for it: `at` below points to these. */
size_t aphi_causal_size(const aphi_causal_history *p);
void aphi_causal_start(aphi_causal_history *p, uint32_t *at);
void aphi_causal_local(aphi_causal_history *p, uint32_t *at, uint16_t label);
/* Returns the stamp of the message, below APHI_CAUSAL_STAMPS. */
uint32_t aphi_causal_send(aphi_causal_history *p, uint32_t *at, const aphi_causal_message *m);
/* The state is the one in which the receiver was. */
void aphi_causal_receive(aphi_causal_history *p, uint32_t *at, const aphi_causal_message *m, uint32_t state);
void aphi_causal_pass(aphi_causal_history *p, uint32_t *at, const aphi_causal_message *m, uint32_t state);
/* A component that does not matter any more knows nothing. */
void aphi_causal_forget(aphi_causal_history *p, uint32_t *at, size_t component);

/* At the end of a run, in which components are in the states v: the events of the target, and the race set of each, in
 * no order. */
size_t aphi_causal_count(const aphi_causal_history *p, const uint32_t *at);
aphi_causal_event aphi_causal_told(const aphi_causal_history *p, const uint32_t *at, const uint32_t *v, size_t index,
                               aphi_causal_rival **rivals);

#endif

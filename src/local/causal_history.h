/* SPDX-License-Identifier: Apache-2.0
 *
 * causal_history.h - causal history of a state, from which race sets are computed if several components send to one
 * queue.
 *
 * The history has all events of the target, and the sends of other components to it. Each component and message has a
 * clock: the number of target events in its causal past. If the target owns a queue with several senders, the possible
 * front of that queue depends on the whole past. Then all events of all components are recorded, with vector clocks. */
#ifndef APHI_LOCAL_CAUSAL_HISTORY_H
#define APHI_LOCAL_CAUSAL_HISTORY_H

#include "base/intern.h"
#include "local/sequence_search.h"
#include "local/reduced_model.h"

typedef struct aphi_causal_history {
    const aphi_reduced_model *model;
    bool keeps_all;     /* all events of all components are recorded */
    bool available;     /* race sets have messages that the receive is not open to */
    bool overflow;      /* more events than a stamp can number */
    size_t width; /* entries of a clock: one, or one for each component */
    size_t event_size;  /* words of an event */
    size_t *room_slots;           /* [port * components + sender]: slot of its free room, from 1; 0: never full */
    size_t room_slot_count, room_size;
    aphi_intern events, clocks;
    uint32_t *current;  /* scratch: clocks and free room */
} aphi_causal_history;

typedef struct aphi_causal_message {
    size_t sender, receiver;
    uint16_t port, label;
    uint32_t stamp;          /* for an asynchronous message */
} aphi_causal_message;

/* An event of the target. */
typedef struct aphi_causal_event {
    uint32_t op, sync, port, label, peer;
    size_t candidate_count;
} aphi_causal_event;

enum { APHI_CAUSAL_STAMPS = 256 };

void aphi_causal_history_open(aphi_causal_history *h, const aphi_reduced_model *g);
void aphi_causal_history_close(aphi_causal_history *h);
/* Returns the number of words of a history in a state; `record` below points to these words. */
size_t aphi_causal_history_size(const aphi_causal_history *h);
void aphi_causal_history_start(aphi_causal_history *h, uint32_t *record);
void aphi_causal_history_add_local(aphi_causal_history *h, uint32_t *record, uint16_t label);
/* Returns the stamp of the message, below APHI_CAUSAL_STAMPS. */
uint32_t aphi_causal_history_add_send(aphi_causal_history *h, uint32_t *record, const aphi_causal_message *m);
/* `state` is the state of the receiver before the event. */
void aphi_causal_history_add_receive(aphi_causal_history *h, uint32_t *record, const aphi_causal_message *m,
                                     uint32_t state);
void aphi_causal_history_add_sync(aphi_causal_history *h, uint32_t *record, const aphi_causal_message *m,
                                  uint32_t state);
/* Clears the clock of a component that is no longer relevant. */
void aphi_causal_history_clear_clock(aphi_causal_history *h, uint32_t *record, size_t component);

/* For the end of a run, with the components in the states v. The functions return the number of target events; and one
 * of these events, with its race set, unsorted and malloc()ed. The event after the last one stands for the receive in
 * which the target waits. */
size_t aphi_causal_history_count(const aphi_causal_history *h, const uint32_t *record);
aphi_causal_event aphi_causal_history_event(const aphi_causal_history *h, const uint32_t *record, const uint32_t *v,
                                            size_t index, aphi_race_candidate **candidates);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * sequence.h - one complete SR-sequence (of sends and receives): events, vector clocks, race sets. */
#ifndef APHI_EXPLORE_SEQUENCE_H
#define APHI_EXPLORE_SEQUENCE_H

#include "explore/explore.h"

typedef struct aphi_event {
    uint32_t state;       /* of the compiled model, before the event */
    uint8_t op;           /* aphi_alts_op */
    bool sync;
    bool matched;         /* a send that was received, or a receive */
    uint16_t port, label; /* a local event has no port */
    uint16_t peer;        /* the other thread */
    uint32_t peer_index;  /* index of the matching event in that thread, from 0 */
    uint32_t freed_by;    /* for a send that waited for room: index of the receive that freed it, + 1 */
} aphi_event;

/* Thread t has the events first[t] .. first[t + 1] - 1. A vector clock has an entry for each thread: the number of its
 * events that happened before the event, counting the event itself. */
typedef struct aphi_sequence {
    const aphi_compiled_model *model;
    uint64_t number;
    bool deadlock;
    uint32_t *first;
    aphi_event *events;
    uint16_t *clocks;        /* thread_count entries per event */
    uint32_t *end_states;    /* by thread */
    uint32_t *channel_sends; /* sends of each channel, in order */
    uint32_t *sends_begin, *sends_end;
    bool *shared;            /* by port: one queue for all senders */
    uint32_t *races;         /* race set of one receive: thread of the sender << 16 | index of the send */
    size_t race_count;
} aphi_sequence;

void aphi_sequence_open(aphi_sequence *s, const aphi_compiled_model *model);
void aphi_sequence_close(aphi_sequence *s);
/* Loads the explorer's current sequence. */
void aphi_sequence_load(aphi_sequence *s, const aphi_explorer *e);
/* Sets `races` to the race set of a receive: the sends that it could have taken instead, with the same causal pasts. A
 * send that still waits at the end has the index after the last event. */
void aphi_sequence_find_race_set(aphi_sequence *s, unsigned thread, unsigned index);
/* Like aphi_sequence_find_race_set, but includes sends to which the receive is not open. The index after the last event
 * stands for the receive in which the thread waits at the end. */
void aphi_sequence_find_concurrent_sends(aphi_sequence *s, unsigned thread, unsigned index);
/* Returns the state from which a send in a race set was sent. */
const aphi_compiled_state *aphi_sequence_race_state(const aphi_sequence *s, uint32_t race);
/* A thread in a state of the compiled model. */
typedef struct aphi_thread_state {
    unsigned thread;
    uint32_t state;
} aphi_thread_state;
/* Returns true if the threads, all different, can be in these states at the same time. */
bool aphi_sequence_can_reach(const aphi_sequence *s, const aphi_thread_state *states, size_t count);
/* Finds two threads that can be, at the same time, in states after a local event with this label. */
bool aphi_sequence_find_overlap(const aphi_sequence *s, size_t label, unsigned *t, unsigned *u);
/* Appends one JSON object and a newline (docs/message-passing.md). */
void aphi_sequence_write(aphi_sequence *s, aphi_buffer *out, bool races);

/* ---- ports with one queue for all senders ------------------------------------------------------------------------ */

typedef struct aphi_port_queue_order {
    size_t thread_count, port_count;
    const uint32_t *first;    /* thread t has the events first[t] .. first[t + 1] - 1 */
    const aphi_event *events; /* state and label are not used */
    const bool *shared;       /* by port: one queue for all senders */
} aphi_port_queue_order;

/* happened[t] events of each thread t have happened, including all their causes. Returns true if these events have an
 * order that agrees with all receives from shared queues and makes the message of the send the first that remains in
 * its port. The send is one of these events, not received by any of them, or the next event of its thread. */
bool aphi_port_queue_order_can_lead(const aphi_port_queue_order *l, const uint32_t *happened, unsigned thread,
                                    uint32_t send, unsigned port);

#endif

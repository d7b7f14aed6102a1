/* SPDX-License-Identifier: Apache-2.0
 *
 * sequence.h - one complete sequence, with what happened before what: events, races, space and time. */
#ifndef APHI_EXPLORE_SEQUENCE_H
#define APHI_EXPLORE_SEQUENCE_H

#include "explore/explore.h"

#include <stdio.h>

typedef struct aphi_event {
    uint32_t state;       /* of the plan, before it */
    uint8_t op;           /* aphi_alts_op */
    bool sync;
    bool matched;         /* a send that was received, or a receive */
    uint16_t port, label; /* no port of a local event */
    uint16_t peer;        /* the other thread */
    uint32_t peer_index;  /* of its event, from 0; if matched */
    uint32_t waited;      /* of a send for which there was no room at first: the receive after which there was, + 1 */
} aphi_event;

/* Events of a thread lie together: thread t has first[t] .. first[t + 1] - 1. A clock has an entry for each thread: how
 * many of its events happened before the event, or are it. */
typedef struct aphi_sequence {
    const aphi_compiled_model *plan;
    uint64_t number;
    bool deadlock;
    uint32_t *first;
    aphi_event *events;
    uint16_t *clocks;     /* thread_count a event */
    uint32_t *ends;       /* the states that threads have come to */
    uint32_t *by_channel; /* scratch: sends of each channel, in order */
    uint32_t *channel_first, *channel_end;
    bool *shared;         /* by port: it has one queue for all senders */
    uint32_t *races;      /* of one receive: senders' threads << 16 | indices */
    size_t race_count;
} aphi_sequence;

void aphi_sequence_open(aphi_sequence *s, const aphi_compiled_model *plan);
void aphi_sequence_close(aphi_sequence *s);
/* Takes the explorer's sequence. Valid until the next. */
void aphi_sequence_take(aphi_sequence *s, const aphi_explorer *e);
/* Puts the race set of a receive, an event of the thread, into races: sends that it could have taken instead, when all
 * that happened before them and before it happens again. A send that is still waiting at the end has the index after
 * the last. */
void aphi_sequence_race(aphi_sequence *s, unsigned thread, unsigned index);
/* The same, whether the receive is open to them or not. The index after the last is that of a receive in which the
 * thread still waits at the end. */
void aphi_sequence_offers(aphi_sequence *s, unsigned thread, unsigned index);
/* Where a send of a race set goes, and what it sends: a state of the plan. */
const aphi_compiled_state *aphi_sequence_race_state(const aphi_sequence *s, uint32_t race);
/* Did event i of thread t happen before event j of thread u, or is it the same? */
bool aphi_sequence_before(const aphi_sequence *s, unsigned t, unsigned i, unsigned u, unsigned j);
/* Can these threads, each named once, be in these states, of the plan, all at one time? */
typedef struct aphi_standpoint {
    unsigned thread;
    uint32_t state;
} aphi_standpoint;
bool aphi_sequence_meets(const aphi_sequence *s, const aphi_standpoint *points, size_t count);
/* Two threads that can both be in the state right after a local event of that label at one time; false: no two can. */
bool aphi_sequence_overlap(const aphi_sequence *s, size_t label, unsigned *t, unsigned *u);
/* One JSON object and a newline (docs/reach.md). */
void aphi_sequence_write(aphi_sequence *s, FILE *out, bool races);

#endif

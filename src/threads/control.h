/* SPDX-License-Identifier: Apache-2.0
 *
 * control.h - one run under control: what is ordered, what is taped, and what threads do in between.
 *
 * An order says which events are forced, thread by thread, and what comes after them. The tape lies in memory that is
 * shared with the process that reports it, so that it outlives a crash. */
#ifndef APHI_THREADS_CONTROL_H
#define APHI_THREADS_CONTROL_H

#include "group.h"

typedef enum aphi_op { APHI_SEND, APHI_RECEIVE, APHI_LOCAL } aphi_op;

/* An event of another thread: its number, and the event's, from 1. */
typedef struct aphi_ref {
    unsigned thread;
    uint32_t index;
} aphi_ref;

typedef struct aphi_forced {
    aphi_op op;
    bool sync;
    unsigned port;
    char label[APH_LABEL_MAX];
    aphi_ref peer; /* of a receive: index 0 is any */
} aphi_forced;

/* In a run of one thread alone, what a message with this label carries. */
typedef struct aphi_sample {
    unsigned port;
    char label[APH_LABEL_MAX];
    aph_payload payload;
} aphi_sample;

typedef struct aphi_orders { /* of one thread */
    aphi_forced *forced;
    size_t forced_count, forced_capacity;
    aphi_ref *excluded; /* sends that the first receive after the forced events must not take */
    size_t excluded_count, excluded_capacity;
} aphi_orders;

typedef struct aphi_order {
    uint64_t seed;       /* of choices after the forced events; 0: always the first */
    uint64_t time_ms;    /* until the run is taken for endless */
    uint64_t events_max; /* and so many events */
    bool whole;          /* nothing may come after the forced events */
    int alone;           /* this thread alone, its environment played; -1: all */
    aphi_orders threads[APH_THREADS_MAX];
    aphi_sample *samples;
    size_t sample_count, sample_capacity;
} aphi_order;

typedef enum aphi_outcome {
    APHI_OUTCOME_NONE,     /* not known to the run itself: look at how the process ended */
    APHI_OUTCOME_ENDED,
    APHI_OUTCOME_DEADLOCK,
    APHI_OUTCOME_BLOCKED,  /* threads wait, and could go on only by what is excluded */
    APHI_OUTCOME_DIVERGED, /* what is forced cannot be done */
    APHI_OUTCOME_ENDLESS,
} aphi_outcome;

typedef enum aphi_state {
    APHI_RUNS,
    APHI_RECEIVES,
    APHI_SENDS, /* synchronously */
    APHI_LACKS_ROOM,
    APHI_HAS_ENDED,
    APHI_ABSENT,
} aphi_state;

enum { APHI_TAPE_EVENTS = 1 << 18, APHI_TAPE_ITEMS = 1 << 21 };

typedef struct aphi_taped {
    aphi_op op;
    bool sync, free; /* free: it was not forced */
    unsigned thread, port;
    aphi_ref peer;   /* index 0: not received */
    char label[APH_LABEL_MAX];
    aph_payload payload;
    uint32_t open, open_count;           /* of a receive: items with port and label ("*": any) */
    uint32_t available, available_count; /* of a free receive: items that are messages */
} aphi_taped;

typedef struct aphi_item {
    unsigned port;
    char label[APH_LABEL_MAX];
    aphi_ref send; /* of what was available */
    bool sync;
} aphi_item;

typedef struct aphi_waiting { /* for what a thread waits at the end */
    aphi_state state;
    unsigned port;
    char label[APH_LABEL_MAX];
    uint32_t open, open_count;
} aphi_waiting;

typedef struct aphi_tape {
    aphi_outcome outcome;
    unsigned diverged; /* the thread that did */
    char detail[400];
    uint32_t event_count, item_count;
    aphi_waiting waiting[APH_THREADS_MAX];
    aphi_taped events[APHI_TAPE_EVENTS];
    aphi_item items[APHI_TAPE_ITEMS];
} aphi_tape;

aphi_control *aphi_control_open(aph_threads *group, const aphi_order *order, aphi_tape *tape);
void aphi_control_close(aphi_control *c);
bool aphi_control_takes_part(const aph_thread *thread);
void aphi_control_send(aph_thread *self, aph_thread_port *to, const char *label, aph_payload payload, bool sync);
void aphi_control_select(aph_thread *self, const aph_choice *choices, size_t count, aph_message *m);
void aphi_control_event(aph_thread *self, const char *label);
void aphi_control_end(aph_thread *self);
/* All threads have ended. */
void aphi_control_finish(aphi_control *c);

#endif

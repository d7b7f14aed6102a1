/* SPDX-License-Identifier: Apache-2.0
 *
 * control.h - one controlled run: its request, its event log, and the operations of its threads.
 *
 * A request has the forced events of each thread, and options for the choices after them. The event log is in memory
 * shared with the parent process, so that it survives a crash. */
#ifndef APHI_THREADS_CONTROL_H
#define APHI_THREADS_CONTROL_H

#include "threads_internal.h"

typedef enum aphi_op { APHI_SEND, APHI_RECEIVE, APHI_LOCAL } aphi_op;

/* Events of a thread are numbered from 1. */
typedef struct aphi_event_ref {
    unsigned thread;
    uint32_t index;
} aphi_event_ref;

typedef struct aphi_forced_event {
    aphi_op op;
    bool sync;
    unsigned port;
    char label[APH_LABEL_MAX];
    aphi_event_ref peer; /* for a receive: index 0 matches any */
} aphi_forced_event;

/* The payload of messages with this port and label, for a thread that runs alone. */
typedef struct aphi_payload_sample {
    unsigned port;
    char label[APH_LABEL_MAX];
    aph_payload payload;
} aphi_payload_sample;

typedef struct aphi_thread_request {
    aphi_forced_event *forced;
    size_t forced_count, forced_capacity;
    aphi_event_ref *excluded; /* sends that the first receive after the forced events must not take */
    size_t excluded_count, excluded_capacity;
} aphi_thread_request;

typedef struct aphi_run_request {
    uint64_t seed;       /* for the choices after the forced events; 0: always take the first */
    uint64_t time_ms;    /* time limit; a longer run counts as endless */
    uint64_t events_max; /* limit of events; a longer run counts as endless */
    bool replay;         /* no events may follow the forced ones */
    int local_thread;    /* the thread that runs alone, in a simulated environment; -1: all */
    aphi_thread_request threads[APH_THREADS_MAX];
    aphi_payload_sample *samples;
    size_t sample_count, sample_capacity;
} aphi_run_request;

typedef enum aphi_outcome {
    APHI_OUTCOME_NONE,     /* the run recorded none: see the exit status of its process */
    APHI_OUTCOME_ENDED,
    APHI_OUTCOME_DEADLOCK,
    APHI_OUTCOME_BLOCKED,  /* only excluded receives are possible */
    APHI_OUTCOME_DIVERGED, /* a forced event is not possible */
    APHI_OUTCOME_ENDLESS,
} aphi_outcome;

typedef enum aphi_wait_state {
    APHI_WAIT_NONE,
    APHI_WAIT_RECEIVE,
    APHI_WAIT_SYNC_SEND, /* waits until its synchronous message is received */
    APHI_WAIT_ROOM,
    APHI_WAIT_ENDED,
    APHI_WAIT_ABSENT,
} aphi_wait_state;

enum { APHI_LOG_EVENTS_MAX = 1 << 18, APHI_LOG_ITEMS_MAX = 1 << 21 };

typedef struct aphi_logged_event {
    aphi_op op;
    bool sync, free;                     /* free: not forced */
    unsigned thread, port;
    aphi_event_ref peer;                 /* for a send that was not received: index 0 */
    char label[APH_LABEL_MAX];
    aph_payload payload;
    uint32_t open, open_count;           /* of a receive, in items: its OpenList; label "*": any */
    uint32_t available, available_count; /* of a free receive, in items: the available messages */
} aphi_logged_event;

typedef struct aphi_log_item {
    unsigned port;
    char label[APH_LABEL_MAX];
    aphi_event_ref send; /* of an available message */
    bool sync;
} aphi_log_item;

typedef struct aphi_thread_wait { /* at the end of the run */
    aphi_wait_state state;
    unsigned port;
    char label[APH_LABEL_MAX];
    uint32_t open, open_count;
} aphi_thread_wait;

typedef struct aphi_event_log {
    aphi_outcome outcome;
    unsigned diverged_thread;
    char detail[400];
    uint32_t event_count, item_count;
    aphi_thread_wait waiting[APH_THREADS_MAX];
    aphi_logged_event events[APHI_LOG_EVENTS_MAX];
    aphi_log_item items[APHI_LOG_ITEMS_MAX];
} aphi_event_log;

aphi_control *aphi_control_open(aph_threads *group, const aphi_run_request *request, aphi_event_log *log);
void aphi_control_close(aphi_control *c);
void aphi_control_send(aph_thread *self, aph_thread_port *to, const char *label, aph_payload payload, bool sync);
void aphi_control_select(aph_thread *self, const aph_choice *choices, size_t count, aph_message *m);
void aphi_control_event(aph_thread *self, const char *label);
/* Runs the threads until all have ended. Ends the process if the run ends in another way. */
void aphi_control_run(aphi_control *c);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * recording.h - one run of a program: an SR-sequence, a partially ordered sequence of sends and receives.
 *
 * A layout numbers the threads, ports and labels of a program. A recording has the events of all threads in one causal
 * order. Events of a thread are numbered from 1. */
#ifndef APHI_EXECUTE_RECORDING_H
#define APHI_EXECUTE_RECORDING_H

#include "alts/alts.h"
#include "base/buffer.h"

#include <antiphon/value.h>

enum { APHI_LAYOUT_THREADS_MAX = 64, APHI_LABEL_ANY = 0 };

typedef struct aphi_layout {
    char **threads;
    aphi_alts_port *ports;
    char **labels; /* label 0 is "*": any */
    size_t thread_count, port_count, label_count;
    size_t thread_capacity, port_capacity, label_capacity;
} aphi_layout;

void aphi_layout_free(aphi_layout *c);
void aphi_layout_add_thread(aphi_layout *c, const char *name);
void aphi_layout_add_port(aphi_layout *c, const char *name, uint16_t owner, aphi_medium medium,
                          uint32_t capacity);
uint32_t aphi_layout_label(aphi_layout *c, const char *label); /* adds it if it is new */
size_t aphi_layout_thread_named(const aphi_layout *c, const char *name); /* SIZE_MAX if unknown */
size_t aphi_layout_port_named(const aphi_layout *c, const char *name);

/* ---- recordings -------------------------------------------------------------------------------------------------- */

typedef struct aphi_event_id { /* index 0: none */
    uint16_t thread;
    uint32_t index;
} aphi_event_id;

static inline bool aphi_event_id_equal(aphi_event_id a, aphi_event_id b)
{
    return a.thread == b.thread && a.index == b.index;
}

typedef struct aphi_open_item { /* an item of the OpenList of a receive */
    uint16_t port;
    uint32_t label;
} aphi_open_item;

typedef struct aphi_available_message { /* a message that could have been received */
    aphi_event_id send;
    uint16_t port;
    uint32_t label;
    bool sync;
} aphi_available_message;

typedef struct aphi_recorded_event {
    aphi_alts_op op;
    bool sync, free;                     /* free: not forced */
    aphi_event_id id;
    uint16_t port;
    uint32_t label;
    aphi_event_id peer;                  /* for a send that was not received: index 0 */
    uint32_t open, open_count;           /* of a receive, in open_items */
    uint32_t available, available_count; /* of a free receive, in available */
    unsigned char payload[16];
} aphi_recorded_event;

/* Returns the event with this id, or NULL. */
const aphi_recorded_event *aphi_recorded_event_find(const aphi_recorded_event *events, size_t count, aphi_event_id id);

typedef enum aphi_thread_status { /* at the end of a run */
    APHI_THREAD_RUNNING,
    APHI_THREAD_RECEIVING,
    APHI_THREAD_SENDING, /* waits in a synchronous send */
    APHI_THREAD_PORT_FULL,
    APHI_THREAD_ENDED,
    APHI_THREAD_ABSENT,
} aphi_thread_status;

typedef struct aphi_thread_end {
    aphi_thread_status status;
    uint16_t port;             /* of a waiting send */
    uint32_t label;
    uint32_t open, open_count; /* of a waiting receive, in open_items */
} aphi_thread_end;

typedef enum aphi_recording_end {
    APHI_RECORDING_ENDED,
    APHI_RECORDING_DEADLOCK,
    APHI_RECORDING_BLOCKED,  /* only excluded receives remained */
    APHI_RECORDING_DIVERGED, /* a forced event is impossible: `number` is the thread, `detail` the place */
    APHI_RECORDING_ENDLESS,
    APHI_RECORDING_CRASHED,  /* number is the signal */
    APHI_RECORDING_FAILED,   /* number is the exit code */
} aphi_recording_end;

typedef struct aphi_recording {
    aphi_recording_end end;
    int number;
    char detail[480];
    aphi_recorded_event *events;
    aphi_open_item *open_items;
    aphi_available_message *available;
    size_t event_count, open_item_count, available_count;
    size_t event_capacity, open_item_capacity, available_capacity;
    aphi_thread_end thread_ends[APHI_LAYOUT_THREADS_MAX];
} aphi_recording;

void aphi_recording_clear(aphi_recording *r); /* keeps the memory */
void aphi_recording_free(aphi_recording *r);
/* Returns true if all threads have the same events with the same peers. Does not compare OpenLists. */
bool aphi_recording_equal(const aphi_layout *c, const aphi_recording *a, const aphi_recording *b);

/* ---- race sets --------------------------------------------------------------------------------------------------- */

typedef struct aphi_races { /* race sets by event, in the order of the recording */
    uint32_t *first;  /* event_count + 1 entries, into sends */
    aphi_event_id *sends;
    size_t first_capacity, send_count, send_capacity;
    uint32_t *clocks; /* vector clocks: thread_count entries for each event */
    size_t clock_capacity;
} aphi_races;

/* Computes the race set of each receive: the sends that it could have taken instead, with the same causal pasts. */
void aphi_races_find(const aphi_layout *c, const aphi_recording *r, aphi_races *races);
void aphi_races_free(aphi_races *races);

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

/* Writes one line without a newline: {"sequence":N,"deadlock":B,"threads":{...}}. Without races (NULL), race sets and
 * clocks are omitted. */
void aphi_recording_write(const aphi_layout *c, const aphi_recording *r, const aphi_races *races, uint64_t number,
                          aphi_buffer *out);
/* Reads the events of a sequence, thread by thread, so they are not in a causal order. Returns false with a message if
 * the value is malformed, or has threads or ports that are not in the layout. */
bool aphi_recording_read(aphi_layout *c, aph_value sequence, aphi_recording *r, char *error, size_t size);

#endif

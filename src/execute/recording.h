/* SPDX-License-Identifier: Apache-2.0
 *
 * recording.h - what the threads of a program did in one run: a partially ordered sequence of sends and receives.
 *
 * A cast says who takes part: threads, ports and labels by number. A recording has the events of all threads in one
 * order that respects causes, so that it can be read from front to back. Events of a thread are counted from 1. */
#ifndef APHI_EXECUTE_RECORDING_H
#define APHI_EXECUTE_RECORDING_H

#include "base/buffer.h"

#include <antiphon/value.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { APHI_CAST_THREADS_MAX = 64, APHI_LABEL_ANY = 0 };

typedef enum aphi_cast_medium { APHI_CAST_PAIR, APHI_CAST_PORT, APHI_CAST_UNORDERED } aphi_cast_medium;

typedef struct aphi_cast_port {
    char *name;
    uint16_t owner;
    aphi_cast_medium medium;
    uint32_t capacity; /* 0: no limit */
} aphi_cast_port;

typedef struct aphi_cast {
    char **threads;
    aphi_cast_port *ports;
    char **labels; /* number 0 is "*", any */
    size_t thread_count, port_count, label_count;
    size_t thread_capacity, port_capacity, label_capacity;
} aphi_cast;

void aphi_cast_free(aphi_cast *c);
void aphi_cast_add_thread(aphi_cast *c, const char *name);
void aphi_cast_add_port(aphi_cast *c, const char *name, uint16_t owner, aphi_cast_medium medium, uint32_t capacity);
uint32_t aphi_cast_label(aphi_cast *c, const char *label); /* its number, new or not */
size_t aphi_cast_thread_named(const aphi_cast *c, const char *name); /* SIZE_MAX: none */
size_t aphi_cast_port_named(const aphi_cast *c, const char *name);

/* ---- recordings -------------------------------------------------------------------------------------------------- */

typedef enum aphi_did { APHI_DID_SEND, APHI_DID_RECEIVE, APHI_DID_LOCAL } aphi_did;

typedef struct aphi_place { /* an event: the index-th of a thread; index 0: none */
    uint16_t thread;
    uint32_t index;
} aphi_place;

typedef struct aphi_opening { /* what a receive was open to */
    uint16_t port;
    uint32_t label;
} aphi_opening;

typedef struct aphi_available { /* a message that could have been received */
    aphi_place send;
    uint16_t port;
    uint32_t label;
    bool sync;
} aphi_available;

typedef struct aphi_recorded {
    aphi_did did;
    bool sync, free;  /* free: nobody had ordered it */
    aphi_place at;
    uint16_t port;
    uint32_t label;
    aphi_place peer;  /* of a send: index 0 if it was not received */
    uint32_t open, open_count;           /* of a receive, in openings */
    uint32_t available, available_count; /* of a free receive, in options: at that time */
    unsigned char payload[16];
} aphi_recorded;

typedef enum aphi_stand { /* where a thread is at the end */
    APHI_STANDS_RUNNING,
    APHI_STANDS_RECEIVING,
    APHI_STANDS_SENDING, /* synchronously */
    APHI_STANDS_WITHOUT_ROOM,
    APHI_STANDS_ENDED,
    APHI_STANDS_ABSENT,
} aphi_stand;

typedef struct aphi_standing {
    aphi_stand stand;
    uint16_t port;  /* of a send that waits */
    uint32_t label;
    uint32_t open, open_count; /* of a receive that waits */
} aphi_standing;

typedef enum aphi_recording_end {
    APHI_RECORDING_ENDED,
    APHI_RECORDING_DEADLOCK,
    APHI_RECORDING_BLOCKED,  /* the rest was excluded by the order */
    APHI_RECORDING_DIVERGED, /* the order cannot be followed: number is the thread, detail says where */
    APHI_RECORDING_ENDLESS,
    APHI_RECORDING_CRASHED,  /* number is the signal */
    APHI_RECORDING_FAILED,   /* number is the exit code */
} aphi_recording_end;

typedef struct aphi_recording {
    aphi_recording_end end;
    int number;
    char detail[480];
    aphi_recorded *events;
    aphi_opening *openings;
    aphi_available *options;
    size_t event_count, opening_count, option_count;
    size_t event_capacity, opening_capacity, option_capacity;
    aphi_standing standings[APHI_CAST_THREADS_MAX];
} aphi_recording;

void aphi_recording_clear(aphi_recording *r); /* keeps the memory */
void aphi_recording_free(aphi_recording *r);
/* Do both have the same events of each thread, with the same partners? What was open does not count. */
bool aphi_recording_same(const aphi_cast *c, const aphi_recording *a, const aphi_recording *b);

/* ---- race sets --------------------------------------------------------------------------------------------------- */

typedef struct aphi_races { /* of each event, in the order of the recording */
    uint32_t *first;  /* event_count + 1 of them, into sends */
    aphi_place *sends;
    size_t first_capacity, send_count, send_capacity;
    uint32_t *clocks; /* threads for each event: how many events of each thread are its cause or itself */
    size_t clock_capacity;
} aphi_races;

/* The race set of each receive: sends that it could have taken instead, with all that caused either unchanged. */
void aphi_races_find(const aphi_cast *c, const aphi_recording *r, aphi_races *races);
void aphi_races_free(aphi_races *races);

/* ---- as JSON ----------------------------------------------------------------------------------------------------- */

/* One line without its end: {"sequence":N,"deadlock":B,"threads":{...}}. races may be NULL: then
 * race sets and clocks are left out. */
void aphi_recording_write(const aphi_cast *c, const aphi_recording *r, const aphi_races *races, uint64_t number,
                          aphi_buffer *out);
/* The events of a sequence, thread after thread, not in an order of causes. False, with a message: it is none, or is of
 * other threads and ports than the cast's. */
bool aphi_recording_read(aphi_cast *c, aph_value sequence, aphi_recording *r, char *error, size_t size);

#endif

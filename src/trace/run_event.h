/* SPDX-License-Identifier: Apache-2.0
 *
 * run_event.h - an event of a live run, with its time. */
#ifndef APHI_TRACE_RUN_EVENT_H
#define APHI_TRACE_RUN_EVENT_H

#include <antiphon/value.h>

typedef enum aphi_run_event_kind {
    APHI_RUN_EVENT_SENT,      /* from the tester to the subject */
    APHI_RUN_EVENT_RECEIVED,
    APHI_RUN_EVENT_LOST,      /* the response with this label never arrived */
    APHI_RUN_EVENT_MALFORMED, /* message: the bytes, as a string */
    APHI_RUN_EVENT_CLOSED,    /* closed by the tester */
    APHI_RUN_EVENT_DROPPED,   /* closed by the subject; message is "closed" or "reset" */
    APHI_RUN_EVENT_QUIET,     /* silence: nothing is in flight; the connection is that of the event before it */
} aphi_run_event_kind;

typedef struct aphi_run_event {
    aphi_run_event_kind kind;
    int64_t at_ns;      /* since the start of the run */
    int64_t connection;
    int64_t label;      /* 0 if it has none */
    aph_value message;
} aphi_run_event;

/* The openings and ends of connections that a model with .connections receives. */
#define APHI_CONNECTION_COUNTS(X) \
    X(opened)           /* by the client */ \
    X(half_closed)      /* the client closed its side only */ \
    X(closed)           /* the client closed both sides */ \
    X(aborted)          /* the client reset it */ \
    X(closed_by_server) \
    X(reset_by_server)

typedef struct aphi_connection_counts {
#define X(name) uint64_t name;
    APHI_CONNECTION_COUNTS(X)
#undef X
} aphi_connection_counts;

#endif

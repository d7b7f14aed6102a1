/* SPDX-License-Identifier: Apache-2.0
 *
 * lookahead.h - a trace in which each request comes with its end.
 *
 * A recorded history contains the end of each request; an oracle that knows it in advance searches far less.
 * Observations are read ahead, up to 65,536: to the end of the current request, and at least 4,096. Requests without
 * effect (APHI_UNDONE) are left out.
 */
#ifndef APHI_TRACE_LOOKAHEAD_H
#define APHI_TRACE_LOOKAHEAD_H

#include <antiphon/oracle.h>
#include "trace/trace.h"

typedef struct aphi_lookahead_event {
    aphi_observation seen; /* never APHI_UNDONE */
    aph_future future;     /* of an APHI_SENT; APH_FUTURE_OPEN: its end is too far ahead, or does not belong to it */
    bool alone;            /* of an APHI_SENT: nothing else is sent on its connection before its end */
    bool foretold;         /* for an end: its request came with it */
    aph_value answer;      /* with APH_FUTURE_ANSWER: the response */
    uint64_t order;        /* with APH_FUTURE_ANSWER: the number of its observation */
    uint64_t shown, sought; /* as in aph_lookahead */
} aphi_lookahead_event;

typedef struct aphi_lookahead aphi_lookahead;

/* The trace must outlive it, and must not be read by others. */
aphi_lookahead *aphi_lookahead_open(aphi_trace *t);
void aphi_lookahead_close(aphi_lookahead *a);

/* As aphi_trace_next. All observations before an error are returned before the error. The returned values are not
 * protected from aph_collect; those still to be returned are. */
int aphi_lookahead_next(aphi_lookahead *a, aphi_lookahead_event *o);

#endif

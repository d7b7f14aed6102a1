/* SPDX-License-Identifier: Apache-2.0
 *
 * lookahead.h - a trace in which each request comes with its end.
 *
 * An oracle that knows the end of each request in advance searches far less. So observations are read ahead to the end
 * of the current request: at least 4,096, at most 65,536, fewer if values take half of the memory limit. Requests
 * without effect (APHI_UNDONE) are omitted.
 */
#ifndef APHI_TRACE_LOOKAHEAD_H
#define APHI_TRACE_LOOKAHEAD_H

#include <antiphon/oracle.h>
#include "trace/trace.h"

typedef struct aphi_lookahead_event {
    aphi_observation seen; /* never APHI_UNDONE */
    aph_future future;     /* for APHI_SENT; APH_FUTURE_OPEN if the end is too far ahead, or unpaired */
    bool alone;            /* for APHI_SENT: nothing else is sent on its connection before its end */
    bool foretold;         /* for an end: its request was returned with this end as its future */
    aph_value answer;      /* with APH_FUTURE_ANSWER: the response */
    uint64_t order;        /* with APH_FUTURE_ANSWER: the number of its observation */
    uint64_t shown, sought; /* as in aph_lookahead */
} aphi_lookahead_event;

typedef struct aphi_lookahead aphi_lookahead;

/* The trace must outlive the result, and must not be read in any other way. */
aphi_lookahead *aphi_lookahead_open(aphi_trace *t);
void aphi_lookahead_close(aphi_lookahead *a);

/* Like aphi_trace_next. All observations before an error are returned before the error. The returned values are not
 * protected from aph_collect; those still to be returned are. */
int aphi_lookahead_next(aphi_lookahead *a, aphi_lookahead_event *o);

#endif

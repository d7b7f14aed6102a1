/* SPDX-License-Identifier: Apache-2.0
 *
 * lookahead.h - a trace in which each request comes with what is known of its end.
 *
 * A recorded history knows how each request ended; an oracle that is told in advance searches far less. Observations
 * are read ahead through a ring of 65,536, and no further than the end of the request in hand is away, or 4,096 if that
 * is more. Requests that turn out not to have happened are left out.
 */
#ifndef APHI_FORESIGHT_H
#define APHI_FORESIGHT_H

#include <antiphon/oracle.h>
#include "trace/trace.h"

typedef struct aphi_lookahead_event {
    aphi_observation seen; /* never APHI_UNDONE */
    aph_future future;     /* of an APHI_SENT; APH_FUTURE_OPEN: its end is too far ahead, or not known to be its own */
    bool alone;            /* of an APHI_SENT: nothing else is sent on its connection before its end */
    bool foretold;         /* of an end: its request was told */
    aph_value answer;      /* if the future is APH_FUTURE_ANSWER */
    uint64_t order;        /* then also the number of the observation that brings it */
    uint64_t shown, sought; /* as in aph_lookahead */
} aphi_lookahead_event;

typedef struct aphi_lookahead aphi_lookahead;

/* The trace is borrowed and must not be read by anyone else meanwhile. */
aphi_lookahead *aphi_lookahead_open(aphi_trace *t);
void aphi_lookahead_close(aphi_lookahead *f);

/* As aphi_trace_next. All that precedes an error is given before the error is. What is given is not protected from
 * aph_collect; what is still to be given is. */
int aphi_lookahead_next(aphi_lookahead *f, aphi_lookahead_event *o);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * moment.h - something that was seen in a live run, and when. */
#ifndef APHI_TRACE_MOMENT_H
#define APHI_TRACE_MOMENT_H

#include <antiphon/value.h>

typedef enum aphi_moment_kind {
    APHI_MOMENT_SENT,      /* from the tester to the subject */
    APHI_MOMENT_RECEIVED,
    APHI_MOMENT_LOST,      /* the answer to `label` never came */
    APHI_MOMENT_MALFORMED, /* bytes that are no message: message is a string */
    APHI_MOMENT_CLOSED,    /* by the tester */
    APHI_MOMENT_DROPPED,   /* by the subject; message says how: "closed", "reset" */
} aphi_moment_kind;

typedef struct aphi_moment {
    aphi_moment_kind kind;
    int64_t at_ns;      /* since the run began */
    int64_t connection;
    int64_t label;      /* 0 if it has none */
    aph_value message;
} aphi_moment;

#endif

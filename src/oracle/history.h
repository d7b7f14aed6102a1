/* SPDX-License-Identifier: Apache-2.0
 *
 * history.h - a whole history in memory, for explanations. */
#ifndef APHI_ORACLE_HISTORY_H
#define APHI_ORACLE_HISTORY_H

#include <antiphon/oracle.h>

typedef struct aphi_history_event {
    bool answer;         /* a response; else a request */
    bool lost;           /* a request without a response */
    bool quiet;          /* neither: silence, when nothing is in flight */
    int64_t connection;
    aph_value message;
    uint64_t number;     /* of the observation, increasing */
    uint64_t line;       /* in the trace */
    size_t other;        /* the response to this request, or the request of this response; SIZE_MAX: none or unknown */
} aphi_history_event;

typedef struct aphi_history {
    aphi_history_event *events;
    size_t count, capacity;
    bool paired;         /* `other` is set */
    bool lossy;          /* lossy and buffer: of the environment, as in aphi_env */
    size_t buffer;
} aphi_history;

/* Returns the model's number for a connection; `opened` maps those that the server opened. 0: none. */
static inline int64_t aphi_model_connection(aph_value opened, int64_t connection)
{
    aph_value own = connection < APH_ACCEPTED ? APH_NIL : aph_get(opened, aph_int(connection));
    return connection < APH_ACCEPTED ? connection : aph_is_int(own) ? aph_int_of(own) : 0;
}

/* Returns true for a request, false for a response and for silence. */
static inline bool aphi_history_is_request(const aphi_history_event *e) { return !e->answer && !e->quiet; }

#endif

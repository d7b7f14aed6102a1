/* SPDX-License-Identifier: Apache-2.0
 *
 * history.h - a whole history in memory, as an explanation speaks of it. */
#ifndef APHI_ORACLE_HISTORY_H
#define APHI_ORACLE_HISTORY_H

#include <antiphon/oracle.h>

typedef struct aphi_history_event {
    bool answer;         /* else a request */
    bool lost;           /* a request whose answer will never come */
    int64_t connection;
    aph_value message;
    uint64_t number;     /* the caller's name for it, growing */
    uint64_t line;       /* where a person finds it */
    size_t other; /* a request's answer, an answer's request; SIZE_MAX if none, or not known to belong together */
} aphi_history_event;

typedef struct aphi_history {
    aphi_history_event *events;
    size_t count, capacity;
    bool paired;         /* `other` is set */
    bool lossy;          /* what it was seen through, as in aphi_env */
    size_t buffer;
} aphi_history;

/* A connection as the model has it; `opened` has the model's number for each that the server opened to us. 0: none. */
static inline int64_t aphi_model_connection(aph_value opened, int64_t connection)
{
    aph_value own = connection < APH_ACCEPTED ? APH_NIL : aph_get(opened, aph_int(connection));
    return connection < APH_ACCEPTED ? connection : aph_is_int(own) ? aph_int_of(own) : 0;
}

#endif

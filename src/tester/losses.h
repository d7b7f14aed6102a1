/* SPDX-License-Identifier: Apache-2.0
 *
 * losses.h - the requests that a subject swallowed: it closed their connection without a response.
 *
 * A subject that may close connections may lose a request now and then, because the request crosses the close. Such a
 * request is excused if it was sent soon after a response or behind another request, or if the subject announced the
 * close. A request that was sent alone on a connection that had rested is a loss. If many requests are excused, the
 * tester becomes careful: it sends single requests on rested connections, so that each missing response is a loss. If
 * such requests get responses, crossing explains the others, and the tester need not be careful for a while. */
#ifndef APHI_TESTER_LOSSES_H
#define APHI_TESTER_LOSSES_H

#include <antiphon/value.h>

enum { APHI_LOSSES_SHOWN = 8 };

/* A limit of the losses. A percentage is one of the requests, and at least APHI_LOSSES_LEAST are allowed. */
typedef struct aphi_max_losses {
    enum { APHI_LOSSES_DEFAULT, APHI_LOSSES_COUNT, APHI_LOSSES_PERCENT } unit; /* by default 5 % */
    uint64_t number;
} aphi_max_losses;

enum { APHI_LOSSES_LEAST = 20 };

typedef struct aphi_losses {
    uint64_t count;
    uint64_t excused;       /* of this run and earlier ones: other requests without a response */
    /* Of this run and earlier ones: requests on rested connections with a response, and losses. */
    uint64_t rested, rested_lost;
    int64_t closing_ns;     /* the longest time after a response at which the subject closed a resting connection */
    aph_value shown;        /* the first losses, an array of records; APH_NIL: none */
} aphi_losses;

/* Returns true if there are more losses than the limit allows. */
bool aphi_losses_exceed(const aphi_max_losses *limit, uint64_t losses, uint64_t requests);
/* Returns true if so many requests were excused that the tester must be careful. */
bool aphi_losses_need_care(const aphi_losses *l, uint64_t responses);
/* Call it when a request got a response, with the rest of its connection before the request. */
void aphi_losses_note_response(aphi_losses *l, int64_t rested_ns);
/* Returns the time for which a connection has to rest after a response. */
int64_t aphi_losses_rest_ns(const aphi_losses *l);
/* Call it when the subject has closed a connection without an outstanding request, this long after a response. */
void aphi_losses_note_close(aphi_losses *l, int64_t after_ns);
void aphi_losses_add(aphi_losses *l, int64_t connection, int64_t label, aph_value request);

#endif

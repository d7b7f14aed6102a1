/* SPDX-License-Identifier: Apache-2.0
 *
 * refine_bounds.h - refinement with growing bounds, then with random schedules beyond them. */
#ifndef APHI_REFINE_REFINE_BOUNDS_H
#define APHI_REFINE_REFINE_BOUNDS_H

#include "refine/refinement.h"

enum {
    APHI_REFINE_CLIENTS_MAX = 16,
    APHI_REFINE_MESSAGES_MAX = 64,
    APHI_REFINE_DRAWS = 16,       /* further sets of requests, for small bounds */
    APHI_REFINE_DRAWN_SIZE = 2,   /* messages of such a bound */
};

typedef struct aphi_refine_bounds {
    aphi_refine_options options; /* without clients, messages, requests and stride */
    size_t clients, messages;    /* of each client, at most */
    uint64_t random;             /* schedules beyond the bounds */
    uint64_t seed;               /* of the requests and of these schedules */
} aphi_refine_bounds;

typedef struct aphi_refine_outcome {
    aphi_refinement result;       /* the first that does not refine; otherwise that of the full bounds */
    aphi_refinement bounded;      /* of the full bounds */
    uint64_t random_passed;       /* random schedules */
    size_t clients, messages;     /* bounds of the last exploration */
} aphi_refine_outcome;

/* True of APHI_REFINES and APHI_REFINES_VACUOUS. */
bool aphi_refine_passed(const aphi_refinement *result);
/* The caller marks result.trace and result.allowed, also during the call. Returns false with a message if the
 * specification has no generator for the requests. */
bool aphi_refine_within(const aphi_refine_bounds *bounds, aphi_refine_outcome *outcome, char *error, size_t size);

#endif

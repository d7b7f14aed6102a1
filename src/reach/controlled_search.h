/* SPDX-License-Identifier: Apache-2.0
 *
 * controlled_search.h - every order of a program on the threads library, each once: reachability testing of it. */
#ifndef APHI_REACH_CONTROLLED_SEARCH_H
#define APHI_REACH_CONTROLLED_SEARCH_H

#include "reach/controlled.h"

typedef struct aphi_controlled_told {
    uint64_t sequences; /* partially ordered, each counted once */
    uint64_t deadlocks; /* of these */
    uint64_t runs;      /* of the program */
    uint64_t blocked;   /* of these: led to no sequence */
} aphi_controlled_told;

typedef enum aphi_controlled_end {
    APHI_CONTROLLED_ALL,
    APHI_CONTROLLED_STOPPED,
    APHI_CONTROLLED_LOST,
} aphi_controlled_end;

/* Sees each sequence, and each run that crashed, failed, diverged or did not end; false stops the search. After a run
 * of the latter kind the search is no more complete. */
typedef bool aphi_controlled_visit(void *context, const aphi_recording *r, const aphi_races *races);

/* limits: its time_ms and events_max hold for each run. LOST, with a message: the program is gone. */
aphi_controlled_end aphi_controlled_search(aphi_controlled *p, const aphi_controlled_order *limits,
                                           aphi_controlled_visit *visit, void *context, aphi_controlled_told *told,
                                           char *error, size_t size);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * program_explore.h - reachability testing of a program on the threads library: each SR-sequence exactly once. */
#ifndef APHI_EXECUTE_PROGRAM_EXPLORE_H
#define APHI_EXECUTE_PROGRAM_EXPLORE_H

#include "execute/program_run.h"

typedef struct aphi_program_explore_stats {
    uint64_t sequences; /* SR-sequences */
    uint64_t deadlocks; /* of these */
    uint64_t runs;      /* of the program */
    uint64_t blocked;   /* runs that ended without a sequence */
} aphi_program_explore_stats;

typedef enum aphi_program_explore_result {
    APHI_PROGRAM_EXPLORED,
    APHI_PROGRAM_STOPPED,
    APHI_PROGRAM_LOST,
} aphi_program_explore_result;

/* Called for each sequence, and for each run that crashed, failed, diverged or did not end, after which the search is
 * not complete. Return false to stop. */
typedef bool aphi_program_visit(void *context, const aphi_recording *r, const aphi_races *races);

/* Of the limits, time_ms and events_max apply to each run. On APHI_PROGRAM_LOST, the program has ended; see error. */
aphi_program_explore_result aphi_program_explore(aphi_program *p, const aphi_program_run_options *limits,
                                           aphi_program_visit *visit, void *context, aphi_program_explore_stats *stats,
                                                 char *error, size_t size);

#endif

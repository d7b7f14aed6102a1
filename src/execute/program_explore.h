/* SPDX-License-Identifier: Apache-2.0
 *
 * program_explore.h - every order of a program on the threads library, each once: reachability testing of it. */
#ifndef APHI_EXECUTE_PROGRAM_EXPLORE_H
#define APHI_EXECUTE_PROGRAM_EXPLORE_H

#include "execute/program_run.h"

typedef struct aphi_program_told {
    uint64_t sequences; /* partially ordered, each counted once */
    uint64_t deadlocks; /* of these */
    uint64_t runs;      /* of the program */
    uint64_t blocked;   /* of these: led to no sequence */
} aphi_program_told;

typedef enum aphi_program_end {
    APHI_PROGRAM_ALL,
    APHI_PROGRAM_STOPPED,
    APHI_PROGRAM_LOST,
} aphi_program_end;

/* Sees each sequence, and each run that crashed, failed, diverged or did not end; false stops the search. After a run
 * of the latter kind the search is no more complete. */
typedef bool aphi_program_visit(void *context, const aphi_recording *r, const aphi_races *races);

/* limits: its time_ms and events_max hold for each run. LOST, with a message: the program is gone. */
aphi_program_end aphi_program_explore(aphi_program *p, const aphi_program_order *limits,
                                           aphi_program_visit *visit, void *context, aphi_program_told *told,
                                           char *error, size_t size);

#endif

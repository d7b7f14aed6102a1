/* SPDX-License-Identifier: Apache-2.0
 *
 * program_search.h - every order of a program on the threads library, each once: reachability testing of programs. */
#ifndef APHI_REACH_PROGRAM_SEARCH_H
#define APHI_REACH_PROGRAM_SEARCH_H

#include "reach/program.h"

typedef struct aphi_search_told {
    uint64_t sequences; /* partially ordered, each counted once */
    uint64_t deadlocks; /* of these */
    uint64_t runs;      /* of the program */
    uint64_t blocked;   /* of these: led to no sequence */
} aphi_search_told;

typedef enum aphi_search_end { APHI_SEARCH_ALL, APHI_SEARCH_STOPPED, APHI_SEARCH_LOST } aphi_search_end;

/* Sees each sequence, and each run that crashed, failed, diverged or did not end; false stops the search. After a run
 * of the latter kind the search is no more complete. */
typedef bool aphi_search_visit(void *context, const aphi_recording *r, const aphi_races *races);

/* limits: its time_ms and events_max hold for each run. LOST, with a message: the program is gone. */
aphi_search_end aphi_program_search(aphi_program *p, const aphi_run_order *limits, aphi_search_visit *visit,
                                    void *context, aphi_search_told *told, char *error, size_t size);

#endif

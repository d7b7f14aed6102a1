/* SPDX-License-Identifier: Apache-2.0
 *
 * program_run.h - controlled runs of a program on the threads library, with forced events; reachability testing.
 *
 * The other end of src/threads/control_client.c. The program is started once and forks a process for each run. */
#ifndef APHI_EXECUTE_PROGRAM_RUN_H
#define APHI_EXECUTE_PROGRAM_RUN_H

#include "execute/recording.h"

#include <signal.h>

typedef struct aphi_program aphi_program;

typedef struct aphi_run_exclusion { /* the next receive of the thread must not take this send */
    uint16_t thread;
    aphi_event_id send;
} aphi_run_exclusion;

typedef struct aphi_run_payload { /* payload of a message, for a thread that runs alone */
    uint16_t port;
    uint32_t label;
    unsigned char payload[16];
} aphi_run_payload;

typedef struct aphi_program_run_options {
    uint64_t seed;                     /* for the free choices; 0: always take the first */
    uint64_t time_ms;                  /* time limit of the run */
    uint64_t events_max;
    bool replay;                       /* no events may follow the forced ones */
    int local_thread;                  /* the thread that runs alone, with its events forced; -1: all threads */
    const aphi_recorded_event *forced; /* the events of each thread are in order */
    size_t forced_count;
    const aphi_run_exclusion *excluded;
    size_t excluded_count;
    const aphi_run_payload *samples;
    size_t sample_count;
} aphi_program_run_options;

/* Returns options without forced events, with all threads running. */
aphi_program_run_options aphi_program_run_options_default(uint64_t seed, uint64_t time_ms);

/* Starts a program (words as for execvp) and waits until it calls aph_threads_run. Returns NULL with a message on
 * failure. The output of the program goes to stderr. */
aphi_program *aphi_program_open(char *const *words, uint64_t time_ms, char *error, size_t size);
/* Does the same for a program that is already connected by two pipes; they are closed with the program. */
aphi_program *aphi_program_attach(int to, int from, const char *name, uint64_t time_ms, char *error, size_t size);
void aphi_program_close(aphi_program *p);
aphi_layout *aphi_program_layout(aphi_program *p);
/* When *stop is set, the current run fails, as if the program had ended. */
void aphi_program_set_stop(aphi_program *p, const volatile sig_atomic_t *stop);
/* Makes one run. Returns false with a message if the program has ended; it can only be closed then. */
bool aphi_program_run(aphi_program *p, const aphi_program_run_options *options, aphi_recording *r, char *error,
                      size_t size);

/* ---- reachability testing ---------------------------------------------------------------------------------------- */

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

/* Called for each sequence, and for each run that crashed, failed, diverged or did not end; such a run makes the search
 * incomplete. The layout has the labels of the recording. Calls are not concurrent. Return false to stop. */
typedef bool aphi_program_visit(void *context, const aphi_layout *layout, const aphi_recording *r,
                                const aphi_races *races);

/* Explores with several programs in parallel, all started from the same command line. The limits time_ms and events_max
 * apply to each run. APHI_PROGRAM_LOST: a program has ended; see error. */
aphi_program_explore_result aphi_program_explore(aphi_program *const *programs, size_t count,
                                                 const aphi_program_run_options *limits, aphi_program_visit *visit,
                                                 void *context, aphi_program_explore_stats *stats, char *error,
                                                 size_t size);

#endif

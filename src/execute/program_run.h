/* SPDX-License-Identifier: Apache-2.0
 *
 * program_run.h - a program on the threads library, run under control: with some of it forced, to see what it does.
 *
 * The other side of src/threads/runner.c. The program is started once; each run is a process that it forks. */
#ifndef APHI_EXECUTE_PROGRAM_RUN_H
#define APHI_EXECUTE_PROGRAM_RUN_H

#include "execute/recording.h"

#include <signal.h>

typedef struct aphi_program aphi_program;

typedef struct aphi_program_exclusion { /* the next receive of a thread must not take this */
    uint16_t thread;
    aphi_place send;
} aphi_program_exclusion;

typedef struct aphi_program_sample { /* what a message carries, for a thread that runs alone */
    uint16_t port;
    uint32_t label;
    unsigned char payload[16];
} aphi_program_sample;

typedef struct aphi_program_order {
    uint64_t seed;     /* of what is free; 0: always the first that is possible */
    uint64_t time_ms;  /* after which the run is ended, and called endless */
    uint64_t events_max;
    bool whole;        /* nothing may happen after what is forced: a replay */
    int alone;         /* -1, or the thread that runs alone: what is forced are its events */
    const aphi_recorded *forced; /* in any order that keeps the order in each thread */
    size_t forced_count;
    const aphi_program_exclusion *excluded;
    size_t excluded_count;
    const aphi_program_sample *samples;
    size_t sample_count;
} aphi_program_order;

/* All free, at most so long. */
aphi_program_order aphi_program_freely(uint64_t seed, uint64_t time_ms);

/* Starts a program (words as for execvp) and waits until it comes to aph_threads_run. NULL, with a message: it cannot
 * be started, or does not. What it prints goes to stderr. */
aphi_program *aphi_program_open(char *const *words, uint64_t time_ms, char *error, size_t size);
void aphi_program_close(aphi_program *p);
aphi_cast *aphi_program_cast(aphi_program *p);
/* When *stop is set, the run at hand ends, too, as if the program were gone. */
void aphi_program_heed(aphi_program *p, const volatile sig_atomic_t *stop);
/* One run. False, with a message: the program itself is gone, and can be closed only. */
bool aphi_program_run(aphi_program *p, const aphi_program_order *order, aphi_recording *r, char *error,
                         size_t size);

#endif

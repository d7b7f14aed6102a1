/* SPDX-License-Identifier: Apache-2.0
 *
 * program_campaign.h - runs of a program: all orders of its messages, random orders, or the sequences of a file. */
#ifndef APHI_EXECUTE_PROGRAM_CAMPAIGN_H
#define APHI_EXECUTE_PROGRAM_CAMPAIGN_H

#include "execute/program_run.h"

#include <stdio.h>

typedef struct aphi_program_campaign_options {
    char **words;              /* command line of the program, NULL-terminated */
    uint64_t random, seed;     /* random runs, and the seed of the first; random 0: all orders */
    bool twice;                /* replay each random run, and compare */
    const char *replay, *prefix; /* a file of sequences to replay, exactly or with a free continuation; or NULL */
    uint64_t limit;            /* sequences; 0: no limit */
    size_t jobs;               /* all orders: programs that run in parallel */
    uint64_t time_ms, events_max; /* of a run */
    FILE *list;                /* for the sequences, or NULL */
    bool races;                /* include race sets and vector timestamps in the list */
    const volatile sig_atomic_t *stop;
} aphi_program_campaign_options;

typedef enum aphi_program_outcome {
    APHI_PROGRAM_PASS,
    APHI_PROGRAM_DEADLOCK,
    APHI_PROGRAM_DIVERGED,     /* the program cannot follow a sequence */
    APHI_PROGRAM_ENDLESS,
    APHI_PROGRAM_CRASHED,
    APHI_PROGRAM_BAD_SEQUENCE, /* a file cannot be read */
    APHI_PROGRAM_NO_PROGRAM,   /* the program cannot be started, or has ended */
    APHI_PROGRAM_INTERRUPTED,
} aphi_program_outcome;

typedef struct aphi_program_campaign {
    aphi_program_outcome outcome;
    bool started;              /* the program */
    bool complete;             /* all runs were made */
    char detail[600];          /* of the outcome; "" for a pass */
    aphi_program_explore_stats stats;
} aphi_program_campaign;

aphi_program_campaign aphi_program_campaign_run(const aphi_program_campaign_options *options);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * shrink_runner.h - running candidates of a shrink: which fail, how sure that is, and which is the best so far. */
#ifndef APHI_SHRINK_SHRINK_RUNNER_H
#define APHI_SHRINK_SHRINK_RUNNER_H

#include "shrink/shrink.h"

/* The chance of taking a candidate that fails for one that passes: without some actions, and otherwise simpler. */
#define APHI_MISSED         0.02
#define APHI_MISSED_SIMPLER 0.15

enum { APHI_TRIES_MAX = 20 }; /* runs of a candidate before it counts as passing */

typedef struct aphi_shrink_tried {
    uint64_t key;  /* of the candidate; 0: free */
    unsigned runs; /* that passed */
} aphi_shrink_tried;

typedef struct aphi_shrink_runner {
    const aphi_shrink_options *options;
    aphi_shrink_run *run;
    aphi_script best, candidate;
    aphi_script firm;   /* the last best that failed in each of its runs; count 0: there is none */
    unsigned falls;     /* times that best turned out to be less firm */
    double failed, ran; /* evidence on how often best fails; older runs count less */
    bool fell;          /* best passed, that had always failed: nothing is run until aphi_shrink_runner_fall_back */
    bool shaken;        /* it fails less often than it was thought: what was learnt may be wrong */
    unsigned passed_since_check;
    uint64_t runs;
    int64_t start, deadline, last_ns;
    bool hurried; /* few runs fit into the time: none is to be sure of what another said */
    bool cheap;   /* to wait for every answer */
    bool stopped; /* a run said so */
    bool over;    /* stopped, or the budget is used up */
    size_t taken; /* actions that the last failing run took; 0: that is not known */
    aphi_shrink_tried *table;
    size_t table_size, table_count;
} aphi_shrink_runner;

void aphi_shrink_runner_init(aphi_shrink_runner *s, const aphi_script *failing, aphi_shrink_run *run,
                     const aphi_shrink_options *options);
void aphi_shrink_runner_deinit(aphi_shrink_runner *s); /* best is the caller's from then on */
/* A line of the log. */
void aphi_shrink_runner_report(aphi_shrink_runner *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Does it fail, in one run? False too if it is over. */
bool aphi_shrink_runner_run(aphi_shrink_runner *s, const aphi_script *script);
/* How often best fails, as far as is known: 0.05 to 1. */
double aphi_shrink_runner_rate(const aphi_shrink_runner *s);
bool aphi_shrink_runner_is_certain(const aphi_shrink_runner *s);
void aphi_shrink_runner_learn(aphi_shrink_runner *s, double failed, double ran);
/* Runs best once; and until its rate is known well. */
void aphi_shrink_runner_check(aphi_shrink_runner *s);
void aphi_shrink_runner_measure(aphi_shrink_runner *s);
/* Goes back to the last script that failed in each of its runs, if best did not; false if it did. */
bool aphi_shrink_runner_fall_back(aphi_shrink_runner *s);

/* Runs that a candidate must pass. */
unsigned aphi_shrink_runner_tries(const aphi_shrink_runner *s, double may_miss);
unsigned aphi_shrink_runner_tried(aphi_shrink_runner *s); /* that it has passed */
/* These run the candidate, and if it fails make it the best (and what was the best, the candidate): within so many
 * passing runs, earlier ones counted; as often as such a candidate deserves it; and only if it fails as often as best
 * does. */
bool aphi_shrink_runner_fails_within(aphi_shrink_runner *s, unsigned runs);
bool aphi_shrink_runner_fails(aphi_shrink_runner *s);
bool aphi_shrink_runner_fails_simpler(aphi_shrink_runner *s);
bool aphi_shrink_runner_fails_as_often(aphi_shrink_runner *s);
/* The candidate has failed: it is the best now. */
void aphi_shrink_runner_accept(aphi_shrink_runner *s);
/* Tells scripts apart. */
uint64_t aphi_shrink_runner_key(const aphi_script *script, uint64_t salt);

#endif

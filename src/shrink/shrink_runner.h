/* SPDX-License-Identifier: Apache-2.0
 *
 * shrink_runner.h - runs of candidates: which of them fail, how reliably, and the best script so far. */
#ifndef APHI_SHRINK_SHRINK_RUNNER_H
#define APHI_SHRINK_SHRINK_RUNNER_H

#include "shrink/shrink.h"

/* The accepted probability of missing a failing candidate: with fewer actions, and with simpler ones. */
#define APHI_MISSED         0.02
#define APHI_MISSED_SIMPLER 0.15

enum { APHI_TRIES_MAX = 20 }; /* runs of a candidate before it counts as passing */

typedef struct aphi_shrink_passed {
    uint64_t key;  /* of the candidate; 0: free */
    unsigned runs; /* passing runs */
} aphi_shrink_passed;

typedef struct aphi_shrink_runner {
    const aphi_shrink_options *options;
    aphi_shrink_run *run;
    aphi_script best, candidate;
    aphi_script reliable; /* the latest best that failed in each of its runs; count 0: none */
    unsigned fallbacks;   /* to it */
    double failed, ran;   /* runs of best; older ones count less */
    bool must_fall_back;  /* best passed after failing in each run: nothing is run until aphi_shrink_runner_fall_back */
    bool rate_dropped;    /* best fails less often than assumed: conclusions from passing candidates may be wrong */
    unsigned passed_since_check;
    uint64_t runs;
    int64_t start, deadline, last_ns;
    bool is_slow;         /* few runs fit into the budget: no run only confirms another */
    bool waits_are_cheap; /* waiting for every response is affordable */
    bool stopped;         /* by a run */
    bool over;            /* stopped, or the budget is used up */
    size_t actions_taken; /* by the latest failing run; 0: unknown */
    aphi_shrink_passed *table;
    size_t table_size, table_count;
} aphi_shrink_runner;

void aphi_shrink_runner_init(aphi_shrink_runner *s, const aphi_script *failing, aphi_shrink_run *run,
                             const aphi_shrink_options *options);
void aphi_shrink_runner_deinit(aphi_shrink_runner *s); /* the caller owns best from then on */
/* Reports a step. */
void aphi_shrink_runner_report(aphi_shrink_runner *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Runs the script once. Returns false if it passes, or if shrinking is over. */
bool aphi_shrink_runner_run(aphi_shrink_runner *s, const aphi_script *script);
/* The estimated failure rate of best: 0.05 to 1. */
double aphi_shrink_runner_rate(const aphi_shrink_runner *s);
bool aphi_shrink_runner_is_certain(const aphi_shrink_runner *s);
void aphi_shrink_runner_learn(aphi_shrink_runner *s, double failed, double ran);
/* Run best: once, and until its failure rate is known well. */
void aphi_shrink_runner_check(aphi_shrink_runner *s);
void aphi_shrink_runner_measure(aphi_shrink_runner *s);
/* If must_fall_back, makes the reliable script the best and returns true. */
bool aphi_shrink_runner_fall_back(aphi_shrink_runner *s);

/* The number of runs that a candidate must pass, and that it has passed. */
unsigned aphi_shrink_runner_tries(const aphi_shrink_runner *s, double may_miss);
unsigned aphi_shrink_runner_passed(aphi_shrink_runner *s);
/* Run the candidate, and swap it with best if it fails: before this number of passing runs, including earlier ones;
 * before the number for fewer actions, or for simpler ones; or only if it fails as often as best. */
bool aphi_shrink_runner_fails_within(aphi_shrink_runner *s, unsigned runs);
bool aphi_shrink_runner_fails(aphi_shrink_runner *s);
bool aphi_shrink_runner_fails_simpler(aphi_shrink_runner *s);
bool aphi_shrink_runner_fails_as_often(aphi_shrink_runner *s);
/* Swaps the candidate, which has failed, with best. */
void aphi_shrink_runner_accept(aphi_shrink_runner *s);
/* A hash of the script. */
uint64_t aphi_shrink_runner_key(const aphi_script *script, uint64_t salt);

#endif

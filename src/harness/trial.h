/* SPDX-License-Identifier: Apache-2.0
 *
 * trial.h - running candidates of a shrink: which fail, how sure that is, and which is the best so far. */
#ifndef APHI_HARNESS_TRIAL_H
#define APHI_HARNESS_TRIAL_H

#include "harness/shrink.h"

/* The chance of taking a candidate that fails for one that passes: without some actions, and otherwise simpler. */
#define APHI_MISSED         0.02
#define APHI_MISSED_SIMPLER 0.15

enum { APHI_TRIES_MAX = 20 }; /* runs of a candidate before it counts as passing */

typedef struct aphi_tried {
    uint64_t key;  /* of the candidate; 0: free */
    unsigned runs; /* that passed */
} aphi_tried;

typedef struct aphi_trial {
    const aphi_shrink_options *options;
    aphi_shrink_run *run;
    aphi_script best, candidate;
    aphi_script firm;   /* the last best that failed in each of its runs; count 0: there is none */
    unsigned falls;     /* times that best turned out to be less firm */
    double failed, ran; /* evidence on how often best fails; older runs count less */
    bool fell;          /* best passed, that had always failed: nothing is run until aphi_trial_fall_back */
    bool shaken;        /* it fails less often than it was thought: what was learnt may be wrong */
    unsigned passed_since_check;
    uint64_t runs;
    int64_t start, deadline, last_ns;
    bool hurried; /* few runs fit into the time: none is to be sure of what another said */
    bool cheap;   /* to wait for every answer */
    bool stopped; /* a run said so */
    bool over;    /* stopped, or the budget is used up */
    size_t taken; /* actions that the last failing run took; 0: that is not known */
    aphi_tried *table;
    size_t table_size, table_count;
} aphi_trial;

void aphi_trial_init(aphi_trial *s, const aphi_script *failing, aphi_shrink_run *run,
                     const aphi_shrink_options *options);
void aphi_trial_deinit(aphi_trial *s); /* best is the caller's from then on */
/* A line of the log. */
void aphi_trial_tell(aphi_trial *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Does it fail, in one run? False too if it is over. */
bool aphi_trial_run(aphi_trial *s, const aphi_script *script);
/* How often best fails, as far as is known: 0.05 to 1. */
double aphi_trial_rate(const aphi_trial *s);
bool aphi_trial_is_certain(const aphi_trial *s);
void aphi_trial_learn(aphi_trial *s, double failed, double ran);
/* Runs best once; and until its rate is known well. */
void aphi_trial_check(aphi_trial *s);
void aphi_trial_measure(aphi_trial *s);
/* Goes back to the last script that failed in each of its runs, if best did not; false if it did. */
bool aphi_trial_fall_back(aphi_trial *s);

/* Runs that a candidate must pass. */
unsigned aphi_trial_tries(const aphi_trial *s, double may_miss);
unsigned aphi_trial_tried(aphi_trial *s); /* that it has passed */
/* These run the candidate, and if it fails make it the best (and what was the best, the candidate): within so many
 * passing runs, earlier ones counted; as often as such a candidate deserves it; and only if it fails as often as best
 * does. */
bool aphi_trial_fails_within(aphi_trial *s, unsigned runs);
bool aphi_trial_fails(aphi_trial *s);
bool aphi_trial_fails_simpler(aphi_trial *s);
bool aphi_trial_fails_as_often(aphi_trial *s);
/* The candidate has failed: it is the best now. */
void aphi_trial_accept(aphi_trial *s);
/* Tells scripts apart. */
uint64_t aphi_trial_key(const aphi_script *script, uint64_t salt);

#endif

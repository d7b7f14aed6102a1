/* SPDX-License-Identifier: Apache-2.0
 *
 * shrink_internal.h - the state of shrinking, and the functions that the files of this folder share. */
#ifndef APHI_SHRINK_SHRINK_INTERNAL_H
#define APHI_SHRINK_SHRINK_INTERNAL_H

#include "base/intern.h"
#include "shrink/shrink.h"

/* The accepted probability of missing a failing candidate: with fewer actions, and with simpler ones. */
#define APHI_MISSED         0.02
#define APHI_MISSED_SIMPLER 0.15

enum { APHI_TRIES_MAX = 20 }; /* runs of a candidate before it counts as passing */

typedef struct aphi_shrink_runner {
    const aphi_shrink_options *options;
    aphi_shrink_run *run;
    aphi_script best, candidate;
    aphi_script reliable; /* the latest best that failed in each of its runs; count 0: none */
    unsigned fallbacks;   /* number of returns to `reliable` */
    double failed, ran;   /* failing and all runs of best; older ones count less */
    bool must_fall_back;  /* best passed after failing in each run; no runs until aphi_shrink_runner_fall_back */
    bool rate_dropped;    /* best fails less often than assumed: conclusions from passing candidates may be wrong */
    unsigned passed_since_check;
    uint64_t runs;
    int64_t start, deadline, last_ns;
    bool is_slow;         /* few runs fit into the budget, so confirming runs are skipped */
    bool waits_are_cheap; /* waiting for every response is affordable */
    bool stopped;         /* a run requested a stop */
    bool over;            /* stopped, or the budget is used up */
    size_t actions_taken; /* by the latest failing run; 0: unknown */
    aphi_intern candidates; /* by key */
    unsigned *passed;     /* by number of a candidate: passing runs */
    size_t passed_capacity;
} aphi_shrink_runner;

/* ---- shrink_runner.c: runs of candidates, and the best script so far --------------------------------------------- */

void aphi_shrink_runner_init(aphi_shrink_runner *s, const aphi_script *failing, aphi_shrink_run *run,
                             const aphi_shrink_options *options);
void aphi_shrink_runner_deinit(aphi_shrink_runner *s); /* the caller owns best from then on */
void aphi_shrink_runner_report(aphi_shrink_runner *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Runs the script once. Returns false if it passes, or if shrinking is over. */
bool aphi_shrink_runner_run(aphi_shrink_runner *s, const aphi_script *script);
/* The estimated failure rate of best: 0.05 to 1. */
double aphi_shrink_runner_rate(const aphi_shrink_runner *s);
void aphi_shrink_runner_learn(aphi_shrink_runner *s, double failed, double ran);
/* Run best: once, or until its failure rate is known well. */
void aphi_shrink_runner_check(aphi_shrink_runner *s);
void aphi_shrink_runner_measure(aphi_shrink_runner *s);
/* If must_fall_back, makes the reliable script the best and returns true. */
bool aphi_shrink_runner_fall_back(aphi_shrink_runner *s);

/* Return the number of runs that a candidate must pass, and the number that it has passed. */
unsigned aphi_shrink_runner_tries(const aphi_shrink_runner *s, double may_miss);
unsigned aphi_shrink_runner_passed(aphi_shrink_runner *s);
/* Run the candidate, and swap it with best if it fails: before this number of passing runs, including earlier ones;
 * before the number for fewer or for simpler actions; or only if it fails as often as best. The last two functions
 * report the step, unless it is NULL. */
bool aphi_shrink_runner_fails_within(aphi_shrink_runner *s, unsigned runs);
bool aphi_shrink_runner_fails(aphi_shrink_runner *s);
bool aphi_shrink_runner_fails_simpler(aphi_shrink_runner *s, const char *step);
bool aphi_shrink_runner_fails_as_often(aphi_shrink_runner *s, const char *step);
/* Swaps the candidate, which has failed, with best. */
void aphi_shrink_runner_accept(aphi_shrink_runner *s);
uint64_t aphi_shrink_runner_key(const aphi_script *script, uint64_t salt);

/* ---- script_edit.c: candidates derived from the best script ------------------------------------------------------ */

/* Copies best, or another script with the same header, to the candidate. */
void aphi_script_edit_copy(aphi_shrink_runner *s);
void aphi_script_edit_set(aphi_shrink_runner *s, const aphi_script *from);
/* Makes the candidate from best without the marked actions. An action that waited for the response to a removed request
 * waits for the response to the request before that one. An action without a wait inherits the wait of the actions
 * removed directly before it, because they delayed it too. */
void aphi_script_edit_without(aphi_shrink_runner *s, const bool *removed);
/* Makes each action wait for the response to the previous request. Waits for silence are kept. */
void aphi_script_edit_wait_for_each(aphi_script *c);
/* Makes each action without a wait wait for the responses that its holes need. */
void aphi_script_edit_wait_for_holes(aphi_script *c);
/* Returns the number of connections; *numbers, which the caller frees, lists them in the order of their first use. */
size_t aphi_script_edit_connections(const aphi_script *script, int64_t **numbers);

/* ---- slice.c: a guess at the relevant actions -------------------------------------------------------------------- */

typedef enum aphi_script_slice {
    APHI_SLICE_NONE,
    APHI_SLICE_DISTANT, /* shares a value with a relevant action, over any number of steps */
    APHI_SLICE_SHARES,  /* shares a value with the last request */
    APHI_SLICE_REFERS,  /* the last request, and the requests that its holes refer to */
} aphi_script_slice;

/* Sets the level of each action. A request is at least as relevant as the requests that refer to it. Does not
 * collect. */
void aphi_script_slice_guess(const aphi_script *s, aphi_script_slice *levels);

/* ---- delta_debug.c: removal of actions in large sets ------------------------------------------------------------- */

/* Keeps only the first actions, if the script still fails. */
bool aphi_delta_debug_cut(aphi_shrink_runner *s, size_t count);
/* Keeps only the actions that seem relevant. */
void aphi_delta_debug_guess(aphi_shrink_runner *s);
void aphi_delta_debug_connections(aphi_shrink_runner *s);
void aphi_delta_debug_actions(aphi_shrink_runner *s);

/* ---- single_steps.c, substitute.c -------------------------------------------------------------------------------- */

/* Takes single steps until none applies. Returns true if every further step makes the script fail less reliably; false
 * if the search ended early. */
bool aphi_single_steps(aphi_shrink_runner *s);
/* Remove a request while changing another; replace values with simpler ones. Each tries all steps of its kind, and
 * returns true if one was taken. */
bool aphi_substitute_request(aphi_shrink_runner *s);
bool aphi_substitute_simpler(aphi_shrink_runner *s);

#endif

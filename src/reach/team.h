/* SPDX-License-Identifier: Apache-2.0
 *
 * team.h - search a model with several threads, keep what is left in a file, and go on from there. */
#ifndef APHI_REACH_TEAM_H
#define APHI_REACH_TEAM_H

#include "reach/explore.h"

#include <signal.h>

typedef struct aphi_team_options {
    const aphi_plan *plan;
    unsigned jobs;
    /* Called by each worker, at once, with its own context, at each sequence. NULL: they are counted. */
    aphi_visit *visit;
    void **contexts;            /* one a worker; NULL if there is no visit */
    const char *checkpoint;     /* a file, or NULL */
    double every;               /* seconds between checkpoints */
    bool resume;                /* begin with what the checkpoint says */
    uint64_t limit;             /* stop after about so many sequences; 0: none */
    const volatile sig_atomic_t *stop;
    void (*progress)(uint64_t sequences, double share);
} aphi_team_options;

typedef enum aphi_team_end {
    APHI_TEAM_DONE,
    APHI_TEAM_STOPPED,     /* by a visit, the limit or the signal; what is left is in the checkpoint */
    APHI_TEAM_UNREADABLE,  /* the checkpoint; why says why */
    APHI_TEAM_UNWRITTEN,
} aphi_team_end;

typedef struct aphi_team_result {
    aphi_team_end end;
    aphi_explored told;    /* of all runs, with those before the checkpoint */
    size_t pending_max;    /* branches that waited at one time, at most */
    char why[300];
} aphi_team_result;

aphi_team_result aphi_team_search(const aphi_team_options *options);

#endif

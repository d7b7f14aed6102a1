/* SPDX-License-Identifier: Apache-2.0
 *
 * team.h - search a model with several threads, keep what is left in a file, and go on from there. */
#ifndef APHI_REACH_TEAM_H
#define APHI_REACH_TEAM_H

#include "reach/explore.h"

#include <signal.h>

typedef struct aphi_team aphi_team;

typedef struct aphi_team_options {
    const aphi_plan *plan;
    unsigned jobs;
    /* Called by each worker, at once, with its own context, at each sequence. NULL: they are counted. */
    aphi_visit *visit;
    void **contexts;            /* one a worker; NULL if there is no visit */
    uint64_t slice;             /* forks between looks at who has nothing to do; 0: thousands. Few if visits are slow */
    const char *checkpoint;     /* a file, or NULL */
    double every;               /* seconds between checkpoints */
    bool resume;                /* begin with what the checkpoint says */
    uint64_t limit;             /* stop after about so many sequences; 0: none */
    uint64_t memory;            /* bytes for what is pending; what goes beyond is kept in a file; 0: no bound */
    const volatile sig_atomic_t *stop;
    void (*progress)(uint64_t sequences, double share);
    /* If there is one, the team is one of several (fleet.c): look is called every few milliseconds, and says when to
     * put work down and when all is over. One that begins empty waits for a branch from elsewhere. */
    void (*look)(void *context, aphi_team *t);
    void *look_context;
    bool empty;
} aphi_team_options;

typedef enum aphi_team_end {
    APHI_TEAM_DONE,
    APHI_TEAM_STOPPED,     /* by a visit, the limit or the signal; what is left is in the checkpoint */
    APHI_TEAM_UNREADABLE,  /* the checkpoint; why says why */
    APHI_TEAM_UNWRITTEN,
    APHI_TEAM_UNSHELVED,   /* what is beyond the bound of memory cannot be kept in a file; why says why */
    APHI_TEAM_LOST,        /* another team does not answer */
} aphi_team_end;

typedef struct aphi_team_result {
    aphi_team_end end;
    aphi_explored told;    /* of all runs, with those before the checkpoint */
    size_t filed;          /* branches that were kept in a file for a time */
    bool interrupted;      /* by the signal, here or elsewhere */
    char why[300];
} aphi_team_result;

aphi_team_result aphi_team_search(const aphi_team_options *options);
/* What checkpoints and teams elsewhere know the model by. */
uint64_t aphi_team_fingerprint(const aphi_plan *p);

/* ---- for look ---------------------------------------------------------------------------------------------------- */

bool aphi_team_is_idle(const aphi_team *t);      /* nobody has work at hand; some may wait on the shelf */
size_t aphi_team_waiting(const aphi_team *t);    /* branches on the shelf */
void aphi_team_give(aphi_team *t, const aphi_branch *branch);
bool aphi_team_take(aphi_team *t, aphi_branch *branch); /* the one that waited longest; free() frees its choices */
void aphi_team_want(aphi_team *t);               /* asks the workers for a branch */
void aphi_team_put_down(aphi_team *t);           /* asks them to put all on the shelf, and wait */
bool aphi_team_is_down(const aphi_team *t);      /* that was asked, here or by a worker that must stop */
void aphi_team_go_on(aphi_team *t);
bool aphi_team_is_stopping(const aphi_team *t);
bool aphi_team_is_interrupted(const aphi_team *t);
void aphi_team_stop(aphi_team *t, bool interrupted);
/* Stops it if a signal or the limit asks for it, puts work down if a checkpoint is due. */
void aphi_team_check(aphi_team *t);
/* When all have put down their work, everywhere: writes the checkpoint, then goes on, or ends if it is stopping. */
void aphi_team_save(aphi_team *t);
bool aphi_team_is_over(const aphi_team *t);
void aphi_team_end_with(aphi_team *t, aphi_team_end end, const char *why);
aphi_explored aphi_team_told(const aphi_team *t);
double aphi_team_left(const aphi_team *t);
/* What teams elsewhere have done, and have left: it is in all sums from here on. */
void aphi_team_hear(aphi_team *t, const aphi_explored *others, double left);

#endif

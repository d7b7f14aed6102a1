/* SPDX-License-Identifier: Apache-2.0
 *
 * parallel.h - search a model with several threads, keep what is left in a file, and go on from there. */
#ifndef APHI_EXPLORE_PARALLEL_H
#define APHI_EXPLORE_PARALLEL_H

#include "explore/explore.h"

#include <signal.h>

typedef struct aphi_parallel aphi_parallel;

typedef struct aphi_parallel_options {
    const aphi_compiled_model *plan;
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
    /* If there is one, the team is one of several (distributed.c): look is called every few milliseconds, and says when to
     * put work down and when all is over. One that begins empty waits for a branch from elsewhere. */
    void (*look)(void *context, aphi_parallel *t);
    void *look_context;
    bool empty;
} aphi_parallel_options;

typedef enum aphi_parallel_end {
    APHI_PARALLEL_DONE,
    APHI_PARALLEL_STOPPED,     /* by a visit, the limit or the signal; what is left is in the checkpoint */
    APHI_PARALLEL_UNREADABLE,  /* the checkpoint; why says why */
    APHI_PARALLEL_UNWRITTEN,
    APHI_PARALLEL_UNSPILLED,   /* what is beyond the bound of memory cannot be kept in a file; why says why */
    APHI_PARALLEL_LOST,        /* another team does not answer */
} aphi_parallel_end;

typedef struct aphi_parallel_result {
    aphi_parallel_end end;
    aphi_explored told;    /* of all runs, with those before the checkpoint */
    size_t filed;          /* branches that were kept in a file for a time */
    bool interrupted;      /* by the signal, here or elsewhere */
    char why[300];
} aphi_parallel_result;

aphi_parallel_result aphi_parallel_search(const aphi_parallel_options *options);
/* What checkpoints and teams elsewhere know the model by. */
uint64_t aphi_parallel_fingerprint(const aphi_compiled_model *p);

/* ---- for look ---------------------------------------------------------------------------------------------------- */

bool aphi_parallel_is_idle(const aphi_parallel *t);      /* nobody has work at hand; some may wait on the shelf */
size_t aphi_parallel_waiting(const aphi_parallel *t);    /* branches on the shelf */
void aphi_parallel_give(aphi_parallel *t, const aphi_branch *branch);
bool aphi_parallel_take(aphi_parallel *t,
                        aphi_branch *branch);            /* the one that waited longest; free() frees its choices */
void aphi_parallel_want(aphi_parallel *t);               /* asks the workers for a branch */
void aphi_parallel_put_down(aphi_parallel *t);           /* asks them to put all on the shelf, and wait */
bool aphi_parallel_is_down(const aphi_parallel *t);      /* that was asked, here or by a worker that must stop */
void aphi_parallel_go_on(aphi_parallel *t);
bool aphi_parallel_is_stopping(const aphi_parallel *t);
bool aphi_parallel_is_interrupted(const aphi_parallel *t);
void aphi_parallel_stop(aphi_parallel *t, bool interrupted);
/* Stops it if a signal or the limit asks for it, puts work down if a checkpoint is due. */
void aphi_parallel_check(aphi_parallel *t);
/* When all have put down their work, everywhere: writes the checkpoint, then goes on, or ends if it is stopping. */
void aphi_parallel_save(aphi_parallel *t);
bool aphi_parallel_is_over(const aphi_parallel *t);
void aphi_parallel_end_with(aphi_parallel *t, aphi_parallel_end end, const char *why);
aphi_explored aphi_parallel_told(const aphi_parallel *t);
double aphi_parallel_left(const aphi_parallel *t);
/* What teams elsewhere have done, and have left: it is in all sums from here on. */
void aphi_parallel_hear(aphi_parallel *t, const aphi_explored *others, double left);

#endif

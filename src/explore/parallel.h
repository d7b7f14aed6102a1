/* SPDX-License-Identifier: Apache-2.0
 *
 * parallel.h - exploration of a model by several threads, with checkpoints. */
#ifndef APHI_EXPLORE_PARALLEL_H
#define APHI_EXPLORE_PARALLEL_H

#include "explore/explore.h"

#include <signal.h>

typedef struct aphi_parallel aphi_parallel;

typedef struct aphi_parallel_options {
    const aphi_compiled_model *model;
    unsigned jobs;
    /* Called for each sequence by its worker, with its context; calls are concurrent. NULL: only counts sequences. */
    aphi_visit *visit;
    void **contexts;            /* one per worker; NULL without a visit */
    uint64_t slice; /* forks between two checks for idle workers; 0: default; use a small number if visits are slow */
    const char *checkpoint;     /* a file, or NULL */
    double checkpoint_interval; /* seconds between checkpoints */
    bool resume;                /* begin with the checkpoint */
    uint64_t limit;             /* stop after about this many sequences; 0: no limit */
    uint64_t memory;            /* bytes for pending branches; more go to a file; 0: no limit */
    const volatile sig_atomic_t *stop;
    void (*progress)(uint64_t sequences, double share);
    /* Not NULL in a distributed search (distributed.c). Called every few milliseconds; decides when to pause and when
     * to end. A pool that begins empty waits for a branch from another process. */
    void (*poll)(void *context, aphi_parallel *p);
    void *poll_context;
    bool empty;
} aphi_parallel_options;

typedef enum aphi_parallel_end {
    APHI_PARALLEL_DONE,
    APHI_PARALLEL_STOPPED,      /* by a visit, the limit or the signal; pending branches are in the checkpoint */
    APHI_PARALLEL_UNREADABLE,   /* the checkpoint cannot be read; `why` has the reason */
    APHI_PARALLEL_UNWRITTEN,
    APHI_PARALLEL_SPILL_FAILED, /* branches beyond the memory limit cannot be kept in a file */
    APHI_PARALLEL_LOST,         /* another process does not respond */
} aphi_parallel_end;

typedef struct aphi_parallel_result {
    aphi_parallel_end end;
    aphi_explore_stats stats; /* including those of the checkpoint */
    size_t spilled;           /* number of branches written to a file */
    bool interrupted;         /* by the signal, in any process */
    char why[300];
} aphi_parallel_result;

aphi_parallel_result aphi_parallel_search(const aphi_parallel_options *options);

/* ---- for poll ---------------------------------------------------------------------------------------------------- */

bool aphi_parallel_is_idle(const aphi_parallel *p);                 /* all workers are idle; branches may be queued */
size_t aphi_parallel_queued(const aphi_parallel *p);                /* number of branches in the queue */
void aphi_parallel_put_branch(aphi_parallel *p, const aphi_branch *branch);
/* Takes the oldest branch; the caller frees its choices. Returns false if the queue is empty. */
bool aphi_parallel_take_branch(aphi_parallel *p, aphi_branch *branch);
void aphi_parallel_request_branch(aphi_parallel *p);                /* from the workers, for the queue */
void aphi_parallel_pause(aphi_parallel *p);                         /* workers queue all branches, and wait */
bool aphi_parallel_is_pausing(const aphi_parallel *p);              /* by request, or because a worker stops */
void aphi_parallel_resume(aphi_parallel *p);
bool aphi_parallel_is_stopping(const aphi_parallel *p);
bool aphi_parallel_is_interrupted(const aphi_parallel *p);
void aphi_parallel_stop(aphi_parallel *p, bool interrupted);
/* Stops on a signal or at the limit; pauses if a checkpoint is due. */
void aphi_parallel_check_limits(aphi_parallel *p);
/* Called when all workers of all processes have paused: writes the checkpoint, then resumes, or ends if stopping. */
void aphi_parallel_save_checkpoint(aphi_parallel *p);
bool aphi_parallel_is_over(const aphi_parallel *p);
void aphi_parallel_end_with(aphi_parallel *p, aphi_parallel_end end, const char *why);
aphi_explore_stats aphi_parallel_stats(const aphi_parallel *p);
double aphi_parallel_share_left(const aphi_parallel *p);
/* Sets the counts and the pending share of other processes. All sums include them. */
void aphi_parallel_set_remote(aphi_parallel *p, const aphi_explore_stats *remote, double share_left);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * parallel.c - exploration of a model by several threads.
 *
 * Idea:       each worker has an explorer. When a worker is idle, another worker splits off its largest branch. All
 *             branches pass through one queue. For a checkpoint, the workers pause and put all their branches into the
 *             queue, which is then the whole remaining work. The queue is written to the file, and the workers resume.
 *             Workers search depth first, so only one or two forks per level are pending. If memory is limited, a
 *             worker beyond its limit splits off branches near the root until it uses half of the limit, and the queue
 *             spills to a file.
 * Invariants: 1. a branch is in the queue or with one worker, never both
 *             2. the search is complete when the queue is empty and all workers are idle
 * Cost:       two flags are read per slice of forks. */
#include "explore/parallel.h"

#include "base/clock.h"
#include "base/memory.h"
#include "explore/spill_queue.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLICE = 8192, POLL_NS = 100000000, LINKED_POLL_NS = 3000000 };

typedef struct aphi_parallel pool;

typedef struct worker {
    pool *pool;
    aphi_explorer *explorer;
    pthread_t thread;
    aphi_explore_stats counted; /* counts of its explorer that are already in the sum */
    double share_left;          /* pending share of the whole tree */
} worker;

struct aphi_parallel {
    const aphi_parallel_options *options;
    worker *workers;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    aphi_spill_queue queue;
    unsigned idle_workers;
    atomic_bool branch_wanted;     /* a worker is idle, and the queue is empty */
    atomic_bool pausing;           /* workers put all branches into the queue, and wait */
    bool over;
    bool stopping;                 /* a visit, the limit or a signal ends the search */
    uint64_t earlier_sequences;    /* from the checkpoint */
    int64_t checkpoint_written_ns; /* when the last checkpoint was written */
    int64_t pause_ns;              /* when the last pause began */
    int64_t checkpoint_ns;         /* duration of the last checkpoint, with the pause */
    aphi_explore_stats remote;     /* counts of other processes */
    double remote_share_left;
    aphi_parallel_result result;
};

/* ---- the queue --------------------------------------------------------------------------------------------------- */

static void fail_spill(pool *p)
{
    char why[sizeof p->result.why];
    snprintf(why, sizeof why, "pending branches exceed --memory, and a file for them cannot be used: %s",
             strerror(errno));
    aphi_parallel_end_with(p, APHI_PARALLEL_SPILL_FAILED, why);
}

void aphi_parallel_put_branch(aphi_parallel *p, const aphi_branch *branch)
{
    if (!aphi_spill_queue_put(&p->queue, branch))
        fail_spill(p);
    atomic_store(&p->branch_wanted, false);
    pthread_cond_broadcast(&p->changed);
}

static const aphi_explore_stats no_stats;

static void add_stats(aphi_explore_stats *sum, const aphi_explore_stats *now, const aphi_explore_stats *before)
{
    sum->sequences += now->sequences - before->sequences;
    sum->deadlocks += now->deadlocks - before->deadlocks;
    sum->blocked += now->blocked - before->blocked;
    sum->forks += now->forks - before->forks;
}

static bool limit_reached(const aphi_parallel *p)
{
    uint64_t limit = p->options->limit;
    return limit && p->result.stats.sequences + p->remote.sequences - p->earlier_sequences >= limit;
}

static bool is_signalled(const aphi_parallel *p)
{
    return p->options->stop && *p->options->stop;
}

static void add_worker_stats(worker *w)
{
    pool *p = w->pool;
    aphi_explore_stats now = aphi_explorer_stats(w->explorer);
    add_stats(&p->result.stats, &now, &w->counted);
    w->counted = now;
    w->share_left = aphi_explorer_share_left(w->explorer);
    if (limit_reached(p) || is_signalled(p) || aphi_explorer_stopped(w->explorer))
        aphi_parallel_stop(p, is_signalled(p));
}

/* ---- a worker ---------------------------------------------------------------------------------------------------- */

/* Waits for a branch; returns false at the end of the search. The lock is held. */
static bool wait_for_branch(pool *p, aphi_branch *branch)
{
    p->idle_workers++;
    pthread_cond_broadcast(&p->changed);
    for (;;) {
        if (!p->options->poll && !aphi_parallel_queued(p) && aphi_parallel_is_idle(p) && !p->pausing && !p->over) {
            p->over = true;
            pthread_cond_broadcast(&p->changed);
        }
        if (p->over)
            return false;
        if (aphi_parallel_queued(p) && !p->pausing)
            break;
        atomic_store(&p->branch_wanted, !aphi_parallel_queued(p));
        pthread_cond_wait(&p->changed, &p->lock);
    }
    if (!aphi_spill_queue_take(&p->queue, branch)) {
        fail_spill(p);
        return false;
    }
    p->idle_workers--;
    return true;
}

/* Splits off branches for idle workers, and branches beyond the memory limit; in a pause, all branches. Returns true in
 * a pause. The lock is held. */
static bool give_branches(worker *w, aphi_branch *scratch)
{
    pool *p = w->pool;
    bool all = atomic_load(&p->pausing), full = aphi_explorer_exceeds(w->explorer, 1);
    while ((all || atomic_load(&p->branch_wanted) || (full && aphi_explorer_exceeds(w->explorer, 0.5))) &&
           aphi_explorer_split(w->explorer, scratch))
        aphi_parallel_put_branch(p, scratch);
    return all;
}

static void search_branch(worker *w, const aphi_branch *branch, aphi_branch *scratch)
{
    pool *p = w->pool;
    aphi_explorer_begin(w->explorer, branch);
    for (bool done = false; !done;) {
        done = aphi_explorer_run(w->explorer, p->options->slice ? p->options->slice : SLICE);
        pthread_mutex_lock(&p->lock);
        add_worker_stats(w);
        done |= give_branches(w, scratch) || p->over;
        pthread_mutex_unlock(&p->lock);
    }
}

static void *worker_main(void *argument)
{
    worker *w = argument;
    pool *p = w->pool;
    aphi_branch branch, scratch = {0};
    void **contexts = p->options->contexts;
    /* Opened by this thread, so that its memory shares no cache line with that of another worker. */
    w->explorer = aphi_explorer_open(p->options->model, p->options->visit, contexts ? contexts[w - p->workers] : NULL);
    aphi_explorer_limit_memory(w->explorer, p->options->memory / 2 / p->options->jobs);
    pthread_mutex_lock(&p->lock);
    while (wait_for_branch(p, &branch)) {
        pthread_mutex_unlock(&p->lock);
        search_branch(w, &branch, &scratch);
        free(branch.choices);
        pthread_mutex_lock(&p->lock);
    }
    pthread_mutex_unlock(&p->lock);
    aphi_explorer_close(w->explorer);
    free(scratch.choices);
    return NULL;
}

/* ---- supervision ------------------------------------------------------------------------------------------------- */

static bool write_checkpoint(pool *p)
{
    aphi_explore_stats stats = aphi_parallel_stats(p);
    return aphi_checkpoint_write(p->options->checkpoint, p->options->model, &stats, &p->queue, p->result.why,
                                 sizeof p->result.why);
}

static void report_progress(pool *p)
{
    double share_left = aphi_parallel_share_left(p) + p->remote_share_left;
    if (p->options->progress && share_left < 1)
        p->options->progress(p->result.stats.sequences + p->remote.sequences, 1 - share_left);
}

/* Polls a pool that is not part of a distributed search. */
static void poll_workers(pool *p)
{
    aphi_parallel_check_limits(p);
    if (p->pausing && aphi_parallel_is_idle(p))
        aphi_parallel_save_checkpoint(p);
}

/* Supervises the workers until the search is over. The lock is held. */
static void supervise(pool *p)
{
    p->checkpoint_written_ns = aphi_clock_ns();
    while (!p->over) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += p->options->poll ? LINKED_POLL_NS : POLL_NS;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&p->changed, &p->lock, &until);
        report_progress(p);
        if (p->over)
            break;
        if (p->options->poll)
            p->options->poll(p->options->poll_context, p);
        else
            poll_workers(p);
    }
}

/* ---- for poll ---------------------------------------------------------------------------------------------------- */

bool aphi_parallel_is_idle(const aphi_parallel *p)
{
    return p->idle_workers == p->options->jobs;
}

size_t aphi_parallel_queued(const aphi_parallel *p)
{
    return aphi_spill_queue_count(&p->queue);
}

bool aphi_parallel_take_branch(aphi_parallel *p, aphi_branch *branch)
{
    bool empty = !aphi_parallel_queued(p), taken = aphi_spill_queue_take_oldest(&p->queue, branch);
    if (!empty && !taken)
        fail_spill(p);
    return taken;
}

void aphi_parallel_request_branch(aphi_parallel *p)
{
    atomic_store(&p->branch_wanted, true);
}

void aphi_parallel_pause(aphi_parallel *p)
{
    if (!atomic_exchange(&p->pausing, true))
        p->pause_ns = aphi_clock_ns();
}

bool aphi_parallel_is_pausing(const aphi_parallel *p)
{
    return atomic_load(&p->pausing);
}

void aphi_parallel_resume(aphi_parallel *p)
{
    atomic_store(&p->pausing, false);
    pthread_cond_broadcast(&p->changed);
}

bool aphi_parallel_is_stopping(const aphi_parallel *p)
{
    return p->stopping;
}

void aphi_parallel_stop(aphi_parallel *p, bool interrupted)
{
    p->stopping = true;
    p->result.interrupted |= interrupted;
    aphi_parallel_pause(p);
}

bool aphi_parallel_is_interrupted(const aphi_parallel *p)
{
    return p->result.interrupted;
}

/* Checkpoints take at most a tenth of the time, regardless of their interval. */
static bool is_due(const aphi_parallel *p, int64_t passed_ns)
{
    return (double)passed_ns > p->options->checkpoint_interval * 1e9 && passed_ns > 9 * p->checkpoint_ns;
}

void aphi_parallel_check_limits(aphi_parallel *p)
{
    if (limit_reached(p) || is_signalled(p))
        aphi_parallel_stop(p, is_signalled(p));
    else if (p->options->checkpoint && is_due(p, aphi_clock_ns() - p->checkpoint_written_ns))
        aphi_parallel_pause(p);
}

void aphi_parallel_save_checkpoint(aphi_parallel *p)
{
    if (p->options->checkpoint && !write_checkpoint(p))
        aphi_parallel_end_with(p, APHI_PARALLEL_UNWRITTEN, p->result.why);
    else if (p->stopping)
        aphi_parallel_end_with(p, APHI_PARALLEL_STOPPED, "");
    p->checkpoint_written_ns = aphi_clock_ns();
    p->checkpoint_ns = p->checkpoint_written_ns - p->pause_ns;
    aphi_parallel_resume(p);
}

bool aphi_parallel_is_over(const aphi_parallel *p)
{
    return p->over;
}

void aphi_parallel_end_with(aphi_parallel *p, aphi_parallel_end end, const char *why)
{
    if (why != p->result.why)
        snprintf(p->result.why, sizeof p->result.why, "%s", why);
    p->result.end = end;
    p->over = true;
    pthread_cond_broadcast(&p->changed);
}

aphi_explore_stats aphi_parallel_stats(const aphi_parallel *p)
{
    aphi_explore_stats sum = p->result.stats;
    add_stats(&sum, &p->remote, &no_stats);
    return sum;
}

double aphi_parallel_share_left(const aphi_parallel *p)
{
    double share_left = p->queue.share;
    for (unsigned i = 0; i < p->options->jobs; i++)
        share_left += p->workers[i].share_left;
    return share_left;
}

void aphi_parallel_set_remote(aphi_parallel *p, const aphi_explore_stats *remote, double share_left)
{
    p->remote = *remote;
    p->remote_share_left = share_left;
}

/* ---- search ------------------------------------------------------------------------------------------------------ */

static void run_workers(pool *p)
{
    pthread_mutex_lock(&p->lock);
    for (unsigned i = 0; i < p->options->jobs; i++)
        if (pthread_create(&p->workers[i].thread, NULL, worker_main, &p->workers[i]))
            aphi_memory_exhausted("a thread cannot be started; use fewer --jobs");
    supervise(p);
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->lock);
    for (unsigned i = 0; i < p->options->jobs; i++)
        pthread_join(p->workers[i].thread, NULL);
    /* A complete search leaves a checkpoint without branches. */
    if (p->options->checkpoint && p->result.end == APHI_PARALLEL_DONE && !write_checkpoint(p))
        p->result.end = APHI_PARALLEL_UNWRITTEN;
}

aphi_parallel_result aphi_parallel_search(const aphi_parallel_options *options)
{
    pool p = {.options = options};
    pthread_mutex_init(&p.lock, NULL);
    pthread_cond_init(&p.changed, NULL);
    aphi_spill_queue_open(&p.queue, options->memory / 2);
    p.workers = aphi_alloc_zero(options->jobs * sizeof *p.workers);
    for (unsigned i = 0; i < options->jobs; i++)
        p.workers[i].pool = &p;
    if (options->resume && !aphi_checkpoint_read(options->checkpoint, options->model, &p.result.stats, &p.queue,
                                                 p.result.why, sizeof p.result.why))
        p.result.end = APHI_PARALLEL_UNREADABLE;
    else if (!options->resume && !options->empty)
        aphi_parallel_put_branch(&p, &(aphi_branch){.share = 1});
    p.earlier_sequences = p.result.stats.sequences;
    if (p.result.end == APHI_PARALLEL_DONE)
        run_workers(&p);
    p.result.stats = aphi_parallel_stats(&p);
    p.result.spilled = p.queue.spilled;
    aphi_spill_queue_close(&p.queue);
    free(p.workers);
    pthread_cond_destroy(&p.changed);
    pthread_mutex_destroy(&p.lock);
    return p.result;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * distributed.c - exploration of a model by several processes, on one or more machines.
 *
 * Idea:       each process has a pool of workers (parallel.c). Rank 0 leads: it requests a branch from the process with
 *             the largest pending share, and sends it to an idle one. All such branches pass through its queue, so rank
 *             0 can write a checkpoint as a single process does: all processes pause and send it their branches.
 *
 *               others -> 0   STATUS counts, pending share   IDLE             BRANCH   REFUSED, no branch to give
 *                             PAUSED, all branches sent      STOP the search  DATA of a visit
 *               0 -> others   MODEL fingerprint   REQUEST a branch   BRANCH   PAUSE   RESUME   END
 *
 * Invariants: 1. messages between two processes keep their order: when IDLE or PAUSED arrives, all branches and counts
 *                of that process have arrived
 *             2. only an idle process gets a branch; it then counts as busy until it sends IDLE again
 *             3. the search is complete when all processes are idle, no request is open, and the queue is empty
 * Cost:       the supervising thread polls the link every few milliseconds; workers never wait for it.
 * Not done:   a tree of leaders. There are only a few requests per second, so one leader serves a hundred processes. */
#include "explore/distributed.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/memory.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { OUTBOX_MAX = 1 << 20, UNSENT_MAX = 8 << 20 };

static const int64_t STATUS_NS = 50000000, SILENCE_WARNING_NS = 600000000, SILENCE_MAX_NS = 30000000000;

enum { MODEL = 'M', STATUS = 'S', IDLE = 'I', BRANCH = 'B', REFUSED = 'N', PAUSED = 'P', STOP = 'X', DATA = 'D',
       REQUEST = 'R', PAUSE = 'W', RESUME = 'G', END = 'E' };

typedef struct status {
    aphi_explore_stats stats;
    double share_left;
} status;

typedef struct peer { /* rank 0's view of another process */
    status status;
    int64_t last_message_ns;
    bool idle, requested, paused;
} peer;

struct aphi_distributed {
    const aphi_link *link;
    aphi_distributed_receiver *receiver;
    void *context;
    /* ranks other than 0 */
    pthread_mutex_t lock;    /* of the outbox */
    pthread_cond_t drained;
    aphi_buffer outbox;      /* lengths and bytes */
    bool branch_requested, idle_sent, stop_sent, pause_requested, paused_sent;
    int64_t status_ns;
    /* rank 0 */
    peer *peers;
    int64_t pause_ns;        /* time when PAUSE was sent; 0: no pause */
    bool warned, end_sent;
};

aphi_distributed *aphi_distributed_open(const aphi_link *link, aphi_distributed_receiver *receiver, void *context)
{
    aphi_distributed *d = aphi_alloc_zero(sizeof *d);
    d->link = link;
    d->receiver = receiver;
    d->context = context;
    d->peers = aphi_alloc_zero((size_t)link->size * sizeof *d->peers);
    pthread_mutex_init(&d->lock, NULL);
    pthread_cond_init(&d->drained, NULL);
    return d;
}

void aphi_distributed_close(aphi_distributed *d)
{
    pthread_cond_destroy(&d->drained);
    pthread_mutex_destroy(&d->lock);
    aphi_buffer_free(&d->outbox);
    free(d->peers);
    free(d);
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

static void send_message(aphi_distributed *d, int to, char kind, const void *bytes, size_t n)
{
    aphi_buffer message = {0};
    aphi_buffer_byte(&message, kind);
    aphi_buffer_add(&message, bytes, n);
    d->link->send(d->link->context, to, message.data, message.n);
    aphi_buffer_free(&message);
}

static void send_kind(aphi_distributed *d, int to, char kind)
{
    send_message(d, to, kind, "", 0);
}

static void send_to_all(aphi_distributed *d, char kind)
{
    for (int r = 1; r < d->link->size; r++)
        send_kind(d, r, kind);
}

static void send_branch(aphi_distributed *d, int to, aphi_branch *branch)
{
    aphi_buffer bytes = {0};
    aphi_buffer_add(&bytes, &branch->share, sizeof branch->share);
    aphi_buffer_add(&bytes, branch->choices, branch->count * sizeof *branch->choices);
    send_message(d, to, BRANCH, bytes.data, bytes.n);
    aphi_buffer_free(&bytes);
    free(branch->choices);
}

static void accept_branch(aphi_parallel *p, const char *bytes, size_t n)
{
    aphi_branch branch = {0};
    memcpy(&branch.share, bytes, sizeof branch.share);
    branch.count = (n - sizeof branch.share) / sizeof *branch.choices;
    branch.choices = aphi_copy(bytes + sizeof branch.share, branch.count * sizeof *branch.choices);
    aphi_parallel_put_branch(p, &branch);
    free(branch.choices);
}

void aphi_distributed_announce_model(aphi_distributed *d, uint64_t fingerprint)
{
    for (int r = 1; r < d->link->size; r++)
        send_message(d, r, MODEL, &fingerprint, sizeof fingerprint);
}

uint64_t aphi_distributed_await_model(aphi_distributed *d)
{
    uint64_t fingerprint = 0;
    void *bytes;
    size_t n;
    int from;
    /* The link cannot wait, so this loop polls. */
    while (!d->link->receive(d->link->context, &from, &bytes, &n))
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    if (n == 1 + sizeof fingerprint && *(char *)bytes == MODEL)
        memcpy(&fingerprint, (char *)bytes + 1, sizeof fingerprint);
    free(bytes);
    return fingerprint;
}

/* ---- data -------------------------------------------------------------------------------------------------------- */

void aphi_distributed_send(aphi_distributed *d, const char *bytes, size_t n)
{
    uint32_t length = (uint32_t)n;
    pthread_mutex_lock(&d->lock);
    while (d->outbox.n > OUTBOX_MAX)
        pthread_cond_wait(&d->drained, &d->lock);
    aphi_buffer_add(&d->outbox, &length, sizeof length);
    aphi_buffer_add(&d->outbox, bytes, n);
    pthread_mutex_unlock(&d->lock);
}

/* With `force`, sends even if the link has much unsent data. */
static void flush_outbox(aphi_distributed *d, bool force)
{
    if (!force && d->link->unsent(d->link->context) > UNSENT_MAX)
        return;
    pthread_mutex_lock(&d->lock);
    if (d->outbox.n)
        send_message(d, 0, DATA, d->outbox.data, d->outbox.n);
    d->outbox.n = 0;
    pthread_cond_broadcast(&d->drained);
    pthread_mutex_unlock(&d->lock);
}

static void deliver_data(aphi_distributed *d, aphi_parallel *p, const char *bytes, size_t n)
{
    uint32_t length;
    for (size_t at = 0; at + sizeof length <= n; at += length) {
        memcpy(&length, bytes + at, sizeof length);
        at += sizeof length;
        if (d->receiver && !d->receiver(d->context, bytes + at, length))
            aphi_parallel_stop(p, false);
    }
}

/* ---- ranks other than 0 ------------------------------------------------------------------------------------------ */

static void send_status(aphi_distributed *d, aphi_parallel *p)
{
    status s = {.stats = aphi_parallel_stats(p), .share_left = aphi_parallel_share_left(p)};
    send_message(d, 0, STATUS, &s, sizeof s);
    d->status_ns = aphi_clock_ns();
}

static void handle_leader_message(aphi_distributed *d, aphi_parallel *p, const char *bytes, size_t n)
{
    switch (bytes[0]) {
    case BRANCH:
        accept_branch(p, bytes + 1, n - 1);
        d->idle_sent = false;
        break;
    case REQUEST: d->branch_requested = true; break;
    case PAUSE:
        d->pause_requested = true;
        d->paused_sent = false;
        aphi_parallel_pause(p);
        break;
    case RESUME:
        d->pause_requested = d->paused_sent = false;
        aphi_parallel_resume(p);
        break;
    default: aphi_parallel_end_with(p, APHI_PARALLEL_DONE, ""); break; /* END */
    }
}

/* Sends all branches, which are in the queue. Afterwards the leader treats this process as idle. */
static void send_pending(aphi_distributed *d, aphi_parallel *p)
{
    aphi_branch branch;
    flush_outbox(d, true);
    send_status(d, p);
    while (aphi_parallel_take_branch(p, &branch))
        send_branch(d, 0, &branch);
    send_kind(d, 0, PAUSED);
    d->paused_sent = d->idle_sent = true;
    d->branch_requested = false;
}

static void answer_request(aphi_distributed *d, aphi_parallel *p)
{
    aphi_branch branch;
    bool idle = aphi_parallel_is_idle(p), waiting = aphi_parallel_queued(p);
    /* A branch that has just arrived is kept; otherwise it could be sent back and forth forever. */
    if (idle && waiting)
        return;
    if (idle)
        send_kind(d, 0, REFUSED);
    else if (aphi_parallel_take_branch(p, &branch))
        send_branch(d, 0, &branch);
    else
        aphi_parallel_request_branch(p);
    d->branch_requested = !idle && !waiting;
}

static void poll_follower(void *context, aphi_parallel *p)
{
    aphi_distributed *d = context;
    void *bytes;
    size_t n;
    int from;
    flush_outbox(d, false);
    while (d->link->receive(d->link->context, &from, &bytes, &n)) {
        handle_leader_message(d, p, bytes, n);
        free(bytes);
    }
    if (aphi_parallel_is_over(p))
        return;
    if (aphi_parallel_is_stopping(p) && !d->stop_sent) {
        bool interrupted = aphi_parallel_is_interrupted(p);
        flush_outbox(d, true);
        send_message(d, 0, STOP, &interrupted, sizeof interrupted);
        d->stop_sent = true;
    }
    if (d->pause_requested && !d->paused_sent && aphi_parallel_is_idle(p))
        send_pending(d, p);
    if (d->branch_requested && !d->pause_requested)
        answer_request(d, p);
    bool idle = aphi_parallel_is_idle(p) && !aphi_parallel_queued(p) && !aphi_parallel_is_pausing(p);
    if ((idle && !d->idle_sent) || aphi_clock_ns() - d->status_ns > STATUS_NS)
        send_status(d, p);
    if (idle && !d->idle_sent) {
        send_kind(d, 0, IDLE);
        d->idle_sent = true;
    }
}

/* ---- rank 0 ------------------------------------------------------------------------------------------------------ */

static void handle_follower_message(aphi_distributed *d, aphi_parallel *p, int from, const char *bytes, size_t n)
{
    peer *m = &d->peers[from];
    m->last_message_ns = aphi_clock_ns();
    switch (bytes[0]) {
    case STATUS: memcpy(&m->status, bytes + 1, sizeof m->status); break;
    case IDLE: m->idle = true; break;
    case BRANCH:
        accept_branch(p, bytes + 1, n - 1);
        m->requested = false;
        break;
    case REFUSED: m->requested = false; break;
    case PAUSED:
        m->paused = m->idle = true;
        m->requested = false;
        break;
    case STOP: aphi_parallel_stop(p, bytes[1]); break;
    default: deliver_data(d, p, bytes + 1, n - 1); break; /* DATA */
    }
}

static void sum_remote_stats(aphi_distributed *d, aphi_parallel *p)
{
    aphi_explore_stats remote = {0};
    double share_left = 0;
    for (int r = 1; r < d->link->size; r++) {
        const status *s = &d->peers[r].status;
        remote.sequences += s->stats.sequences;
        remote.deadlocks += s->stats.deadlocks;
        remote.blocked += s->stats.blocked;
        remote.forks += s->stats.forks;
        share_left += s->share_left;
    }
    aphi_parallel_set_remote(p, &remote, share_left);
}

static bool all_paused(const aphi_distributed *d)
{
    for (int r = 1; r < d->link->size; r++)
        if (!d->peers[r].paused)
            return false;
    return true;
}

static void send_end(aphi_distributed *d)
{
    if (!d->end_sent)
        send_to_all(d, END);
    d->end_sent = true;
}

/* Warns about a process that does not respond, and later gives up. (If one dies, mpirun usually ends the others.) */
static void check_silence(aphi_distributed *d, aphi_parallel *p, int64_t now)
{
    char why[200];
    for (int r = 1; r < d->link->size; r++) {
        int64_t silent = now - d->peers[r].last_message_ns;
        if (silent > SILENCE_WARNING_NS && d->pause_ns && now - d->pause_ns > SILENCE_WARNING_NS && !d->warned) {
            fprintf(stderr, "antiphon: the process of rank %d does not respond; it may have died, and the work since "
                    "the last checkpoint may be lost\n", r);
            d->warned = true;
        }
        if (silent <= SILENCE_MAX_NS)
            continue;
        snprintf(why, sizeof why, "the process of rank %d has not responded for %lld seconds; all processes end. The "
                 "work since the last checkpoint is lost; --resume continues from it", r,
                 (long long)(SILENCE_MAX_NS / 1000000000));
        aphi_parallel_end_with(p, APHI_PARALLEL_LOST, why);
        return;
    }
}

/* Returns the process with the largest share among those that can get a request; 0: none. */
static int find_busiest(const aphi_distributed *d, double min_share)
{
    int best = 0;
    for (int r = 1; r < d->link->size; r++) {
        const peer *m = &d->peers[r];
        if (!m->idle && !m->requested && m->status.share_left > min_share) {
            best = r;
            min_share = m->status.share_left;
        }
    }
    return best;
}

/* Sends branches to idle processes, and requests as many as are missing. Returns true if the search is complete. */
static bool balance_load(aphi_distributed *d, aphi_parallel *p)
{
    bool self_idle = aphi_parallel_is_idle(p) && !aphi_parallel_queued(p);
    int missing = self_idle, idle = self_idle, requested = 0;
    aphi_branch branch;
    for (int r = 1; r < d->link->size; r++) {
        peer *m = &d->peers[r];
        if (m->idle && aphi_parallel_take_branch(p, &branch)) {
            send_branch(d, r, &branch);
            m->idle = false;
            m->status.share_left = 0; /* until the next STATUS */
        }
        idle += m->idle;
        missing += m->idle;
        requested += m->requested;
    }
    if (idle == d->link->size && !requested && aphi_parallel_is_idle(p) && !aphi_parallel_queued(p))
        return true;
    for (missing -= requested; missing > 0; missing--) {
        int r = find_busiest(d, self_idle ? -1 : aphi_parallel_share_left(p));
        if (r) {
            send_kind(d, r, REQUEST);
            d->peers[r].requested = true;
        } else if (!self_idle) {
            aphi_parallel_request_branch(p);
        }
    }
    return false;
}

static void pause_all(aphi_distributed *d)
{
    for (int r = 1; r < d->link->size; r++)
        d->peers[r].paused = false;
    send_to_all(d, PAUSE);
    d->pause_ns = aphi_clock_ns();
}

static void save_checkpoint(aphi_distributed *d, aphi_parallel *p)
{
    aphi_parallel_save_checkpoint(p);
    d->pause_ns = 0;
    if (!aphi_parallel_is_over(p))
        send_to_all(d, RESUME);
}

static void poll_leader(void *context, aphi_parallel *p)
{
    aphi_distributed *d = context;
    void *bytes;
    size_t n;
    int from;
    while (d->link->receive(d->link->context, &from, &bytes, &n)) {
        handle_follower_message(d, p, from, bytes, n);
        free(bytes);
    }
    sum_remote_stats(d, p);
    if (aphi_parallel_is_pausing(p) && !d->pause_ns)
        pause_all(d);
    if (d->pause_ns && aphi_parallel_is_idle(p) && all_paused(d))
        save_checkpoint(d, p);
    else if (!d->pause_ns && balance_load(d, p))
        aphi_parallel_end_with(p, APHI_PARALLEL_DONE, "");
    /* Done last, so that every process gets work between two checkpoints, even if they are frequent. */
    if (!aphi_parallel_is_over(p))
        aphi_parallel_check_limits(p);
    check_silence(d, p, aphi_clock_ns());
}

/* ---- search ------------------------------------------------------------------------------------------------------ */

aphi_parallel_result aphi_distributed_search(aphi_distributed *d, const aphi_parallel_options *options)
{
    aphi_parallel_options o = *options;
    bool leads = d->link->rank == 0;
    o.poll = leads ? poll_leader : poll_follower;
    o.poll_context = d;
    o.empty = !leads;
    for (int r = 0; r < d->link->size; r++)
        d->peers[r].last_message_ns = aphi_clock_ns();
    if (!leads) {
        o.checkpoint = NULL;
        o.resume = false;
        o.progress = NULL;
    }
    aphi_parallel_result result = aphi_parallel_search(&o);
    if (leads)
        send_end(d);
    return result;
}

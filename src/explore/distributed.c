/* SPDX-License-Identifier: Apache-2.0
 *
 * distributed.c - search a model with several processes, on one machine or on many.
 *
 * Idea:       each process has a team (parallel.c). The one of rank 0 leads: it knows who has nothing to do, asks the one
 *             who has most left for a branch, and passes it on. All branches that change hands pass through its list,
 *             so that a checkpoint is written as if there were one process: everybody puts down his work and sends it.
 *
 *               others -> 0   STATUS counts, what is left   HUNGRY     BRANCH one   NONE to give   PUT all down
 *                             STOP, all of you              SAY what a visit has to say
 *               0 -> others   MODEL to search   WANT a branch   BRANCH here is one   DOWN with it   GO on   OVER
 *
 * Invariants: 1. messages from one to another keep their order; so when HUNGRY or PUT has come, all branches and counts
 *                of that process are here
 *             2. only who is hungry gets a branch, and then it is not hungry until it says so again
 *             3. all is over when everybody is hungry, nobody was asked who has not answered, and the list is empty
 * Cost:       a look at the link every few milliseconds, by the thread that looks after the workers; they never wait.
 * Not done:   no tree of leaders. Branches are asked for a few times a second, not more: one can lead a hundred. */
#include "explore/distributed.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/memory.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SAID_MAX = 1 << 20, UNSENT_MAX = 8 << 20 };

static const int64_t STATUS_NS = 50000000, UNEASY_NS = 600000000, LOST_NS = 30000000000;

enum { MODEL = 'M', STATUS = 'S', HUNGRY = 'H', BRANCH = 'B', NONE = 'N', PUT = 'P', STOP = 'X', SAY = 'T', WANT = 'W',
       DOWN = 'D', GO = 'G', OVER = 'O' };

typedef struct status {
    aphi_explored told;
    double left;
} status;

typedef struct member { /* what rank 0 knows of another */
    status status;
    int64_t heard_ns;
    bool hungry, asked, put;
} member;

struct aphi_distributed {
    const aphi_link *link;
    aphi_distributed_hear *hear;
    void *context;
    /* of all but 0 */
    pthread_mutex_t lock;    /* of what is said */
    pthread_cond_t drained;
    aphi_buffer said;        /* lengths and bytes */
    bool wanted, told_hungry, told_stop, down_asked, laid_down;
    int64_t status_ns;
    /* of 0 */
    member *members;
    int64_t down_ns;         /* when DOWN was sent; 0: it was not */
    bool told_uneasy, told_over;
};

aphi_distributed *aphi_distributed_open(const aphi_link *link, aphi_distributed_hear *hear, void *context)
{
    aphi_distributed *f = aphi_alloc_zero(sizeof *f);
    f->link = link;
    f->hear = hear;
    f->context = context;
    f->members = aphi_alloc_zero((size_t)link->size * sizeof *f->members);
    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->drained, NULL);
    return f;
}

void aphi_distributed_close(aphi_distributed *f)
{
    pthread_cond_destroy(&f->drained);
    pthread_mutex_destroy(&f->lock);
    aphi_buffer_free(&f->said);
    free(f->members);
    free(f);
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

static void send_bytes(aphi_distributed *f, int to, char kind, const void *bytes, size_t n)
{
    aphi_buffer message = {0};
    aphi_buffer_byte(&message, kind);
    aphi_buffer_add(&message, bytes, n);
    f->link->send(f->link->context, to, message.data, message.n);
    aphi_buffer_free(&message);
}

static void send_word(aphi_distributed *f, int to, char kind)
{
    send_bytes(f, to, kind, "", 0);
}

static void send_all(aphi_distributed *f, char kind)
{
    for (int r = 1; r < f->link->size; r++)
        send_word(f, r, kind);
}

static void send_branch(aphi_distributed *f, int to, aphi_branch *branch)
{
    aphi_buffer bytes = {0};
    aphi_buffer_add(&bytes, &branch->share, sizeof branch->share);
    aphi_buffer_add(&bytes, branch->choices, branch->count * sizeof *branch->choices);
    send_bytes(f, to, BRANCH, bytes.data, bytes.n);
    aphi_buffer_free(&bytes);
    free(branch->choices);
}

static void take_branch(aphi_parallel *t, const char *bytes, size_t n)
{
    aphi_branch branch = {0};
    memcpy(&branch.share, bytes, sizeof branch.share);
    branch.count = (n - sizeof branch.share) / sizeof *branch.choices;
    branch.choices = aphi_copy(bytes + sizeof branch.share, branch.count * sizeof *branch.choices);
    aphi_parallel_give(t, &branch);
    free(branch.choices);
}

void aphi_distributed_announce(aphi_distributed *f, uint64_t fingerprint)
{
    for (int r = 1; r < f->link->size; r++)
        send_bytes(f, r, MODEL, &fingerprint, sizeof fingerprint);
}

uint64_t aphi_distributed_await(aphi_distributed *f)
{
    uint64_t fingerprint = 0;
    void *bytes;
    size_t n;
    int from;
    /* There is nothing else to do, and nothing to be woken by. */
    while (!f->link->receive(f->link->context, &from, &bytes, &n))
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    if (n == 1 + sizeof fingerprint && *(char *)bytes == MODEL)
        memcpy(&fingerprint, (char *)bytes + 1, sizeof fingerprint);
    free(bytes);
    return fingerprint;
}

/* ---- saying ------------------------------------------------------------------------------------------------------ */

void aphi_distributed_say(aphi_distributed *f, const char *bytes, size_t n)
{
    uint32_t length = (uint32_t)n;
    pthread_mutex_lock(&f->lock);
    while (f->said.n > SAID_MAX)
        pthread_cond_wait(&f->drained, &f->lock);
    aphi_buffer_add(&f->said, &length, sizeof length);
    aphi_buffer_add(&f->said, bytes, n);
    pthread_mutex_unlock(&f->lock);
}

/* force: whatever is unsent. */
static void drain(aphi_distributed *f, bool force)
{
    if (!force && f->link->unsent(f->link->context) > UNSENT_MAX)
        return;
    pthread_mutex_lock(&f->lock);
    if (f->said.n)
        send_bytes(f, 0, SAY, f->said.data, f->said.n);
    f->said.n = 0;
    pthread_cond_broadcast(&f->drained);
    pthread_mutex_unlock(&f->lock);
}

static void hear_all(aphi_distributed *f, aphi_parallel *t, const char *bytes, size_t n)
{
    uint32_t length;
    for (size_t at = 0; at + sizeof length <= n; at += length) {
        memcpy(&length, bytes + at, sizeof length);
        at += sizeof length;
        if (f->hear && !f->hear(f->context, bytes + at, length))
            aphi_parallel_stop(t, false);
    }
}

/* ---- those who follow -------------------------------------------------------------------------------------------- */

static void send_status(aphi_distributed *f, aphi_parallel *t)
{
    status s = {.told = aphi_parallel_told(t), .left = aphi_parallel_left(t)};
    send_bytes(f, 0, STATUS, &s, sizeof s);
    f->status_ns = aphi_clock_ns();
}

static void obey(aphi_distributed *f, aphi_parallel *t, const char *bytes, size_t n)
{
    switch (bytes[0]) {
    case BRANCH:
        take_branch(t, bytes + 1, n - 1);
        f->told_hungry = false;
        break;
    case WANT: f->wanted = true; break;
    case DOWN:
        f->down_asked = true;
        f->laid_down = false;
        aphi_parallel_put_down(t);
        break;
    case GO:
        f->down_asked = f->laid_down = false;
        aphi_parallel_go_on(t);
        break;
    default: aphi_parallel_end_with(t, APHI_PARALLEL_DONE, ""); break; /* OVER */
    }
}

/* All of it is in the list: sends it. From then on it has nothing, and needs not say so. */
static void lay_down(aphi_distributed *f, aphi_parallel *t)
{
    aphi_branch branch;
    drain(f, true);
    send_status(f, t);
    while (aphi_parallel_take(t, &branch))
        send_branch(f, 0, &branch);
    send_word(f, 0, PUT);
    f->laid_down = f->told_hungry = true;
    f->wanted = false;
}

static void answer_want(aphi_distributed *f, aphi_parallel *t)
{
    aphi_branch branch;
    bool idle = aphi_parallel_is_idle(t), waiting = aphi_parallel_waiting(t);
    /* What came just now and nobody has begun stays: else a branch would go to and fro for ever. */
    if (idle && waiting)
        return;
    if (idle)
        send_word(f, 0, NONE);
    else if (aphi_parallel_take(t, &branch))
        send_branch(f, 0, &branch);
    else
        aphi_parallel_want(t);
    f->wanted = !idle && !waiting;
}

static void follow(void *context, aphi_parallel *t)
{
    aphi_distributed *f = context;
    void *bytes;
    size_t n;
    int from;
    drain(f, false);
    while (f->link->receive(f->link->context, &from, &bytes, &n)) {
        obey(f, t, bytes, n);
        free(bytes);
    }
    if (aphi_parallel_is_over(t))
        return;
    if (aphi_parallel_is_stopping(t) && !f->told_stop) {
        bool interrupted = aphi_parallel_is_interrupted(t);
        drain(f, true);
        send_bytes(f, 0, STOP, &interrupted, sizeof interrupted);
        f->told_stop = true;
    }
    if (f->down_asked && !f->laid_down && aphi_parallel_is_idle(t))
        lay_down(f, t);
    if (f->wanted && !f->down_asked)
        answer_want(f, t);
    bool hungry = aphi_parallel_is_idle(t) && !aphi_parallel_waiting(t) && !aphi_parallel_is_down(t);
    if ((hungry && !f->told_hungry) || aphi_clock_ns() - f->status_ns > STATUS_NS)
        send_status(f, t);
    if (hungry && !f->told_hungry) {
        send_word(f, 0, HUNGRY);
        f->told_hungry = true;
    }
}

/* ---- the one who leads ------------------------------------------------------------------------------------------- */

static void note(aphi_distributed *f, aphi_parallel *t, int from, const char *bytes, size_t n)
{
    member *m = &f->members[from];
    m->heard_ns = aphi_clock_ns();
    switch (bytes[0]) {
    case STATUS: memcpy(&m->status, bytes + 1, sizeof m->status); break;
    case HUNGRY: m->hungry = true; break;
    case BRANCH:
        take_branch(t, bytes + 1, n - 1);
        m->asked = false;
        break;
    case NONE: m->asked = false; break;
    case PUT:
        m->put = m->hungry = true;
        m->asked = false;
        break;
    case STOP: aphi_parallel_stop(t, bytes[1]); break;
    default: hear_all(f, t, bytes + 1, n - 1); break; /* SAY */
    }
}

static void sum_up(aphi_distributed *f, aphi_parallel *t)
{
    aphi_explored others = {0};
    double left = 0;
    for (int r = 1; r < f->link->size; r++) {
        const status *s = &f->members[r].status;
        others.sequences += s->told.sequences;
        others.deadlocks += s->told.deadlocks;
        others.blocked += s->told.blocked;
        others.forks += s->told.forks;
        left += s->left;
    }
    aphi_parallel_hear(t, &others, left);
}

static bool all_have_put(const aphi_distributed *f)
{
    for (int r = 1; r < f->link->size; r++)
        if (!f->members[r].put)
            return false;
    return true;
}

static void end_all(aphi_distributed *f)
{
    if (!f->told_over)
        send_all(f, OVER);
    f->told_over = true;
}

/* Somebody does not answer: first says so, then gives up. Whoever started the processes may be quicker: if one of them
 * dies, mpirun ends all. */
static void worry(aphi_distributed *f, aphi_parallel *t, int64_t now)
{
    char why[200];
    for (int r = 1; r < f->link->size; r++) {
        int64_t silent = now - f->members[r].heard_ns;
        if (silent > UNEASY_NS && f->down_ns && now - f->down_ns > UNEASY_NS && !f->told_uneasy) {
            fprintf(stderr, "antiphon: the process of rank %d does not answer; it may have died. What was done since "
                            "the last checkpoint, if there is one, is lost without it\n", r);
            f->told_uneasy = true;
        }
        if (silent <= LOST_NS)
            continue;
        snprintf(why, sizeof why, "the process of rank %d was not heard of for %lld seconds: all end. What was done "
                                  "since the last checkpoint is lost; --resume goes on from it", r,
                 (long long)(LOST_NS / 1000000000));
        aphi_parallel_end_with(t, APHI_PARALLEL_LOST, why);
        return;
    }
}

/* Who has most left of those who can be asked; 0: nobody. */
static int richest(const aphi_distributed *f, double than)
{
    int best = 0;
    for (int r = 1; r < f->link->size; r++) {
        const member *m = &f->members[r];
        if (!m->hungry && !m->asked && m->status.left > than) {
            best = r;
            than = m->status.left;
        }
    }
    return best;
}

/* Gives branches to who has none, and asks for as many as are missing. True: there is nothing to do anywhere. */
static bool feed(aphi_distributed *f, aphi_parallel *t)
{
    bool own = aphi_parallel_is_idle(t) && !aphi_parallel_waiting(t);
    int missing = own, hungry = own, asked = 0;
    aphi_branch branch;
    for (int r = 1; r < f->link->size; r++) {
        member *m = &f->members[r];
        if (m->hungry && aphi_parallel_take(t, &branch)) {
            send_branch(f, r, &branch);
            m->hungry = false;
            m->status.left = 0; /* until it says more */
        }
        hungry += m->hungry;
        missing += m->hungry;
        asked += m->asked;
    }
    if (hungry == f->link->size && !asked && aphi_parallel_is_idle(t) && !aphi_parallel_waiting(t))
        return true;
    for (missing -= asked; missing > 0; missing--) {
        int r = richest(f, own ? -1 : aphi_parallel_left(t));
        if (r) {
            send_word(f, r, WANT);
            f->members[r].asked = true;
        } else if (!own) {
            aphi_parallel_want(t);
        }
    }
    return false;
}

static void go_down(aphi_distributed *f)
{
    for (int r = 1; r < f->link->size; r++)
        f->members[r].put = false;
    send_all(f, DOWN);
    f->down_ns = aphi_clock_ns();
}

static void save(aphi_distributed *f, aphi_parallel *t)
{
    aphi_parallel_save(t);
    f->down_ns = 0;
    if (!aphi_parallel_is_over(t))
        send_all(f, GO);
}

static void lead(void *context, aphi_parallel *t)
{
    aphi_distributed *f = context;
    void *bytes;
    size_t n;
    int from;
    while (f->link->receive(f->link->context, &from, &bytes, &n)) {
        note(f, t, from, bytes, n);
        free(bytes);
    }
    sum_up(f, t);
    if (aphi_parallel_is_down(t) && !f->down_ns)
        go_down(f);
    if (f->down_ns && aphi_parallel_is_idle(t) && all_have_put(f))
        save(f, t);
    else if (!f->down_ns && feed(f, t))
        aphi_parallel_end_with(t, APHI_PARALLEL_DONE, "");
    /* Last: between two checkpoints, however near, everybody gets something to do. */
    if (!aphi_parallel_is_over(t))
        aphi_parallel_check(t);
    worry(f, t, aphi_clock_ns());
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

aphi_parallel_result aphi_distributed_search(aphi_distributed *f, const aphi_parallel_options *options)
{
    aphi_parallel_options o = *options;
    bool leads = f->link->rank == 0;
    o.look = leads ? lead : follow;
    o.look_context = f;
    o.empty = !leads;
    for (int r = 0; r < f->link->size; r++)
        f->members[r].heard_ns = aphi_clock_ns();
    if (!leads) {
        o.checkpoint = NULL;
        o.resume = false;
        o.progress = NULL;
    }
    aphi_parallel_result result = aphi_parallel_search(&o);
    if (leads)
        end_all(f);
    return result;
}

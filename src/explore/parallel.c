/* SPDX-License-Identifier: Apache-2.0
 *
 * parallel.c - search a model with several threads.
 *
 * Idea:       each worker has an explorer. One that has nothing to do is hungry; another that sees it gives away its
 *             largest branch. All branches pass through one shelf, so when everybody puts down his work, that is all
 *             that is left to do: then it is written to the checkpoint, and everybody goes on. Workers search depth
 *             first, so what is pending is a fork or two a level: there is never much to keep. If memory is bounded, a
 *             worker that has too much gives away what is nearest to the root until half is left, and the shelf has a
 *             file.
 * Invariants: 1. a branch is on the shelf, or with one worker; never both
 *             2. work is over when the shelf is empty and everybody is hungry
 * Cost:       a look at two flags every slice of forks. */
#include "explore/parallel.h"

#include "base/clock.h"
#include "base/memory.h"
#include "explore/spill_queue.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SLICE = 8192, LINE_MAX_CHOICES = 100000, LOOK_NS = 100000000, OFTEN_NS = 3000000 };

typedef struct aphi_parallel team;

typedef struct worker {
    team *team;
    aphi_explorer *explorer;
    pthread_t thread;
    aphi_explored seen;     /* what of its explorer is in the sum already */
    double left;            /* of the tree, to it */
} worker;

struct aphi_parallel {
    const aphi_parallel_options *options;
    worker *workers;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    aphi_spill_queue shelf;
    unsigned hungry;
    atomic_bool wanted;     /* somebody is hungry, and the shelf is empty */
    atomic_bool down;       /* put down your work */
    bool over;
    bool stopping;          /* by a visit, the limit or a signal */
    uint64_t before;        /* sequences of runs before */
    int64_t saved_ns;       /* when the last checkpoint was written */
    int64_t down_ns;        /* when work was last put down */
    int64_t cost_ns;        /* of a checkpoint */
    aphi_explored others;   /* what teams elsewhere have done */
    double others_left;
    aphi_parallel_result result;
};

/* ---- the shelf --------------------------------------------------------------------------------------------------- */

static void lose_pending(team *t)
{
    char why[sizeof t->result.why];
    snprintf(why, sizeof why, "what is pending needs more than --memory gives, and a file for it cannot be used: %s",
             strerror(errno));
    aphi_parallel_end_with(t, APHI_PARALLEL_UNSPILLED, why);
}

static bool is_empty(const team *t)
{
    return aphi_spill_queue_count(&t->shelf) == 0;
}

static void give(team *t, const aphi_branch *branch)
{
    if (!aphi_spill_queue_put(&t->shelf, branch))
        lose_pending(t);
    atomic_store(&t->wanted, false);
    pthread_cond_broadcast(&t->changed);
}

static const aphi_explored nothing;

static void add_told(aphi_explored *sum, const aphi_explored *now, const aphi_explored *before)
{
    sum->sequences += now->sequences - before->sequences;
    sum->deadlocks += now->deadlocks - before->deadlocks;
    sum->blocked += now->blocked - before->blocked;
    sum->forks += now->forks - before->forks;
}

static bool has_enough(const aphi_parallel *t)
{
    uint64_t limit = t->options->limit;
    return limit && t->result.told.sequences + t->others.sequences - t->before >= limit;
}

static bool is_signalled(const aphi_parallel *t)
{
    return t->options->stop && *t->options->stop;
}

static void sum_up(worker *w)
{
    team *t = w->team;
    aphi_explored now = aphi_explorer_told(w->explorer);
    add_told(&t->result.told, &now, &w->seen);
    w->seen = now;
    w->left = aphi_explorer_left(w->explorer);
    if (has_enough(t) || is_signalled(t) || aphi_explorer_stopped(w->explorer))
        aphi_parallel_stop(t, is_signalled(t));
}

/* ---- a worker ---------------------------------------------------------------------------------------------------- */

/* Waits for a branch; false: there is no more to do. The lock is held. */
static bool next_branch(team *t, aphi_branch *branch)
{
    t->hungry++;
    pthread_cond_broadcast(&t->changed);
    for (;;) {
        if (!t->options->look && is_empty(t) && t->hungry == t->options->jobs && !t->down && !t->over) {
            t->over = true;
            pthread_cond_broadcast(&t->changed);
        }
        if (t->over)
            return false;
        if (!is_empty(t) && !t->down)
            break;
        atomic_store(&t->wanted, is_empty(t));
        pthread_cond_wait(&t->changed, &t->lock);
    }
    if (!aphi_spill_queue_take(&t->shelf, branch)) {
        lose_pending(t);
        return false;
    }
    t->hungry--;
    return true;
}

/* Gives away what the flags ask for, and what is too much. True: that was all, also of one whose visit stopped it. The
 * lock is held. */
static bool share_out(worker *w, aphi_branch *scratch)
{
    team *t = w->team;
    bool all = atomic_load(&t->down), full = aphi_explorer_is_full(w->explorer, 1);
    while ((all || atomic_load(&t->wanted) || (full && aphi_explorer_is_full(w->explorer, 0.5))) &&
           aphi_explorer_split(w->explorer, scratch))
        give(t, scratch);
    return all;
}

static void search_branch(worker *w, const aphi_branch *branch, aphi_branch *scratch)
{
    team *t = w->team;
    aphi_explorer_begin(w->explorer, branch);
    for (bool done = false; !done;) {
        done = aphi_explorer_go(w->explorer, t->options->slice ? t->options->slice : SLICE);
        pthread_mutex_lock(&t->lock);
        sum_up(w);
        done |= share_out(w, scratch) || t->over;
        pthread_mutex_unlock(&t->lock);
    }
}

static void *work(void *argument)
{
    worker *w = argument;
    team *t = w->team;
    aphi_branch branch, scratch = {0};
    void **contexts = t->options->contexts;
    /* Made here, it lies in memory of this thread: what is written all the time shares no line with another's. */
    w->explorer = aphi_explorer_open(t->options->plan, t->options->visit, contexts ? contexts[w - t->workers] : NULL);
    aphi_explorer_bound(w->explorer, t->options->memory / 2 / t->options->jobs);
    pthread_mutex_lock(&t->lock);
    while (next_branch(t, &branch)) {
        pthread_mutex_unlock(&t->lock);
        search_branch(w, &branch, &scratch);
        free(branch.choices);
        pthread_mutex_lock(&t->lock);
    }
    pthread_mutex_unlock(&t->lock);
    aphi_explorer_close(w->explorer);
    free(scratch.choices);
    return NULL;
}

/* ---- the checkpoint ---------------------------------------------------------------------------------------------- */

/* Text: a head with the model and the counts, then a line of choices for each branch; the empty line is the whole tree.
 *       */
uint64_t aphi_parallel_fingerprint(const aphi_compiled_model *p)
{
    uint64_t h = 1469598103934665603u;
    for (size_t i = 0; i < p->state_count; i++) {
        const aphi_compiled_state *s = &p->states[i];
        h ^= s->kind ^ (uint64_t)s->channel << 8 ^ (uint64_t)s->input << 24 ^ (uint64_t)s->count << 40;
        h *= 1099511628211u;
        for (uint32_t m = s->first; m < s->first + s->count; m++)
            h = (h ^ p->moves[m].target ^ (uint64_t)p->moves[m].input << 32) * 1099511628211u;
    }
    for (size_t i = 0; i < p->channel_count; i++)
        h = (h ^ p->channels[i].medium ^ (uint64_t)p->channels[i].capacity << 8) * 1099511628211u;
    return h;
}

static void write_branch(void *context, const aphi_branch *branch)
{
    FILE *file = context;
    for (size_t j = 0; j < branch->count; j++)
        fprintf(file, j ? " %u" : "%u", branch->choices[j]);
    putc('\n', file);
}

static bool write_list(const team *t, FILE *file)
{
    aphi_explored all = aphi_parallel_told(t), *told = &all;
    fprintf(file, "antiphon reach checkpoint 1\nmodel %016" PRIx64 "\n", aphi_parallel_fingerprint(t->options->plan));
    fprintf(file, "counts %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\nbranches %zu\n", told->sequences,
            told->deadlocks, told->blocked, told->forks, aphi_spill_queue_count(&t->shelf));
    return aphi_spill_queue_each(&t->shelf, write_branch, file) && !ferror(file);
}

static bool write_checkpoint(team *t)
{
    char *name;
    if (asprintf(&name, "%s.new", t->options->checkpoint) < 0)
        return false;
    FILE *file = fopen(name, "w");
    bool written = file && write_list(t, file);
    if (file && (fflush(file) || fsync(fileno(file))))
        written = false;
    if (file && fclose(file))
        written = false;
    written = written && !rename(name, t->options->checkpoint);
    if (!written) {
        snprintf(t->result.why, sizeof t->result.why, "%s cannot be written: %s", t->options->checkpoint,
                 strerror(errno));
        unlink(name);
    }
    free(name);
    return written;
}

static bool read_branch(char *line, aphi_branch *branch)
{
    for (char *at = line; *at && *at != '\n';) {
        char *end;
        if (*at < '0' || *at > '9' || branch->count == LINE_MAX_CHOICES)
            return false;
        unsigned long choice = strtoul(at, &end, 10);
        if (choice >= UINT16_MAX || (*end != ' ' && *end != '\n') || (*end == ' ' && end[1] == '\n'))
            return false;
        APHI_RESERVE(branch->choices, branch->capacity, branch->count + 1);
        branch->choices[branch->count++] = (uint16_t)choice;
        at = *end == ' ' ? end + 1 : end;
    }
    return true;
}

/* Every branch must be one of this model: an explorer tries it. */
static bool take_branch(team *t, aphi_explorer *tries, char *line)
{
    aphi_branch branch = {0};
    bool fits = read_branch(line, &branch);
    if (fits && branch.count)
        fits = aphi_explorer_begin(tries, &branch);
    branch.share = branch.count ? aphi_explorer_left(tries) : 1;
    if (fits)
        give(t, &branch);
    free(branch.choices);
    return fits;
}

static bool read_list(team *t, FILE *file, aphi_explorer *tries, char **line, size_t *size)
{
    aphi_explored *told = &t->result.told;
    uint64_t model;
    size_t count, taken = 0;
    if (fscanf(file, "antiphon reach checkpoint 1\nmodel %" SCNx64 "\n", &model) != 1 ||
        fscanf(file, "counts %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 "\nbranches %zu", &told->sequences,
               &told->deadlocks, &told->blocked, &told->forks, &count) != 5 || getc(file) != '\n') {
        snprintf(t->result.why, sizeof t->result.why, "%s is no checkpoint of antiphon reach", t->options->checkpoint);
        return false;
    }
    if (model != aphi_parallel_fingerprint(t->options->plan)) {
        snprintf(t->result.why, sizeof t->result.why, "%s was made for another model", t->options->checkpoint);
        return false;
    }
    while (getline(line, size, file) > 0 && taken < count && strchr(*line, '\n') && take_branch(t, tries, *line))
        taken++;
    if (taken != count || !feof(file)) {
        snprintf(t->result.why, sizeof t->result.why, "%s is damaged at its branch %zu", t->options->checkpoint,
                 taken + 1);
        return false;
    }
    return true;
}

static bool read_checkpoint(team *t)
{
    FILE *file = fopen(t->options->checkpoint, "r");
    char *line = NULL;
    size_t size = 0;
    if (!file) {
        snprintf(t->result.why, sizeof t->result.why, "%s cannot be read: %s", t->options->checkpoint, strerror(errno));
        return false;
    }
    aphi_explorer *tries = aphi_explorer_open(t->options->plan, NULL, NULL);
    bool read = read_list(t, file, tries, &line, &size);
    aphi_explorer_close(tries);
    free(line);
    fclose(file);
    return read;
}

/* ---- looking after them ------------------------------------------------------------------------------------------ */

static void report(team *t)
{
    double left = aphi_parallel_left(t) + t->others_left;
    if (t->options->progress && left < 1)
        t->options->progress(t->result.told.sequences + t->others.sequences, 1 - left);
}

/* Looks at one team that is alone. */
static void look(team *t)
{
    aphi_parallel_check(t);
    if (t->down && t->hungry == t->options->jobs)
        aphi_parallel_save(t);
}

/* Looks after the workers until they are done. The lock is held. */
static void look_after(team *t)
{
    t->saved_ns = aphi_clock_ns();
    while (!t->over) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += t->options->look ? OFTEN_NS : LOOK_NS;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&t->changed, &t->lock, &until);
        report(t);
        if (t->over)
            break;
        if (t->options->look)
            t->options->look(t->options->look_context, t);
        else
            look(t);
    }
}

/* ---- for look ---------------------------------------------------------------------------------------------------- */

bool aphi_parallel_is_idle(const aphi_parallel *t)
{
    return t->hungry == t->options->jobs;
}

size_t aphi_parallel_waiting(const aphi_parallel *t)
{
    return aphi_spill_queue_count(&t->shelf);
}

void aphi_parallel_give(aphi_parallel *t, const aphi_branch *branch)
{
    give(t, branch);
}

bool aphi_parallel_take(aphi_parallel *t, aphi_branch *branch)
{
    bool empty = is_empty(t), taken = aphi_spill_queue_take_old(&t->shelf, branch);
    if (!empty && !taken)
        lose_pending(t);
    return taken;
}

void aphi_parallel_want(aphi_parallel *t)
{
    atomic_store(&t->wanted, true);
}

void aphi_parallel_put_down(aphi_parallel *t)
{
    if (!atomic_exchange(&t->down, true))
        t->down_ns = aphi_clock_ns();
}

bool aphi_parallel_is_down(const aphi_parallel *t)
{
    return atomic_load(&t->down);
}

void aphi_parallel_go_on(aphi_parallel *t)
{
    atomic_store(&t->down, false);
    pthread_cond_broadcast(&t->changed);
}

bool aphi_parallel_is_stopping(const aphi_parallel *t)
{
    return t->stopping;
}

void aphi_parallel_stop(aphi_parallel *t, bool interrupted)
{
    t->stopping = true;
    t->result.interrupted |= interrupted;
    aphi_parallel_put_down(t);
}

bool aphi_parallel_is_interrupted(const aphi_parallel *t)
{
    return t->result.interrupted;
}

/* However often it was asked for, most of the time is for the search. */
static bool is_due(const aphi_parallel *t, int64_t passed_ns)
{
    return (double)passed_ns > t->options->every * 1e9 && passed_ns > 9 * t->cost_ns;
}

void aphi_parallel_check(aphi_parallel *t)
{
    if (has_enough(t) || is_signalled(t))
        aphi_parallel_stop(t, is_signalled(t));
    else if (t->options->checkpoint && is_due(t, aphi_clock_ns() - t->saved_ns))
        aphi_parallel_put_down(t);
}

void aphi_parallel_save(aphi_parallel *t)
{
    if (t->options->checkpoint && !write_checkpoint(t))
        aphi_parallel_end_with(t, APHI_PARALLEL_UNWRITTEN, t->result.why);
    else if (t->stopping)
        aphi_parallel_end_with(t, APHI_PARALLEL_STOPPED, "");
    t->saved_ns = aphi_clock_ns();
    t->cost_ns = t->saved_ns - t->down_ns;
    aphi_parallel_go_on(t);
}

bool aphi_parallel_is_over(const aphi_parallel *t)
{
    return t->over;
}

void aphi_parallel_end_with(aphi_parallel *t, aphi_parallel_end end, const char *why)
{
    if (why != t->result.why)
        snprintf(t->result.why, sizeof t->result.why, "%s", why);
    t->result.end = end;
    t->over = true;
    pthread_cond_broadcast(&t->changed);
}

aphi_explored aphi_parallel_told(const aphi_parallel *t)
{
    aphi_explored sum = t->result.told;
    add_told(&sum, &t->others, &nothing);
    return sum;
}

double aphi_parallel_left(const aphi_parallel *t)
{
    double left = t->shelf.share;
    for (unsigned i = 0; i < t->options->jobs; i++)
        left += t->workers[i].left;
    return left;
}

void aphi_parallel_hear(aphi_parallel *t, const aphi_explored *others, double left)
{
    t->others = *others;
    t->others_left = left;
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static void run(team *t)
{
    pthread_mutex_lock(&t->lock);
    for (unsigned i = 0; i < t->options->jobs; i++)
        if (pthread_create(&t->workers[i].thread, NULL, work, &t->workers[i]))
            abort();
    look_after(t);
    pthread_cond_broadcast(&t->changed);
    pthread_mutex_unlock(&t->lock);
    for (unsigned i = 0; i < t->options->jobs; i++)
        pthread_join(t->workers[i].thread, NULL);
    /* One that is done leaves a checkpoint from which nothing is left to do. */
    if (t->options->checkpoint && t->result.end == APHI_PARALLEL_DONE && !write_checkpoint(t))
        t->result.end = APHI_PARALLEL_UNWRITTEN;
}

aphi_parallel_result aphi_parallel_search(const aphi_parallel_options *options)
{
    team t = {.options = options};
    pthread_mutex_init(&t.lock, NULL);
    pthread_cond_init(&t.changed, NULL);
    aphi_spill_queue_open(&t.shelf, options->memory / 2);
    t.workers = aphi_alloc_zero(options->jobs * sizeof *t.workers);
    for (unsigned i = 0; i < options->jobs; i++)
        t.workers[i].team = &t;
    if (options->resume && !read_checkpoint(&t))
        t.result.end = APHI_PARALLEL_UNREADABLE;
    else if (!options->resume && !options->empty)
        give(&t, &(aphi_branch){.share = 1});
    t.before = t.result.told.sequences;
    if (t.result.end == APHI_PARALLEL_DONE)
        run(&t);
    t.result.told = aphi_parallel_told(&t);
    t.result.filed = t.shelf.filed_ever;
    aphi_spill_queue_close(&t.shelf);
    free(t.workers);
    pthread_cond_destroy(&t.changed);
    pthread_mutex_destroy(&t.lock);
    return t.result;
}

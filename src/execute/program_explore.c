/* SPDX-License-Identifier: Apache-2.0
 *
 * program_explore.c - reachability testing of a program on the threads library: each SR-sequence exactly once.
 *
 * Idea:       a sequence is determined by the send that each receive takes. A run resolves its receives one at a time,
 *             when no other event is possible. Each such receive is a fork: it takes one of the messages available at
 *             that time, or a later one. The branches of a fork have no sequence in common, so each sequence is visited
 *             once.
 *
 *                 fork (thread, its next receive, messages a b) --- takes a --- ... all sequences with a
 *                                                               --- takes b --- ... all sequences with b
 *                                                               --- later ----- ... all with another message
 *
 * Later:      this branch is tried only if the receive raced with another send in some run below the fork. No sequence
 *             is missed: if a sequence pairs the receive with such a send, the causes of the send do not depend on the
 *             receive, so some run in which the receive took a has this send, too. Other forks below "later" may
 *             prevent the send; such a run ends blocked and is not counted.
 * Parallel:   a fork is shared by the workers, each of which has one process. It is finished when all its branches
 *             are finished. Only then is it known whether "later" is to be tried. A worker takes a branch of the fork
 *             found last.
 * Invariants: 1. the prefix of a fork has all events before it, in a causal order: it can be replayed
 *             2. a receive with excluded messages is the next event of its thread
 *             3. labels of forks and of visited recordings have the numbers of the common layout
 * Cost:       a run of the program for each sequence and each blocked end; memory for the forks of a run of each
 *             worker, and for the events of the runs in which they were found.
 * Not done:   sharing code with the search of models (explore.c), which copies states and runs nothing twice. */
#include "execute/program_run.h"

#include "base/memory.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The events of a run, shared by the forks found in it. */
typedef struct run_events {
    size_t forks;
    aphi_recorded_event events[];
} run_events;

typedef struct fork_point {
    struct fork_point *parent, *before, *after; /* before, after: in the list of all forks */
    size_t unfinished;            /* branches that are not finished */
    run_events *run_events;
    size_t prefix_count;          /* of its events */
    aphi_event_id receive;
    aphi_available_message *options;
    size_t option_count, next;    /* next: the first option that no worker has begun */
    aphi_run_exclusion *excluded; /* excluded sends of all threads at this fork */
    size_t excluded_count;
    bool raced;                   /* the receive raced with a send that is not an option */
    bool later;                   /* the branch "later" is being searched */
} fork_point;

typedef struct search {
    pthread_mutex_t lock;         /* of all fields, of all forks, and of visits */
    pthread_cond_t changed;
    const aphi_program_run_options *limits;
    aphi_layout layout;
    fork_point *all;
    fork_point **open;            /* forks with branches that no worker has begun */
    size_t open_count, open_capacity;
    size_t running;               /* workers */
    bool begun, over;
    aphi_program_explore_result result;
    aphi_program_visit *visit;
    void *context;
    aphi_program_explore_stats *stats;
    char *error;
    size_t error_size;
} search;

typedef struct worker {
    search *search;
    aphi_program *program;
    aphi_recording recording;
    aphi_races races;
    aphi_recorded_event *forced;
    aphi_run_exclusion *excluded;
    size_t forced_count, forced_capacity, excluded_count, excluded_capacity;
    uint32_t *to_common, *from_common; /* numbers of labels in the other layout */
    size_t own_labels, common_labels, to_capacity, from_capacity;
    pthread_t thread;
} worker;

/* A branch of a fork; without a fork, the whole search. */
typedef struct branch {
    fork_point *fork;
    size_t option;
} branch;

enum { NOT_AN_OPTION = 0 }; /* the first option of a fork is taken by the run that finds it */

/* ---- labels ------------------------------------------------------------------------------------------------------ */

/* Extends the map to all labels of `from`. */
static void map_labels(const aphi_layout *from, aphi_layout *to, uint32_t **map, size_t *count, size_t *capacity)
{
    for (; *count < from->label_count; ++*count) {
        APHI_RESERVE(*map, *capacity, *count + 1);
        (*map)[*count] = aphi_layout_label(to, from->labels[*count]);
    }
}

static void use_common_labels(worker *w)
{
    aphi_recording *r = &w->recording;
    aphi_layout *own = aphi_program_layout(w->program);
    map_labels(own, &w->search->layout, &w->to_common, &w->own_labels, &w->to_capacity);
    for (size_t i = 0; i < r->event_count; i++)
        r->events[i].label = w->to_common[r->events[i].label];
    for (size_t i = 0; i < r->open_item_count; i++)
        r->open_items[i].label = w->to_common[r->open_items[i].label];
    for (size_t i = 0; i < r->available_count; i++)
        r->available[i].label = w->to_common[r->available[i].label];
    for (size_t i = 0; i < own->thread_count; i++)
        r->thread_ends[i].label = w->to_common[r->thread_ends[i].label];
}

static void use_own_labels(worker *w)
{
    map_labels(&w->search->layout, aphi_program_layout(w->program), &w->from_common, &w->common_labels,
               &w->from_capacity);
    for (size_t i = 0; i < w->forced_count; i++)
        w->forced[i].label = w->from_common[w->forced[i].label];
}

static void copy_layout(aphi_layout *to, const aphi_layout *from)
{
    for (size_t i = 0; i < from->thread_count; i++)
        aphi_layout_add_thread(to, from->threads[i]);
    for (size_t i = 0; i < from->port_count; i++)
        aphi_layout_add_port(to, from->ports[i].name, from->ports[i].owner, from->ports[i].medium,
                             from->ports[i].capacity);
}

/* ---- forks ------------------------------------------------------------------------------------------------------- */

static fork_point *add_fork(worker *w, fork_point *parent, run_events *t, size_t event,
                            const aphi_run_exclusion *excluded, size_t excluded_count)
{
    search *s = w->search;
    const aphi_recorded_event *e = &w->recording.events[event];
    fork_point *f = aphi_alloc(sizeof *f);
    *f = (fork_point){
        .parent = parent,
        .after = s->all,
        .unfinished = e->available_count,
        .run_events = t,
        .prefix_count = e->sync ? event - 1 : event, /* the send of a synchronous message is the previous event */
        .receive = e->id,
        .options = aphi_copy(w->recording.available + e->available, e->available_count * sizeof *f->options),
        .option_count = e->available_count,
        .next = 1,
        .excluded = aphi_copy(excluded, excluded_count * sizeof *excluded),
        .excluded_count = excluded_count,
    };
    if (s->all)
        s->all->before = f;
    s->all = f;
    if (f->option_count > 1)
        APHI_PUSH(s->open, s->open_count, s->open_capacity, f);
    t->forks++;
    return f;
}

static void release_events(run_events *t)
{
    if (--t->forks == 0)
        free(t);
}

static void free_fork(search *s, fork_point *f)
{
    *(f->before ? &f->before->after : &s->all) = f->after;
    if (f->after)
        f->after->before = f->before;
    release_events(f->run_events);
    APHI_FREE_ALL(f->options, f->excluded, f);
}

/* Adds a fork for each free receive of the run, each below the one before it. Returns the last one, or the parent. */
static fork_point *add_forks(worker *w, fork_point *parent)
{
    const aphi_recording *r = &w->recording;
    size_t count = w->excluded_count, bytes = r->event_count * sizeof *r->events;
    run_events *t = aphi_alloc(sizeof *t + bytes);
    t->forks = 1; /* held until all forks are added */
    if (bytes)
        memcpy(t->events, r->events, bytes);
    for (size_t i = 0; i < r->event_count; i++) {
        const aphi_recorded_event *e = &r->events[i];
        if (e->op != APHI_ALTS_RECEIVE || !e->free)
            continue;
        parent = add_fork(w, parent, t, i, w->excluded, count);
        size_t kept = 0;
        for (size_t k = 0; k < count; k++)
            if (w->excluded[k].thread != e->id.thread)
                w->excluded[kept++] = w->excluded[k];
        count = kept;
    }
    release_events(t);
    return parent;
}

/* A branch of the fork is finished. */
static void finish_branch(search *s, fork_point *f)
{
    while (f && --f->unfinished == 0) {
        if (f->raced && !f->later) {
            f->later = true;
            f->unfinished = 1;
            APHI_PUSH(s->open, s->open_count, s->open_capacity, f);
            return;
        }
        fork_point *parent = f->parent;
        free_fork(s, f);
        f = parent;
    }
}

/* ---- races ------------------------------------------------------------------------------------------------------- */

/* Returns true if the send is neither an option of the fork nor excluded. */
static bool is_new_send(const fork_point *f, aphi_event_id send)
{
    for (size_t i = 0; i < f->option_count; i++)
        if (aphi_event_id_equal(f->options[i].send, send))
            return false;
    for (size_t i = 0; i < f->excluded_count; i++)
        if (f->excluded[i].thread == f->receive.thread && aphi_event_id_equal(f->excluded[i].send, send))
            return false;
    return true;
}

static void mark_if_raced(const worker *w, fork_point *f)
{
    const aphi_recording *r = &w->recording;
    size_t i = f->prefix_count;
    while (i < r->event_count && !aphi_event_id_equal(r->events[i].id, f->receive))
        i++;
    if (i == r->event_count)
        return;
    for (uint32_t k = w->races.first[i]; k < w->races.first[i + 1]; k++)
        f->raced |= is_new_send(f, w->races.sends[k]);
}

/* ---- branches ---------------------------------------------------------------------------------------------------- */

/* Takes a branch that no worker has begun. Returns false if there is none at present. */
static bool take_branch(search *s, branch *b)
{
    if (!s->begun) {
        s->begun = true;
        *b = (branch){NULL, NOT_AN_OPTION};
        return true;
    }
    if (!s->open_count)
        return false;
    fork_point *f = s->open[s->open_count - 1];
    *b = (branch){f, f->later ? NOT_AN_OPTION : f->next++};
    if (f->later || f->next == f->option_count)
        s->open_count--;
    return true;
}

/* Forces the receive of the fork after the prefix, and also its send if that is synchronous. */
static void force_option(worker *w, const fork_point *f, const aphi_available_message *o)
{
    aphi_recorded_event e = {
        .op = APHI_ALTS_SEND, .sync = o->sync, .id = o->send, .port = o->port, .label = o->label};
    e.peer = f->receive;
    if (o->sync)
        w->forced[w->forced_count++] = e;
    e.op = APHI_ALTS_RECEIVE;
    e.id = f->receive;
    e.peer = o->send;
    w->forced[w->forced_count++] = e;
}

static void exclude_sends(worker *w, const branch *b)
{
    const fork_point *f = b->fork;
    bool later = b->option == NOT_AN_OPTION;
    APHI_RESERVE(w->excluded, w->excluded_capacity, f->excluded_count + f->option_count + 1);
    for (size_t i = 0; i < f->excluded_count; i++)
        if (later || f->excluded[i].thread != f->receive.thread)
            w->excluded[w->excluded_count++] = f->excluded[i];
    for (size_t i = 0; later && i < f->option_count; i++)
        w->excluded[w->excluded_count++] = (aphi_run_exclusion){f->receive.thread, f->options[i].send};
}

static void prepare_run(worker *w, const branch *b)
{
    const fork_point *f = b->fork;
    w->forced_count = w->excluded_count = 0;
    if (!f)
        return;
    APHI_RESERVE(w->forced, w->forced_capacity, f->prefix_count + 2);
    if (f->prefix_count)
        memcpy(w->forced, f->run_events->events, f->prefix_count * sizeof *w->forced);
    w->forced_count = f->prefix_count;
    if (b->option != NOT_AN_OPTION)
        force_option(w, f, &f->options[b->option]);
    exclude_sends(w, b);
    use_own_labels(w);
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

static bool run_branch(worker *w, char *error, size_t size)
{
    aphi_program_run_options o = *w->search->limits;
    o.seed = 0;
    o.forced = w->forced;
    o.forced_count = w->forced_count;
    o.excluded = w->excluded;
    o.excluded_count = w->excluded_count;
    if (!aphi_program_run(w->program, &o, &w->recording, error, size))
        return false;
    aphi_races_find(aphi_program_layout(w->program), &w->recording, &w->races);
    return true;
}

static bool count_run(worker *w)
{
    search *s = w->search;
    s->stats->runs++;
    switch (w->recording.end) {
    case APHI_RECORDING_BLOCKED: s->stats->blocked++; return true;
    case APHI_RECORDING_DEADLOCK: s->stats->deadlocks++; /* fall through */
    case APHI_RECORDING_ENDED: s->stats->sequences++; /* fall through */
    default: return s->visit(s->context, &s->layout, &w->recording, &w->races);
    }
}

static void end_search(search *s, aphi_program_explore_result result)
{
    s->over = true;
    s->result = result;
}

static void visit_run(worker *w, const branch *b)
{
    use_common_labels(w);
    if (!count_run(w)) {
        end_search(w->search, APHI_PROGRAM_STOPPED);
        return;
    }
    fork_point *last = add_forks(w, b->fork);
    for (fork_point *f = last; f; f = f->parent)
        if (!f->later && !f->raced)
            mark_if_raced(w, f);
    finish_branch(w->search, last);
}

/* The lock is held, except during the run. */
static void explore_branch(worker *w, const branch *b)
{
    search *s = w->search;
    char error[512] = "";
    prepare_run(w, b);
    s->running++;
    pthread_mutex_unlock(&s->lock);
    bool made = run_branch(w, error, sizeof error);
    pthread_mutex_lock(&s->lock);
    s->running--;
    if (made && !s->over) {
        visit_run(w, b);
    } else if (!made && !s->over) {
        end_search(s, APHI_PROGRAM_LOST);
        snprintf(s->error, s->error_size, "%s", error);
    }
    pthread_cond_broadcast(&s->changed);
}

static void *explore_branches(void *argument)
{
    worker *w = argument;
    search *s = w->search;
    branch b;
    pthread_mutex_lock(&s->lock);
    while (!s->over) {
        if (take_branch(s, &b))
            explore_branch(w, &b);
        else if (s->running)
            pthread_cond_wait(&s->changed, &s->lock);
        else
            s->over = true;
    }
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

static void free_worker(worker *w)
{
    aphi_recording_free(&w->recording);
    aphi_races_free(&w->races);
    APHI_FREE_ALL(w->forced, w->excluded, w->to_common, w->from_common);
}

aphi_program_explore_result aphi_program_explore(aphi_program *const *programs, size_t count,
                                                 const aphi_program_run_options *limits, aphi_program_visit *visit,
                                                 void *context, aphi_program_explore_stats *stats, char *error,
                                                 size_t size)
{
    search s = {.limits = limits, .visit = visit, .context = context, .stats = stats, .error = error,
                .error_size = size};
    worker *workers = aphi_alloc_zero(count * sizeof *workers);
    *stats = (aphi_program_explore_stats){0};
    pthread_mutex_init(&s.lock, NULL);
    pthread_cond_init(&s.changed, NULL);
    copy_layout(&s.layout, aphi_program_layout(programs[0]));
    for (size_t i = 0; i < count; i++)
        workers[i] = (worker){.search = &s, .program = programs[i]};
    for (size_t i = 1; i < count; i++)
        if (pthread_create(&workers[i].thread, NULL, explore_branches, &workers[i]))
            aphi_memory_exhausted("a thread cannot be started; use fewer --jobs");
    explore_branches(&workers[0]);
    for (size_t i = 1; i < count; i++)
        pthread_join(workers[i].thread, NULL);
    while (s.all) /* after a stop */
        free_fork(&s, s.all);
    for (size_t i = 0; i < count; i++)
        free_worker(&workers[i]);
    free(workers);
    free(s.open);
    aphi_layout_free(&s.layout);
    pthread_mutex_destroy(&s.lock);
    pthread_cond_destroy(&s.changed);
    return s.result;
}

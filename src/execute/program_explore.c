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
 * Invariants: 1. the prefix of a fork has all events before it, in a causal order: it can be replayed
 *             2. a receive with excluded messages is the next event of its thread
 * Cost:       a run of the program for each sequence and each blocked end; memory for the forks of one run, and for the
 *             events of the runs in which they were found.
 * Not done:   sharing code with the search of models (explore.c), which copies states and runs nothing twice. */
#include "execute/program_run.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* The events of a run, shared by the forks found in it. */
typedef struct run_events {
    size_t forks;
    aphi_recorded_event events[];
} run_events;

typedef struct fork_point {
    run_events *run_events;
    size_t prefix_count;          /* of its events */
    aphi_event_id receive;
    aphi_available_message *options;
    size_t option_count, current;
    aphi_run_exclusion *excluded; /* excluded sends of all threads at this fork */
    size_t excluded_count;
    bool raced;                   /* the receive raced with a send that is not an option */
    bool later;                   /* the branch "later" is being searched */
} fork_point;

typedef struct search {
    aphi_program *program;
    aphi_program_run_options run_options;
    aphi_recording recording;
    aphi_races races;
    fork_point *forks;
    size_t fork_count, fork_capacity;
    aphi_recorded_event *forced;
    size_t forced_capacity;
    aphi_program_visit *visit;
    void *context;
    aphi_program_explore_stats *stats;
} search;

/* ---- forks ------------------------------------------------------------------------------------------------------- */

static void add_fork(search *s, run_events *t, size_t event, const aphi_run_exclusion *excluded,
                     size_t excluded_count)
{
    const aphi_recorded_event *e = &s->recording.events[event];
    size_t before = e->sync ? event - 1 : event; /* its send is the previous event */
    fork_point f = {
        .run_events = t,
        .prefix_count = before,
        .receive = e->id,
        .options = aphi_copy(s->recording.available + e->available, e->available_count * sizeof *f.options),
        .option_count = e->available_count,
        .excluded = aphi_copy(excluded, excluded_count * sizeof *excluded),
        .excluded_count = excluded_count,
    };
    APHI_PUSH(s->forks, s->fork_count, s->fork_capacity, f);
    t->forks++;
}

static void release_events(run_events *t)
{
    if (--t->forks == 0)
        free(t);
}

static void drop_fork(search *s)
{
    fork_point *f = &s->forks[--s->fork_count];
    release_events(f->run_events);
    free(f->options);
    free(f->excluded);
}

/* Adds a fork for each free receive of the run. */
static void add_forks(search *s, const aphi_run_exclusion *ordered, size_t count)
{
    aphi_run_exclusion *excluded = aphi_copy(ordered, count * sizeof *excluded);
    size_t bytes = s->recording.event_count * sizeof *s->recording.events;
    run_events *t = aphi_alloc(sizeof *t + bytes);
    t->forks = 1; /* held until all forks are added */
    if (bytes)
        memcpy(t->events, s->recording.events, bytes);
    for (size_t i = 0; i < s->recording.event_count; i++) {
        const aphi_recorded_event *e = &s->recording.events[i];
        if (e->op != APHI_ALTS_RECEIVE || !e->free)
            continue;
        add_fork(s, t, i, excluded, count);
        size_t kept = 0;
        for (size_t k = 0; k < count; k++)
            if (excluded[k].thread != e->id.thread)
                excluded[kept++] = excluded[k];
        count = kept;
    }
    release_events(t);
    free(excluded);
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

static void mark_if_raced(search *s, fork_point *f)
{
    size_t i = f->prefix_count;
    while (i < s->recording.event_count && !aphi_event_id_equal(s->recording.events[i].id, f->receive))
        i++;
    if (i == s->recording.event_count)
        return;
    for (uint32_t k = s->races.first[i]; k < s->races.first[i + 1]; k++)
        f->raced |= is_new_send(f, s->races.sends[k]);
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

static bool count_run(search *s)
{
    aphi_program_explore_stats *t = s->stats;
    t->runs++;
    switch (s->recording.end) {
    case APHI_RECORDING_BLOCKED: t->blocked++; return true;
    case APHI_RECORDING_DEADLOCK: t->deadlocks++; /* fall through */
    case APHI_RECORDING_ENDED: t->sequences++; /* fall through */
    default: return s->visit(s->context, &s->recording, &s->races);
    }
}

static aphi_program_explore_result run_program(search *s, const aphi_run_exclusion *excluded, size_t count, char *error,
                                               size_t size)
{
    s->run_options.excluded = excluded;
    s->run_options.excluded_count = count;
    if (!aphi_program_run(s->program, &s->run_options, &s->recording, error, size))
        return APHI_PROGRAM_LOST;
    aphi_races_find(aphi_program_layout(s->program), &s->recording, &s->races);
    if (!count_run(s))
        return APHI_PROGRAM_STOPPED;
    add_forks(s, excluded, count);
    for (size_t i = 0; i < s->fork_count; i++)
        if (!s->forks[i].later && !s->forks[i].raced)
            mark_if_raced(s, &s->forks[i]);
    return APHI_PROGRAM_EXPLORED;
}

/* Forces the receive of the fork after the prefix, and also its send if that is synchronous. */
static void force_option(search *s, const fork_point *f, const aphi_available_message *o)
{
    aphi_recorded_event e = {
        .op = APHI_ALTS_SEND, .sync = o->sync, .id = o->send, .port = o->port, .label = o->label};
    e.peer = f->receive;
    if (o->sync)
        s->forced[s->run_options.forced_count++] = e;
    e.op = APHI_ALTS_RECEIVE;
    e.id = f->receive;
    e.peer = o->send;
    s->forced[s->run_options.forced_count++] = e;
}

static aphi_program_explore_result run_next_branch(search *s, char *error, size_t size)
{
    fork_point *f = &s->forks[s->fork_count - 1];
    if (f->later || (f->current + 1 >= f->option_count && !f->raced)) {
        drop_fork(s);
        return APHI_PROGRAM_EXPLORED;
    }
    APHI_RESERVE(s->forced, s->forced_capacity, f->prefix_count + 2);
    if (f->prefix_count)
        memcpy(s->forced, f->run_events->events, f->prefix_count * sizeof *s->forced);
    s->run_options.forced = s->forced;
    s->run_options.forced_count = f->prefix_count;
    size_t count = 0;
    aphi_run_exclusion *excluded = aphi_alloc((f->excluded_count + f->option_count + 1) * sizeof *excluded);
    if (++f->current < f->option_count) {
        force_option(s, f, &f->options[f->current]);
        for (size_t i = 0; i < f->excluded_count; i++)
            if (f->excluded[i].thread != f->receive.thread)
                excluded[count++] = f->excluded[i];
    } else {
        f->later = true;
        for (; count < f->excluded_count; count++)
            excluded[count] = f->excluded[count];
        for (size_t i = 0; i < f->option_count; i++)
            excluded[count++] = (aphi_run_exclusion){f->receive.thread, f->options[i].send};
    }
    aphi_program_explore_result end = run_program(s, excluded, count, error, size);
    free(excluded);
    return end;
}

aphi_program_explore_result aphi_program_explore(aphi_program *p, const aphi_program_run_options *limits,
                                           aphi_program_visit *visit, void *context, aphi_program_explore_stats *stats,
                                                 char *error, size_t size)
{
    search s = {.program = p, .run_options = *limits, .visit = visit, .context = context, .stats = stats};
    *stats = (aphi_program_explore_stats){0};
    s.run_options.seed = 0;
    aphi_program_explore_result end = run_program(&s, NULL, 0, error, size);
    while (end == APHI_PROGRAM_EXPLORED && s.fork_count)
        end = run_next_branch(&s, error, size);
    while (s.fork_count)
        drop_fork(&s);
    free(s.forks);
    free(s.forced);
    aphi_recording_free(&s.recording);
    aphi_races_free(&s.races);
    return end;
}

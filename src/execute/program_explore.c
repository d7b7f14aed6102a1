/* SPDX-License-Identifier: Apache-2.0
 *
 * program_explore.c - every order of a program on the threads library, each once.
 *
 * Idea:       An order is fixed by which send each receive takes. A run decides receives one after the other, when
 *             nothing else can happen. Each decision is a fork: the receive takes one of the messages that are there
 *             then, or none of these, but one that comes later. Branches of a fork have no order in common, so each
 *             order is met once.
 *
 *                 fork (thread, its next receive, messages a b) --- takes a --- ... all orders with a
 *                                                               --- takes b --- ... all orders with b
 *                                                               --- neither --- ... all with what comes later
 *
 * Later:      "Neither" is tried only if in some run below the fork the receive raced with another send. If an order
 *             has such a send as its partner, what caused the send does not depend on the receive, so some run in which
 *             the receive took a has it, too: nothing is lost. Below "neither" other forks may keep that send from
 *             happening; such a run ends blocked and is not counted.
 * Invariants: 1. The prefix of a fork is all that happened before it, in an order of causes: it can be replayed.
 *             2. A receive without a partner yet, told not to take some messages, is the next event of its thread.
 * Cost:       a run of the program for each order, and for each blocked one. Memory: the forks of one run, and the
 *             events of those runs in which they were met.
 * Not done:   sharing with the search on models, which has all states at hand and need not run anything twice. */
#include "execute/program_explore.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* What a run did, for the forks that were met in it. */
typedef struct track {
    size_t forks;
    aphi_recorded events[];
} track;

typedef struct fork_of_ways {
    track *track;
    size_t prefix_count; /* of its events */
    aphi_place receive;
    aphi_available *options;
    size_t option_count, at;
    aphi_program_exclusion *excluded; /* that hold here, of all threads */
    size_t excluded_count;
    bool raced;    /* with a send that was not among the options */
    bool neither;  /* the last branch is being searched */
} fork_of_ways;

typedef struct search {
    aphi_program *program;
    aphi_program_order order;
    aphi_recording recording;
    aphi_races races;
    fork_of_ways *forks;
    size_t fork_count, fork_capacity;
    aphi_recorded *forced;
    size_t forced_capacity;
    aphi_program_visit *visit;
    void *context;
    aphi_program_told *told;
} search;

static bool same_place(aphi_place a, aphi_place b)
{
    return a.thread == b.thread && a.index == b.index;
}

/* ---- forks ------------------------------------------------------------------------------------------------------- */

static void add_fork(search *s, track *t, size_t event, const aphi_program_exclusion *excluded,
                     size_t excluded_count)
{
    const aphi_recorded *e = &s->recording.events[event];
    size_t before = e->sync ? event - 1 : event; /* its send is the event just before */
    fork_of_ways f = {
        .track = t,
        .prefix_count = before,
        .receive = e->at,
        .options = aphi_copy(s->recording.options + e->available, e->available_count * sizeof *f.options),
        .option_count = e->available_count,
        .excluded = aphi_copy(excluded, excluded_count * sizeof *excluded),
        .excluded_count = excluded_count,
    };
    APHI_RESERVE(s->forks, s->fork_capacity, s->fork_count + 1);
    s->forks[s->fork_count++] = f;
    t->forks++;
}

static void let_go(track *t)
{
    if (--t->forks == 0)
        free(t);
}

static void drop_fork(search *s)
{
    fork_of_ways *f = &s->forks[--s->fork_count];
    let_go(f->track);
    free(f->options);
    free(f->excluded);
}

/* The decisions that the run made on its own, with what was excluded for the run. */
static void add_forks(search *s, const aphi_program_exclusion *ordered, size_t count)
{
    aphi_program_exclusion *excluded = aphi_copy(ordered, count * sizeof *excluded);
    size_t bytes = s->recording.event_count * sizeof *s->recording.events;
    track *t = aphi_alloc(sizeof *t + bytes);
    t->forks = 1; /* until all were added */
    if (bytes)
        memcpy(t->events, s->recording.events, bytes);
    for (size_t i = 0; i < s->recording.event_count; i++) {
        const aphi_recorded *e = &s->recording.events[i];
        if (e->did != APHI_DID_RECEIVE || !e->free)
            continue;
        add_fork(s, t, i, excluded, count);
        size_t kept = 0;
        for (size_t k = 0; k < count; k++)
            if (excluded[k].thread != e->at.thread)
                excluded[kept++] = excluded[k];
        count = kept;
    }
    let_go(t);
    free(excluded);
}

/* ---- races ------------------------------------------------------------------------------------------------------- */

/* Is the send none of those that the fork knows? */
static bool is_news(const fork_of_ways *f, aphi_place send)
{
    for (size_t i = 0; i < f->option_count; i++)
        if (same_place(f->options[i].send, send))
            return false;
    for (size_t i = 0; i < f->excluded_count; i++)
        if (f->excluded[i].thread == f->receive.thread && same_place(f->excluded[i].send, send))
            return false;
    return true;
}

static void look_for_races(search *s, fork_of_ways *f)
{
    size_t i = f->prefix_count;
    while (i < s->recording.event_count && !same_place(s->recording.events[i].at, f->receive))
        i++;
    if (i == s->recording.event_count)
        return;
    for (uint32_t k = s->races.first[i]; k < s->races.first[i + 1]; k++)
        f->raced |= is_news(f, s->races.sends[k]);
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

static bool tell(search *s)
{
    aphi_program_told *t = s->told;
    t->runs++;
    switch (s->recording.end) {
    case APHI_RECORDING_BLOCKED: t->blocked++; return true;
    case APHI_RECORDING_DEADLOCK: t->deadlocks++; /* fall through */
    case APHI_RECORDING_ENDED: t->sequences++; /* fall through */
    default: return s->visit(s->context, &s->recording, &s->races);
    }
}

static aphi_program_end run(search *s, const aphi_program_exclusion *excluded, size_t count, char *error,
                               size_t size)
{
    s->order.excluded = excluded;
    s->order.excluded_count = count;
    if (!aphi_program_run(s->program, &s->order, &s->recording, error, size))
        return APHI_PROGRAM_LOST;
    aphi_races_find(aphi_program_cast(s->program), &s->recording, &s->races);
    if (!tell(s))
        return APHI_PROGRAM_STOPPED;
    add_forks(s, excluded, count);
    for (size_t i = 0; i < s->fork_count; i++)
        if (!s->forks[i].neither && !s->forks[i].raced)
            look_for_races(s, &s->forks[i]);
    return APHI_PROGRAM_ALL;
}

/* The prefix of a fork, and the receive with its new partner. */
static void force_option(search *s, const fork_of_ways *f, const aphi_available *o)
{
    aphi_recorded e = {.did = APHI_DID_SEND, .sync = o->sync, .at = o->send, .port = o->port, .label = o->label};
    e.peer = f->receive;
    if (o->sync)
        s->forced[s->order.forced_count++] = e;
    e.did = APHI_DID_RECEIVE;
    e.at = f->receive;
    e.peer = o->send;
    s->forced[s->order.forced_count++] = e;
}

static aphi_program_end next_branch(search *s, char *error, size_t size)
{
    fork_of_ways *f = &s->forks[s->fork_count - 1];
    if (f->neither || (f->at + 1 >= f->option_count && !f->raced)) {
        drop_fork(s);
        return APHI_PROGRAM_ALL;
    }
    APHI_RESERVE(s->forced, s->forced_capacity, f->prefix_count + 2);
    if (f->prefix_count)
        memcpy(s->forced, f->track->events, f->prefix_count * sizeof *s->forced);
    s->order.forced = s->forced;
    s->order.forced_count = f->prefix_count;
    size_t count = 0;
    aphi_program_exclusion *excluded = aphi_alloc((f->excluded_count + f->option_count + 1) * sizeof *excluded);
    if (++f->at < f->option_count) {
        force_option(s, f, &f->options[f->at]);
        for (size_t i = 0; i < f->excluded_count; i++)
            if (f->excluded[i].thread != f->receive.thread)
                excluded[count++] = f->excluded[i];
    } else {
        f->neither = true;
        for (; count < f->excluded_count; count++)
            excluded[count] = f->excluded[count];
        for (size_t i = 0; i < f->option_count; i++)
            excluded[count++] = (aphi_program_exclusion){f->receive.thread, f->options[i].send};
    }
    aphi_program_end end = run(s, excluded, count, error, size);
    free(excluded);
    return end;
}

aphi_program_end aphi_program_explore(aphi_program *p, const aphi_program_order *limits,
                                           aphi_program_visit *visit, void *context, aphi_program_told *told,
                                           char *error, size_t size)
{
    search s = {.program = p, .order = *limits, .visit = visit, .context = context, .told = told};
    *told = (aphi_program_told){0};
    s.order.seed = 0;
    aphi_program_end end = run(&s, NULL, 0, error, size);
    while (end == APHI_PROGRAM_ALL && s.fork_count)
        end = next_branch(&s, error, size);
    while (s.fork_count)
        drop_fork(&s);
    free(s.forks);
    free(s.forced);
    aphi_recording_free(&s.recording);
    aphi_races_free(&s.races);
    return end;
}

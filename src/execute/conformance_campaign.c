/* SPDX-License-Identifier: Apache-2.0
 *
 * conformance_campaign.c - tests of a program with all sequences of a model.
 *
 * Idea:       the sequences are visited one after another (src/explore/parallel.c). Each sequence is a test of the
 *             whole program. If local, the local sequences of each component are found, and each thread is tested
 *             alone with them (conformance_local.c). A violation found by one tester stops all testers. */
#include "execute/conformance.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/random_choice.h"
#include "explore/parallel.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SAMPLES = 100000,     /* sequences of the model to find those that receive the needed messages */
    SAMPLE_NS = 2000000000,
};

typedef struct tester {
    aphi_conformance_campaign *run;
    aphi_program *program;
    aphi_conformance conformance;
    aphi_sequence sequence;
    pthread_t thread;
} tester;

struct aphi_conformance_testers {
    aphi_conformance_local *local;
    pthread_mutex_t lock;     /* of next, and of the run's sequences, status and all_visited */
    size_t next;              /* component */
    void (*task)(tester *t, size_t component);
    tester all[];
};

static bool is_stopped(const aphi_conformance_campaign *r)
{
    return r->options.stop && *r->options.stop;
}

/* ---- sequences --------------------------------------------------------------------------------------------------- */

static bool test_sequence(void *context, aphi_explorer *e)
{
    tester *t = context;
    aphi_conformance_campaign *r = t->run;
    aphi_sequence_load(&t->sequence, e);
    pthread_mutex_lock(&r->testers->lock);
    uint64_t number = ++r->sequences;
    pthread_mutex_unlock(&r->testers->lock);
    t->conformance.sequence = number - 1;
    bool go_on = aphi_conformance_test(&t->conformance, &t->sequence);
    return go_on && !is_stopped(r) && (!r->options.limit || number < r->options.limit);
}

static void visit_sequences(aphi_conformance_campaign *r)
{
    size_t jobs = r->options.jobs;
    void **contexts = aphi_alloc(jobs * sizeof *contexts);
    for (size_t i = 0; i < jobs; i++) {
        contexts[i] = &r->testers->all[i];
        aphi_sequence_open(&r->testers->all[i].sequence, r->options.model);
    }
    r->all_visited = aphi_parallel_search(&(aphi_parallel_options){
        .model = r->options.model, .jobs = (unsigned)jobs, .visit = test_sequence, .contexts = contexts, .slice = 1,
        .stop = r->options.stop}).end == APHI_PARALLEL_DONE;
    for (size_t i = 0; i < jobs; i++)
        aphi_sequence_close(&r->testers->all[i].sequence);
    free(contexts);
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

static bool is_settled_by(const tester *t)
{
    return is_stopped(t->run) || t->conformance.missing.violation || t->conformance.program_lost;
}

static bool is_settled(const aphi_conformance_campaign *r)
{
    for (size_t i = 0; i < r->options.jobs; i++)
        if (is_settled_by(&r->testers->all[i]))
            return true;
    return false;
}

/* Returns the next component to test, or SIZE_MAX if there is none. */
static size_t next_component(aphi_conformance_campaign *r, bool settled)
{
    struct aphi_conformance_testers *all = r->testers;
    const aphi_alts *alts = r->options.alts;
    const char *only = r->options.thread;
    size_t found = SIZE_MAX;
    pthread_mutex_lock(&all->lock);
    if (settled)
        all->next = alts->component_count;
    for (; all->next < alts->component_count && found == SIZE_MAX; all->next++)
        if (!only || !strcmp(only, alts->components[all->next].name))
            found = all->next;
    pthread_mutex_unlock(&all->lock);
    return found;
}

static void *run_tasks(void *argument)
{
    tester *t = argument;
    size_t i;
    while ((i = next_component(t->run, is_settled_by(t))) != SIZE_MAX)
        t->run->testers->task(t, i);
    return NULL;
}

/* Calls the task for each component to test, in parallel. */
static void run_for_components(aphi_conformance_campaign *r, void (*task)(tester *t, size_t component))
{
    tester *all = r->testers->all;
    r->testers->task = task;
    r->testers->next = 0;
    for (size_t i = 1; i < r->options.jobs; i++)
        if (pthread_create(&all[i].thread, NULL, run_tasks, &all[i]))
            aphi_memory_exhausted("a thread cannot be started; use fewer --jobs");
    run_tasks(&all[0]);
    for (size_t i = 1; i < r->options.jobs; i++)
        pthread_join(all[i].thread, NULL);
}

static void find_sequences(tester *t, size_t component)
{
    aphi_conformance_campaign *r = t->run;
    aphi_sequence_search_status status = aphi_conformance_local_find(r->testers->local, component, r->options.stop);
    pthread_mutex_lock(&r->testers->lock);
    r->sequences += aphi_conformance_local_count(r->testers->local, component);
    if (status == APHI_SEQUENCE_SEARCH_TOO_LARGE && !r->status) {
        r->status = APHI_CONFORMANCE_TOO_LARGE;
        snprintf(r->error, sizeof r->error, "%s: %s has too many local sequences", r->options.alts->name,
                 r->options.alts->components[component].name);
    }
    pthread_mutex_unlock(&r->testers->lock);
}

static void test_thread(tester *t, size_t component)
{
    aphi_conformance_campaign *r = t->run;
    uint64_t limit = r->options.limit;
    r->threads[component] = aphi_conformance_local_test(r->testers->local, &t->conformance, component, limit);
    pthread_mutex_lock(&r->testers->lock);
    r->all_visited &= !limit || aphi_conformance_local_count(r->testers->local, component) <= limit;
    pthread_mutex_unlock(&r->testers->lock);
}

/* ---- messages to capture ----------------------------------------------------------------------------------------- */

static uint64_t choose_random(void *context, uint64_t n)
{
    return aphi_choice_below(context, n);
}

static bool add_witness(void *context, aphi_explorer *e)
{
    tester *t = context;
    aphi_sequence_load(&t->sequence, e);
    return !aphi_conformance_local_add_witness(t->run->testers->local, &t->sequence);
}

/* Samples sequences of the model until each needed message is received in one of them. */
static void find_witnesses(aphi_conformance_campaign *r)
{
    tester *t = &r->testers->all[0];
    aphi_choice choice = aphi_choice_seed(1);
    aphi_sequence_open(&t->sequence, r->options.model);
    aphi_explorer *e = aphi_explorer_open(r->options.model, add_witness, t);
    int64_t until = aphi_clock_ns() + SAMPLE_NS;
    for (int i = 0; i < SAMPLES && !aphi_explorer_stopped(e) && !is_stopped(r) && aphi_clock_ns() < until; i++)
        aphi_explorer_random_run(e, choose_random, &choice);
    aphi_explorer_close(e);
    aphi_sequence_close(&t->sequence);
}

static void test_threads(aphi_conformance_campaign *r)
{
    r->all_visited = true;
    run_for_components(r, find_sequences);
    if (r->status || is_stopped(r))
        return;
    aphi_conformance_local_list_messages(r->testers->local);
    find_witnesses(r);
    aphi_conformance_local_capture(r->testers->local, r->options.captures);
    if (is_settled(r))
        return;
    run_for_components(r, test_thread);
    if (!r->options.thread && !is_settled(r))
        aphi_conformance_local_report_crash(r->testers->local);
}

/* ---- results ----------------------------------------------------------------------------------------------------- */

static bool comes_before(const aphi_difference *d, const aphi_difference *other)
{
    return d->local_thread != other->local_thread ? d->local_thread < other->local_thread
                                                  : d->sequence < other->sequence;
}

static void keep_first(aphi_conformance_finding *f, const aphi_difference *d, const aphi_layout *layout)
{
    if (d->violation && (!f->difference || comes_before(d, f->difference)))
        *f = (aphi_conformance_finding){d, layout};
}

static void collect_results(aphi_conformance_campaign *r)
{
    for (size_t i = 0; i < r->options.jobs; i++) {
        const tester *t = &r->testers->all[i];
        const aphi_layout *layout = aphi_program_layout(t->program);
        keep_first(&r->missing, &t->conformance.missing, layout);
        keep_first(&r->extra, &t->conformance.extra, layout);
        r->tests += t->conformance.tests;
        r->runs += t->conformance.runs;
        if (t->conformance.program_lost && !is_stopped(r)) {
            r->status = APHI_CONFORMANCE_NO_PROGRAM;
            snprintf(r->error, sizeof r->error, "%s: %s", r->options.words[0], t->conformance.error);
        }
    }
    r->complete = r->all_visited && !is_stopped(r);
    for (size_t i = 0; r->threads && i < r->options.alts->component_count; i++)
        r->complete &= !r->threads[i].untested;
}

aphi_relation aphi_conformance_at_least(const aphi_conformance_campaign *r)
{
    return r->missing.difference ? APHI_RELATION_FAILS : r->complete ? APHI_RELATION_HOLDS : APHI_RELATION_UNKNOWN;
}

aphi_relation aphi_conformance_equivalent(const aphi_conformance_campaign *r)
{
    if (r->options.at_least && r->options.local && !r->extra.difference && !r->missing.difference)
        return APHI_RELATION_UNKNOWN; /* race sets were not compared */
    return r->extra.difference ? APHI_RELATION_FAILS : aphi_conformance_at_least(r);
}

/* ---- opening and closing ----------------------------------------------------------------------------------------- */

static aphi_conformance_status open_tester(aphi_conformance_campaign *r, tester *t)
{
    const aphi_conformance_options *o = &r->options;
    char error[512];
    t->run = r;
    t->program = aphi_program_open(o->words, o->time_ms, r->error, sizeof r->error);
    if (!t->program)
        return APHI_CONFORMANCE_NO_PROGRAM;
    if (!aphi_conformance_open(&t->conformance, o->model, t->program, o->local, error, sizeof error)) {
        snprintf(r->error, sizeof r->error, "%s and %s: %s", o->alts->name, o->words[0], error);
        return APHI_CONFORMANCE_MISMATCH;
    }
    t->conformance.time_ms = o->time_ms;
    aphi_program_set_stop(t->program, o->stop);
    return APHI_CONFORMANCE_DONE;
}

aphi_conformance_campaign *aphi_conformance_campaign_open(const aphi_conformance_options *options)
{
    aphi_conformance_campaign *r = aphi_alloc_zero(sizeof *r);
    r->options = *options;
    r->testers = aphi_alloc_zero(sizeof *r->testers + options->jobs * sizeof *r->testers->all);
    pthread_mutex_init(&r->testers->lock, NULL);
    for (size_t i = 0; i < options->jobs && !r->status; i++)
        r->status = open_tester(r, &r->testers->all[i]);
    if (r->status)
        return r;
    int64_t begun = aphi_clock_ns();
    if (options->local) {
        r->testers->local = aphi_conformance_local_open(&r->testers->all[0].conformance, !options->at_least);
        r->threads = aphi_alloc_zero((options->alts->component_count + 1) * sizeof *r->threads);
    }
    if (options->local)
        test_threads(r);
    else
        visit_sequences(r);
    r->ns = aphi_clock_ns() - begun;
    collect_results(r);
    return r;
}

void aphi_conformance_campaign_close(aphi_conformance_campaign *r)
{
    aphi_conformance_local_close(r->testers->local);
    for (size_t i = 0; i < r->options.jobs; i++) {
        tester *t = &r->testers->all[i];
        if (t->conformance.model)
            aphi_conformance_close(&t->conformance);
        aphi_program_close(t->program);
    }
    pthread_mutex_destroy(&r->testers->lock);
    APHI_FREE_ALL(r->testers, r->threads, r);
}

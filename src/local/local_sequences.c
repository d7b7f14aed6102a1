/* SPDX-License-Identifier: Apache-2.0
 *
 * local_sequences.c - the local sequences of all components of a model.
 *
 * Idea:       a task is a component and a kind of sequence, with or without race sets. Threads take tasks in turn and
 *             search for the sequences directly (sequence_search.h); or all sequences are projected from the global
 *             ones of the model (projection.h). The suite has the sequences with race sets, if these were computed. */
#include "local/local_sequences.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "local/projection.h"
#include "explore/parallel.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct search {
    const aphi_alts *alts;
    const aphi_local_options *options;
    bool races;
    size_t next; /* the next task */
    pthread_mutex_t lock;             /* of next and of the result's status and error */
    aphi_compiled_model model;
    aphi_projection projection;
    aphi_local_sequences *result;
} search;

/* Keeps the first failure. */
__attribute__((format(printf, 3, 4))) static void fail(search *s, aphi_local_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    pthread_mutex_lock(&s->lock);
    if (!s->result->status) {
        s->result->status = status;
        vsnprintf(s->result->error, sizeof s->result->error, format, args);
    }
    pthread_mutex_unlock(&s->lock);
    va_end(args);
}

static void fail_stopped(search *s)
{
    fail(s, APHI_LOCAL_STOPPED, "%s: interrupted before all local sequences were found", s->alts->name);
}

/* ---- the suite --------------------------------------------------------------------------------------------------- */

static void put_open(aphi_buffer *out, const aphi_alts *a, const aphi_alts_component *c, uint32_t state)
{
    aphi_buffer_str(out, ",\"open\":[");
    for (uint32_t i = c->first[state]; i < c->first[state + 1]; i++)
        aphi_alts_message_json(out, i == c->first[state], a->ports[c->moves[i].port].name, a->labels[c->moves[i].label],
                               NULL);
    aphi_buffer_byte(out, ']');
}

static void put_race(aphi_buffer *out, const aphi_alts *a, const aphi_local_event *e)
{
    aphi_buffer_str(out, ",\"race\":[");
    for (size_t i = 0; i < e->race_count; i++)
        aphi_alts_message_json(out, i == 0, a->ports[e->race[i].port].name, a->labels[e->race[i].label],
                               a->components[e->race[i].sender].name);
    aphi_buffer_byte(out, ']');
}

typedef struct suite {
    const search *search;
    const aphi_alts_component *component;
    FILE *file;
    aphi_buffer line;
} suite;

static void put_event(suite *s, const aphi_local_event *e)
{
    const aphi_alts *a = s->search->alts;
    bool local = e->op == APHI_ALTS_LOCAL;
    aphi_alts_event_json(&s->line, e->op, e->sync, local ? "" : a->ports[e->port].name, a->labels[e->label],
                         local ? "" : a->components[e->peer].name);
    if (e->op == APHI_ALTS_RECEIVE) {
        put_open(&s->line, a, s->component, e->state);
        if (s->search->races)
            put_race(&s->line, a, e);
    }
    aphi_buffer_byte(&s->line, '}');
}

static bool write_sequence(void *context, const aphi_local_event *events, size_t count)
{
    suite *s = context;
    s->line.n = 0;
    aphi_buffer_str(&s->line, "{\"thread\":");
    aphi_buffer_json_text(&s->line, s->component->name);
    aphi_buffer_str(&s->line, ",\"events\":[");
    for (size_t i = 0; i < count; i++) {
        aphi_buffer_str(&s->line, i ? "," : "");
        put_event(s, &events[i]);
    }
    aphi_buffer_str(&s->line, "]}\n");
    return fwrite(s->line.data, 1, s->line.n, s->file) == s->line.n;
}

/* Replaces characters of the name of a component that could lead out of the folder. */
static char *file_name(const char *folder, const char *name)
{
    aphi_buffer path = {0};
    aphi_buffer_format(&path, "%s/", folder);
    for (const char *p = name; *p; p++)
        aphi_buffer_byte(&path, *p == '/' || (p == name && *p == '.') ? '_' : *p);
    aphi_buffer_str(&path, ".jsonl");
    return aphi_buffer_text(&path);
}

static bool write_suite(search *s, size_t component, const aphi_sequence_search *direct)
{
    const aphi_alts *a = s->alts;
    char *path = file_name(s->options->suite, a->components[component].name);
    aphi_file file;
    bool written = aphi_file_create(&file, path);
    suite out = {.search = s, .component = &a->components[component], .file = written ? file.stream : NULL};
    if (written) {
        bool complete = direct ? aphi_sequence_search_each(direct, write_sequence, &out)
                               : aphi_projection_each(&s->projection, a, component, s->races, write_sequence, &out);
        written = aphi_file_commit(&file) && complete;
    }
    if (!written)
        fail(s, APHI_LOCAL_UNWRITTEN, "%s cannot be written: %s", path, strerror(errno));
    aphi_buffer_free(&out.line);
    free(path);
    return written;
}

/* ---- direct search ----------------------------------------------------------------------------------------------- */

static void search_component(search *s, size_t component, bool races)
{
    aphi_sequence_search *l = aphi_sequence_search_open(
        s->alts, component, (aphi_sequence_search_options){.races = races, .stop = s->options->stop});
    aphi_local_count *count = &s->result->counts[component];
    if (aphi_sequence_search_outcome(l) == APHI_SEQUENCE_SEARCH_STOPPED)
        fail_stopped(s);
    else if (aphi_sequence_search_outcome(l) != APHI_SEQUENCE_SEARCH_DONE)
        fail(s, APHI_LOCAL_TOO_LARGE, "%s: %s has too many local sequences", s->alts->name,
             s->alts->components[component].name);
    else if (s->options->suite && races == s->races)
        write_suite(s, component, l);
    *(races ? &count->race_sets : &count->events) = aphi_sequence_search_count(l);
    aphi_sequence_search_close(l);
}

static void *run_tasks(void *context)
{
    search *s = context;
    size_t kinds = s->races ? 2 : 1, tasks = s->alts->component_count * kinds;
    for (;;) {
        pthread_mutex_lock(&s->lock);
        size_t task = s->result->status ? tasks : s->next++;
        pthread_mutex_unlock(&s->lock);
        if (task >= tasks)
            return NULL;
        search_component(s, task / kinds, task % kinds);
    }
}

static void search_directly(search *s)
{
    pthread_t *threads = aphi_alloc(s->options->jobs * sizeof *threads);
    unsigned started = 0;
    while (started + 1 < s->options->jobs && pthread_create(&threads[started], NULL, run_tasks, s) == 0)
        started++;
    run_tasks(s);
    while (started > 0)
        pthread_join(threads[--started], NULL);
    free(threads);
}

/* ---- by projection ----------------------------------------------------------------------------------------------- */

typedef struct collector {
    aphi_projection projection;
    aphi_sequence sequence;
} collector;

static bool collect(void *context, aphi_explorer *e)
{
    collector *c = context;
    aphi_sequence_load(&c->sequence, e);
    aphi_projection_add(&c->projection, &c->sequence);
    return true;
}

static void project_all(search *s)
{
    unsigned jobs = (unsigned)s->options->jobs;
    collector *collectors = aphi_alloc(jobs * sizeof *collectors);
    void **contexts = aphi_alloc(jobs * sizeof *contexts);
    for (unsigned i = 0; i < jobs; i++) {
        aphi_projection_open(&collectors[i].projection, s->alts->component_count);
        aphi_sequence_open(&collectors[i].sequence, &s->model);
        contexts[i] = &collectors[i];
    }
    aphi_parallel_result found = aphi_parallel_search(&(aphi_parallel_options){
        .model = &s->model, .jobs = jobs, .visit = collect, .contexts = contexts, .stop = s->options->stop});
    if (found.end != APHI_PARALLEL_DONE)
        fail_stopped(s);
    for (unsigned i = 0; i < jobs; i++) {
        aphi_projection_merge(&s->projection, &collectors[i].projection);
        aphi_projection_close(&collectors[i].projection);
        aphi_sequence_close(&collectors[i].sequence);
    }
    free(collectors);
    free(contexts);
}

static void search_by_projection(search *s)
{
    char why[300];
    if (!aphi_compiled_model_build(&s->model, s->alts, why, sizeof why)) {
        fail(s, APHI_LOCAL_TOO_LARGE, "%s: %s", s->alts->name, why);
        return;
    }
    aphi_projection_open(&s->projection, s->alts->component_count);
    project_all(s);
    for (size_t c = 0; c < s->alts->component_count && !s->result->status; c++) {
        s->result->counts[c] = (aphi_local_count){s->projection.by_events[c].count, s->projection.by_races[c].count};
        if (s->options->suite)
            write_suite(s, c, NULL);
    }
    aphi_projection_close(&s->projection);
    aphi_compiled_model_free(&s->model);
}

/* ---- all components ---------------------------------------------------------------------------------------------- */

aphi_local_sequences *aphi_local_sequences_find(const aphi_alts *a, const aphi_local_options *options)
{
    aphi_local_sequences *result = aphi_alloc_zero(sizeof *result);
    search s = {.alts = a, .options = options, .races = !options->events_only, .result = result};
    int64_t begun = aphi_clock_ns();
    pthread_mutex_init(&s.lock, NULL);
    result->counts = aphi_alloc_zero((a->component_count + 1) * sizeof *result->counts);
    if (options->suite && mkdir(options->suite, 0777) && errno != EEXIST)
        fail(&s, APHI_LOCAL_UNWRITTEN, "%s cannot be created: %s", options->suite, strerror(errno));
    else if (options->by_projection)
        search_by_projection(&s);
    else
        search_directly(&s);
    result->ns = aphi_clock_ns() - begun;
    pthread_mutex_destroy(&s.lock);
    return result;
}

void aphi_local_sequences_free(aphi_local_sequences *s)
{
    free(s->counts);
    free(s);
}

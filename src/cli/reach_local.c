/* SPDX-License-Identifier: Apache-2.0
 *
 * reach_local.c - antiphon reach --local: what each component does in all runs of a model.
 *
 * Idea: a task is a component and a kind, by events or with race sets. Threads take task after task and find its
 *       sequences directly
 *       (src/local/local_search.h), or all of them are collected first from all sequences of the model
 *       (src/local/projection.h).
 *       Of a component the sequences with the most in them are written as its suite. */
#include "cli/reach_local.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/memory.h"
#include "cli/exit_codes.h"
#include "local/projection.h"
#include "explore/parallel.h"
#include "report/terminal.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { EVENTS, RACE_SETS, KINDS };

typedef struct local {
    const aphi_alts *a;
    const aphi_local_options *options;
    unsigned kinds;                   /* 1: by events only */
    size_t next;                      /* task */
    pthread_mutex_t lock;             /* of next and code */
    uint64_t (*counts)[KINDS];        /* of each component */
    int code;
    aphi_compiled_model plan;
    aphi_projection projection;
    int64_t ns;
} local;

/* ---- a suite ----------------------------------------------------------------------------------------------------- */

static void put_text(aphi_buffer *out, const char *text)
{
    aphi_buffer_byte(out, '"');
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            aphi_buffer_byte(out, '\\');
        if (c < ' ')
            aphi_buffer_format(out, "\\u%04x", c);
        else
            aphi_buffer_byte(out, (char)c);
    }
    aphi_buffer_byte(out, '"');
}

static void put_open(aphi_buffer *out, const aphi_alts *a, const aphi_alts_component *c, uint32_t state)
{
    aphi_buffer_str(out, ",\"open\":[");
    for (uint32_t i = c->first[state]; i < c->first[state + 1]; i++) {
        aphi_buffer_str(out, i > c->first[state] ? ",[" : "[");
        put_text(out, a->ports[c->moves[i].port].name);
        aphi_buffer_byte(out, ',');
        put_text(out, a->labels[c->moves[i].label]);
        aphi_buffer_byte(out, ']');
    }
    aphi_buffer_byte(out, ']');
}

static void put_race(aphi_buffer *out, const aphi_alts *a, const aphi_local_event *e)
{
    aphi_buffer_str(out, ",\"race\":[");
    for (size_t i = 0; i < e->race_count; i++) {
        aphi_buffer_str(out, i > 0 ? ",[" : "[");
        put_text(out, a->ports[e->race[i].port].name);
        aphi_buffer_byte(out, ',');
        put_text(out, a->labels[e->race[i].label]);
        aphi_buffer_byte(out, ',');
        put_text(out, a->components[e->race[i].sender].name);
        aphi_buffer_byte(out, ']');
    }
    aphi_buffer_byte(out, ']');
}

typedef struct suite {
    const local *l;
    const aphi_alts_component *component;
    FILE *file;
    aphi_buffer line;
} suite;

static void put_event(suite *s, const aphi_local_event *e)
{
    static const char *const ops[] = {
        [APHI_ALTS_SEND] = "send", [APHI_ALTS_RECEIVE] = "receive", [APHI_ALTS_LOCAL] = "local"};
    const aphi_alts *a = s->l->a;
    aphi_buffer_format(&s->line, "{\"op\":\"%s\"", ops[e->op]);
    if (e->op != APHI_ALTS_LOCAL) {
        aphi_buffer_format(&s->line, ",\"sync\":%s,\"port\":", e->sync ? "true" : "false");
        put_text(&s->line, a->ports[e->port].name);
    }
    aphi_buffer_str(&s->line, ",\"label\":");
    put_text(&s->line, a->labels[e->label]);
    if (e->op != APHI_ALTS_LOCAL) {
        aphi_buffer_str(&s->line, ",\"peer\":");
        put_text(&s->line, a->components[e->peer].name);
    }
    if (e->op == APHI_ALTS_RECEIVE) {
        put_open(&s->line, a, s->component, e->state);
        if (s->l->kinds > RACE_SETS)
            put_race(&s->line, a, e);
    }
    aphi_buffer_byte(&s->line, '}');
}

static bool write_sequence(void *context, const aphi_local_event *events, size_t count)
{
    suite *s = context;
    s->line.n = 0;
    aphi_buffer_str(&s->line, "{\"thread\":");
    put_text(&s->line, s->component->name);
    aphi_buffer_str(&s->line, ",\"events\":[");
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            aphi_buffer_byte(&s->line, ',');
        put_event(s, &events[i]);
    }
    aphi_buffer_str(&s->line, "]}\n");
    return fwrite(s->line.data, 1, s->line.n, s->file) == s->line.n;
}

/* Names of components become names of files: what could lead elsewhere is replaced. */
static char *file_name(const char *folder, const char *name)
{
    aphi_buffer path = {0};
    aphi_buffer_format(&path, "%s/", folder);
    for (const char *p = name; *p; p++)
        aphi_buffer_byte(&path, *p == '/' || (p == name && *p == '.') ? '_' : *p);
    aphi_buffer_str(&path, ".jsonl");
    return aphi_buffer_text(&path);
}

/* l is what was found directly, or NULL. False: it could not be written; errno says why. */
static bool write_suite(const local *at, size_t component, const aphi_local_search *l)
{
    char *path = file_name(at->options->suite, at->a->components[component].name);
    suite s = {.l = at, .component = &at->a->components[component], .file = fopen(path, "w")};
    bool good = s.file;
    if (good && l)
        good = aphi_local_search_each(l, write_sequence, &s);
    else if (good)
        good = aphi_projection_each(&at->projection, at->a, component, at->kinds > RACE_SETS, write_sequence, &s);
    if (s.file && fclose(s.file))
        good = false;
    if (!good)
        fprintf(stderr, "antiphon: %s cannot be written: %s\n", path, strerror(errno));
    aphi_buffer_free(&s.line);
    free(path);
    return good;
}

/* ---- directly ---------------------------------------------------------------------------------------------------- */

static int explain(const local *at, size_t component, aphi_local_search_status status)
{
    if (status == APHI_LOCAL_SEARCH_STOPPED)
        return APHI_EXIT_INTERRUPTED;
    fprintf(stderr, "antiphon: %s: the sequences of %s are too many to find\n", at->a->name,
            at->a->components[component].name);
    return APHI_EXIT_PROGRAM_LARGE;
}

static int do_task(local *at, size_t component, unsigned kind)
{
    int code = APHI_EXIT_PASS;
    aphi_local_search *l = aphi_local_search_open(
        at->a, component, (aphi_local_search_options){.races = kind == RACE_SETS, .stop = at->options->stop});
    if (aphi_local_search_outcome(l) != APHI_LOCAL_SEARCH_DONE)
        code = explain(at, component, aphi_local_search_outcome(l));
    else if (at->options->suite && kind + 1 == at->kinds && !write_suite(at, component, l))
        code = APHI_EXIT_WRITE;
    at->counts[component][kind] = aphi_local_search_count(l);
    aphi_local_search_close(l);
    return code;
}

static void *work(void *context)
{
    local *at = context;
    size_t tasks = at->a->component_count * at->kinds;
    for (;;) {
        pthread_mutex_lock(&at->lock);
        size_t task = at->code ? tasks : at->next++;
        pthread_mutex_unlock(&at->lock);
        if (task >= tasks)
            return NULL;
        int code = do_task(at, task / at->kinds, (unsigned)(task % at->kinds));
        pthread_mutex_lock(&at->lock);
        if (code && !at->code)
            at->code = code;
        pthread_mutex_unlock(&at->lock);
    }
}

static void find_directly(local *at)
{
    pthread_t *threads = aphi_alloc(at->options->jobs * sizeof *threads);
    unsigned started = 0;
    while (started + 1 < at->options->jobs && pthread_create(&threads[started], NULL, work, at) == 0)
        started++;
    work(at);
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

static void project(local *at)
{
    unsigned jobs = at->options->jobs;
    collector *collectors = aphi_alloc(jobs * sizeof *collectors);
    void **contexts = aphi_alloc(jobs * sizeof *contexts);
    for (unsigned i = 0; i < jobs; i++) {
        aphi_projection_open(&collectors[i].projection, at->a->component_count);
        aphi_sequence_open(&collectors[i].sequence, &at->plan);
        contexts[i] = &collectors[i];
    }
    aphi_parallel_result found = aphi_parallel_search(&(aphi_parallel_options){
        .model = &at->plan, .jobs = jobs, .visit = collect, .contexts = contexts, .stop = at->options->stop});
    if (found.end != APHI_PARALLEL_DONE)
        at->code = APHI_EXIT_INTERRUPTED;
    for (unsigned i = 0; i < jobs; i++) {
        aphi_projection_merge(&at->projection, &collectors[i].projection);
        aphi_projection_close(&collectors[i].projection);
        aphi_sequence_close(&collectors[i].sequence);
    }
    free(collectors);
    free(contexts);
}

static void find_by_projection(local *at)
{
    char why[300];
    if (!aphi_compiled_model_build(&at->plan, at->a, why, sizeof why)) {
        fprintf(stderr, "antiphon: %s: %s\n", at->a->name, why);
        at->code = APHI_EXIT_PROGRAM_LARGE;
        return;
    }
    aphi_projection_open(&at->projection, at->a->component_count);
    project(at);
    for (size_t c = 0; c < at->a->component_count && !at->code; c++) {
        at->counts[c][EVENTS] = at->projection.by_events[c].count;
        at->counts[c][RACE_SETS] = at->projection.by_races[c].count;
        if (at->options->suite && !write_suite(at, c, NULL))
            at->code = APHI_EXIT_WRITE;
    }
    aphi_projection_close(&at->projection);
    aphi_compiled_model_free(&at->plan);
}

/* ---- telling ----------------------------------------------------------------------------------------------------- */

static uint64_t total(const local *at, unsigned kind)
{
    uint64_t sum = 0;
    for (size_t c = 0; c < at->a->component_count; c++)
        if (__builtin_add_overflow(sum, at->counts[c][kind], &sum))
            return UINT64_MAX;
    return sum;
}

static void tell_json(const local *at)
{
    aphi_buffer out = {0};
    aphi_buffer_str(&out, "{\"model\":");
    put_text(&out, at->a->name);
    aphi_buffer_format(&out, ",\"local_events\":%llu", (unsigned long long)total(at, EVENTS));
    if (at->kinds > RACE_SETS)
        aphi_buffer_format(&out, ",\"local_race_sets\":%llu", (unsigned long long)total(at, RACE_SETS));
    aphi_buffer_str(&out, ",\"components\":[");
    for (size_t c = 0; c < at->a->component_count; c++) {
        aphi_buffer_str(&out, c > 0 ? ",{\"name\":" : "{\"name\":");
        put_text(&out, at->a->components[c].name);
        aphi_buffer_format(&out, ",\"events\":%llu", (unsigned long long)at->counts[c][EVENTS]);
        if (at->kinds > RACE_SETS)
            aphi_buffer_format(&out, ",\"race_sets\":%llu", (unsigned long long)at->counts[c][RACE_SETS]);
        aphi_buffer_byte(&out, '}');
    }
    aphi_buffer_format(&out, "],\"seconds\":%.6f}\n", (double)at->ns / 1e9);
    fwrite(out.data, 1, out.n, stdout);
    aphi_buffer_free(&out);
}

static void put_counts(aphi_buffer *out, const local *at, uint64_t events, uint64_t race_sets)
{
    aphi_report_count(out, events);
    aphi_buffer_str(out, " by events");
    if (at->kinds > RACE_SETS) {
        aphi_buffer_str(out, ", ");
        aphi_report_count(out, race_sets);
        aphi_buffer_str(out, " with race sets");
    }
}

static void tell_text(const local *at)
{
    aphi_buffer out = {0};
    aphi_buffer_format(&out, "%s: local sequences: ", at->a->name);
    put_counts(&out, at, total(at, EVENTS), total(at, RACE_SETS));
    aphi_buffer_str(&out, ", in ");
    aphi_report_duration(&out, at->ns);
    aphi_buffer_byte(&out, '\n');
    for (size_t c = 0; c < at->a->component_count; c++) {
        aphi_buffer_format(&out, "  %s: ", at->a->components[c].name);
        put_counts(&out, at, at->counts[c][EVENTS], at->counts[c][RACE_SETS]);
        aphi_buffer_byte(&out, '\n');
    }
    fwrite(out.data, 1, out.n, stdout);
    aphi_buffer_free(&out);
}

static int tell(const local *at)
{
    if (at->options->json)
        tell_json(at);
    else
        tell_text(at);
    if (!fflush(stdout) && !ferror(stdout))
        return APHI_EXIT_PASS;
    fprintf(stderr, "antiphon: the result could not be written: %s\n", strerror(errno));
    return APHI_EXIT_WRITE;
}

int aphi_local(const aphi_alts *a, const aphi_local_options *options)
{
    local at = {.a = a, .options = options, .kinds = options->events_only ? 1 : KINDS};
    if (options->suite && mkdir(options->suite, 0777) && errno != EEXIST) {
        fprintf(stderr, "antiphon: the folder %s cannot be made: %s\n", options->suite, strerror(errno));
        return APHI_EXIT_WRITE;
    }
    at.counts = aphi_alloc_zero((a->component_count + 1) * sizeof *at.counts);
    pthread_mutex_init(&at.lock, NULL);
    int64_t begun = aphi_clock_ns();
    if (options->by_projection)
        find_by_projection(&at);
    else
        find_directly(&at);
    at.ns = aphi_clock_ns() - begun;
    if (at.code == APHI_EXIT_INTERRUPTED)
        fprintf(stderr, "antiphon: %s: interrupted before all local sequences were found\n", a->name);
    int code = at.code ? at.code : tell(&at);
    pthread_mutex_destroy(&at.lock);
    free(at.counts);
    return code;
}

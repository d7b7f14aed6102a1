/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_conform.c - antiphon conform MODEL PROGRAM: does a program do what its model says, and nothing else?
 *
 * Idea:       The model's sequences are visited as antiphon reach does, one after the other. Each is a test for the
 *             whole program; or, with --local, all are collected first, and each thread is tested alone. With -j there
 *             are several testers, each with a program of its own; what one finds stops all. */
#include "cli/commands.h"

#include "base/clock.h"
#include "base/memory.h"
#include "cli/interrupt.h"
#include "cli/program_model.h"
#include "cli/shared_options.h"
#include "execute/conformance.h"
#include "explore/parallel.h"
#include "report/divergence_page.h"
#include "report/spacetime.h"
#include "report/swimlanes.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 40 };

typedef enum holding { HOLDS, FAILS, UNDECIDED } holding;

typedef struct conforming conforming;

typedef struct tester {
    conforming *x;
    aphi_program *program;
    aphi_conformance c;
    aphi_sequence sequence;
    pthread_t thread;
} tester;

typedef struct finding {
    const aphi_difference *d; /* or NULL */
    const aphi_layout *cast;    /* whose numbers are in it */
} finding;

struct conforming {
    const char *model, *name, *thread, *page;
    int64_t time_ns;
    uint64_t limit, unroll, captures, jobs;
    bool local, json, at_least;
    aphi_alts alts;
    aphi_compiled_model plan;
    char **words;           /* of the program */
    tester *testers;
    aphi_conformance_local *alone;
    aphi_conformance_local_result *told;  /* of each component */
    pthread_mutex_t lock;   /* of the next two */
    uint64_t visited;       /* sequences of the model */
    size_t next;            /* the component to test */
    bool complete;          /* all sequences */
    finding lack, surplus;  /* a breach of M <= CP, and of CP <= M */
    uint64_t tests, runs;
    int64_t ns;
};

static const aphi_option options[] = {
    APHI_JOBS(conforming, jobs, 1, "run N programs in parallel (default: 1)"),
    APHI_FLAG(conforming, local, "local",
              "test each thread alone: the tester plays its environment, with captured message contents"),
    APHI_TEXT(conforming, thread, "thread", "NAME", "with --local: test only this thread"),
    APHI_FLAG(conforming, at_least, "at-least", "test only M <= CP: the program may do more than the model"),
    APHI_NUMBER(conforming, limit, "limit", "N", 1, UINT64_MAX, "stop after N sequences of the model"),
    APHI_NUMBER(conforming, unroll, "unroll", "N", 1, 1000, "visit each state of a cycle up to N times"),
    APHI_DURATION(conforming, time_ns, "run-time", "MS", APHI_MS_NS, APHI_MS_NS, 86400 * (uint64_t)APHI_SECOND_NS,
                  "time limit of a run, in milliseconds; a longer run does not terminate (default: 10000)"),
    APHI_NUMBER(conforming, captures, "captures", "N", 0, UINT32_MAX,
                "with --local: make up to N random runs to capture message contents (default: 200)"),
    APHI_TEXT(conforming, page, "report", "FILE",
              "write a page with model and program side by side at the first difference"),
    APHI_JSON_OPTION(conforming, json),
    {0}};

/* ---- testing ----------------------------------------------------------------------------------------------------- */

static bool visit(void *context, aphi_explorer *e)
{
    tester *t = context;
    conforming *x = t->x;
    bool more = true;
    aphi_sequence_load(&t->sequence, e);
    pthread_mutex_lock(&x->lock);
    uint64_t number = ++x->visited;
    pthread_mutex_unlock(&x->lock);
    t->c.sequence = number - 1;
    if (x->local)
        aphi_conformance_local_add(x->alone, &t->sequence);
    else
        more = aphi_conformance_test(&t->c, &t->sequence);
    return more && !aphi_interrupted && (!x->limit || number < x->limit);
}

/* To find what each component does takes one worker. */
static void visit_all(conforming *x)
{
    void **contexts = aphi_alloc(x->jobs * sizeof *contexts);
    for (size_t i = 0; i < x->jobs; i++) {
        contexts[i] = &x->testers[i];
        aphi_sequence_open(&x->testers[i].sequence, &x->plan);
    }
    aphi_parallel_options team = {.model = &x->plan, .jobs = x->local ? 1 : (unsigned)x->jobs, .visit = visit,
                              .contexts = contexts, .slice = x->local ? 0 : 1, .stop = &aphi_interrupted};
    x->complete = aphi_parallel_search(&team).end == APHI_PARALLEL_DONE;
    for (size_t i = 0; i < x->jobs; i++)
        aphi_sequence_close(&x->testers[i].sequence);
    free(contexts);
}

static bool is_settled(const conforming *x)
{
    bool settled = aphi_interrupted;
    for (size_t i = 0; i < x->jobs; i++)
        settled |= x->testers[i].c.missing.violation || x->testers[i].c.program_lost;
    return settled;
}

/* The next component to test; SIZE_MAX: there is none. */
static size_t next_component(conforming *x, bool settled)
{
    size_t found = SIZE_MAX;
    pthread_mutex_lock(&x->lock);
    if (settled)
        x->next = x->alts.component_count;
    while (x->next < x->alts.component_count && found == SIZE_MAX) {
        found = !x->thread || !strcmp(x->thread, x->alts.components[x->next].name) ? x->next : SIZE_MAX;
        x->next++;
    }
    pthread_mutex_unlock(&x->lock);
    return found;
}

static void *test_some(void *argument)
{
    tester *t = argument;
    size_t i;
    while ((i = next_component(t->x, aphi_interrupted || t->c.missing.violation || t->c.program_lost)) != SIZE_MAX)
        t->x->told[i] = aphi_conformance_local_test(t->x->alone, &t->c, i);
    return NULL;
}

static void test_threads(conforming *x)
{
    aphi_conformance_local_capture(x->alone, x->captures);
    if (is_settled(x))
        return;
    for (size_t i = 1; i < x->jobs; i++)
        if (pthread_create(&x->testers[i].thread, NULL, test_some, &x->testers[i]))
            abort();
    test_some(&x->testers[0]);
    for (size_t i = 1; i < x->jobs; i++)
        pthread_join(x->testers[i].thread, NULL);
    if (!x->thread && !is_settled(x))
        aphi_conformance_local_report_crash(x->alone);
}

/* ---- what was found ---------------------------------------------------------------------------------------------- */

static void consider(finding *f, const aphi_difference *d, const aphi_layout *cast)
{
    if (d->violation && (!f->d || d->local_thread < f->d->local_thread ||
                         (d->local_thread == f->d->local_thread && d->sequence < f->d->sequence)))
        *f = (finding){d, cast};
}

static void sum_up(conforming *x)
{
    for (size_t i = 0; i < x->jobs; i++) {
        const tester *t = &x->testers[i];
        const aphi_layout *cast = aphi_program_layout(t->program);
        consider(&x->lack, &t->c.missing, cast);
        consider(&x->surplus, &t->c.extra, cast);
        x->tests += t->c.tests;
        x->runs += t->c.runs;
    }
}

static aphi_conformance_local_result all_told(const conforming *x)
{
    aphi_conformance_local_result sum = {0};
    for (size_t i = 0; i < x->alts.component_count && x->local; i++) {
        sum.by_events += x->told[i].by_events;
        sum.by_races += x->told[i].by_races;
        sum.untested += x->told[i].untested;
        if (*x->told[i].unknown)
            memcpy(sum.unknown, x->told[i].unknown, sizeof sum.unknown);
    }
    return sum;
}

/* ---- verdicts ---------------------------------------------------------------------------------------------------- */

static const char *const holding_names[] = {"holds", "fails", "is not certain"};

static holding at_least(const conforming *x)
{
    if (x->lack.d)
        return FAILS;
    return x->complete && !aphi_interrupted && !all_told(x).untested ? HOLDS : UNDECIDED;
}

static holding both(const conforming *x)
{
    return x->surplus.d ? FAILS : at_least(x);
}

static int exit_of(const conforming *x)
{
    if (x->lack.d && x->lack.d->violation == APHI_VIOLATION_ENDLESS)
        return APHI_EXIT_ENDLESS;
    if (x->lack.d && x->lack.d->violation == APHI_VIOLATION_CRASHED)
        return APHI_EXIT_CRASHED;
    holding h = x->at_least ? at_least(x) : both(x);
    if (h == FAILS)
        return APHI_EXIT_FAIL;
    if (aphi_interrupted)
        return APHI_EXIT_INTERRUPTED;
    return h == HOLDS ? APHI_EXIT_PASS : APHI_EXIT_UNKNOWN;
}

/* ---- telling ----------------------------------------------------------------------------------------------------- */

static const struct {
    const char *name, *text;
} breaches[] = {
    [APHI_VIOLATION_MISSING] = {"missing", "the program cannot do an event of the model"},
    [APHI_VIOLATION_ENDLESS] = {"endless", "the program does not terminate"},
    [APHI_VIOLATION_CRASHED] = {"crashed", "the program crashed, or ended with an error"},
    [APHI_VIOLATION_RACE_MISSING] = {"fewer", "a receive cannot take what the model's could have taken"},
    [APHI_VIOLATION_EXTRA] = {"extra", "the program goes on where the model does not"},
    [APHI_VIOLATION_STUCK] = {"stuck", "where the model ends, the program waits for ever"},
    [APHI_VIOLATION_ENDS] = {"ends", "the program ends where the model waits for ever"},
    [APHI_VIOLATION_WAITS] = {"waits", "the program waits for something else than the model"},
    [APHI_VIOLATION_RACE_EXTRA] = {"more", "a receive could take what the model's could not"},
};

/* Two lines: which relation fails and why; which sequence, and which event of whom. */
static void put_difference(const finding *f, aphi_buffer *out)
{
    const aphi_difference *d = f->d;
    const aphi_layout *c = f->cast;
    aphi_buffer_format(out, "%s: %s\n  ", aphi_violation_is_missing(d->violation) ? "M <= CP fails" : "CP <= M fails",
                       breaches[d->violation].text);
    if (d->local_thread >= 0)
        aphi_buffer_format(out, "thread %s alone, ", c->threads[d->local_thread]);
    if (d->sequence)
        aphi_buffer_format(out, "sequence %" PRIu64, d->sequence);
    else
        aphi_buffer_str(out, "the whole program, to capture messages");
    if (d->id.index)
        aphi_buffer_format(out, ", event %" PRIu32 " of %s", d->id.index, c->threads[d->id.thread]);
    aphi_buffer_format(out, ": %s\n", d->detail);
}

static void tell_difference(const finding *f, aphi_buffer *out)
{
    aphi_terminal t = aphi_terminal_of(stdout, APHI_COLOUR_AUTO);
    if (!f->d)
        return;
    aphi_buffer_byte(out, '\n');
    put_difference(f, out);
    aphi_buffer_byte(out, '\n');
    aphi_spacetime_draw(out, f->cast, f->d, &t, ROWS);
    aphi_buffer_byte(out, '\n');
}

static void tell_threads(const conforming *x, aphi_buffer *out)
{
    for (size_t i = 0; i < x->alts.component_count; i++) {
        const aphi_conformance_local_result *told = &x->told[i];
        if (!told->by_events && !told->untested)
            continue;
        aphi_buffer_format(out, "  %s: %" PRIu64 " sequence%s by events", x->alts.components[i].name, told->by_events,
                           told->by_events == 1 ? "" : "s");
        if (told->by_races >= told->by_events) /* or else the tests were not finished */
            aphi_buffer_format(out, ", %" PRIu64 " with race sets", told->by_races);
        if (told->untested)
            aphi_buffer_format(out, "; %" PRIu64 " not tested to the end: no message %s was seen", told->untested,
                               told->unknown);
        aphi_buffer_byte(out, '\n');
    }
}

static void put_count(aphi_buffer *out, uint64_t n, const char *what)
{
    aphi_report_count(out, n);
    aphi_buffer_format(out, " %s%s", what, n == 1 ? "" : "s");
}

static void put_verdict(const conforming *x, aphi_buffer *out)
{
    aphi_buffer_format(out, "%s and %s%s: M <= CP %s, M ~ CP %s\n", x->alts.name, x->name,
                       x->thread ? " (one thread)" : "", holding_names[at_least(x)], holding_names[both(x)]);
    aphi_buffer_format(out, "  %s", x->complete ? "" : "not all: ");
    put_count(out, x->visited, "sequence");
    aphi_buffer_str(out, " of the model, ");
    put_count(out, x->tests, "test");
    aphi_buffer_str(out, ", ");
    put_count(out, x->runs, "run");
    aphi_buffer_str(out, ", in ");
    aphi_report_duration(out, x->ns);
    aphi_buffer_byte(out, '\n');
}

static void tell_text(const conforming *x)
{
    aphi_buffer out = {0};
    tell_difference(&x->lack, &out);
    tell_difference(&x->surplus, &out);
    put_verdict(x, &out);
    if (x->local)
        tell_threads(x, &out);
    fwrite(out.data, 1, out.n, stdout);
    aphi_buffer_free(&out);
}

/* ---- the page ---------------------------------------------------------------------------------------------------- */

/* One line of text. */
static char *flat(aphi_buffer *text)
{
    char *line = aphi_buffer_text(text);
    for (char *at = line; (at = strchr(at, '\n'));)
        *at = at[1] ? ';' : '.';
    return line;
}

static bool write_page(const conforming *x)
{
    aphi_buffer page = {0}, lead = {0};
    const finding *found[] = {&x->lack, &x->surplus};
    put_verdict(x, &lead);
    for (size_t i = 0; i < 2; i++)
        if (found[i]->d) {
            aphi_buffer_byte(&lead, ' ');
            put_difference(found[i], &lead);
        }
    char *line = flat(&lead);
    aphi_swimlanes_page_begin(&page, x->alts.name, line);
    for (size_t i = 0; i < 2; i++)
        if (found[i]->d)
            aphi_divergence_page_add(&page, found[i]->cast, found[i]->d);
    aphi_swimlanes_page_end(&page);
    FILE *file = fopen(x->page, "w");
    bool good = file && fwrite(page.data, 1, page.n, file) == page.n;
    if (file && fclose(file))
        good = false;
    free(line);
    aphi_buffer_free(&page);
    return good;
}

/* ---- as JSON ----------------------------------------------------------------------------------------------------- */

static aph_value rivals_value(const aphi_layout *c, const aphi_race_set *r)
{
    aph_value all = aph_array(0, NULL);
    for (size_t i = 0; i < r->count; i++) {
        const aphi_race_message *rival = &r->items[i];
        all = aph_push(all, aph_record("thread", aph_str(c->threads[rival->send.thread]), "index",
                                       aph_int(rival->send.index), "port", aph_str(c->ports[rival->port].name),
                                       "label", aph_str(c->labels[rival->label])));
    }
    return all;
}

static aph_value difference_value(const finding *f)
{
    const aphi_difference *d = f->d;
    const aphi_layout *c = f->cast;
    aph_value v = aph_record("relation", aph_str(aphi_violation_is_missing(d->violation) ? "M <= CP" : "CP <= M"),
                             "breach", aph_str(breaches[d->violation].name), "detail", aph_str(d->detail), "sequence",
                             aph_int((int64_t)d->sequence));
    if (d->local_thread >= 0)
        v = aph_put(v, "alone", aph_str(c->threads[d->local_thread]));
    if (d->id.index)
        v = aph_put(aph_put(v, "thread", aph_str(c->threads[d->id.thread])), "event", aph_int(d->id.index));
    if (d->violation == APHI_VIOLATION_RACE_MISSING || d->violation == APHI_VIOLATION_RACE_EXTRA)
        v = aph_put(aph_put(v, "model_race", rivals_value(c, &d->model)), "program_race", rivals_value(c, &d->program));
    aphi_buffer line = {0};
    aph_value run;
    aph_json_error error;
    aphi_recording_write(c, &d->run, NULL, d->sequence, &line);
    if (aph_json_read(line.data, line.n, &run, &error))
        v = aph_put(v, "run", aph_field(run, "threads"));
    aphi_buffer_free(&line);
    return v;
}

static aph_value threads_value(const conforming *x)
{
    aph_value all = aph_array(0, NULL);
    for (size_t i = 0; i < x->alts.component_count; i++)
        all = aph_push(all, aph_record("name", aph_str(x->alts.components[i].name), "by_events",
                                       aph_int((int64_t)x->told[i].by_events), "by_races",
                                       aph_int((int64_t)x->told[i].by_races), "untested",
                                       aph_int((int64_t)x->told[i].untested)));
    return all;
}

static void tell_json(const conforming *x)
{
    static const char *const names[] = {"holds", "fails", "unknown"};
    aph_value found = aph_array(0, NULL);
    if (x->lack.d)
        found = aph_push(found, difference_value(&x->lack));
    if (x->surplus.d)
        found = aph_push(found, difference_value(&x->surplus));
    aph_value v = aph_record("model", aph_str(x->alts.name), "program", aph_str(x->name), "mode",
                             aph_str(x->local ? "local" : "global"), "at_least", aph_str(names[at_least(x)]),
                             "equivalent", aph_str(names[both(x)]), "exit", aph_int(exit_of(x)), "sequences",
                             aph_int((int64_t)x->visited), "complete", aph_bool(x->complete), "tests",
                             aph_int((int64_t)x->tests), "runs", aph_int((int64_t)x->runs));
    v = aph_put(aph_put(v, "differences", found), "milliseconds", aph_int(x->ns / 1000000));
    if (x->local)
        v = aph_put(v, "threads", threads_value(x));
    aph_json_write(stdout, v);
    fputc('\n', stdout);
}

static int tell(const conforming *x)
{
    if (x->page && !write_page(x)) {
        fprintf(stderr, "antiphon: %s cannot be written: %s\n", x->page, strerror(errno));
        return APHI_EXIT_WRITE;
    }
    if (x->json)
        tell_json(x);
    else
        tell_text(x);
    if (fflush(stdout) || ferror(stdout)) {
        fprintf(stderr, "antiphon: the result could not be written: %s\n", strerror(errno));
        return APHI_EXIT_WRITE;
    }
    return exit_of(x);
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static int open_tester(conforming *x, tester *t)
{
    char error[512];
    t->x = x;
    t->program = aphi_program_open(x->words, (uint64_t)(x->time_ns / APHI_MS_NS), error, sizeof error);
    if (!t->program) {
        fprintf(stderr, "antiphon: %s\n", error);
        return APHI_EXIT_PROGRAM;
    }
    if (!aphi_conformance_open(&t->c, &x->plan, t->program, x->local, error, sizeof error)) {
        fprintf(stderr, "antiphon: %s and %s: %s\n", x->alts.name, x->name, error);
        return APHI_EXIT_MISMATCH;
    }
    t->c.time_ms = (uint64_t)(x->time_ns / APHI_MS_NS);
    aphi_program_set_stop(t->program, &aphi_interrupted);
    return 0;
}

static void close_tester(tester *t)
{
    if (t->c.model)
        aphi_conformance_close(&t->c);
    aphi_program_close(t->program);
}

static int test(conforming *x)
{
    int64_t begun = aphi_clock_ns();
    if (x->local) {
        x->alone = aphi_conformance_local_open(&x->testers[0].c);
        x->told = aphi_alloc_zero((x->alts.component_count + 1) * sizeof *x->told);
    }
    visit_all(x);
    if (x->local)
        test_threads(x);
    x->ns = aphi_clock_ns() - begun;
    sum_up(x);
    const tester *lost = NULL;
    for (size_t i = 0; i < x->jobs && !aphi_interrupted; i++)
        lost = x->testers[i].c.program_lost ? &x->testers[i] : lost;
    if (lost)
        fprintf(stderr, "antiphon: %s: %s\n", x->name, lost->c.error);
    int code = lost ? APHI_EXIT_PROGRAM : tell(x);
    aphi_conformance_local_close(x->alone);
    free(x->told);
    return code;
}

static int start(conforming *x)
{
    char error[512];
    if (x->thread && aphi_alts_component_named(&x->alts, x->thread) == SIZE_MAX)
        return aphi_usage("--thread %s: %s has no component of that name", x->thread, x->alts.name);
    if (!aphi_compiled_model_build(&x->plan, &x->alts, error, sizeof error)) {
        fprintf(stderr, "antiphon: %s: %s\n", x->model, error);
        return APHI_EXIT_PROGRAM_LARGE;
    }
    int code = 0;
    x->testers = aphi_alloc_zero(x->jobs * sizeof *x->testers);
    pthread_mutex_init(&x->lock, NULL);
    for (size_t i = 0; i < x->jobs && !code; i++)
        code = open_tester(x, &x->testers[i]);
    if (!code)
        code = test(x);
    for (size_t i = 0; i < x->jobs; i++)
        close_tester(&x->testers[i]);
    pthread_mutex_destroy(&x->lock);
    free(x->testers);
    aphi_compiled_model_free(&x->plan);
    return code;
}

static int conform_command(int count, char **words)
{
    conforming x = {.time_ns = 10 * APHI_SECOND_NS, .captures = 200, .jobs = 1};
    int code = aphi_options_read(&aphi_command_conform, &x, &count, words);
    if (code >= 0)
        return code;
    if (x.thread && !x.local)
        return aphi_usage("--thread: only with --local");
    x.model = words[0];
    x.name = words[1];
    x.words = words + 1;
    code = aphi_program_model_open(x.model, (uint32_t)x.unroll, &x.alts);
    if (code)
        return code;
    aphi_interrupt_watch(NULL);
    code = start(&x);
    aphi_alts_free(&x.alts);
    return code;
}

const aphi_command aphi_command_conform = {
    .name = "conform",
    .summary = "test a message-passing program for conformance with its model",
    .operands = "MODEL PROGRAM [ARGUMENT]...",
    .description = "Test PROGRAM, which uses libantiphon-threads, with all sequences of MODEL: whether the program "
                   "can do everything that the model can (M <= CP), and nothing else (M ~ CP). MODEL is one that "
                   "antiphon reach takes. Threads and ports have the same names in both. The first difference is "
                   "drawn: the sequence, the event, and the messages that the receive could take instead.",
    .exit_codes = "0 it conforms, 1 it does not, 2 usage, 3 unknown, 4 not written, 5 interrupted, 30 no such model, "
                  "60 to 65 an error in the model, 70 the program cannot be started or does not use the library, 74 "
                  "a run does not terminate, 75 a run crashed, 76 threads or ports differ.",
    .options = options, .operands_min = 2, .operands_max = -1, .runs_program = true, .run = conform_command};

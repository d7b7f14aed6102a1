/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_reach.c - antiphon reach MODEL: visit every partially ordered run of a message-passing program exactly once.
 *
 * Idea:       workers visit the sequences (src/explore/parallel.c). Without a property, a list or a drawing, a visit
 *             only counts, which is fastest; otherwise it examines and prints the sequence, under a lock. mpirun starts
 *             several processes (src/explore/distributed.c): rank 0 prints, the others send it their sequences. */
#include "cli/commands.h"

#include "base/clock.h"
#include "base/memory.h"
#include "cli/interrupt.h"
#include "cli/mpirun.h"
#include "cli/program_model.h"
#include "cli/shared_options.h"
#include "report/reach_report.h"
#include "report/sequence_view.h"
#include "alts/alts_text.h"
#include "explore/checkpoint.h"
#include "explore/forbidden_states.h"
#include "explore/distributed.h"
#include "alts/composition.h"
#include "explore/sequence.h"
#include "explore/parallel.h"
#include "report/terminal.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS = 1000000, DRAWN_MAX = 10000, ON_PAGE = 10 };

#define COUNTING_BYTES ((size_t)4096 << 20)

typedef struct reach {
    const char *model;
    aphi_alts alts;
    aphi_compiled_model plan;
    aphi_parallel_options team;
    uint64_t jobs, sample, seed, unroll, limit;
    size_t memory;            /* bytes; 0: no limit */
    int64_t every_ns;
    uint64_t draw;            /* so many on the terminal, and no more are visited; 0: none */
    const char *exclusive, *component, *page;
    enum { PRINT_ALTS, PRINT_DOT, PRINT_AUT } print_format;
    size_t exclusive_label;   /* SIZE_MAX: no component has such an event */
    aphi_forbidden forbidden;
    bool print, list, races, json, states, total_orders, deadlock_free, count, local;
    aphi_local_options local_options;
    pthread_mutex_t lock;     /* of what follows, and of stdout */
    uint64_t listed;
    bool violated, unwritten;
    char why[300];
    aphi_parallel_result result;
    aphi_composition graph;
    int64_t begun_ns, search_ns;
    aphi_sequence_view *sketch;      /* if something is drawn */
    uint64_t drawn;
    const aphi_link *link;    /* to other processes, or NULL */
    aphi_distributed *fleet;
    uint64_t announced;       /* the fingerprint of what rank 0 searches */
} reach;

typedef struct visitor {
    reach *r;
    aphi_sequence sequence;
} visitor;

static int take_forbidden(void *field, const char *name, const char *value)
{
    (void)name;
    aphi_forbidden_add(field, value);
    return 0;
}

static const char *const print_formats[] = {"alts", "dot", "aut", NULL};

static const aphi_option options[] = {
    APHI_JOBS(reach, jobs, 1, "search with N threads (default: 1)"),
    APHI_FLAG(reach, list, "list", "print each sequence, one JSON object per line"),
    APHI_FLAG(reach, races, "races",
              "with --list: add the race set of each receive and a vector timestamp of each event"),
    APHI_NUMBER(reach, draw, "draw", "N", 1, DRAWN_MAX, "draw the first N sequences as space-time diagrams, and stop"),
    APHI_TEXT(reach, page, "report", "FILE",
              "write a page with the first ten sequences, or N of --draw, and the failing one"),
    APHI_NUMBER(reach, sample, "sample", "N", 1, UINT64_MAX, "visit N random sequences instead of all"),
    APHI_NUMBER(reach, seed, "seed", "N", 0, UINT64_MAX, "seed of the sample (default: 1)"),
    APHI_FLAG(reach, deadlock_free, "deadlock-free", "fail if a sequence ends in a deadlock"),
    APHI_TEXT(reach, exclusive, "exclusive", "EVENT",
              "fail if two components can be in the state after their local event EVENT at the same time"),
    APHI_CALL(reach, forbidden, "forbid", "A=S,B=T", take_forbidden,
              "fail if components A, B, ... can be in states S, T, ... at the same time; may be repeated"),
    APHI_NUMBER(reach, limit, "limit", "N", 1, UINT64_MAX, "stop after about N sequences"),
    APHI_TEXT(reach, team.checkpoint, "checkpoint", "FILE", "save the remaining work in FILE"),
    APHI_SECONDS(reach, every_ns, "every", "save a checkpoint every DURATION (default: 60s)"),
    APHI_FLAG(reach, team.resume, "resume", "continue from the checkpoint"),
    APHI_SIZE(reach, memory, "memory", 1,
              "keep up to this much pending work in memory, and the rest in a file in TMPDIR; with --count: give up "
              "beyond it (default: 4096)"),
    APHI_NUMBER(reach, unroll, "unroll", "N", 1, 1000, "visit each state of a cycle up to N times"),
    APHI_FLAG(reach, states, "states",
              "also count states and transitions of all interleavings, up to strong bisimulation"),
    APHI_FLAG(reach, total_orders, "total-orders", "also count the interleavings"),
    {.name = "print", .kind = APHI_OPTION_CHOICE, .argument = "FORMAT", APHI_FIELD(reach, print_format),
     .choices = print_formats, .given = 1 + offsetof(reach, print),
     .help = "print the model instead: alts, dot (for Graphviz) or aut (one component)"},
    APHI_TEXT(reach, component, "component", "NAME", "the component for --print aut"),
    APHI_FLAG(reach, count, "count", "count the sequences without visiting each; equal situations are kept in memory"),
    APHI_FLAG(reach, local, "local", "count the local sequences of each component instead, without the global ones"),
    APHI_FLAG(reach, local_options.events_only, "events-only", "with --local: ignore race sets"),
    APHI_FLAG(reach, local_options.by_projection, "by-projection", "with --local: project all global sequences"),
    APHI_TEXT(reach, local_options.suite, "suite", "DIR", "with --local: write the sequences, one file per component"),
    APHI_JSON_OPTION(reach, json),
    {0}};

/* Prints and frees the text. */
static int print_text(aphi_buffer *text, int code)
{
    fwrite(text->data ? text->data : "", 1, text->n, stdout);
    aphi_buffer_free(text);
    return aphi_written(code);
}

/* ---- visits ------------------------------------------------------------------------------------------------------ */

/* Lists the waiting components and their states. */
static void tell_deadlock(const visitor *v, char *why, size_t size)
{
    const aphi_compiled_model *p = &v->r->plan;
    size_t used = (size_t)snprintf(why, size, "it ends in a deadlock:");
    for (size_t t = 0, told = 0; t < p->thread_count && used < size; t++)
        if (p->states[v->sequence.end_states[t]].kind != APHI_COMPILED_TERMINAL)
            used += (size_t)snprintf(why + used, size - used, "%s component %s waits in state %u", told++ ? "," : "",
                                     v->r->alts.components[t].name, v->sequence.end_states[t] - p->threads[t].base);
}

static bool has_property(const reach *r)
{
    return r->deadlock_free || r->exclusive || r->forbidden.count;
}

static bool is_wrong(visitor *v, char *why, size_t size)
{
    const reach *r = v->r;
    unsigned t, u;
    if (r->deadlock_free && v->sequence.deadlock) {
        tell_deadlock(v, why, size);
        return true;
    }
    const char *broken = aphi_forbidden_reached(&r->forbidden, &v->sequence);
    if (broken) {
        snprintf(why, size, "%s can be at one time", broken);
        return true;
    }
    if (r->exclusive_label == SIZE_MAX || !aphi_sequence_find_overlap(&v->sequence, r->exclusive_label, &t, &u))
        return false;
    snprintf(why, size, "%s and %s can both be after %s at one time", r->alts.components[t].name,
             r->alts.components[u].name, r->exclusive);
    return true;
}

static bool follows(const reach *r)
{
    return r->link && r->link->rank > 0;
}

static void draw(reach *r, aphi_sequence *s, const char *wrong)
{
    if (!r->sketch || (!wrong && r->drawn >= (r->draw ? r->draw : ON_PAGE)))
        return;
    aphi_sequence_view_add(r->sketch, s, wrong, r->exclusive_label);
    r->drawn++;
}

/* To rank 0: what is wrong, if something is, and the sequence without its number, which it gets there. */
static void say(reach *r, aphi_sequence *s, const char *wrong)
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    fprintf(out, "%s%c", wrong ? wrong : "", 0);
    size_t head = strlen(wrong ? wrong : "") + 1;
    s->number = 0;
    aphi_sequence_write(s, out, r->races);
    fclose(out);
    const char *rest = text + head + strlen("{\"sequence\":0");
    memmove(text + head, rest, n - (size_t)(rest - text));
    aphi_distributed_send(r->fleet, text, n - strlen("{\"sequence\":0"));
    free(text);
}

/* At rank 0: what another said. */
static bool hear(void *context, const char *bytes, size_t n)
{
    reach *r = context;
    const char *end = memchr(bytes, 0, n);
    pthread_mutex_lock(&r->lock);
    bool wrong = end > bytes;
    if (end && !r->violated) {
        FILE *out = wrong && !r->list ? stderr : stdout;
        fprintf(out, "{\"sequence\":%llu", (unsigned long long)++r->listed);
        fwrite(end + 1, 1, n - (size_t)(end + 1 - bytes), out);
        r->unwritten |= ferror(stdout);
        r->violated = wrong;
        if (wrong)
            snprintf(r->why, sizeof r->why, "%.*s", (int)(end - bytes), bytes);
    }
    bool go_on = !r->violated && !r->unwritten && !(r->limit && r->listed >= r->limit);
    pthread_mutex_unlock(&r->lock);
    return go_on;
}

/* Tells the sequence; the lock is held. False: that was enough. */
static bool tell_sequence(reach *r, aphi_sequence *s, const char *wrong)
{
    if (r->violated)
        return false; /* another worker has ended the search */
    s->number = ++r->listed;
    if (follows(r))
        say(r, s, wrong);
    else if (r->list || wrong)
        aphi_sequence_write(s, wrong && !r->list ? stderr : stdout, r->races);
    draw(r, s, wrong);
    r->unwritten |= ferror(stdout);
    r->violated = wrong;
    if (wrong)
        snprintf(r->why, sizeof r->why, "%s", wrong);
    /* Beyond the limit, what other workers have at hand is told too: it is counted, and will not come again. */
    return !wrong && !r->unwritten && !(r->limit && r->list && r->listed >= r->limit) &&
           !(r->draw && r->drawn >= r->draw);
}

static bool visit(void *context, aphi_explorer *e)
{
    visitor *v = context;
    reach *r = v->r;
    char why[300];
    aphi_sequence_load(&v->sequence, e);
    bool wrong = is_wrong(v, why, sizeof why);
    if (!wrong && !r->list && !r->sketch)
        return true;
    pthread_mutex_lock(&r->lock);
    bool go_on = tell_sequence(r, &v->sequence, wrong ? why : NULL);
    pthread_mutex_unlock(&r->lock);
    return go_on;
}

static void show_progress(uint64_t sequences, double share)
{
    (void)sequences;
    aphi_progress_at((uint64_t)(share * PARTS));
}

static uint64_t choose(void *context, uint64_t n)
{
    uint64_t *seed = context, x = *seed += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (x ^ x >> 31) % n;
}

static void take_sample(reach *r, visitor *v)
{
    aphi_explorer *e = aphi_explorer_open(&r->plan, v ? visit : NULL, v);
    for (uint64_t found = 0; found < r->sample && !aphi_interrupted && !aphi_explorer_stopped(e);)
        found += aphi_explorer_random_run(e, choose, &r->seed);
    r->result.stats = aphi_explorer_stats(e);
    r->result.end = aphi_interrupted ? APHI_PARALLEL_STOPPED : APHI_PARALLEL_DONE;
    aphi_explorer_close(e);
}

static void search(reach *r)
{
    bool looks = r->list || has_property(r) || r->sketch;
    visitor *visitors = aphi_alloc_zero(r->jobs * sizeof *visitors);
    void **contexts = aphi_alloc_zero(r->jobs * sizeof *contexts);
    for (size_t i = 0; i < r->jobs; i++) {
        visitors[i].r = r;
        aphi_sequence_open(&visitors[i].sequence, &r->plan);
        contexts[i] = &visitors[i];
    }
    r->team.model = &r->plan;
    r->team.jobs = (unsigned)r->jobs;
    r->team.visit = looks ? visit : NULL;
    r->team.contexts = contexts;
    r->team.checkpoint_interval = (double)r->every_ns / 1e9;
    r->team.limit = r->limit;
    r->team.memory = r->memory;
    r->team.stop = &aphi_interrupted;
    r->team.progress = show_progress;
    if (r->sample) {
        take_sample(r, looks ? visitors : NULL);
    } else {
        aphi_progress_begin("searching, in parts of a million", PARTS);
        r->result = r->fleet ? aphi_distributed_search(r->fleet, &r->team) : aphi_parallel_search(&r->team);
        aphi_progress_end();
    }
    for (size_t i = 0; i < r->jobs; i++)
        aphi_sequence_close(&visitors[i].sequence);
    free(visitors);
    free(contexts);
}

/* ---- telling ----------------------------------------------------------------------------------------------------- */

static int exit_of(const reach *r)
{
    if (r->unwritten || r->result.end == APHI_PARALLEL_UNWRITTEN)
        return APHI_EXIT_WRITE;
    if (r->violated)
        return APHI_EXIT_FAIL;
    if (r->result.end == APHI_PARALLEL_UNREADABLE)
        return APHI_EXIT_CHECKPOINT;
    if (r->result.end == APHI_PARALLEL_LOST)
        return APHI_EXIT_RANKS;
    if (r->result.end == APHI_PARALLEL_SPILL_FAILED)
        return APHI_EXIT_PENDING;
    if (aphi_interrupted || r->result.interrupted)
        return APHI_EXIT_INTERRUPTED;
    if (r->graph.overflow)
        return APHI_EXIT_UNKNOWN;
    if (r->draw && r->drawn >= r->draw && !has_property(r))
        return APHI_EXIT_PASS; /* all that was asked for is done */
    return r->result.end == APHI_PARALLEL_STOPPED ? APHI_EXIT_UNKNOWN : APHI_EXIT_PASS;
}

static void tell_json(const reach *r)
{
    const aphi_explore_stats *told = &r->result.stats;
    char wide[APHI_UINT128_TEXT];
    printf("{\"model\":\"%s\",\"complete\":%s,\"%s\":%llu,\"deadlocks\":%llu,\"blocked\":%llu", r->alts.name,
           r->result.end == APHI_PARALLEL_DONE && !r->sample ? "true" : "false", r->sample ? "sampled" : "po",
           (unsigned long long)told->sequences, (unsigned long long)told->deadlocks, (unsigned long long)told->blocked);
    if (r->states)
        printf(",\"states\":%llu,\"transitions\":%llu", (unsigned long long)r->graph.states,
               (unsigned long long)r->graph.transitions);
    if (r->total_orders && !r->graph.overflow)
        printf(",\"total_orders\":%s", aphi_uint128_text(r->graph.paths, wide));
    if (has_property(r))
        printf(",\"holds\":%s", r->violated ? "false" : "true");
    printf(",\"seconds\":%.6f}\n", (double)r->search_ns / 1e9);
}

static void put_graph(aphi_buffer *out, const reach *r)
{
    if (r->states) {
        aphi_buffer_str(out, "  interleaved: ");
        aphi_report_count(out, r->graph.states);
        aphi_buffer_str(out, " states and ");
        aphi_report_count(out, r->graph.transitions);
        aphi_buffer_str(out, " transitions, up to strong bisimulation\n");
    }
    if (r->total_orders) {
        char wide[APHI_UINT128_TEXT];
        aphi_buffer_format(out, "  total orders: %s\n",
                           r->graph.overflow ? "more than 128 bits hold" : aphi_uint128_text(r->graph.paths, wide));
    }
}

static void put_text(aphi_buffer *out, const reach *r)
{
    const aphi_explore_stats *told = &r->result.stats;
    aphi_buffer_format(out, "%s: ", r->alts.name);
    aphi_report_count(out, told->sequences);
    aphi_buffer_format(out, " %ssequence%s", r->sample ? "random " : "", told->sequences == 1 ? "" : "s");
    if (r->result.end != APHI_PARALLEL_DONE)
        aphi_buffer_str(out, " so far");
    aphi_buffer_str(out, ", ");
    aphi_report_count(out, told->deadlocks);
    aphi_buffer_format(out, " of them deadlock%s, in ", told->deadlocks == 1 ? "s" : "");
    aphi_report_duration(out, r->search_ns);
    aphi_buffer_byte(out, '\n');
    if (r->violated)
        aphi_buffer_format(out, "  sequence %llu is wrong: %s\n", (unsigned long long)r->listed, r->why);
    else if (has_property(r))
        aphi_buffer_format(out, "  %s\n",
                           r->result.end == APHI_PARALLEL_DONE ? "none is wrong" : "none so far is wrong");
    put_graph(out, r);
}

static void tell_text(const reach *r)
{
    aphi_buffer out = {0};
    put_text(&out, r);
    fwrite(out.data, 1, out.n, r->list ? stderr : stdout);
    aphi_buffer_free(&out);
}

static void end_sketch(reach *r)
{
    aphi_buffer lead = {0};
    put_text(&lead, r);
    char *text = aphi_buffer_text(&lead);
    for (char *at = text; (at = strchr(at, '\n'));)
        *at = at[1] ? ';' : '.';
    if (!aphi_sequence_view_close(r->sketch, text)) {
        fprintf(stderr, "antiphon: %s cannot be written: %s\n", r->page, strerror(errno));
        r->unwritten = true;
    }
    free(text);
}

static int tell(reach *r)
{
    if (r->result.why[0])
        fprintf(stderr, "antiphon: %s\n", r->result.why);
    if (r->result.end != APHI_PARALLEL_UNREADABLE) {
        if (r->json)
            tell_json(r);
        else
            tell_text(r);
    }
    if (fflush(stdout) || ferror(stdout)) {
        fprintf(stderr, "antiphon: the result could not be written: %s\n", strerror(errno));
        r->unwritten = true;
    }
    return exit_of(r);
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static int print_model(reach *r)
{
    size_t component = r->component ? aphi_alts_component_named(&r->alts, r->component) : 0;
    if (component == SIZE_MAX)
        return aphi_usage("--component %s: %s has no component of that name", r->component, r->alts.name);
    if (r->print_format == PRINT_AUT && !r->component)
        return aphi_usage("--print aut needs --component NAME: a file holds one component");
    if (r->print_format == PRINT_AUT)
        aphi_aut_write(&r->alts, component, stdout);
    else if (r->print_format == PRINT_DOT)
        aphi_dot_write(&r->alts, stdout);
    else
        aphi_alts_write(&r->alts, stdout);
    return fflush(stdout) || ferror(stdout) ? APHI_EXIT_WRITE : APHI_EXIT_PASS;
}

/* Tells the others, when nothing can go wrong here any more. */
static void announce(reach *r, uint64_t fingerprint)
{
    if (!r->link || follows(r))
        return;
    r->announced = fingerprint;
    aphi_distributed_announce_model(r->fleet, fingerprint);
}

/* The label of a local event of some component; SIZE_MAX: there is none, though messages may have that label. */
static size_t local_event(const aphi_alts *a, const char *name)
{
    size_t label = aphi_alts_label_named(a, name);
    for (size_t t = 0; t < a->component_count; t++) {
        const aphi_alts_component *c = &a->components[t];
        for (uint32_t i = 0; i < c->first[c->states]; i++)
            if (c->moves[i].op == APHI_ALTS_LOCAL && c->moves[i].label == label)
                return label;
    }
    return SIZE_MAX;
}

static int run_plan(reach *r, uint64_t fingerprint)
{
    r->exclusive_label = r->exclusive ? local_event(&r->alts, r->exclusive) : SIZE_MAX;
    if (r->exclusive && r->exclusive_label == SIZE_MAX)
        return aphi_usage("--exclusive %s: %s has no local event of that name", r->exclusive, r->alts.name);
    if (!aphi_forbidden_parse(&r->forbidden, &r->plan, r->why, sizeof r->why))
        return aphi_usage("--forbid %s", r->why);
    bool measures = (r->states || r->total_orders) && !follows(r);
    if (measures && !aphi_composition_measure(&r->alts, &r->graph, &aphi_interrupted, r->why, sizeof r->why)) {
        fprintf(stderr, "antiphon: %s: %s\n", r->model, r->why);
        return aphi_interrupted ? APHI_EXIT_INTERRUPTED : APHI_EXIT_PROGRAM_LARGE;
    }
    if (r->draw || r->page)
        r->sketch = aphi_sequence_view_open(&r->plan, r->draw, r->page);
    announce(r, fingerprint);
    r->begun_ns = aphi_clock_ns();
    search(r);
    r->search_ns = aphi_clock_ns() - r->begun_ns;
    if (r->sketch)
        end_sketch(r);
    return follows(r) && r->result.end != APHI_PARALLEL_SPILL_FAILED ? APHI_EXIT_PASS : tell(r);
}

static int run_search(reach *r)
{
    if (!aphi_compiled_model_build(&r->plan, &r->alts, r->why, sizeof r->why)) {
        fprintf(stderr, "antiphon: %s: %s\n", r->model, r->why);
        return APHI_EXIT_PROGRAM_LARGE;
    }
    uint64_t own = aphi_checkpoint_fingerprint(&r->plan);
    int code = APHI_EXIT_RANKS;
    if (follows(r) && own != r->announced) {
        fprintf(stderr, "antiphon: %s: the process of rank %d has another model of that name than the one of rank 0; "
                        "it must be the same on all machines\n", r->model, r->link->rank);
    } else {
        code = run_plan(r, own);
    }
    aphi_compiled_model_free(&r->plan);
    return code;
}

static int find_local_sequences(reach *r)
{
    static const int codes[] = {[APHI_LOCAL_STOPPED] = APHI_EXIT_INTERRUPTED,
                                [APHI_LOCAL_TOO_LARGE] = APHI_EXIT_PROGRAM_LARGE,
                                [APHI_LOCAL_UNWRITTEN] = APHI_EXIT_WRITE};
    aphi_buffer out = {0};
    r->local_options.jobs = r->jobs;
    r->local_options.stop = &aphi_interrupted;
    aphi_local_sequences *found = aphi_local_sequences_find(&r->alts, &r->local_options);
    int code = codes[found->status];
    if (code)
        aphi_complain("%s", found->error);
    else if (r->json)
        aphi_reach_report_local_json(&out, &r->alts, found, !r->local_options.events_only);
    else
        aphi_reach_report_local_text(&out, &r->alts, found, !r->local_options.events_only);
    aphi_local_sequences_free(found);
    return print_text(&out, code);
}

static void show_count_progress(double share)
{
    aphi_progress_at((uint64_t)(share * PARTS));
}

static int count_sequences(reach *r)
{
    aphi_buffer out = {0};
    if (!aphi_compiled_model_build(&r->plan, &r->alts, r->why, sizeof r->why)) {
        aphi_complain("%s: %s", r->alts.name, r->why);
        return APHI_EXIT_PROGRAM_LARGE;
    }
    int64_t begun = aphi_clock_ns();
    aphi_progress_begin("counting, in parts of a million", PARTS);
    aphi_sequence_count c = aphi_count_sequences(&r->plan, r->memory ? r->memory : COUNTING_BYTES, &aphi_interrupted,
                                                 show_count_progress);
    aphi_progress_end();
    aphi_compiled_model_free(&r->plan);
    if (r->json)
        aphi_reach_report_count_json(&out, &r->alts, &c, aphi_clock_ns() - begun);
    else
        aphi_reach_report_count_text(&out, &r->alts, &c, aphi_clock_ns() - begun);
    return print_text(&out, c.stopped && !c.too_large       ? APHI_EXIT_INTERRUPTED
                            : c.overflow || c.too_large ? APHI_EXIT_UNKNOWN
                                                        : APHI_EXIT_PASS);
}

static int run(reach *r)
{
    int code = aphi_program_model_open(r->model, (uint32_t)r->unroll, &r->alts);
    if (code)
        return code;
    aphi_interrupt_watch(NULL);
    pthread_mutex_init(&r->lock, NULL);
    if (r->print) {
        code = print_model(r);
    } else if (r->local) {
        code = find_local_sequences(r);
    } else if (r->count) {
        code = count_sequences(r);
    } else {
        code = run_search(r);
    }
    aphi_alts_free(&r->alts);
    pthread_mutex_destroy(&r->lock);
    return code;
}

/* One of several processes. The others look for the model only when rank 0 has it: what is wrong with it is told
 * once. */
static int run_together(reach *r)
{
    int code = APHI_EXIT_PASS;
    if (r->sample || r->draw || r->page || r->count || r->local || r->print)
        return aphi_usage("--sample, --draw, --report, --count, --local and --print are for one process: without "
                          "mpirun, please");
    r->link = aphi_mpirun_join();
    if (!r->link)
        return APHI_EXIT_RANKS;
    r->fleet = aphi_distributed_open(r->link, hear, r);
    bool begins = !follows(r) || (r->announced = aphi_distributed_await_model(r->fleet)) != 0;
    if (begins)
        code = run(r);
    if (follows(r) ? code != APHI_EXIT_PASS : code == APHI_EXIT_RANKS || code == APHI_EXIT_PENDING) {
        fflush(NULL);
        r->link->abandon(r->link->context, code);
    }
    if (!r->announced && !follows(r))
        aphi_distributed_announce_model(r->fleet, 0);
    r->link->close(r->link->context);
    aphi_distributed_close(r->fleet);
    return code;
}

/* Asked for something that only visits, or interleavings, can tell. */
static bool needs_search(const reach *r)
{
    return r->list || r->sample || r->states || r->total_orders || has_property(r) || r->team.checkpoint || r->limit ||
           r->print || r->draw || r->page;
}

/* Negative: go on; else the exit code. */
static int check_options(const reach *r)
{
    if (r->list && (r->json || r->draw || r->page))
        return aphi_usage("--list: not with --json, --draw or --report");
    if (r->draw && r->json)
        return aphi_usage("--draw: not with --json");
    if (r->races && !r->list)
        return aphi_usage("--races: only with --list");
    if (!r->local && (r->local_options.by_projection || r->local_options.events_only || r->local_options.suite))
        return aphi_usage("--by-projection, --events-only, --suite: only with --local");
    if (r->local && (r->count || r->memory || needs_search(r)))
        return aphi_usage("--local: of the other options, only -j, --unroll and --json go with it");
    if (r->count && (r->jobs > 1 || needs_search(r)))
        return aphi_usage("--count: of the other options, only --memory, --unroll and --json go with it");
    if (r->team.resume && !r->team.checkpoint)
        return aphi_usage("--resume: needs --checkpoint FILE");
    if (r->sample && (r->team.checkpoint || r->limit || r->memory))
        return aphi_usage("--sample: not with --checkpoint, --limit or --memory");
    return -1;
}

static int reach_command(int count, char **words)
{
    reach r = {.jobs = 1, .seed = 1, .every_ns = 60 * APHI_SECOND_NS};
    int code = aphi_options_read(&aphi_command_reach, &r, &count, words);
    if (code < 0)
        code = check_options(&r);
    if (code < 0) {
        r.model = words[0];
        if (r.draw)
            r.jobs = 1; /* one worker visits neighbouring sequences one after the other */
        code = aphi_mpirun_is_used() ? run_together(&r) : run(&r);
    }
    aphi_forbidden_free(&r.forbidden);
    return code;
}

const aphi_command aphi_command_reach = {
    .name = "reach",
    .summary = "visit every partially ordered sequence of a message-passing program once",
    .operands = "MODEL",
    .description = "Visit every partially ordered sequence of a model of a message-passing program exactly once, and "
                   "count them. MODEL is a built-in program, dp-N, tdme or dme-N, or a file: .alts, or .c or .so "
                   "with APH_PROGRAM.\n"
                   "Started by mpirun, the processes search together: mpirun -n 4 antiphon reach dme-4",
    .exit_codes = "0 done, 1 a sequence fails, 2 usage, 3 a limit was hit, 4 not written, 5 interrupted, 30 no such "
                  "program, 60 to 65 an error in the model, 66 in the checkpoint, 67 among the processes of mpirun, "
                  "68 in the file of --memory.",
    .options = options, .operands_min = 1, .operands_max = 1, .run = reach_command};

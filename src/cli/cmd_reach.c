/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_reach.c - antiphon reach MODEL: visit every partially ordered sequence of a message-passing
 * program exactly once.
 *
 * Idea:       workers visit the sequences (src/explore/parallel.c). Without a property, a list or a drawing, a visit
 *             only counts, which is fastest; otherwise it examines and prints the sequence, under a lock. mpirun starts
 *             several processes (src/explore/distributed.c): rank 0 prints, the others send it their sequences. */
#include "cli/commands.h"

#include "base/clock.h"
#include "base/memory.h"
#include "cli/interrupt.h"
#include "cli/mpi_peers.h"
#include "cli/program_model.h"
#include "cli/shared_options.h"
#include "report/reach_report.h"
#include "report/sequence_view.h"
#include "alts/alts.h"
#include "explore/spill_queue.h"
#include "explore/properties.h"
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
    aphi_compiled_model compiled;
    aphi_parallel_options parallel;
    uint64_t jobs, sample, seed, unroll, limit;
    size_t memory;            /* bytes; 0: no limit */
    int64_t every_ns;
    uint64_t draw;            /* sequences to draw; the search ends after them; 0: none */
    const char *component, *page;
    enum { PRINT_ALTS, PRINT_DOT, PRINT_AUT } print_format;
    aphi_properties properties;
    bool print, list, races, json, states, total_orders, count, local;
    aphi_local_options local_options;
    pthread_mutex_t lock;     /* of the fields below, and of stdout */
    uint64_t listed;
    bool violated, unwritten;
    char why[300];
    aphi_parallel_result result;
    aphi_composition graph;
    int64_t begun_ns, search_ns;
    aphi_sequence_view *view; /* if sequences are drawn */
    uint64_t drawn;
    const aphi_link *link;    /* to other processes, or NULL */
    aphi_distributed *distributed;
    uint64_t announced;       /* the fingerprint of the model of rank 0 */
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
              "write a page with the first ten sequences (or N, with --draw N) and the failing one"),
    APHI_NUMBER(reach, sample, "sample", "N", 1, UINT64_MAX, "visit N random sequences instead of all"),
    APHI_NUMBER(reach, seed, "seed", "N", 0, UINT64_MAX, "seed for the sample (default: 1)"),
    APHI_FLAG(reach, properties.deadlock_free, "deadlock-free", "fail if a sequence ends in a deadlock"),
    APHI_TEXT(reach, properties.exclusive, "exclusive", "EVENT",
              "fail if two components can be in the state after their local event EVENT at the same time"),
    APHI_CALL(reach, properties.forbidden, "forbid", "A=S,B=T", take_forbidden,
              "fail if components A, B, ... can be in states S, T, ... at the same time; may be repeated"),
    APHI_NUMBER(reach, limit, "limit", "N", 1, UINT64_MAX, "stop after about N sequences"),
    APHI_TEXT(reach, parallel.checkpoint, "checkpoint", "FILE", "save the remaining work in FILE"),
    APHI_SECONDS(reach, every_ns, "every", "save a checkpoint every DURATION (default: 60s)"),
    APHI_FLAG(reach, parallel.resume, "resume", "continue from the checkpoint"),
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
    APHI_FLAG(reach, count, "count", "count the sequences without visiting each; stores equal states in memory"),
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

/* Returns true in a process of mpirun other than rank 0. */
static bool is_follower(const reach *r)
{
    return r->link && r->link->rank > 0;
}

static void draw_sequence(reach *r, aphi_sequence *s, const char *failure)
{
    if (!r->view || (!failure && r->drawn >= (r->draw ? r->draw : ON_PAGE)))
        return;
    aphi_sequence_view_add(r->view, s, failure, r->properties.exclusive_label);
    r->drawn++;
}

/* Sends rank 0 the failure, or "", and the sequence. Rank 0 assigns the number of the sequence. */
static void send_sequence(reach *r, aphi_sequence *s, const char *failure)
{
    aphi_buffer text = {0}, sequence = {0};
    size_t number = strlen("{\"sequence\":0");
    s->number = 0;
    aphi_sequence_write(s, &sequence, r->races);
    aphi_buffer_str(&text, failure ? failure : "");
    aphi_buffer_byte(&text, 0);
    aphi_buffer_add(&text, sequence.data + number, sequence.n - number);
    aphi_distributed_send(r->distributed, text.data, text.n);
    aphi_buffer_free(&text);
    aphi_buffer_free(&sequence);
}

static void print_sequence(const reach *r, aphi_sequence *s, FILE *out)
{
    aphi_buffer text = {0};
    aphi_sequence_write(s, &text, r->races);
    fwrite(text.data, 1, text.n, out);
    aphi_buffer_free(&text);
}

/* At rank 0: prints a sequence of another rank. */
static bool receive_sequence(void *context, const char *bytes, size_t n)
{
    reach *r = context;
    const char *end = memchr(bytes, 0, n);
    pthread_mutex_lock(&r->lock);
    bool failed = end > bytes;
    if (end && !r->violated) {
        FILE *out = failed && !r->list ? stderr : stdout;
        fprintf(out, "{\"sequence\":%llu", (unsigned long long)++r->listed);
        fwrite(end + 1, 1, n - (size_t)(end + 1 - bytes), out);
        r->unwritten |= ferror(stdout);
        r->violated = failed;
        if (failed)
            snprintf(r->why, sizeof r->why, "%.*s", (int)(end - bytes), bytes);
    }
    bool go_on = !r->violated && !r->unwritten && !(r->limit && r->listed >= r->limit);
    pthread_mutex_unlock(&r->lock);
    return go_on;
}

/* Prints, draws or sends the sequence; the lock is held. Returns false to end the search. */
static bool take_sequence(reach *r, aphi_sequence *s, const char *failure)
{
    if (r->violated)
        return false; /* another worker has ended the search */
    s->number = ++r->listed;
    if (is_follower(r))
        send_sequence(r, s, failure);
    else if (r->list || failure)
        print_sequence(r, s, failure && !r->list ? stderr : stdout);
    draw_sequence(r, s, failure);
    r->unwritten |= ferror(stdout);
    r->violated = failure;
    if (failure)
        snprintf(r->why, sizeof r->why, "%s", failure);
    /* Other workers' sequences are printed even beyond the limit: they are counted, and will not be visited again. */
    return !failure && !r->unwritten && !(r->limit && r->list && r->listed >= r->limit) &&
           !(r->draw && r->drawn >= r->draw);
}

static bool visit_sequence(void *context, aphi_explorer *e)
{
    visitor *v = context;
    reach *r = v->r;
    char why[300];
    aphi_sequence_load(&v->sequence, e);
    bool failed = aphi_properties_violated(&r->properties, &v->sequence, &r->compiled, why, sizeof why);
    if (!failed && !r->list && !r->view)
        return true;
    pthread_mutex_lock(&r->lock);
    bool go_on = take_sequence(r, &v->sequence, failed ? why : NULL);
    pthread_mutex_unlock(&r->lock);
    return go_on;
}

static void show_progress(uint64_t sequences, double share)
{
    (void)sequences;
    aphi_progress_at((uint64_t)(share * PARTS));
}

static uint64_t choose_random(void *context, uint64_t n)
{
    uint64_t *seed = context, x = *seed += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (x ^ x >> 31) % n;
}

static void visit_sample(reach *r, visitor *v)
{
    aphi_explorer *e = aphi_explorer_open(&r->compiled, v ? visit_sequence : NULL, v);
    for (uint64_t found = 0; found < r->sample && !aphi_interrupted && !aphi_explorer_stopped(e);)
        found += aphi_explorer_random_run(e, choose_random, &r->seed);
    r->result.stats = aphi_explorer_stats(e);
    r->result.end = aphi_interrupted ? APHI_PARALLEL_STOPPED : APHI_PARALLEL_DONE;
    aphi_explorer_close(e);
}

static void search_sequences(reach *r)
{
    bool examines = r->list || aphi_properties_any(&r->properties) || r->view;
    visitor *visitors = aphi_alloc_zero(r->jobs * sizeof *visitors);
    void **contexts = aphi_alloc_zero(r->jobs * sizeof *contexts);
    for (size_t i = 0; i < r->jobs; i++) {
        visitors[i].r = r;
        aphi_sequence_open(&visitors[i].sequence, &r->compiled);
        contexts[i] = &visitors[i];
    }
    r->parallel.model = &r->compiled;
    r->parallel.jobs = (unsigned)r->jobs;
    r->parallel.visit = examines ? visit_sequence : NULL;
    r->parallel.contexts = contexts;
    r->parallel.checkpoint_interval = (double)r->every_ns / 1e9;
    r->parallel.limit = r->limit;
    r->parallel.memory = r->memory;
    r->parallel.stop = &aphi_interrupted;
    r->parallel.progress = show_progress;
    if (r->sample) {
        visit_sample(r, examines ? visitors : NULL);
    } else {
        aphi_progress_begin("searching, in parts of a million", PARTS);
        r->result = r->distributed ? aphi_distributed_search(r->distributed, &r->parallel)
                                   : aphi_parallel_search(&r->parallel);
        aphi_progress_end();
    }
    for (size_t i = 0; i < r->jobs; i++)
        aphi_sequence_close(&visitors[i].sequence);
    free(visitors);
    free(contexts);
}

/* ---- results ----------------------------------------------------------------------------------------------------- */

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
    if (r->draw && r->drawn >= r->draw && !aphi_properties_any(&r->properties))
        return APHI_EXIT_PASS; /* all requested sequences were drawn */
    return r->result.end == APHI_PARALLEL_STOPPED ? APHI_EXIT_UNKNOWN : APHI_EXIT_PASS;
}

static aphi_reach_result result_of(const reach *r)
{
    return (aphi_reach_result){.model = r->alts.name, .stats = r->result.stats,
                               .done = r->result.end == APHI_PARALLEL_DONE, .sampled = r->sample, .states = r->states,
                               .total_orders = r->total_orders, .graph = r->graph,
                               .has_property = aphi_properties_any(&r->properties), .violated = r->violated,
                               .number = r->listed, .why = r->why, .ns = r->search_ns};
}

static void close_view(reach *r)
{
    aphi_buffer lead = {0};
    aphi_reach_result result = result_of(r);
    aphi_reach_report_text(&lead, &result);
    char *text = aphi_buffer_text(&lead);
    for (char *at = text; (at = strchr(at, '\n'));)
        *at = at[1] ? ';' : '.';
    if (!aphi_sequence_view_close(r->view, text)) {
        aphi_complain("%s cannot be written: %s", r->page, strerror(errno));
        r->unwritten = true;
    }
    free(text);
}

static int write_report(reach *r)
{
    aphi_buffer out = {0};
    aphi_reach_result result = result_of(r);
    if (r->result.why[0])
        aphi_complain("%s", r->result.why);
    if (r->result.end == APHI_PARALLEL_UNREADABLE)
        return exit_of(r);
    if (r->json)
        aphi_reach_report_json(&out, &result);
    else
        aphi_reach_report_text(&out, &result);
    fwrite(out.data, 1, out.n, r->list ? stderr : stdout);
    aphi_buffer_free(&out);
    r->unwritten |= aphi_written(0) != 0;
    return exit_of(r);
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

static int print_model(reach *r)
{
    size_t component = r->component ? aphi_alts_component_named(&r->alts, r->component) : 0;
    if (component == SIZE_MAX)
        return aphi_usage("--component %s: %s has no component of that name", r->component, r->alts.name);
    if (r->print_format == PRINT_AUT && !r->component)
        return aphi_usage("--print aut: needs --component NAME; a file has one component");
    if (r->print_format == PRINT_AUT)
        aphi_aut_write(&r->alts, component, stdout);
    else if (r->print_format == PRINT_DOT)
        aphi_dot_write(&r->alts, stdout);
    else
        aphi_alts_write(&r->alts, stdout);
    return aphi_written(APHI_EXIT_PASS);
}

/* Announces the model to the other ranks once it is known to be valid. */
static void announce_model(reach *r, uint64_t fingerprint)
{
    if (!r->link || is_follower(r))
        return;
    r->announced = fingerprint;
    aphi_distributed_announce_model(r->distributed, fingerprint);
}

static int run_compiled(reach *r, uint64_t fingerprint)
{
    if (!aphi_properties_resolve(&r->properties, &r->compiled, r->why, sizeof r->why))
        return aphi_usage("%s", r->why);
    bool measures = (r->states || r->total_orders) && !is_follower(r);
    if (measures && !aphi_composition_measure(&r->alts, &r->graph, &aphi_interrupted, r->why, sizeof r->why)) {
        aphi_complain("%s: %s", r->model, r->why);
        return aphi_interrupted ? APHI_EXIT_INTERRUPTED : APHI_EXIT_PROGRAM_LARGE;
    }
    if (r->draw || r->page)
        r->view = aphi_sequence_view_open(&r->compiled, r->draw, r->page);
    announce_model(r, fingerprint);
    r->begun_ns = aphi_clock_ns();
    search_sequences(r);
    r->search_ns = aphi_clock_ns() - r->begun_ns;
    if (r->view)
        close_view(r);
    return is_follower(r) && r->result.end != APHI_PARALLEL_SPILL_FAILED ? APHI_EXIT_PASS : write_report(r);
}

static int run_search(reach *r)
{
    if (!aphi_compiled_model_build(&r->compiled, &r->alts, r->why, sizeof r->why)) {
        aphi_complain("%s: %s", r->model, r->why);
        return APHI_EXIT_PROGRAM_LARGE;
    }
    uint64_t own = aphi_checkpoint_fingerprint(&r->compiled);
    int code = APHI_EXIT_RANKS;
    if (is_follower(r) && own != r->announced) {
        aphi_complain("%s: rank %d has a different model from rank 0; use the same model on all machines", r->model,
                      r->link->rank);
    } else {
        code = run_compiled(r, own);
    }
    aphi_compiled_model_free(&r->compiled);
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
    if (!aphi_compiled_model_build(&r->compiled, &r->alts, r->why, sizeof r->why)) {
        aphi_complain("%s: %s", r->alts.name, r->why);
        return APHI_EXIT_PROGRAM_LARGE;
    }
    int64_t begun = aphi_clock_ns();
    aphi_progress_begin("counting, in parts of a million", PARTS);
    aphi_sequence_count c = aphi_count_sequences(&r->compiled, r->memory ? r->memory : COUNTING_BYTES,
                                                 &aphi_interrupted, show_count_progress);
    aphi_progress_end();
    aphi_compiled_model_free(&r->compiled);
    if (r->json)
        aphi_reach_report_count_json(&out, &r->alts, &c, aphi_clock_ns() - begun);
    else
        aphi_reach_report_count_text(&out, &r->alts, &c, aphi_clock_ns() - begun);
    return print_text(&out, c.stopped && !c.too_large       ? APHI_EXIT_INTERRUPTED
                            : c.overflow || c.too_large ? APHI_EXIT_UNKNOWN
                                                        : APHI_EXIT_PASS);
}

static int run_mode(reach *r)
{
    int code = aphi_program_model_open(r->model, (uint32_t)r->unroll, &r->alts);
    if (code)
        return code;
    aphi_interrupt_watch(NULL);
    pthread_mutex_init(&r->lock, NULL);
    code = r->print   ? print_model(r)
           : r->local ? find_local_sequences(r)
           : r->count ? count_sequences(r)
                      : run_search(r);
    aphi_alts_free(&r->alts);
    pthread_mutex_destroy(&r->lock);
    return code;
}

/* Runs one of several processes of mpirun. The others open the model after rank 0, so that an error is printed once. */
static int run_together(reach *r)
{
    int code = APHI_EXIT_PASS;
    if (r->sample || r->draw || r->page || r->count || r->local || r->print)
        return aphi_usage("--sample, --draw, --report, --count, --local, --print: not with mpirun");
    r->link = aphi_mpi_peers_join();
    if (!r->link)
        return APHI_EXIT_RANKS;
    r->distributed = aphi_distributed_open(r->link, receive_sequence, r);
    bool begins = !is_follower(r) || (r->announced = aphi_distributed_await_model(r->distributed)) != 0;
    if (begins)
        code = run_mode(r);
    if (is_follower(r) ? code != APHI_EXIT_PASS : code == APHI_EXIT_RANKS || code == APHI_EXIT_PENDING) {
        fflush(NULL);
        r->link->abandon(r->link->context, code);
    }
    if (!r->announced && !is_follower(r))
        aphi_distributed_announce_model(r->distributed, 0);
    r->link->close(r->link->context);
    aphi_distributed_close(r->distributed);
    return code;
}

/* Returns true if an option needs visits or interleavings. */
static bool needs_search(const reach *r)
{
    return r->list || r->sample || r->states || r->total_orders || r->parallel.checkpoint || r->limit || r->print ||
           r->draw || r->page || aphi_properties_any(&r->properties);
}

/* Returns an exit code, or a negative number to continue. */
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
        return aphi_usage("--local: can be combined only with -j, --unroll and --json");
    if (r->count && (r->jobs > 1 || needs_search(r)))
        return aphi_usage("--count: can be combined only with --memory, --unroll and --json");
    if (r->parallel.resume && !r->parallel.checkpoint)
        return aphi_usage("--resume: needs --checkpoint FILE");
    if (r->sample && (r->parallel.checkpoint || r->limit || r->memory))
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
            r.jobs = 1; /* a single worker visits neighbouring sequences consecutively */
        code = aphi_mpi_peers_is_used() ? run_together(&r) : run_mode(&r);
    }
    aphi_forbidden_free(&r.properties.forbidden);
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
                  "program, 60 to 65 an error in the model, 66 in the checkpoint, 67 among the processes started "
                  "by mpirun, 68 in the file for pending work.",
    .options = options, .operands_min = 1, .operands_max = 1, .run = reach_command};

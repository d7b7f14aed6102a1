/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_refine.c - antiphon refine MODEL SPEC: does what clients see of MODEL, across the network, stay within SPEC?
 *
 * Idea:       bounds grow: one client with one message first, so that what fails first is small. What clients send is
 *             drawn from SPEC's generator: the same requests for the same seed. Beyond the bounds, schedules are
 *             random. */
#include "cli/commands.h"

#include "base/clock.h"
#include "base/memory.h"
#include "cli/exit_codes.h"
#include "cli/exit_guard.h"
#include "cli/model_mutant.h"
#include <antiphon/check.h>
#include "generate/generator.h"
#include "refine/refinement.h"
#include "report/run_diagram.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

enum { CLIENTS_MAX = 16, MESSAGES_MAX = 64, BEYOND_CLIENTS = 2, BEYOND_MESSAGES = 4, ACTIONS_MAX = 100,
       DRAWS = 16, DRAWN_SIZE = 2 };

typedef struct refine {
    aphi_refine_options options;
    uint64_t clients, messages, chunks, random, seed;
    const char *name;        /* of MODEL, whatever mutant of it is taken */
    const char *mutate, *trace;
    bool json;
    aphi_colour colour;
    aph_value *requests;     /* BEYOND_* as many as the bounds say */
    size_t request_count;
    aphi_refinement result;  /* the last */
    aphi_refinement bounded; /* of the full bounds */
    uint64_t walked;         /* random schedules that were right */
    size_t at_clients, at_messages; /* bounds of the last */
    int64_t begun_ns;
} refine;

static volatile sig_atomic_t interrupted;

enum { CLIENTS = 256, MESSAGES, CHUNKS, TIME, MEMORY, RANDOM, SEED, MUTATE, UNREDUCED, TRACE, JSON, COLOR, HELP };

static const struct option options[] = {
    {"clients", required_argument, NULL, CLIENTS}, {"messages", required_argument, NULL, MESSAGES},
    {"chunks", required_argument, NULL, CHUNKS},   {"time", required_argument, NULL, TIME},
    {"memory", required_argument, NULL, MEMORY},   {"random", required_argument, NULL, RANDOM},
    {"seed", required_argument, NULL, SEED},       {"mutate", required_argument, NULL, MUTATE},
    {"unreduced", no_argument, NULL, UNREDUCED},   {"trace", required_argument, NULL, TRACE},
    {"json", no_argument, NULL, JSON},             {"color", required_argument, NULL, COLOR},
    {"help", no_argument, NULL, HELP},             {NULL, 0, NULL, 0}};

static void help(void)
{
    fputs("usage: antiphon refine [OPTION]... MODEL SPEC\n\n"
          "Does what clients see of MODEL, across the network, stay within what SPEC allows? All schedules up to "
          "a bound\n"
          "are explored, then random ones beyond it. Both are models as for antiphon check. They need not speak "
          "the same\n"
          "messages, only the same bytes: what one sends is encoded by its codec and decoded by that of the other.\n\n"
          "  --clients N       clients at once, at most (default: 2)\n"
          "  --messages N      that each sends, at most (default: 2)\n"
          "  --chunks N        in which a message may come; every way to cut it is tried (default: 3)\n"
          "  --random N        so many random schedules with twice the clients and four times the messages "
          "(default: 1000)\n"
          "  --seed N          of what clients send, and of random schedules (default: 1)\n"
          "  --time SECONDS    give up after this long (default: never)\n"
          "  --memory MB       give up beyond this much memory (default: 4096; 0: never)\n"
          "  --mutate MUTANT   a wrong variant in place of MODEL, by number or name (see antiphon models MODEL)\n"
          "  --unreduced       explore every order of everything, to see what the reductions save\n"
          "  --trace FILE      write the counterexample there, as antiphon check reads it\n"
          "  --json            print one JSON object\n"
          "  --color WHEN      auto (default), always or never\n"
          "  --help            this\n\n"
          "exit codes: 0 it refines, 1 it does not, 2 usage, 3 unknown, 4 not written, 5 interrupted, 7 vacuous: "
          "in no\n"
          "schedule was everything answered; 30 and up, something wrong with a model. antiphon help lists all.\n",
          stdout);
}

/* ---- the command line -------------------------------------------------------------------------------------------- */

static int take_time(refine *r)
{
    char *end;
    errno = 0;
    double seconds = strtod(optarg, &end);
    if (end == optarg || *end || errno || !(seconds >= 0 && seconds <= 1e9))
        return aphi_usage("--time %s: seconds, please", optarg);
    r->options.deadline_ns = aphi_clock_ns() + (int64_t)(seconds * 1e9);
    return 0;
}

static int take_memory(refine *r)
{
    uint64_t megabytes;
    int code = aphi_take_number("memory", 0, 1 << 30, &megabytes);
    r->options.memory = (size_t)megabytes << 20;
    return code;
}

/* 0 if the option is fine, else an exit code. */
static int apply(refine *r, int option)
{
    switch (option) {
    case CLIENTS: return aphi_take_number("clients", 1, CLIENTS_MAX, &r->clients);
    case MESSAGES: return aphi_take_number("messages", 1, MESSAGES_MAX, &r->messages);
    case CHUNKS: return aphi_take_number("chunks", 1, 1 << 20, &r->chunks);
    case RANDOM: return aphi_take_number("random", 0, UINT64_MAX, &r->random);
    case SEED: return aphi_take_number("seed", 0, UINT64_MAX, &r->seed);
    case TIME: return take_time(r);
    case MEMORY: return take_memory(r);
    case MUTATE: r->mutate = optarg; return 0;
    case UNREDUCED: r->options.unreduced = true; return 0;
    case TRACE: r->trace = optarg; return 0;
    case JSON: r->json = true; return 0;
    case COLOR:
        return aphi_colour_named(optarg, &r->colour) ? 0 : aphi_usage("--color %s: auto, always or never", optarg);
    default: return APHI_EXIT_USAGE;
    }
}

/* ---- what clients send ------------------------------------------------------------------------------------------- */

static void mark_refine(void *context)
{
    refine *r = context;
    for (size_t i = 0; i < r->request_count; i++)
        aph_mark(r->requests[i]);
    aph_mark(r->result.trace);
    aph_mark(r->result.allowed);
}

/* Actions of the generator, taken apart by connection, until each has enough. What refers to answers refers to nothing:
 * there are none yet. */
static bool draw(refine *r, aphi_generator *g, aphi_labelled *seen)
{
    size_t clients = r->clients * BEYOND_CLIENTS, messages = r->messages * BEYOND_MESSAGES, missing = r->request_count;
    uint32_t in_flight[CLIENTS_MAX * BEYOND_CLIENTS] = {0};
    size_t sent[CLIENTS_MAX * BEYOND_CLIENTS] = {0};
    aphi_knowledge known = {.seen = seen, .in_flight = in_flight, .connections = clients};
    for (size_t i = 0; missing > 0 && i < ACTIONS_MAX * r->request_count; i++) {
        aphi_action a = aphi_generator_next(g, &known);
        if (!a.label)
            return false;
        size_t client = (size_t)a.connection;
        if (!a.send || client >= clients || sent[client] == messages)
            continue;
        aph_value message = aphi_expression_fill(a.send, seen, r->options.spec->functions);
        aphi_labelled_add(seen, a.label, message);
        r->requests[client * messages + sent[client]++] = message;
        missing--;
    }
    return missing == 0;
}

static bool draw_requests(refine *r)
{
    char error[300] = "it does not send on every connection";
    size_t clients = r->clients * BEYOND_CLIENTS;
    r->options.stride = r->messages * BEYOND_MESSAGES;
    r->request_count = clients * r->options.stride;
    free(r->requests);
    r->requests = aphi_alloc_zero(r->request_count * sizeof *r->requests);
    r->options.requests = r->requests;
    aphi_generator *g = aphi_generator_open(r->options.spec, r->seed, clients, 1, error, sizeof error);
    aphi_labelled *seen = aphi_labelled_open(256);
    bool drawn = g && draw(r, g, seen);
    if (!drawn)
        fprintf(stderr, "antiphon: what to send to %s is not known: %s\n", r->options.spec->name,
                g && aphi_generator_error(g) ? aphi_generator_error(g) : error);
    aphi_labelled_close(seen);
    if (g)
        aphi_generator_close(g);
    return drawn;
}

/* ---- exploring --------------------------------------------------------------------------------------------------- */

static void show_progress(uint64_t states)
{
    aphi_progress_at(states);
}

static bool right(const refine *r)
{
    return r->result.verdict == APHI_REFINES || r->result.verdict == APHI_REFINES_VACUOUS;
}

/* Bounds whose product is `size`, fewer clients first. */
static void explore_size(refine *r, size_t size)
{
    for (size_t clients = 1; clients <= r->clients && right(r); clients++) {
        if (size % clients || size / clients > r->messages)
            continue;
        r->at_clients = r->options.clients = clients;
        r->at_messages = r->options.messages = size / clients;
        r->result = aphi_refine(&r->options);
    }
}

/* What clients send is drawn, and other contents may show what these do not: of a few messages, other draws are tried,
 * too. */
static bool explore_draws(refine *r)
{
    uint64_t seed = r->seed;
    for (unsigned i = 0; i < DRAWS && right(r) && r->clients * r->messages > 1; i++) {
        r->seed = seed + 1 + i;
        if (!draw_requests(r))
            return false;
        for (size_t size = 1; size <= DRAWN_SIZE && right(r); size++)
            explore_size(r, size);
    }
    bool found = !right(r);
    r->seed = seed;
    return found || draw_requests(r);
}

static bool explore(refine *r)
{
    for (size_t size = 1; size <= r->clients * r->messages && right(r); size++)
        explore_size(r, size);
    r->bounded = r->result;
    if (!right(r))
        return true;
    if (!explore_draws(r))
        return false;
    if (!right(r))
        return true;
    r->result = r->bounded; /* a few messages may all leave something open */
    if (!r->random)
        return true;
    r->at_clients = r->options.clients = r->clients * BEYOND_CLIENTS;
    r->at_messages = r->options.messages = r->messages * BEYOND_MESSAGES;
    r->result = aphi_refine_randomly(&r->options, r->random, r->seed);
    if (right(r)) {
        r->walked = r->random;
        r->result = r->bounded; /* long schedules may all leave something open: that says nothing */
    }
    return true;
}

/* ---- telling ----------------------------------------------------------------------------------------------------- */

static aphi_exit exit_of(const refine *r)
{
    static const aphi_exit by_fault[] = {
        [APH_FAULT_NONE] = APHI_EXIT_USAGE,          [APH_FAULT_REQUEST] = APHI_EXIT_TRACE_REQUEST,
        [APH_FAULT_ANSWER] = APHI_EXIT_MODEL_PROMISE, [APH_FAULT_CRASH] = APHI_EXIT_MODEL_CRASH,
        [APH_FAULT_STUCK] = APHI_EXIT_MODEL_STUCK,   [APH_FAULT_IMPURE] = APHI_EXIT_MODEL_IMPURE,
        [APH_FAULT_PROMISE] = APHI_EXIT_MODEL_PROMISE};
    switch (r->result.verdict) {
    case APHI_REFINES: return APHI_EXIT_PASS;
    case APHI_REFINES_NOT: return APHI_EXIT_FAIL;
    case APHI_REFINES_VACUOUS: return APHI_EXIT_VACUOUS;
    case APHI_REFINES_UNKNOWN: return interrupted ? APHI_EXIT_INTERRUPTED : APHI_EXIT_UNKNOWN;
    case APHI_REFINES_FAULT: return by_fault[r->result.fault];
    }
    return APHI_EXIT_USAGE;
}

static bool write_trace(const refine *r)
{
    FILE *file = fopen(r->trace, "w");
    if (file) {
        aph_json_write(file, aph_record("antiphon", aph_int(1), "model", aph_str(r->options.spec->name)));
        fputc('\n', file);
    }
    for (size_t i = 0; file && i < aph_count(r->result.trace); i++) {
        aph_json_write(file, aph_at(r->result.trace, i));
        fputc('\n', file);
    }
    bool written = file && !ferror(file);
    if (file && fclose(file))
        written = false;
    if (!written)
        fprintf(stderr, "antiphon: %s: %s\n", r->trace, strerror(errno));
    return written;
}

static void tell_json(const refine *r)
{
    static const char *const verdicts[] = {[APHI_REFINES] = "pass", [APHI_REFINES_NOT] = "fail",
                                           [APHI_REFINES_VACUOUS] = "vacuous", [APHI_REFINES_UNKNOWN] = "unknown",
                                           [APHI_REFINES_FAULT] = "error"};
    const aphi_refinement *b = &r->bounded;
    aph_value said = aph_record(
        "verdict", aph_str(verdicts[r->result.verdict]), "model", aph_str(r->name), "spec",
        aph_str(r->options.spec->name), "clients", aph_int((int64_t)r->at_clients), "messages",
        aph_int((int64_t)r->at_messages), "chunks", aph_int((int64_t)r->chunks), "states", aph_int((int64_t)b->states),
        "traces", aph_int((int64_t)b->traces), "schedules", aph_strf("%.0f", b->schedules), "random",
        aph_int((int64_t)r->walked), "seed", aph_strf("%llu", (unsigned long long)r->seed), "sampled",
        aph_bool(b->sampled), "milliseconds", aph_int((aphi_clock_ns() - r->begun_ns) / 1000000), "exit",
        aph_int(exit_of(r)));
    if (r->mutate)
        said = aph_put(said, "mutant", aph_str(r->options.model->name));
    if (r->result.why[0])
        said = aph_put(said, "why", aph_str(r->result.why));
    if (r->result.trace)
        said = aph_put(aph_put(said, "trace", r->result.trace), "failing", aph_int((int64_t)r->result.failing));
    aph_json_write(stdout, said);
    fputc('\n', stdout);
}

/* 1,234,567 as long as it can be read, then 1.2e+12. */
static void put_schedules(aphi_buffer *out, double schedules)
{
    if (schedules < 1e9)
        aphi_report_count(out, (uint64_t)schedules);
    else
        aphi_buffer_format(out, "%.2g", schedules);
}

static void put_effort(aphi_buffer *out, const refine *r)
{
    aphi_buffer_format(out, "  up to %llu clients with %llu messages each", (unsigned long long)r->clients,
                       (unsigned long long)r->messages);
    if (r->chunks > 1)
        aphi_buffer_format(out, ", each in up to %llu chunks", (unsigned long long)r->chunks);
    aphi_buffer_str(out, ": ");
    put_schedules(out, r->bounded.schedules);
    aphi_buffer_str(out, " schedules, all of them, in ");
    aphi_report_count(out, r->bounded.states);
    aphi_buffer_str(out, " situations and ");
    aphi_report_count(out, r->bounded.traces);
    aphi_buffer_str(out, " different traces\n");
    if (r->clients * r->messages > 1)
        aphi_buffer_format(out, "  what they send is drawn as antiphon test would; %d other draws of %d messages, all "
                           "schedules\n", DRAWS, DRAWN_SIZE);
    if (r->walked)
        aphi_buffer_format(out, "  up to %zu clients with %zu messages each: %llu schedules at random\n", r->at_clients,
                           r->at_messages, (unsigned long long)r->walked);
    if (r->bounded.sampled)
        aphi_buffer_str(out, "  a choice of the model has many values: of these, only some were tried\n");
}

static void put_counterexample(aphi_buffer *out, const refine *r, const aphi_terminal *terminal)
{
    size_t n = aph_count(r->result.trace);
    aphi_run_event *moments = aphi_alloc_zero((n + 1) * sizeof *moments);
    for (size_t i = 0; i < n; i++) {
        aph_value line = aph_at(r->result.trace, i);
        bool sent = aph_has(line, aph_str("send"));
        moments[i] = (aphi_run_event){.kind = sent ? APHI_RUN_EVENT_SENT : APHI_RUN_EVENT_RECEIVED,
                                   .at_ns = (int64_t)i * 1000000,
                                   .connection = aph_int_of(aph_field(line, "conn")),
                                   .message = aph_field(line, sent ? "send" : "recv")};
    }
    aphi_run_diagram_draw(out, &(aphi_run_diagram){.title = r->name, .verdict = "fail", .events = moments,
                                             .count = n, .failing = r->result.failing,
                                             .allowed = r->result.allowed}, terminal, 0);
    free(moments);
}

static void put_all(aphi_buffer *out, const refine *r, const aphi_terminal *terminal)
{
    static const struct {
        const char *text;
        aphi_ink ink;
    } says[] = {[APHI_REFINES] = {"refines", APHI_INK_GREEN}, [APHI_REFINES_NOT] = {"does not refine", APHI_INK_ALARM},
                [APHI_REFINES_VACUOUS] = {"says too little to be compared with", APHI_INK_YELLOW},
                [APHI_REFINES_UNKNOWN] = {"is not known to refine", APHI_INK_YELLOW},
                [APHI_REFINES_FAULT] = {"cannot be compared with", APHI_INK_ALARM}};
    aphi_buffer_format(out, "%s ", r->name);
    if (r->mutate)
        aphi_buffer_format(out, "with \"%s\" (%s) ", r->options.model->name, r->options.model->summary);
    aphi_terminal_paint(out, terminal, says[r->result.verdict].ink, says[r->result.verdict].text);
    aphi_buffer_format(out, " %s%s%s\n", r->options.spec->name, r->result.why[0] ? ": " : "", r->result.why);
    if (right(r))
        put_effort(out, r);
    if (r->result.trace)
        put_counterexample(out, r, terminal);
}

static int tell(const refine *r)
{
    bool written = !r->trace || !r->result.trace || write_trace(r);
    if (r->json) {
        tell_json(r);
    } else {
        aphi_buffer out = {0};
        aphi_terminal terminal = aphi_terminal_of(stdout, r->colour);
        bool fault = r->result.verdict == APHI_REFINES_FAULT;
        put_all(&out, r, &terminal);
        fwrite(out.data, 1, out.n, fault ? stderr : stdout);
        aphi_buffer_free(&out);
    }
    if (fflush(stdout) || ferror(stdout)) {
        fprintf(stderr, "antiphon: the result could not be written: %s\n", strerror(errno));
        written = false;
    }
    return written ? exit_of(r) : APHI_EXIT_WRITE;
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static void on_interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

static int run(refine *r)
{
    struct sigaction action = {.sa_handler = on_interrupt}, before[2];
    int code = APHI_EXIT_USAGE;
    sigaction(SIGINT, &action, &before[0]);
    sigaction(SIGTERM, &action, &before[1]);
    aph_root_add(mark_refine, r);
    r->options.chunks = r->chunks;
    r->options.progress = show_progress;
    r->options.stop = &interrupted;
    if (draw_requests(r)) {
        aphi_progress_begin("exploring situations", 0);
        aphi_exit_guard_forbid(true);
        bool explored = explore(r);
        aphi_exit_guard_forbid(false);
        aphi_progress_end();
        code = explored ? (int)tell(r) : APHI_EXIT_USAGE;
    }
    aph_root_remove(mark_refine, r);
    free(r->requests);
    sigaction(SIGINT, &before[0], NULL);
    sigaction(SIGTERM, &before[1], NULL);
    return code;
}

static int run_models(refine *r, const char *model_text, const char *spec_text)
{
    aph_loaded_model model, spec;
    aph_load_error error;
    if (!aph_model_load(model_text, &model, &error)) {
        fprintf(stderr, "antiphon: %s\n", error.message);
        return (int)aphi_exit_of_load_error(&error);
    }
    if (!aph_model_load(spec_text, &spec, &error)) {
        fprintf(stderr, "antiphon: %s\n", error.message);
        aph_model_unload(&model);
        return (int)aphi_exit_of_load_error(&error);
    }
    r->options.model = r->mutate ? aphi_mutant_named(model.model, r->mutate) : model.model;
    r->options.spec = spec.model;
    r->name = model.model->name;
    int code = r->options.model ? run(r) : APHI_EXIT_USAGE;
    aph_model_unload(&spec);
    aph_model_unload(&model);
    return code;
}

int aphi_command_refine(int count, char **words)
{
    refine r = {.clients = 2, .messages = 2, .chunks = 3, .random = 1000, .seed = 1, .begun_ns = aphi_clock_ns(),
                .options.memory = (size_t)4096 << 20};
    int option;
    optind = 1;
    opterr = 0;
    while ((option = getopt_long(count, words, ":h", options, NULL)) != -1) {
        if (option == HELP || option == 'h') {
            help();
            return APHI_EXIT_PASS;
        }
        if (option == ':')
            return aphi_usage("%s needs a value; see antiphon refine --help", words[optind - 1]);
        if (option == '?')
            return aphi_usage("there is no option %s; see antiphon refine --help", words[optind - 1]);
        if (apply(&r, option))
            return APHI_EXIT_USAGE;
    }
    if (count - optind != 2)
        return aphi_usage("refine needs two models, what is built and what is specified; see antiphon refine --help");
    return run_models(&r, words[optind], words[optind + 1]);
}

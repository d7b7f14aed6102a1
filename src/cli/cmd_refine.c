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
#include "cli/exit_guard.h"
#include "cli/interrupt.h"
#include "cli/shared_options.h"
#include "generate/generator.h"
#include "refine/refinement.h"
#include "report/run_diagram.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { CLIENTS_MAX = 16, MESSAGES_MAX = 64, BEYOND_CLIENTS = 2, BEYOND_MESSAGES = 4, ACTIONS_MAX = 100,
       DRAWS = 16, DRAWN_SIZE = 2 };

typedef struct refine {
    aphi_refine_options options;
    uint64_t clients, messages, chunks, random, seed;
    int64_t time_ns;
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

static const aphi_option options[] = {
    APHI_NUMBER(refine, clients, "clients", "N", 1, CLIENTS_MAX, "up to N clients (default: 2)"),
    APHI_NUMBER(refine, messages, "messages", "N", 1, MESSAGES_MAX, "up to N messages per client (default: 2)"),
    APHI_NUMBER(refine, chunks, "chunks", "N", 1, 1 << 20,
                "split a message into up to N chunks, in every way (default: 3)"),
    APHI_NUMBER(refine, random, "random", "N", 0, UINT64_MAX,
                "then run N random schedules with twice the clients and four times the messages (default: 1000)"),
    APHI_NUMBER(refine, seed, "seed", "N", 0, UINT64_MAX,
                "seed of the requests and of the random schedules (default: 1)"),
    APHI_SECONDS(refine, time_ns, "time", "give up after DURATION (default: no limit)"),
    APHI_SIZE(refine, options.memory, "memory", 0, "give up beyond this much memory (default: 4096; 0: no limit)"),
    APHI_TEXT(refine, mutate, "mutate", "MUTANT",
              "use a wrong variant of MODEL, by number or name (see antiphon models MODEL)"),
    APHI_FLAG(refine, options.unreduced, "unreduced", "explore all orders, without reductions"),
    APHI_TEXT(refine, trace, "trace", "FILE", "write the counterexample as a trace for antiphon check"),
    APHI_JSON_OPTION(refine, json),
    APHI_COLOUR_OPTION(refine, colour),
    {0}};

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
    r->result = aphi_refine_random(&r->options, r->random, r->seed);
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
    case APHI_REFINES_UNKNOWN: return aphi_interrupted ? APHI_EXIT_INTERRUPTED : APHI_EXIT_UNKNOWN;
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

/* ---- the command ------------------------------------------------------------------------------------------------- */

static int run(refine *r)
{
    int code = APHI_EXIT_USAGE;
    aphi_interrupt_watch(NULL);
    aph_root_add(mark_refine, r);
    r->options.chunks = r->chunks;
    r->options.progress = show_progress;
    r->options.stop = &aphi_interrupted;
    if (r->time_ns)
        r->options.deadline_ns = aphi_clock_ns() + r->time_ns;
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
    return code;
}

static int refine_command(int count, char **words)
{
    refine r = {.clients = 2, .messages = 2, .chunks = 3, .random = 1000, .seed = 1, .begun_ns = aphi_clock_ns(),
                .options.memory = (size_t)4096 << 20};
    aph_loaded_model model, spec;
    int code = aphi_options_read(&aphi_command_refine, &r, &count, words);
    if (code >= 0 || (code = aphi_open_model(words[0], &model)))
        return code;
    if (!(code = aphi_open_model(words[1], &spec))) {
        r.options.model = r.mutate ? aphi_mutant_named(model.model, r.mutate) : model.model;
        r.options.spec = spec.model;
        r.name = model.model->name;
        code = r.options.model ? run(&r) : APHI_EXIT_USAGE;
        aph_model_unload(&spec);
    }
    aph_model_unload(&model);
    return code;
}

const aphi_command aphi_command_refine = {
    .name = "refine",
    .summary = "check that a server model refines another, over the network",
    .operands = "MODEL SPEC",
    .description = "Decide whether every behaviour of MODEL that clients can observe over the network is allowed by "
                   "SPEC: for all schedules up to a bound, then for random schedules beyond it. Both are models as "
                   "for antiphon check. Their messages may differ, but not their bytes: messages of one are encoded "
                   "by its codec and decoded by the other's.",
    .exit_codes = "0 it refines, 1 it does not, 2 usage, 3 unknown, 4 not written, 5 interrupted, 7 vacuous: no "
                  "schedule answered all requests; 30 to 44 an error in a model.",
    .options = options, .operands_min = 2, .operands_max = 2, .run = refine_command};

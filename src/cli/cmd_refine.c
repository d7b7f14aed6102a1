/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_refine.c - antiphon refine MODEL SPEC: check that a server model refines another, over the network. */
#include "cli/commands.h"

#include "base/clock.h"
#include "cli/exit_guard.h"
#include "cli/interrupt.h"
#include "cli/shared_options.h"
#include "report/refine_report.h"

#include <errno.h>
#include <string.h>

typedef struct refine {
    aphi_refine_deepening bounds;
    int64_t time_ns;
    const char *mutate, *trace, *environment;
    bool json;
    aphi_colour colour;
} refine;

static int take_network_file(void *field, const char *name, const char *value)
{
    *(const char **)field = strcmp(value, "tcp") ? value : NULL;
    return aph_network_is_file(value) || !strcmp(value, "tcp")
               ? 0
               : aphi_usage("--%s %s: not tcp, or a file: ./mine.c or ./mine.so", name, value);
}

static const aphi_option options[] = {
    APHI_NUMBER(refine, bounds.clients, "clients", "N", 1, APHI_REFINE_CLIENTS_MAX, "up to N clients (default: 2)"),
    APHI_NUMBER(refine, bounds.messages, "messages", "N", 1, APHI_REFINE_MESSAGES_MAX,
                "up to N messages per client (default: 2)"),
    APHI_NUMBER(refine, bounds.options.chunks, "chunks", "N", 1, 1 << 20,
                "split a message into up to N chunks, in every way (default: 3)"),
    APHI_NUMBER(refine, bounds.random, "random", "N", 0, UINT64_MAX,
                "then run N random schedules with twice the clients and four times the messages (default: 1000)"),
    APHI_NUMBER(refine, bounds.seed, "seed", "N", 0, UINT64_MAX,
                "seed for the requests and the random schedules (default: 1)"),
    APHI_SECONDS(refine, time_ns, "time", "give up after DURATION (default: no limit)"),
    APHI_SIZE(refine, bounds.options.memory, "memory", 0,
              "give up if the search needs more than MB megabytes (default: 4096; 0: no limit)"),
    {.name = "env", .kind = APHI_OPTION_CALL, .argument = "FILE", APHI_FIELD(refine, environment),
     .take = take_network_file, .help = "network between clients and server: ./mine.c or ./mine.so (default: tcp)"},
    APHI_TEXT(refine, mutate, "mutate", "MUTANT",
              "use an incorrect variant of MODEL, by number or name (see antiphon models MODEL)"),
    APHI_FLAG(refine, bounds.options.unreduced, "unreduced", "explore all orders, without reductions"),
    APHI_TEXT(refine, trace, "trace", "FILE", "write the counterexample as a trace for antiphon check"),
    APHI_JSON_OPTION(refine, json),
    APHI_COLOUR_OPTION(refine, colour),
    {0}};

static aphi_exit exit_of(const aphi_refinement *r)
{
    static const aphi_exit by_fault[] = {
        [APH_FAULT_NONE] = APHI_EXIT_USAGE,          [APH_FAULT_REQUEST] = APHI_EXIT_TRACE_REQUEST,
        [APH_FAULT_ANSWER] = APHI_EXIT_MODEL_PROMISE, [APH_FAULT_CRASH] = APHI_EXIT_MODEL_CRASH,
        [APH_FAULT_STUCK] = APHI_EXIT_MODEL_STUCK,   [APH_FAULT_IMPURE] = APHI_EXIT_MODEL_IMPURE,
        [APH_FAULT_PROMISE] = APHI_EXIT_MODEL_PROMISE, [APH_FAULT_CALL] = APHI_EXIT_MODEL_CALL,
        [APH_FAULT_CODEC] = APHI_EXIT_MODEL_CODEC};
    switch (r->verdict) {
    case APHI_REFINES: return APHI_EXIT_PASS;
    case APHI_REFINES_NOT: return APHI_EXIT_FAIL;
    case APHI_REFINES_VACUOUS: return APHI_EXIT_VACUOUS;
    case APHI_REFINES_UNKNOWN: return aphi_interrupted ? APHI_EXIT_INTERRUPTED : APHI_EXIT_UNKNOWN;
    case APHI_REFINES_FAULT: return by_fault[r->fault];
    }
    return APHI_EXIT_USAGE;
}

static void mark_outcome(void *context)
{
    const aphi_refine_outcome *o = context;
    aph_mark(o->result.trace);
    aph_mark(o->result.allowed);
}

static void show_progress(uint64_t states)
{
    aphi_progress_at(states);
}

static int write_report(const refine *r, const aphi_refine_report *report)
{
    const aphi_refinement *result = &report->outcome->result;
    bool unwritten = r->trace && result->trace && !aphi_refine_report_trace(report, r->trace);
    if (unwritten)
        aphi_complain("%s: cannot be written: %s", r->trace, strerror(errno));
    if (r->json) {
        aph_json_write(stdout, aphi_refine_report_json(report));
        fputc('\n', stdout);
    } else {
        aphi_buffer out = {0};
        aphi_terminal terminal = aphi_terminal_of(stdout, r->colour);
        aphi_refine_report_text(&out, report, &terminal);
        fwrite(out.data, 1, out.n, result->verdict == APHI_REFINES_FAULT ? stderr : stdout);
        aphi_buffer_free(&out);
    }
    int code = aphi_written(report->exit_code);
    return unwritten ? APHI_EXIT_WRITE : code;
}

static int run_refinement(refine *r, const char *name)
{
    aphi_refine_outcome outcome = {0};
    char error[400];
    int64_t begun = aphi_clock_ns();
    r->bounds.options.progress = show_progress;
    r->bounds.options.stop = &aphi_interrupted;
    if (r->time_ns)
        r->bounds.options.deadline_ns = begun + r->time_ns;
    aphi_interrupt_watch(NULL);
    aph_root_add(mark_outcome, &outcome);
    aphi_progress_begin("states explored:", 0);
    aphi_exit_guard_forbid(true);
    bool explored = aphi_refine_within(&r->bounds, &outcome, error, sizeof error);
    aphi_exit_guard_forbid(false);
    aphi_progress_end();
    int code = explored ? write_report(r, &(aphi_refine_report){.bounds = &r->bounds, .outcome = &outcome, .name = name,
                                                                .mutant = r->mutate, .ns = aphi_clock_ns() - begun,
                                                                .exit_code = (int)exit_of(&outcome.result)})
                        : aphi_usage("%s", error);
    aph_root_remove(mark_outcome, &outcome);
    return code;
}

static int refine_across_network(refine *r, const char *name)
{
    aph_loaded_network network;
    int code = aphi_open_network(r->environment, &network);
    r->bounds.options.network = network.network;
    if (!code)
        code = run_refinement(r, name);
    aph_network_unload(&network);
    return code;
}

static int refine_command(int count, char **words)
{
    refine r = {.bounds = {.clients = 2, .messages = 2, .random = 1000, .seed = 1,
                           .options = {.chunks = 3, .memory = (size_t)4096 << 20}}};
    aph_loaded_model model, spec;
    int code = aphi_options_read(&aphi_command_refine, &r, &count, words);
    if (code >= 0 || (code = aphi_open_model(words[0], &model)))
        return code;
    if (!(code = aphi_open_model(words[1], &spec))) {
        r.bounds.options.model = r.mutate ? aphi_mutant_named(model.model, r.mutate) : model.model;
        r.bounds.options.spec = spec.model;
        code = r.bounds.options.model ? refine_across_network(&r, model.model->name) : APHI_EXIT_USAGE;
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

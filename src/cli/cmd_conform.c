/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_conform.c - antiphon conform MODEL PROGRAM: test a message-passing program for conformance with its model. */
#include "cli/commands.h"

#include "cli/interrupt.h"
#include "cli/program_model.h"
#include "cli/shared_options.h"
#include "report/conformance_report.h"

#include <errno.h>
#include <string.h>

typedef struct conform {
    aphi_conformance_options run;
    int64_t time_ns;
    uint64_t unroll;
    bool json;
    const char *page;
} conform;

static const aphi_option options[] = {
    APHI_JOBS(conform, run.jobs, 1, "run N programs in parallel (default: 1)"),
    APHI_FLAG(conform, run.local, "local",
              "test each thread alone: the tester plays its environment, with captured message contents"),
    APHI_TEXT(conform, run.thread, "thread", "NAME", "with --local: test only this thread"),
    APHI_FLAG(conform, run.at_least, "at-least", "test only M <= CP: the program may do more than the model"),
    APHI_NUMBER(conform, run.limit, "limit", "N", 1, UINT64_MAX,
                "stop after N sequences of the model, or of each thread with --local"),
    APHI_NUMBER(conform, unroll, "unroll", "N", 1, 1000, "visit each state of a cycle up to N times"),
    APHI_DURATION(conform, time_ns, "run-time", "MS", APHI_MS_NS, APHI_MS_NS, 86400 * (uint64_t)APHI_SECOND_NS,
                  "time limit for a run, in milliseconds; a longer run counts as endless (default: 10000)"),
    APHI_NUMBER(conform, run.captures, "captures", "N", 0, UINT32_MAX,
                "with --local: capture message contents in up to N random runs (default: 200)"),
    APHI_TEXT(conform, page, "report", "FILE",
              "write a page with model and program side by side at the first difference"),
    APHI_JSON_OPTION(conform, json),
    {0}};

static int exit_of(const conform *c, const aphi_conformance_campaign *r)
{
    const aphi_difference *missing = r->missing.difference;
    if (missing && missing->violation == APHI_VIOLATION_ENDLESS)
        return APHI_EXIT_ENDLESS;
    if (missing && missing->violation == APHI_VIOLATION_CRASHED)
        return APHI_EXIT_CRASHED;
    aphi_relation relation = c->run.at_least ? aphi_conformance_at_least(r) : aphi_conformance_equivalent(r);
    if (relation == APHI_RELATION_FAILS)
        return APHI_EXIT_FAIL;
    if (aphi_interrupted)
        return APHI_EXIT_INTERRUPTED;
    return relation == APHI_RELATION_HOLDS ? APHI_EXIT_PASS : APHI_EXIT_UNKNOWN;
}

static int write_report(const conform *c, const aphi_conformance_campaign *r)
{
    if (r->status) {
        aphi_complain("%s", r->error);
        return r->status == APHI_CONFORMANCE_MISMATCH    ? APHI_EXIT_MISMATCH
               : r->status == APHI_CONFORMANCE_TOO_LARGE ? APHI_EXIT_UNKNOWN
                                                         : APHI_EXIT_PROGRAM;
    }
    if (c->page && !aphi_conformance_report_page(r, c->page)) {
        aphi_complain("%s cannot be written: %s", c->page, strerror(errno));
        return APHI_EXIT_WRITE;
    }
    if (c->json) {
        aph_json_write(stdout, aphi_conformance_report_json(r, exit_of(c, r)));
        fputc('\n', stdout);
    } else {
        aphi_buffer out = {0};
        aphi_terminal terminal = aphi_terminal_of(stdout, APHI_COLOUR_AUTO);
        aphi_conformance_report_text(&out, r, &terminal);
        fwrite(out.data, 1, out.n, stdout);
        aphi_buffer_free(&out);
    }
    return aphi_written(exit_of(c, r));
}

static int test_program(conform *c, const aphi_alts *alts, const char *model)
{
    char error[512];
    aphi_compiled_model compiled;
    if (c->run.thread && aphi_alts_component_named(alts, c->run.thread) == SIZE_MAX)
        return aphi_usage("--thread %s: %s has no component of that name", c->run.thread, alts->name);
    if (!aphi_compiled_model_build(&compiled, alts, error, sizeof error)) {
        aphi_complain("%s: %s", model, error);
        return APHI_EXIT_PROGRAM_LARGE;
    }
    c->run.model = &compiled;
    c->run.alts = alts;
    c->run.time_ms = (uint64_t)(c->time_ns / APHI_MS_NS);
    c->run.stop = &aphi_interrupted;
    aphi_interrupt_watch(NULL);
    aphi_conformance_campaign *run = aphi_conformance_campaign_open(&c->run);
    int code = write_report(c, run);
    aphi_conformance_campaign_close(run);
    aphi_compiled_model_free(&compiled);
    return code;
}

static int conform_command(int count, char **words)
{
    conform c = {.time_ns = 10 * APHI_SECOND_NS, .run = {.captures = 200, .jobs = 1}};
    aphi_alts alts;
    int code = aphi_options_read(&aphi_command_conform, &c, &count, words);
    if (code >= 0)
        return code;
    if (c.run.thread && !c.run.local)
        return aphi_usage("--thread: only with --local");
    if ((code = aphi_program_model_open(words[0], (uint32_t)c.unroll, &alts)))
        return code;
    c.run.words = words + 1;
    code = test_program(&c, &alts, words[0]);
    aphi_alts_free(&alts);
    return code;
}

const aphi_command aphi_command_conform = {
    .name = "conform",
    .summary = "test a message-passing program for conformance with its model",
    .operands = "MODEL PROGRAM [ARGUMENT]...",
    .description = "Test PROGRAM, which uses libantiphon-threads, with all sequences of MODEL: whether the program "
                   "can do everything that the model can (M <= CP), and nothing else (M ~ CP). MODEL is a model as "
                   "for antiphon reach. Threads and ports must have the same names in both. The first difference is "
                   "drawn: the sequence, the event, and the messages that the receive could take instead.",
    .exit_codes = "0 it conforms, 1 it does not, 2 usage, 3 unknown, 4 not written, 5 interrupted, 30 no such model, "
                  "60 to 65 an error in the model, 70 the program cannot be started or does not use the library, 74 "
                  "a run does not terminate, 75 a run crashed, 76 threads or ports differ.",
    .options = options, .operands_min = 2, .operands_max = -1, .runs_program = true, .run = conform_command};

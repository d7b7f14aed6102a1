/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_check.c - antiphon check SPEC TRACE...: check recorded traces against a model. */
#include "cli/commands.h"

#include "base/memory.h"
#include "cli/exit_guard.h"
#include "cli/interrupt.h"
#include "cli/shared_options.h"
#include "report/check_report.h"
#include "report/junit.h"
#include "report/result_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct check {
    aph_check_options check;
    size_t jobs;
    int64_t time_ns, solver_ns;
    bool json, quiet, verbose;
    const char *junit;
    aphi_colour colour;
    aphi_terminal terminal;
    size_t n;
    char **files;
    aph_check_result **results; /* by file; NULL until the result is available */
    size_t done;
    bool write_failed;
    aphi_waived waived;
    aph_words *words;           /* the model's */
} check;

static const aphi_option options[] = {
    APHI_FORMAT_OPTION(check, check.format),
    APHI_IGNORE_TIMES_OPTION(check, check.ignore_times),
    APHI_NETWORK_OPTION(check, check.oracle.environment,
                        "network between clients and server: tcp (default), tcp:N, sync (default for .prog), udp, or "
                        "./mine.c"),
    APHI_FLAG(check, check.derive, "derive", "decide by the derivation (slow; for testing models and networks)"),
    APHI_NUMBER(check, check.branches, "branches", "N", 1, UINT64_MAX,
                "give up on a derivation after N branches (default: 1000000)"),
    APHI_FLAG(check, check.oracle.whole, "whole", "do not split the state into independent partitions"),
    APHI_CALL(check, waived, "waive", "NAME", aphi_take_waiver,
              "allow a known violation that antiphon models SPEC lists; may be repeated"),
    APHI_FLAG(check, check.oracle.ignore_promises, "ignore-promises",
              "ignore the model's promises (slow; for testing the promises)"),
    APHI_SECONDS(check, time_ns, "time", "give up on a trace after DURATION (default: no limit)"),
    APHI_SIZE(check, check.oracle.memory, "memory", 0,
              "give up on a trace that needs more than MB megabytes (default: 4096; 0: no limit)"),
    APHI_DURATION(check, solver_ns, "solver-ms", "MS", APHI_MS_NS, 0, UINT64_MAX / 2,
                  "time limit for one solver query in milliseconds (default: 1000)"),
    APHI_JOBS(check, jobs, 0, "check N traces in parallel (default: 1; 0: one per processor)"),
    APHI_FLAG(check, json, "json", "print one JSON object per trace"),
    APHI_TEXT(check, junit, "junit", "FILE", "also write the results as JUnit XML"),
    APHI_FLAG(check, check.explain, "explain", "print the explanation of a pass, confirmed by an independent replay"),
    APHI_COLOUR_OPTION(check, colour),
    APHI_FLAG(check, quiet, "quiet", "print only failures and errors"),
    APHI_FLAG(check, verbose, "verbose", "print a row for each trace, even if there are many"),
    {0}};

/* ---- results ----------------------------------------------------------------------------------------------------- */

static bool take_result(void *context, size_t file, aph_check_result *result)
{
    check *c = context;
    c->done++;
    aphi_progress_hide();
    if (c->json) {
        aphi_check_report_json(stdout, result, (int)aphi_exit_of_check(result));
        c->write_failed |= fflush(stdout) != 0;
    } else {
        aphi_buffer out = {0};
        bool error = result->verdict == APH_CHECK_ERROR;
        aphi_check_report_detail(&out, result, c->words, &c->terminal);
        c->write_failed |=
            fwrite(out.data ? out.data : "", 1, out.n, error ? stderr : stdout) != out.n || fflush(stdout);
        aphi_buffer_free(&out);
    }
    if (result->explanation_holds)
        result->explanation = APH_NIL; /* large, and not in the table */
    c->results[file] = result;
    if (c->n > 1)
        aphi_progress_at(c->done);
    return !c->write_failed;
}

/* Returns the rows of the table and of the JUnit file, for the checked traces. */
static aphi_result *rows_of(check *c, size_t *n)
{
    aphi_result *rows = aphi_alloc((c->n + 1) * sizeof *rows);
    *n = 0;
    for (size_t i = 0; i < c->n; i++)
        if (c->results[i])
            rows[(*n)++] = aphi_check_report_row(c->results[i], c->words, c->junit);
    return rows;
}

static bool write_junit(check *c, const char *model, const aphi_result *rows, size_t n)
{
    aphi_buffer out = {0};
    char now[32];
    time_t t = time(NULL);
    strftime(now, sizeof now, "%Y-%m-%dT%H:%M:%S", localtime(&t));
    aphi_junit_write(&out, model, now, rows, n);
    bool written = aphi_buffer_save(&out, c->junit);
    if (!written)
        aphi_complain("%s cannot be written: %s", c->junit, strerror(errno));
    aphi_buffer_free(&out);
    return written;
}

/* A fail takes precedence, then the first error, then unknown, then vacuous. */
static int exit_of(const check *c)
{
    int error = 0;
    bool fail = false, unknown = false, vacuous = false;
    for (size_t i = 0; i < c->n; i++) {
        int code = c->results[i] ? (int)aphi_exit_of_check(c->results[i]) : 0;
        fail |= code == APHI_EXIT_FAIL;
        unknown |= code == APHI_EXIT_UNKNOWN;
        vacuous |= code == APHI_EXIT_VACUOUS;
        if (!error && code != APHI_EXIT_PASS && code != APHI_EXIT_FAIL && code != APHI_EXIT_UNKNOWN &&
            code != APHI_EXIT_VACUOUS)
            error = code;
    }
    return fail ? APHI_EXIT_FAIL : error ? error : unknown ? APHI_EXIT_UNKNOWN : vacuous ? APHI_EXIT_VACUOUS
                                                                                         : APHI_EXIT_PASS;
}

static int write_summary(check *c, const char *model)
{
    size_t n;
    aphi_result *rows = rows_of(c, &n);
    aphi_progress_end();
    if (!c->json && !c->quiet) {
        aphi_buffer out = {0};
        aphi_table_write(&out, rows, n, c->verbose, &c->terminal);
        c->write_failed |= fwrite(out.data ? out.data : "", 1, out.n, stdout) != out.n;
        aphi_buffer_free(&out);
    }
    c->write_failed |= fflush(stdout) != 0;
    if (c->write_failed)
        aphi_complain("the results could not be written: %s", strerror(errno));
    if (c->junit && !write_junit(c, model, rows, n))
        c->write_failed = true;
    while (n > 0)
        aphi_check_report_row_free(&rows[--n]);
    free(rows);
    if (aphi_interrupted) {
        aphi_complain("interrupted; %zu of %zu traces were checked", c->done, c->n);
        return APHI_EXIT_INTERRUPTED;
    }
    return c->write_failed ? APHI_EXIT_WRITE : exit_of(c);
}

static void show_progress(void *context, uint64_t observations)
{
    (void)context;
    aphi_progress_at(observations);
}

static int check_traces(check *c, const aph_model *model)
{
    c->results = aphi_alloc_zero(c->n * sizeof *c->results);
    c->check.stop = &aphi_interrupted;
    aphi_interrupt_watch(NULL);
    aphi_progress_begin(c->n > 1 ? "traces checked:" : "observations checked:", c->n > 1 ? c->n : 0);
    if (c->n == 1)
        c->check.progress = show_progress;
    aphi_exit_guard_forbid(true);
    aph_check_files(model, (const char *const *)c->files, c->n, &c->check, c->jobs, take_result, c);
    aphi_exit_guard_forbid(false);
    int code = write_summary(c, model->name);
    for (size_t i = c->n; i-- > 0;)
        aph_check_result_free(c->results[i]);
    free(c->results);
    return code;
}

static int check_command(int count, char **words)
{
    check c = {.jobs = 1, .check.oracle.memory = (size_t)4096 << 20, .check.branches = 1000000};
    int code = aphi_options_read(&aphi_command_check, &c, &count, words);
    if (code >= 0)
        return code;
    if (c.check.explain && (c.check.derive || aph_network_is_file(c.check.oracle.environment)))
        return aphi_usage("--explain: not with --derive or a network from a file");
    c.check.oracle.time_ms = (c.time_ns + APHI_MS_NS - 1) / APHI_MS_NS;
    c.check.oracle.solver_ms = c.solver_ns / APHI_MS_NS;
    c.terminal = aphi_terminal_of(stdout, c.colour);
    c.n = (size_t)(count - 1);
    c.files = words + 1;
    if (c.jobs == 0)
        c.jobs = (size_t)sysconf(_SC_NPROCESSORS_ONLN);
    aph_loaded_model spec;
    if ((code = aphi_open_model(words[0], &spec)))
        return code;
    aph_model model = *spec.model;
    c.words = model.words;
    if (!c.check.oracle.environment)
        c.check.oracle.environment = spec.environment;
    aph_loaded_network network = {0};
    code = !aphi_waive_by_name(&c.waived, &model) ? APHI_EXIT_USAGE
                                                  : aphi_open_network(c.check.oracle.environment, &network);
    c.check.network = network.network;
    if (!code)
        code = check_traces(&c, &model);
    aph_network_unload(&network);
    aph_model_unload(&spec);
    return code;
}

const aphi_command aphi_command_check = {
    .name = "check",
    .summary = "check recorded traces against a model",
    .operands = "SPEC TRACE...",
    .description = "Decide for each trace whether the model SPEC explains it. SPEC is a built-in model (see antiphon "
                   "models), ./mine.c, ./mine.so or ./mine.prog. TRACE is a file, or - for standard input.\n"
                   "Print a verdict for each trace and, for a failure, the response that the model does not allow, a "
                   "diagram of the observations around it, and the responses that are allowed instead.",
    .exit_codes = "0 pass, 1 fail, 2 usage, 3 unknown, 4 not written, 5 stopped, 7 vacuous; 10 to 24 an error in a "
                  "trace; 30 to 44 an error in a model. "
                  "With several traces, fail takes precedence, then errors, then unknown, then vacuous.",
    .options = options, .operands_min = 2, .operands_max = -1, .run = check_command};

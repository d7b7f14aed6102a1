/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_check.c - antiphon check SPEC TRACE...: can the model explain these recorded histories? */
#include "cli/commands.h"

#include "base/memory.h"
#include "cli/exit_codes.h"
#include "cli/exit_guard.h"
#include "report/check_report.h"
#include <antiphon/check.h>
#include "cli/waive_option.h"
#include "env/env.h"
#include "report/junit.h"
#include "report/result_table.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct check {
    aph_check_options judge;
    size_t jobs;
    bool json, quiet, verbose;
    const char *junit;
    aphi_colour colour;
    aphi_terminal terminal;
    size_t n;
    char **files;
    aph_check_result **results; /* by file; NULL until it is there */
    size_t done;
    bool write_failed;
    aphi_waived waived;
    aph_words *words;           /* the model's */
} check;

static volatile sig_atomic_t interrupted;

enum { FORMAT = 256, ENV, WHOLE, DISTRUST, TIME, MEMORY, SOLVER_MS, JSON, JUNIT, EXPLAIN, WAIVE, COLOR, QUIET, VERBOSE,
       HELP };

static const struct option options[] = {
    {"format", required_argument, NULL, FORMAT}, {"env", required_argument, NULL, ENV},
    {"waive", required_argument, NULL, WAIVE},
    {"whole", no_argument, NULL, WHOLE},         {"ignore-promises", no_argument, NULL, DISTRUST},
    {"time", required_argument, NULL, TIME},     {"memory", required_argument, NULL, MEMORY},
    {"solver-ms", required_argument, NULL, SOLVER_MS}, {"jobs", required_argument, NULL, 'j'},
    {"json", no_argument, NULL, JSON},           {"junit", required_argument, NULL, JUNIT},
    {"explain", no_argument, NULL, EXPLAIN},     {"color", required_argument, NULL, COLOR},
    {"quiet", no_argument, NULL, QUIET},         {"verbose", no_argument, NULL, VERBOSE},
    {"help", no_argument, NULL, HELP},           {NULL, 0, NULL, 0}};

static void help(void)
{
    fputs("usage: antiphon check [OPTION]... SPEC TRACE...\n\n"
          "Can the model SPEC explain these recorded histories? SPEC is a built-in model (see antiphon models), "
          "./mine.c,\n"
          "./mine.so or ./mine.prog. A TRACE is a file, or - for standard input.\n\n"
          "  --format FORMAT   auto (default), jsonl, jepsen-log, edn or json\n"
          "  --env ENV         what lies between client and server: tcp (default), tcp:N, sync (default for "
          ".prog) or udp\n"
          "  --whole           keep the state in one piece, also where the model has independent parts\n"
          "  --waive NAME      allow a known violation, one of those that antiphon models SPEC lists\n"
          "  --ignore-promises        use none of the promises that the model makes; slow, and a test of the promises\n"
          "  --time SECONDS    give up on a trace after this long (default: never)\n"
          "  --memory MB       give up on a trace beyond this much memory (default: 4096; 0: never)\n"
          "  --solver-ms MS    time for one question to the solver (default: 1000)\n"
          "  -j, --jobs N      judge this many traces at a time (default: 1; 0: as many as there are processors)\n"
          "  --json            print one JSON object for each trace\n"
          "  --junit FILE      also write the results as JUnit XML\n"
          "  --explain         for a pass, give the explanation, confirmed by an independent replay\n"
          "  --color WHEN      auto (default), always or never\n"
          "  --quiet           print nothing but failures and errors\n"
          "  --verbose         a row for each trace, however many there are\n"
          "  --help            this\n\n"
          "exit codes: 0 pass, 1 fail, 2 usage, 3 unknown; 10 and up, something wrong with a trace; 30 and up, with a\n"
          "model. With several traces, fail wins, then errors, then unknown. antiphon help lists all.\n",
          stdout);
}

/* ---- the command line -------------------------------------------------------------------------------------------- */

static bool number(const char *text, double most, double *value)
{
    char *end;
    errno = 0;
    *value = strtod(text, &end);
    return end != text && !*end && !errno && *value >= 0 && *value <= most;
}

/* 0 if the option is fine, else an exit code. */
static int apply(check *c, int option)
{
    double value;
    switch (option) {
    case FORMAT:
        return aph_trace_format_named(optarg, &c->judge.format)
                   ? 0 : aphi_usage("--format %s: there are auto, jsonl, jepsen-log, edn and json", optarg);
    case ENV:
        c->judge.oracle.environment = optarg;
        return aphi_env_named(optarg, &(aphi_env){0}) ? 0 : aphi_usage("--env %s: there are " APHI_ENV_NAMES, optarg);
    case WHOLE: c->judge.oracle.whole = true; return 0;
    case WAIVE: return aphi_waive_add(&c->waived, optarg);
    case DISTRUST: c->judge.oracle.ignore_promises = true; return 0;
    case TIME:
        if (!number(optarg, 1e9, &value))
            return aphi_usage("--time %s: seconds, please", optarg);
        c->judge.oracle.time_ms = (int64_t)(value * 1000 + 0.999);
        return 0;
    case MEMORY:
        if (!number(optarg, 1e9, &value))
            return aphi_usage("--memory %s: megabytes, please", optarg);
        c->judge.oracle.memory = (size_t)(value * 1048576);
        return 0;
    case SOLVER_MS:
        if (!number(optarg, 1e9, &value))
            return aphi_usage("--solver-ms %s: milliseconds, please", optarg);
        c->judge.oracle.solver_ms = (int64_t)value;
        return 0;
    case 'j':
        if (!number(optarg, 256, &value))
            return aphi_usage("--jobs %s: a number up to 256, please", optarg);
        c->jobs = (size_t)value;
        return 0;
    case JSON: c->json = true; return 0;
    case JUNIT: c->junit = optarg; return 0;
    case EXPLAIN: c->judge.explain = true; return 0;
    case COLOR:
        return aphi_colour_named(optarg, &c->colour) ? 0 : aphi_usage("--color %s: auto, always or never", optarg);
    case QUIET: c->quiet = true; return 0;
    case VERBOSE: c->verbose = true; return 0;
    default: return APHI_EXIT_USAGE;
    }
}

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

static const aphi_outcome outcomes[] = {[APH_CHECK_PASS] = APHI_OUTCOME_PASS, [APH_CHECK_FAIL] = APHI_OUTCOME_FAIL,
                                        [APH_CHECK_UNKNOWN] = APHI_OUTCOME_UNKNOWN,
                                        [APH_CHECK_ERROR] = APHI_OUTCOME_ERROR};

static char *reason(const aph_check_result *result, aph_words *words)
{
    aphi_buffer b = {0};
    aphi_check_report_reason(&b, result, words);
    return aphi_buffer_text(&b);
}

static char *plain_detail(const aph_check_result *result, aph_words *words)
{
    aphi_buffer b = {0};
    aphi_check_report_detail(&b, result, words, &(aphi_terminal){.unicode = true, .columns = 120});
    return aphi_buffer_text(&b);
}

/* Rows for the table and the JUnit file, of the results that there are. */
static aphi_result *rows_of(check *c, size_t *n)
{
    aphi_result *rows = aphi_alloc((c->n + 1) * sizeof *rows);
    *n = 0;
    for (size_t i = 0; i < c->n; i++) {
        const aph_check_result *r = c->results[i];
        if (!r)
            continue;
        aphi_outcome outcome = outcomes[r->verdict];
        bool detailed = outcome != APHI_OUTCOME_PASS && c->junit;
        rows[(*n)++] = (aphi_result){.file = c->files[i], .outcome = outcome, .operations = r->operations,
                                     .configurations = r->configurations,
                                     .time_ns = r->check_ns,
                                     .message = outcome == APHI_OUTCOME_PASS ? NULL : reason(r, c->words),
                                     .detail = detailed ? plain_detail(r, c->words) : NULL};
    }
    return rows;
}

static void free_rows(aphi_result *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free((void *)(uintptr_t)rows[i].message);
        free((void *)(uintptr_t)rows[i].detail);
    }
    free(rows);
}

static bool write_junit(check *c, const char *model, const aphi_result *rows, size_t n)
{
    aphi_buffer out = {0};
    char now[32];
    time_t t = time(NULL);
    strftime(now, sizeof now, "%Y-%m-%dT%H:%M:%S", localtime(&t));
    aphi_junit_write(&out, model, now, rows, n);
    FILE *file = fopen(c->junit, "w");
    bool written = file && fwrite(out.data, 1, out.n, file) == out.n;
    if (file && fclose(file))
        written = false;
    if (!written)
        fprintf(stderr, "antiphon: %s: %s\n", c->junit, strerror(errno));
    aphi_buffer_free(&out);
    return written;
}

/* Fail wins, then the first error, then unknown. */
static int exit_of(const check *c)
{
    int error = 0;
    bool fail = false, unknown = false;
    for (size_t i = 0; i < c->n; i++) {
        int code = c->results[i] ? (int)aphi_exit_of_check(c->results[i]) : 0;
        fail |= code == APHI_EXIT_FAIL;
        unknown |= code == APHI_EXIT_UNKNOWN;
        if (!error && code != APHI_EXIT_PASS && code != APHI_EXIT_FAIL && code != APHI_EXIT_UNKNOWN)
            error = code;
    }
    return fail ? APHI_EXIT_FAIL : error ? error : unknown ? APHI_EXIT_UNKNOWN : APHI_EXIT_PASS;
}

static int finish(check *c, const char *model)
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
        fprintf(stderr, "antiphon: the results could not be written: %s\n", strerror(errno));
    if (c->junit && !write_junit(c, model, rows, n))
        c->write_failed = true;
    free_rows(rows, n);
    if (interrupted) {
        fprintf(stderr, "antiphon: interrupted; %zu of %zu traces were judged\n", c->done, c->n);
        return APHI_EXIT_INTERRUPTED;
    }
    return c->write_failed ? APHI_EXIT_WRITE : exit_of(c);
}

static void on_interrupt(int signal_number)
{
    (void)signal_number;
    interrupted = 1;
}

static void listen_for_interrupts(void)
{
    struct sigaction action = {.sa_handler = on_interrupt};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

static void show_progress(void *context, uint64_t observations)
{
    (void)context;
    aphi_progress_at(observations);
}

static int run(check *c, const aph_model *model)
{
    c->results = aphi_alloc_zero(c->n * sizeof *c->results);
    c->judge.stop = &interrupted;
    listen_for_interrupts();
    aphi_progress_begin(c->n > 1 ? "traces checked:" : "observations checked:", c->n > 1 ? c->n : 0);
    if (c->n == 1)
        c->judge.progress = show_progress;
    aphi_exit_guard_forbid(true);
    aph_check_files(model, (const char *const *)c->files, c->n, &c->judge, c->jobs, take_result, c);
    aphi_exit_guard_forbid(false);
    int code = finish(c, model->name);
    for (size_t i = c->n; i-- > 0;)
        aph_check_result_free(c->results[i]);
    free(c->results);
    return code;
}

int aphi_command_check(int count, char **words)
{
    check c = {.jobs = 1, .judge.oracle.memory = (size_t)4096 << 20};
    int option;
    optind = 1;
    opterr = 0;
    while ((option = getopt_long(count, words, ":j:h", options, NULL)) != -1) {
        if (option == HELP || option == 'h') {
            help();
            return APHI_EXIT_PASS;
        }
        if (option == ':')
            return aphi_usage("%s needs a value; see antiphon check --help", words[optind - 1]);
        if (option == '?')
            return aphi_usage("there is no option %s; see antiphon check --help", words[optind - 1]);
        if (apply(&c, option))
            return APHI_EXIT_USAGE;
    }
    if (count - optind < 2)
        return aphi_usage("check needs a model and at least one trace; see antiphon check --help");
    c.terminal = aphi_terminal_of(stdout, c.colour);
    c.n = (size_t)(count - optind - 1);
    c.files = words + optind + 1;
    if (c.jobs == 0)
        c.jobs = (size_t)sysconf(_SC_NPROCESSORS_ONLN);
    aph_loaded_model spec;
    aph_load_error error;
    if (!aph_model_load(words[optind], &spec, &error)) {
        fprintf(stderr, "antiphon: %s\n", error.message);
        return (int)aphi_exit_of_load_error(&error);
    }
    aph_model model = *spec.model;
    c.words = model.words;
    if (!c.judge.oracle.environment)
        c.judge.oracle.environment = spec.environment;
    int code = aphi_waive_by_name(&c.waived, &model) ? run(&c, &model) : APHI_EXIT_USAGE;
    aph_model_unload(&spec);
    return code;
}

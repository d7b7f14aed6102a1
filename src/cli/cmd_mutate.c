/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_mutate.c - antiphon mutate: change a C source in one place at a time, and see whether a test notices.
 *
 * Without --build it only shows the mutants that there are: a list, or one of them as a source or as a diff. With
 * --build and --test each one that is chosen is built and tested (src/mutate/mutation_runner.c). */
#include "base/memory.h"
#include "cli/commands.h"
#include "check/exits.h"
#include "mutate/mutation_report.h"
#include "mutate/equivalents.h"
#include "mutate/mutation_runner.h"
#include "report/terminal.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { JOBS_MAX = 256 };

typedef struct mutation {
    const char *path, *function, *build, *test, *equivalent;
    bool operators[APHI_OPERATOR_COUNT], some_operators;
    unsigned long first, last; /* lines; 0: all */
    unsigned long write, diff; /* numbers; 0: none */
    size_t jobs;
    double seconds;
    bool json;
    aphi_buffer text;
    aphi_mutants mutants;
    bool *chosen;
    char **reasons;
    aphi_mutant_verdict *verdicts;
} mutation;

enum { OPERATORS = 256, FUNCTION, LINES, WRITE, DIFF, BUILD, TEST, TIME, JSON, EQUIVALENT, HELP };

static const struct option options[] = {
    {"operators", required_argument, NULL, OPERATORS}, {"function", required_argument, NULL, FUNCTION},
    {"lines", required_argument, NULL, LINES},         {"write", required_argument, NULL, WRITE},
    {"diff", required_argument, NULL, DIFF},           {"build", required_argument, NULL, BUILD},
    {"test", required_argument, NULL, TEST},           {"jobs", required_argument, NULL, 'j'},
    {"time", required_argument, NULL, TIME},           {"json", no_argument, NULL, JSON},
    {"equivalent", required_argument, NULL, EQUIVALENT}, {"help", no_argument, NULL, HELP},
    {NULL, 0, NULL, 0}};

static void help(void)
{
    fputs("usage: antiphon mutate [OPTION]... SOURCE.c [--build COMMAND --test COMMAND]\n\n"
          "Lists the mutants of a C source: each is the source with one small thing wrong. With --build and --test it\n"
          "builds and tests them, and lists those that the test does not notice.\n\n"
          "  --operators LIST   only mutants of these kinds, separated by commas:\n",
          stdout);
    for (int o = 0; o < APHI_OPERATOR_COUNT; o++)
        printf("                       %-11s %s\n", aphi_operator_name(o), aphi_operator_what(o));
    fputs("  --function NAME    only those inside this function; - is outside of all\n"
          "  --lines A-B        only those that begin on these lines; A alone is one line\n"
          "  --write N          print the source of mutant N\n"
          "  --diff N           print what mutant N changes\n"
          "  --build COMMAND    how to build a mutant, with sh: {source} is its file, {program} what is to be made of\n"
          "                     it, {folder} an own folder. Headers beside SOURCE.c are found\n"
          "  --test COMMAND     how to test {program}, with sh: if it exits with 0, the mutant survives; if not, or\n"
          "                     if it takes too long, the mutant is killed\n"
          "  --time SECONDS     how long the test of a mutant may take (default: 10)\n"
          "  -j, --jobs N       build and test this many at a time (default: 1; 0: as many as there are processors)\n"
          "  --equivalent FILE  mutants that are known to be equivalent, with reasons: they may survive\n"
          "  --json             print one JSON object\n"
          "  --help             this\n\n"
          "exit codes: 0 all were killed, or nothing was run; 1 some survived, or some listed as equivalent were\n"
          "killed; 2 usage, 5 interrupted, 7 no mutant was left to be tested, 80 SOURCE.c cannot be read, 81 it is no\n"
          "C, 82 it does not build even as it is, 83 it fails the test even as it is, 84 the list of equivalent\n"
          "mutants is wrong. antiphon help lists all.\n",
          stdout);
}

/* ---- the command line -------------------------------------------------------------------------------------------- */

static bool whole(const char *text, unsigned long most, unsigned long *value, const char **rest)
{
    char *end;
    errno = 0;
    *value = strtoul(text, &end, 10);
    *rest = end;
    return *text >= '0' && *text <= '9' && !errno && *value <= most;
}

static int read_operators(mutation *m, const char *list)
{
    m->some_operators = true;
    for (const char *at = list;; at++) {
        size_t n = strcspn(at, ","), o = 0;
        while (o < APHI_OPERATOR_COUNT && (strlen(aphi_operator_name((aphi_operator)o)) != n ||
                                           strncmp(at, aphi_operator_name((aphi_operator)o), n) != 0))
            o++;
        if (o == APHI_OPERATOR_COUNT)
            return aphi_usage("--operators %s: there is no operator %.*s; antiphon mutate --help lists them", list,
                              (int)n, at);
        m->operators[o] = true;
        at += n;
        if (!*at)
            return 0;
    }
}

static int read_lines(mutation *m, const char *text)
{
    const char *rest = text, *end = text;
    bool fine = whole(text, 1000000000, &m->first, &rest) && m->first > 0;
    m->last = m->first;
    if (fine && *rest == '-')
        fine = whole(rest + 1, 1000000000, &m->last, &end);
    else
        end = rest;
    return fine && !*end && m->last >= m->first
               ? 0
               : aphi_usage("--lines %s: two numbers of lines, please, as in 10-20, or one", text);
}

static int read_number(const char *option, const char *text, unsigned long most, unsigned long *value)
{
    const char *rest = text;
    return whole(text, most, value, &rest) && !*rest ? 0 : aphi_usage("%s %s: a number, please", option, text);
}

static int read_seconds(mutation *m, const char *text)
{
    char *end;
    m->seconds = strtod(text, &end);
    return *text >= '0' && *text <= '9' && !*end && m->seconds > 0 && m->seconds <= 1e6
               ? 0
               : aphi_usage("--time %s: seconds above 0, please", text);
}

static int read_jobs(mutation *m, const char *text)
{
    unsigned long jobs;
    const char *rest = text;
    if (!whole(text, JOBS_MAX, &jobs, &rest) || *rest)
        return aphi_usage("--jobs %s: a number up to %d, please", text, JOBS_MAX);
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    m->jobs = jobs > 0 ? jobs : processors > 0 ? (size_t)processors : 1;
    return 0;
}

/* 0 if the option is fine, else an exit code. */
static int apply(mutation *m, int option)
{
    switch (option) {
    case OPERATORS: return read_operators(m, optarg);
    case FUNCTION: m->function = optarg; return 0;
    case LINES: return read_lines(m, optarg);
    case WRITE: return read_number("--write", optarg, 1000000000, &m->write);
    case DIFF: return read_number("--diff", optarg, 1000000000, &m->diff);
    case BUILD: m->build = optarg; return 0;
    case TEST: m->test = optarg; return 0;
    case TIME: return read_seconds(m, optarg);
    case 'j': return read_jobs(m, optarg);
    case EQUIVALENT: m->equivalent = optarg; return 0;
    default: m->json = true; return 0;
    }
}

static int compare(const mutation *m)
{
    if (!m->build != !m->test)
        return aphi_usage("--build and --test belong together: a mutant is built, then tested");
    if (m->build && !strstr(m->build, "{source}"))
        return aphi_usage("--build does not say {source}, which stands for the file of a mutant: %s", m->build);
    if (m->build && !strstr(m->build, "{program}"))
        return aphi_usage("--build does not say {program}, which stands for what is to be made: %s", m->build);
    if (m->test && !strstr(m->test, "{program}"))
        return aphi_usage("--test does not say {program}, which stands for what is to be tested: %s", m->test);
    if (m->build && (m->write || m->diff))
        return aphi_usage("--write and --diff show one mutant, --build and --test run them: only one of these");
    if (m->equivalent && !m->test)
        return aphi_usage("--equivalent is for mutants that are run: --build and --test are missing");
    return -1;
}

/* Negative: go on; else the exit code. */
static int read_options(mutation *m, int count, char **words)
{
    int option;
    optind = 1;
    opterr = 0;
    while ((option = getopt_long(count, words, ":hj:", options, NULL)) != -1) {
        if (option == HELP || option == 'h') {
            help();
            return APHI_EXIT_PASS;
        }
        if (option == ':')
            return aphi_usage("%s needs a value; see antiphon mutate --help", words[optind - 1]);
        if (option == '?')
            return aphi_usage("there is no option %s; see antiphon mutate --help", words[optind - 1]);
        if (apply(m, option))
            return APHI_EXIT_USAGE;
    }
    if (optind != count - 1)
        return aphi_usage(optind < count ? "mutate takes one source; see antiphon mutate --help"
                                         : "which source is to be mutated? See antiphon mutate --help");
    m->path = words[optind];
    return compare(m);
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static bool read_file(const char *path, aphi_buffer *text)
{
    struct stat about;
    FILE *file = fopen(path, "re");
    if (file && fstat(fileno(file), &about) == 0 && S_ISDIR(about.st_mode))
        errno = EISDIR;
    if (file)
        aphi_buffer_read(text, file, SIZE_MAX);
    bool read = file && !ferror(file);
    int error = errno;
    if (file)
        fclose(file);
    aphi_buffer_text(text);
    if (!read)
        fprintf(stderr, "antiphon: %s: cannot be read: %s\n", path, strerror(error));
    return read;
}

static int find(mutation *m)
{
    aphi_cerror error;
    if (!read_file(m->path, &m->text))
        return APHI_EXIT_SOURCE_IO;
    if (!aphi_mutants_find(m->text.data, m->text.n, &m->mutants, &error)) {
        fprintf(stderr, "antiphon: %s:%u:%u: %s\n", m->path, error.line, error.column, error.message);
        return APHI_EXIT_SOURCE_MALFORMED;
    }
    m->chosen = aphi_alloc_zero(m->mutants.n + 1);
    m->reasons = aphi_alloc_zero((m->mutants.n + 1) * sizeof *m->reasons);
    bool function_seen = !m->function;
    for (size_t i = 0; i < m->mutants.n; i++) {
        const aphi_mutant *is = &m->mutants.items[i];
        bool in_function = !m->function || !strcmp(is->function, m->function);
        function_seen |= in_function;
        m->chosen[i] = in_function && (!m->some_operators || m->operators[is->operator]) &&
                       (!m->first || (is->line >= m->first && is->line <= m->last));
    }
    if (!function_seen)
        return aphi_usage("--function %s: %s has no mutant in a function of that name", m->function, m->path);
    return -1;
}

static int read_equivalents(mutation *m)
{
    aphi_buffer text = {0}, error = {0};
    bool fine = read_file(m->equivalent, &text);
    if (fine && !aphi_equivalents_read(m->equivalent, text.data, text.n, &m->mutants, m->reasons, &error)) {
        fprintf(stderr, "antiphon: %s\n", aphi_buffer_text(&error));
        fine = false;
    }
    aphi_buffer_free(&text);
    aphi_buffer_free(&error);
    return fine ? -1 : APHI_EXIT_EQUIVALENTS;
}

/* ---- showing ----------------------------------------------------------------------------------------------------- */

static int print(aphi_buffer *text, int code)
{
    bool written = fwrite(aphi_buffer_text(text), 1, text->n, stdout) == text->n && fflush(stdout) == 0;
    aphi_buffer_free(text);
    if (written)
        return code;
    fprintf(stderr, "antiphon: stdout cannot be written: %s\n", strerror(errno));
    return APHI_EXIT_WRITE;
}

static aphi_mutation_report fates_of(const mutation *m)
{
    return (aphi_mutation_report){m->path, m->text.data, m->text.n, &m->mutants, m->chosen, m->verdicts, m->reasons};
}

static int show(const mutation *m)
{
    aphi_buffer out = {0};
    aphi_mutation_report fates = fates_of(m);
    unsigned long number = m->write ? m->write : m->diff;
    if (number > m->mutants.n)
        return aphi_usage("%s has mutants 1 to %zu, and no mutant %lu", m->path, m->mutants.n, number);
    if (m->write)
        aphi_mutant_write(&out, m->text.data, m->text.n, &m->mutants.items[number - 1]);
    else if (m->diff)
        aphi_mutant_diff(&out, m->text.data, m->text.n, m->path, &m->mutants.items[number - 1]);
    else if (m->json)
        aphi_mutation_report_json(&fates, &out);
    else
        aphi_mutation_report_list(&fates, &out);
    return print(&out, APHI_EXIT_PASS);
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

static volatile sig_atomic_t stopped;

static void on_interrupt(int number)
{
    (void)number;
    stopped = 1;
}

static void watch_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = on_interrupt};
    sigemptyset(&action.sa_mask);
    stopped = 0;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaction(numbers[i], &action, NULL);
}

static void begin_phase(const char *what, size_t total)
{
    aphi_progress_end();
    aphi_progress_begin(what, total);
}

static void progressed(size_t done) { aphi_progress_at(done); }

static int told(const mutation *m, bool interrupted)
{
    aphi_buffer out = {0};
    aphi_mutation_report fates = fates_of(m);
    aphi_mutation_report_sum sum = aphi_mutation_report_sum_of(&fates);
    int code = interrupted                     ? APHI_EXIT_INTERRUPTED
               : sum.survived + sum.wrong > 0 ? APHI_EXIT_FAIL
               : sum.tested == 0               ? APHI_EXIT_VACUOUS
                                               : APHI_EXIT_PASS;
    if (m->json)
        aphi_mutation_report_json(&fates, &out);
    else
        aphi_mutation_report_write(&fates, &out);
    if (code == APHI_EXIT_VACUOUS)
        fputs("antiphon: no mutant was left to be tested\n", stderr);
    return print(&out, code);
}

static int run(mutation *m)
{
    aphi_buffer error = {0};
    aphi_mutation_options how = {.path = m->path, .text = m->text.data, .size = m->text.n, .build = m->build,
                             .test = m->test, .jobs = m->jobs, .limit_ns = (int64_t)(m->seconds * 1e9),
                             .stop = &stopped, .phase = begin_phase, .done = progressed};
    m->verdicts = aphi_alloc_zero((m->mutants.n + 1) * sizeof *m->verdicts);
    watch_signals();
    aphi_mutation_end end = aphi_mutation_run(&how, &m->mutants, m->chosen, m->verdicts, &error);
    aphi_progress_end();
    if (error.n > 0)
        fprintf(stderr, "antiphon: %s\n", aphi_buffer_text(&error));
    aphi_buffer_free(&error);
    switch (end) {
    case APHI_MUTATION_WORLD: return APHI_EXIT_WRITE;
    case APHI_MUTATION_BUILD: return APHI_EXIT_SOURCE_BUILD;
    case APHI_MUTATION_TEST: return APHI_EXIT_SOURCE_TEST;
    default: return told(m, end == APHI_MUTATION_STOPPED);
    }
}

int aphi_command_mutate(int count, char **words)
{
    mutation m = {.jobs = 1, .seconds = 10};
    int code = read_options(&m, count, words);
    if (code < 0)
        code = find(&m);
    if (code < 0 && m.equivalent)
        code = read_equivalents(&m);
    if (code < 0)
        code = m.build ? run(&m) : show(&m);
    for (size_t i = 0; m.reasons && i < m.mutants.n; i++)
        free(m.reasons[i]);
    free(m.reasons);
    free(m.chosen);
    free(m.verdicts);
    aphi_mutants_free(&m.mutants);
    aphi_buffer_free(&m.text);
    return code;
}

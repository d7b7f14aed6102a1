/* SPDX-License-Identifier: Apache-2.0
 *
 * mutate_main.c - the program antiphon-mutate: mutation testing of a C source. `antiphon mutate` executes it.
 *
 * Without --build it prints mutants: a list, or one of them as a source or as a diff. With --build and --test it builds
 * and tests each selected mutant (mutation_runner.c). */
#include "base/clock.h"
#include "base/memory.h"
#include "mutate/equivalents.h"
#include "mutate/mutation_report.h"
#include "mutate/mutation_runner.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { JOBS_MAX = 256, LINE_MAX_NUMBER = 1000000000 };

/* The codes of `antiphon help` that this program returns. */
enum {
    EXIT_PASS = 0,
    EXIT_FAIL = 1,
    EXIT_USAGE = 2,
    EXIT_WRITE = 4,
    EXIT_INTERRUPTED = 5,
    EXIT_VACUOUS = 7,
    EXIT_SOURCE_IO = 80,
    EXIT_SOURCE_MALFORMED = 81,
    EXIT_SOURCE_BUILD = 82,
    EXIT_SOURCE_TEST = 83,
    EXIT_EQUIVALENTS = 84,
    CONTINUE = -1, /* no exit code yet */
};

typedef struct mutation {
    const char *path, *function, *build, *test, *equivalent;
    bool operators[APHI_OPERATOR_COUNT], some_operators;
    unsigned long first, last; /* lines; 0: all */
    unsigned long write, diff; /* mutant numbers; 0: none */
    size_t jobs;
    double seconds;
    bool json;
    aphi_buffer text;
    aphi_mutants mutants;
    bool *selected;
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

static void print_help(void)
{
    fputs("usage: antiphon mutate [OPTION]... SOURCE.c [--build COMMAND --test COMMAND]\n\n"
          "Lists the mutants of a C source. A mutant is the source with one small fault. With --build and --test,\n"
          "builds and tests the mutants and lists those that pass the test.\n\n"
          "  --operators LIST   select mutants of these kinds, separated by commas:\n",
          stdout);
    for (int o = 0; o < APHI_OPERATOR_COUNT; o++)
        printf("                       %-11s %s\n", aphi_operator_name(o), aphi_operator_summary(o));
    fputs("  --function NAME    select mutants in this function; - selects those outside all functions\n"
          "  --lines A-B        select mutants that begin on lines A to B; A alone is one line\n"
          "  --write N          print the source of mutant N\n"
          "  --diff N           print mutant N as a unified diff\n"
          "  --build COMMAND    build a mutant with this shell command; {source} is its file, {program} the file to\n"
          "                     build, {folder} a folder of its own; headers beside SOURCE.c are found\n"
          "  --test COMMAND     test {program} with this shell command; the mutant survives if it exits with 0, and\n"
          "                     is killed if it exits with another status or takes too long\n"
          "  --time SECONDS     time limit for the test of a mutant (default: 10)\n"
          "  -j, --jobs N       build and test N mutants at a time (default: 1; 0: one per processor)\n"
          "  --equivalent FILE  list of equivalent mutants, with reasons, which may survive\n"
          "  --json             print one JSON object\n"
          "  --help             print this help\n\n"
          "exit codes: 0 all mutants were killed, or nothing was run; 1 a mutant survived, or one that is listed as\n"
          "equivalent was killed; 2 usage, 5 interrupted, 7 no mutant to test, 80 SOURCE.c cannot be read, 81 it is\n"
          "not C, 82 the original does not build, 83 the original fails the test, 84 the list of equivalent mutants\n"
          "is invalid. `antiphon help` lists all exit codes.\n",
          stdout);
}

static int usage_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

static int usage_error(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("antiphon: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    return EXIT_USAGE;
}

/* ---- the command line -------------------------------------------------------------------------------------------- */

static bool parse_number(const char *text, unsigned long most, unsigned long *value, const char **rest)
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
            return usage_error("--operators %s: unknown operator %.*s; see antiphon mutate --help", list, (int)n, at);
        m->operators[o] = true;
        at += n;
        if (!*at)
            return 0;
    }
}

static int read_lines(mutation *m, const char *text)
{
    const char *rest = text, *end = text;
    bool valid = parse_number(text, LINE_MAX_NUMBER, &m->first, &rest) && m->first > 0;
    m->last = m->first;
    if (valid && *rest == '-')
        valid = parse_number(rest + 1, LINE_MAX_NUMBER, &m->last, &end);
    else
        end = rest;
    return valid && !*end && m->last >= m->first ? 0
                                                 : usage_error("--lines %s: not a range of lines such as 10-20", text);
}

static int read_mutant_number(const char *option, const char *text, unsigned long *value)
{
    const char *rest = text;
    bool valid = parse_number(text, LINE_MAX_NUMBER, value, &rest) && !*rest;
    return valid ? 0 : usage_error("%s %s: not a number", option, text);
}

static int read_seconds(mutation *m, const char *text)
{
    char *end;
    m->seconds = strtod(text, &end);
    return *text >= '0' && *text <= '9' && !*end && m->seconds > 0 && m->seconds <= 1e6
               ? 0
               : usage_error("--time %s: not a number of seconds above 0", text);
}

static int read_jobs(mutation *m, const char *text)
{
    unsigned long jobs;
    const char *rest = text;
    if (!parse_number(text, JOBS_MAX, &jobs, &rest) || *rest)
        return usage_error("--jobs %s: not a number from 0 to %d", text, JOBS_MAX);
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    m->jobs = jobs > 0 ? jobs : processors > 0 ? (size_t)processors : 1;
    return 0;
}

/* Returns 0, or an exit code if the option's value is invalid. */
static int apply_option(mutation *m, int option)
{
    switch (option) {
    case OPERATORS: return read_operators(m, optarg);
    case FUNCTION: m->function = optarg; return 0;
    case LINES: return read_lines(m, optarg);
    case WRITE: return read_mutant_number("--write", optarg, &m->write);
    case DIFF: return read_mutant_number("--diff", optarg, &m->diff);
    case BUILD: m->build = optarg; return 0;
    case TEST: m->test = optarg; return 0;
    case TIME: return read_seconds(m, optarg);
    case 'j': return read_jobs(m, optarg);
    case EQUIVALENT: m->equivalent = optarg; return 0;
    default: m->json = true; return 0;
    }
}

static int check_options(const mutation *m)
{
    if (!m->build != !m->test)
        return usage_error("--build and --test: one is missing; a mutant is built, then tested");
    if (m->build && !strstr(m->build, "{source}"))
        return usage_error("--build %s: no {source}, the file of the mutant", m->build);
    if (m->build && !strstr(m->build, "{program}"))
        return usage_error("--build %s: no {program}, the file to build", m->build);
    if (m->test && !strstr(m->test, "{program}"))
        return usage_error("--test %s: no {program}, the file to test", m->test);
    if (m->build && (m->write || m->diff))
        return usage_error("--write and --diff print one mutant; they exclude --build and --test");
    if (m->equivalent && !m->test)
        return usage_error("--equivalent: needs --build and --test");
    return CONTINUE;
}

static int read_options(mutation *m, int count, char **words)
{
    int option;
    opterr = 0;
    while ((option = getopt_long(count, words, ":hj:", options, NULL)) != -1) {
        if (option == HELP || option == 'h') {
            print_help();
            return EXIT_PASS;
        }
        if (option == ':')
            return usage_error("%s: needs a value; see antiphon mutate --help", words[optind - 1]);
        if (option == '?')
            return usage_error("%s: unknown option; see antiphon mutate --help", words[optind - 1]);
        if (apply_option(m, option))
            return EXIT_USAGE;
    }
    if (optind != count - 1)
        return usage_error(optind < count ? "mutate: more than one source; see antiphon mutate --help"
                                          : "mutate: no source; see antiphon mutate --help");
    m->path = words[optind];
    return check_options(m);
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

static int select_mutants(mutation *m)
{
    bool function_seen = !m->function;
    m->selected = aphi_alloc_zero(m->mutants.n + 1);
    for (size_t i = 0; i < m->mutants.n; i++) {
        const aphi_mutant *mutant = &m->mutants.items[i];
        bool in_function = !m->function || !strcmp(mutant->function, m->function);
        function_seen |= in_function;
        m->selected[i] = in_function && (!m->some_operators || m->operators[mutant->operator]) &&
                         (!m->first || (mutant->line >= m->first && mutant->line <= m->last));
    }
    if (!function_seen)
        return usage_error("--function %s: %s has no mutant in this function", m->function, m->path);
    return CONTINUE;
}

static int find_mutants(mutation *m)
{
    aphi_cerror error;
    if (!read_file(m->path, &m->text))
        return EXIT_SOURCE_IO;
    if (!aphi_mutants_find(m->text.data, m->text.n, &m->mutants, &error)) {
        fprintf(stderr, "antiphon: %s:%u:%u: %s\n", m->path, error.line, error.column, error.message);
        return EXIT_SOURCE_MALFORMED;
    }
    m->reasons = aphi_alloc_zero((m->mutants.n + 1) * sizeof *m->reasons);
    return select_mutants(m);
}

static int read_equivalents(mutation *m)
{
    aphi_buffer text = {0}, error = {0};
    bool valid = read_file(m->equivalent, &text);
    if (valid && !aphi_equivalents_read(m->equivalent, text.data, text.n, &m->mutants, m->reasons, &error)) {
        fprintf(stderr, "antiphon: %s\n", aphi_buffer_text(&error));
        valid = false;
    }
    aphi_buffer_free(&text);
    aphi_buffer_free(&error);
    return valid ? CONTINUE : EXIT_EQUIVALENTS;
}

/* ---- printing ---------------------------------------------------------------------------------------------------- */

/* Frees the text. Returns the exit code: `code`, or EXIT_WRITE. */
static int print_text(aphi_buffer *text, int code)
{
    bool written = fwrite(aphi_buffer_text(text), 1, text->n, stdout) == text->n && fflush(stdout) == 0;
    aphi_buffer_free(text);
    if (written)
        return code;
    fprintf(stderr, "antiphon: stdout cannot be written: %s\n", strerror(errno));
    return EXIT_WRITE;
}

static aphi_mutation_report report_of(const mutation *m)
{
    return (aphi_mutation_report){m->path, m->text.data, m->text.n, &m->mutants, m->selected, m->verdicts, m->reasons};
}

static int print_mutants(const mutation *m)
{
    aphi_buffer out = {0};
    aphi_mutation_report report = report_of(m);
    unsigned long number = m->write ? m->write : m->diff;
    if (number > m->mutants.n)
        return usage_error("%s: no mutant %lu; the last is %zu", m->path, number, m->mutants.n);
    if (m->write)
        aphi_mutant_write(&out, m->text.data, m->text.n, &m->mutants.items[number - 1]);
    else if (m->diff)
        aphi_mutant_diff(&out, m->text.data, m->text.n, m->path, &m->mutants.items[number - 1]);
    else if (m->json)
        aphi_mutation_report_json(&report, &out);
    else
        aphi_mutation_report_list(&report, &out);
    return print_text(&out, EXIT_PASS);
}

static int print_report(const mutation *m, bool interrupted)
{
    aphi_buffer out = {0};
    aphi_mutation_report report = report_of(m);
    aphi_mutation_counts counts = aphi_mutation_report_count(&report);
    int code = interrupted                                   ? EXIT_INTERRUPTED
               : counts.survived + counts.listed_killed > 0 ? EXIT_FAIL
               : counts.tested == 0                          ? EXIT_VACUOUS
                                                             : EXIT_PASS;
    if (m->json)
        aphi_mutation_report_json(&report, &out);
    else
        aphi_mutation_report_write(&report, &out);
    if (code == EXIT_VACUOUS)
        fputs("antiphon: no mutant to test\n", stderr);
    return print_text(&out, code);
}

/* ---- progress: a line on stderr, if that is a terminal, from the second second of a phase on --------------------- */

static struct {
    bool enabled, shown;
    const char *phase;
    size_t total;
    int64_t next_ns;
} progress;

static void end_progress(void)
{
    if (progress.shown)
        fputs("\r\33[K", stderr);
    progress.shown = false;
}

static void begin_phase(const char *phase, size_t total)
{
    const char *term = getenv("TERM");
    end_progress();
    progress.enabled = isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0;
    progress.phase = phase;
    progress.total = total;
    progress.next_ns = aphi_clock_ns() + INT64_C(1000000000);
}

static void show_progress(size_t done)
{
    if (!progress.enabled || aphi_clock_ns() < progress.next_ns)
        return;
    fprintf(stderr, "\r%s  %zu of %zu\33[K", progress.phase, done, progress.total);
    progress.shown = true;
    progress.next_ns = aphi_clock_ns() + INT64_C(100000000);
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

static volatile sig_atomic_t stopped;

static void on_signal(int number)
{
    (void)number;
    stopped = 1;
}

static void catch_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = on_signal};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaction(numbers[i], &action, NULL);
}

static int run_mutants(mutation *m)
{
    aphi_buffer error = {0};
    aphi_mutation_options how = {.path = m->path, .text = m->text.data, .size = m->text.n, .build = m->build,
                                 .test = m->test, .jobs = m->jobs, .limit_ns = (int64_t)(m->seconds * 1e9),
                                 .stop = &stopped, .phase = begin_phase, .done = show_progress};
    m->verdicts = aphi_alloc_zero((m->mutants.n + 1) * sizeof *m->verdicts);
    catch_signals();
    aphi_mutation_end end = aphi_mutation_run(&how, &m->mutants, m->selected, m->verdicts, &error);
    end_progress();
    if (error.n > 0)
        fprintf(stderr, "antiphon: %s\n", aphi_buffer_text(&error));
    aphi_buffer_free(&error);
    switch (end) {
    case APHI_MUTATION_SYSTEM_ERROR: return EXIT_WRITE;
    case APHI_MUTATION_BUILD: return EXIT_SOURCE_BUILD;
    case APHI_MUTATION_TEST: return EXIT_SOURCE_TEST;
    default: return print_report(m, end == APHI_MUTATION_STOPPED);
    }
}

int main(int count, char **words)
{
    mutation m = {.jobs = 1, .seconds = 10};
    int code = read_options(&m, count, words);
    if (code == CONTINUE)
        code = find_mutants(&m);
    if (code == CONTINUE && m.equivalent)
        code = read_equivalents(&m);
    if (code == CONTINUE)
        code = m.build ? run_mutants(&m) : print_mutants(&m);
    for (size_t i = 0; m.reasons && i < m.mutants.n; i++)
        free(m.reasons[i]);
    free(m.reasons);
    free(m.selected);
    free(m.verdicts);
    aphi_mutants_free(&m.mutants);
    aphi_buffer_free(&m.text);
    return code;
}

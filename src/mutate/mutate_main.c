/* SPDX-License-Identifier: Apache-2.0
 *
 * mutate_main.c - the program antiphon-mutate: mutation testing of a C source. `antiphon mutate` executes it.
 *
 * Without --build it prints a list of mutants, or one mutant as a source or as a diff. With --build and --test it
 * builds and tests each selected mutant (mutation_runner.c). */
#include "base/clock.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/random_choice.h"
#include "mutate/mutation_report.h"
#include "mutate/mutation_runner.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NUMBER_MAX = 1000000000 };

/* The exit codes, as listed by `antiphon help`, that this program returns. */
enum {
    EXIT_PASS = 0,
    EXIT_FAIL = 1,
    EXIT_UNKNOWN = 3,
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

typedef struct operator_set {
    bool some, has[APHI_OPERATOR_COUNT]; /* some: a subset is selected */
} operator_set;

typedef struct line_range {
    uint64_t first, last; /* 0: all lines */
} line_range;

typedef struct mutation {
    const char *path, *function, *build, *test, *equivalent;
    operator_set operators;
    line_range lines;
    uint64_t sample, seed; /* sample 0: all */
    uint64_t write, diff;  /* mutant numbers; 0: none */
    size_t jobs;
    int64_t time_ns;
    bool json;
    aphi_buffer text;
    aphi_mutants mutants;
    bool *selected;
    char **reasons;
    aphi_mutant_verdict *verdicts;
} mutation;

/* ---- the command line -------------------------------------------------------------------------------------------- */

static const char *operator_at(size_t i, const char **meaning)
{
    if (i >= APHI_OPERATOR_COUNT)
        return NULL;
    *meaning = aphi_operator_summary((aphi_operator)i);
    return aphi_operator_name((aphi_operator)i);
}

static int take_operators(void *field, const char *option, const char *list)
{
    operator_set *set = field;
    set->some = true;
    for (const char *at = list;; at++) {
        size_t n = strcspn(at, ","), o = 0;
        while (o < APHI_OPERATOR_COUNT && (strlen(aphi_operator_name((aphi_operator)o)) != n ||
                                           strncmp(at, aphi_operator_name((aphi_operator)o), n) != 0))
            o++;
        if (o == APHI_OPERATOR_COUNT)
            return aphi_usage("--%s %s: unknown operator %.*s; see antiphon mutate --help", option, list, (int)n, at);
        set->has[o] = true;
        at += n;
        if (!*at)
            return 0;
    }
}

static int take_lines(void *field, const char *option, const char *text)
{
    line_range *lines = field;
    size_t n = strcspn(text, "-");
    char first[24];
    snprintf(first, sizeof first, "%.*s", (int)n, text);
    if (aphi_parse_number(first, 1, NUMBER_MAX, &lines->first) &&
        aphi_parse_number(text[n] ? text + n + 1 : first, lines->first, NUMBER_MAX, &lines->last))
        return 0;
    return aphi_usage("--%s %s: not a range of lines; use 10-20, or 10", option, text);
}

static const aphi_option options[] = {
    {.name = "operators", .kind = APHI_OPTION_CALL, .argument = "LIST", APHI_FIELD(mutation, operators),
     .take = take_operators, .value_at = operator_at, .help = "only mutants of these kinds, separated by commas:"},
    APHI_TEXT(mutation, function, "function", "NAME",
              "only mutants inside this function; - is file scope"),
    APHI_CALL(mutation, lines, "lines", "A-B", take_lines, "only mutants that begin on lines A to B, or on line A"),
    APHI_NUMBER(mutation, sample, "sample", "N", 1, NUMBER_MAX, "only N of these mutants, drawn at random"),
    APHI_NUMBER(mutation, seed, "seed", "N", 0, UINT64_MAX, "seed for the sample (default: 1)"),
    APHI_NUMBER(mutation, write, "write", "N", 1, NUMBER_MAX, "print the source of mutant N"),
    APHI_NUMBER(mutation, diff, "diff", "N", 1, NUMBER_MAX, "print mutant N as a diff"),
    APHI_TEXT(mutation, build, "build", "COMMAND",
              "build a mutant with sh: {source} is its file, {program} the program to build, {folder} a folder of "
              "its own; headers beside SOURCE.c are found"),
    APHI_TEXT(mutation, test, "test", "COMMAND",
              "test {program} with sh: the mutant survives if the exit code is 0; otherwise, or at the time limit, "
              "it is killed"),
    APHI_DURATION(mutation, time_ns, "time", "DURATION", APHI_SECOND_NS, 1, 1000000 * (uint64_t)APHI_SECOND_NS,
                  "time limit for a test (default: 10s)"),
    APHI_JOBS(mutation, jobs, 0, "build and test N mutants in parallel (default: 1; 0: one per processor)"),
    APHI_TEXT(mutation, equivalent, "equivalent", "FILE",
              "a list of equivalent mutants with reasons: they may survive"),
    APHI_FLAG(mutation, json, "json", "print one JSON object"),
    {0}};

/* Returns an exit code, or a negative number to continue. */
static int check_options(const mutation *m)
{
    if (!m->build != !m->test)
        return aphi_usage("--build, --test: give both or none");
    if (m->build && !strstr(m->build, "{source}"))
        return aphi_usage("--build %s: lacks {source}, the file of a mutant", m->build);
    if (m->build && !strstr(m->build, "{program}"))
        return aphi_usage("--build %s: lacks {program}, the program to build", m->build);
    if (m->test && !strstr(m->test, "{program}"))
        return aphi_usage("--test %s: lacks {program}, the program to test", m->test);
    if (m->build && (m->write || m->diff))
        return aphi_usage("--write, --diff: not with --build and --test");
    if (m->equivalent && !m->test)
        return aphi_usage("--equivalent: only with --build and --test");
    return CONTINUE;
}

static const aphi_command command = {
    .name = "mutate",
    .summary = "mutation testing of a C source",
    .operands = "SOURCE.c [--build COMMAND --test COMMAND]",
    .description = "List the mutants of a C source: each is the source with one small defect. With --build and "
                   "--test, build and test them, and list the mutants that survive the test.",
    .exit_codes = "0 all were killed, or none was run; 1 some survived, or equivalent ones were killed; 2 usage, 5 "
                  "interrupted, 7 no mutant left to test, 80 SOURCE.c cannot be read, 81 it is not C, 82 it does not "
                  "build, 83 it fails the test, 84 an error in the list of equivalent mutants.",
    .options = options, .operands_min = 1, .operands_max = 1};

/* ---- files ------------------------------------------------------------------------------------------------------- */

static bool read_file(const char *path, aphi_buffer *text)
{
    bool read = aphi_buffer_load(text, path, SIZE_MAX);
    if (!read)
        aphi_complain("%s: cannot be read: %s", path, strerror(errno));
    aphi_buffer_text(text);
    return read;
}

/* Keeps `sample` of the selected mutants: each is kept with the probability wanted / left. */
static void draw_sample(mutation *m)
{
    aphi_choice choice = aphi_choice_seed(m->seed);
    uint64_t wanted = m->sample, left = 0;
    for (size_t i = 0; i < m->mutants.n; i++)
        left += m->selected[i];
    for (size_t i = 0; i < m->mutants.n; i++) {
        if (!m->selected[i])
            continue;
        m->selected[i] = aphi_choice_below(&choice, left--) < wanted;
        wanted -= m->selected[i];
    }
}

static int select_mutants(mutation *m)
{
    bool function_seen = !m->function;
    m->selected = aphi_alloc_zero(m->mutants.n + 1);
    for (size_t i = 0; i < m->mutants.n; i++) {
        const aphi_mutant *mutant = &m->mutants.items[i];
        bool in_function = !m->function || !strcmp(mutant->function, m->function);
        function_seen |= in_function;
        m->selected[i] = in_function && (!m->operators.some || m->operators.has[mutant->operator]) &&
                         (!m->lines.first || (mutant->line >= m->lines.first && mutant->line <= m->lines.last));
    }
    if (!function_seen)
        return aphi_usage("--function %s: %s has no mutant in this function", m->function, m->path);
    if (m->sample)
        draw_sample(m);
    return CONTINUE;
}

static int find_mutants(mutation *m)
{
    aphi_cerror error;
    if (!read_file(m->path, &m->text))
        return EXIT_SOURCE_IO;
    if (!aphi_mutants_find(m->text.data, m->text.n, &m->mutants, &error)) {
        aphi_complain("%s:%u:%u: %s", m->path, error.line, error.column, error.message);
        return EXIT_SOURCE_MALFORMED;
    }
    m->reasons = aphi_alloc_zero((m->mutants.n + 1) * sizeof *m->reasons);
    return select_mutants(m);
}

static int read_equivalents(mutation *m)
{
    aphi_buffer text = {0}, error = {0};
    bool valid = read_file(m->equivalent, &text);
    if (valid && !aphi_known_equivalents_read(m->equivalent, text.data, text.n, &m->mutants, m->reasons, &error)) {
        aphi_complain("%s", aphi_buffer_text(&error));
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
    fwrite(aphi_buffer_text(text), 1, text->n, stdout);
    aphi_buffer_free(text);
    return aphi_written(code);
}

static aphi_mutation_report report_of(const mutation *m)
{
    return (aphi_mutation_report){m->path, m->text.data, m->text.n, &m->mutants, m->selected, m->verdicts, m->reasons};
}

static int print_mutants(const mutation *m)
{
    aphi_buffer out = {0};
    aphi_mutation_report report = report_of(m);
    uint64_t number = m->write ? m->write : m->diff;
    if (number > m->mutants.n)
        return aphi_usage("%s: no mutant %llu; the last is %zu", m->path, (unsigned long long)number,
                          m->mutants.n);
    if (m->write)
        aphi_mutant_write(&out, m->text.data, m->text.n, &m->mutants.items[number - 1]);
    else if (m->diff)
        aphi_mutant_diff(&out, m->text.data, m->text.n, m->path, &m->mutants.items[number - 1]);
    else if (m->json)
        aphi_mutation_report_json(&report, &out);
    else
        aphi_mutation_report_list(&report, &out);
    if (!number && m->mutants.n == 0)
        aphi_complain("%s: has no mutants; give a C source with functions", m->path);
    return print_text(&out, number || m->mutants.n ? EXIT_PASS : EXIT_VACUOUS);
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

/* Erases the line if `phase` is NULL. */
static void show_progress(const char *phase, size_t done, size_t total)
{
    static const char *current;
    static bool is_shown;
    static int64_t next_ns;
    const char *term = getenv("TERM");
    int64_t now = aphi_clock_ns();
    if (phase != current) {
        if (is_shown)
            fputs("\r\33[K", stderr);
        current = phase;
        is_shown = false;
        next_ns = now + APHI_SECOND_NS;
    } else if (now >= next_ns && isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0) {
        fprintf(stderr, "\r%s  %zu of %zu\33[K", phase, done, total);
        is_shown = true;
        next_ns = now + 100 * APHI_MS_NS;
    }
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
                                 .test = m->test, .jobs = m->jobs, .limit_ns = m->time_ns,
                                 .stop = &stopped, .progress = show_progress};
    m->verdicts = aphi_alloc_zero((m->mutants.n + 1) * sizeof *m->verdicts);
    catch_signals();
    aphi_mutation_end end = aphi_mutation_run(&how, &m->mutants, m->selected, m->verdicts, &error);
    show_progress(NULL, 0, 0);
    if (error.n > 0)
        aphi_complain("%s", aphi_buffer_text(&error));
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
    mutation m = {.jobs = 1, .seed = 1, .time_ns = 10 * APHI_SECOND_NS};
    aphi_memory_set_exit(EXIT_UNKNOWN);
    int code = aphi_options_read(&command, &m, &count, words);
    m.path = words[0];
    m.jobs = m.jobs ? m.jobs : (size_t)sysconf(_SC_NPROCESSORS_ONLN);
    if (code == CONTINUE)
        code = check_options(&m);
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

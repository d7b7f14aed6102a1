/* SPDX-License-Identifier: Apache-2.0
 *
 * test_options.c - the command line parser: options, operands, numbers and units. */
#include "base/options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef enum colour { RED, GREEN } colour;

typedef struct settings {
    bool flag, given;
    const char *text;
    colour colour;
    uint64_t number;
    uint16_t port;
    unsigned percent;
    size_t memory, jobs;
    int64_t time_ns, delay_ns;
    size_t waived;
} settings;

static int take_waiver(void *field, const char *name, const char *value)
{
    assert_string_equal(name, "waive");
    ++*(size_t *)field;
    return strcmp(value, "none") ? 0 : aphi_usage("--%s %s: rejected", name, value);
}

static const char *const colours[] = {"red", "green", NULL};

static const aphi_option options[] = {
    APHI_FLAG(settings, flag, "flag", "a flag"),
    APHI_TEXT(settings, text, "text", "FILE", "a text"),
    APHI_CHOICE(settings, colour, "colour", "COLOUR", colours, "a choice"),
    APHI_NUMBER(settings, number, "number", "N", 2, UINT64_MAX, "a number"),
    {.name = "port", .kind = APHI_OPTION_NUMBER, .argument = "PORT", APHI_FIELD(settings, port), .most = 65535,
     .given = 1 + offsetof(settings, given), .help = "a port"},
    APHI_NUMBER(settings, percent, "percent", "P", 0, 100, "a percentage"),
    APHI_SIZE(settings, memory, "memory", 0, "a size"),
    APHI_SECONDS(settings, time_ns, "time", "a duration"),
    APHI_DURATION(settings, delay_ns, "delay", "MS", APHI_MS_NS, APHI_MS_NS, APHI_SECOND_NS, "a short duration"),
    APHI_CALL(settings, waived, "waive", "NAME", take_waiver, "repeated"),
    APHI_JOBS(settings, jobs, 0, "jobs"),
    {0}};

static const aphi_command command = {.name = "try", .operands = "ONE...", .description = "Tries.",
                                     .exit_codes = "0 fine.", .options = options, .operands_min = 1, .operands_max = 3};

/* Splits the line at blanks and parses it; returns the operands joined by blanks. */
static int parse(const aphi_command *c, const char *line, settings *s, char *operands)
{
    static char copy[300];
    char *words[40] = {"try"};
    int n = 1;
    snprintf(copy, sizeof copy, "%s", line);
    for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
        words[n++] = word;
    *s = (settings){0};
    int code = aphi_options_read(c, s, &n, words);
    *operands = 0;
    for (int i = 0; i < n; i++)
        strcat(strcat(operands, i ? " " : ""), words[i]);
    return code;
}

static void assert_rejected(const char *line)
{
    settings s;
    char operands[300];
    if (parse(&command, line, &s, operands) != APHI_OPTIONS_USAGE)
        fail_msg("accepted: %s", line);
}

static void options_and_operands_mix(void **state)
{
    (void)state;
    settings s;
    char operands[300];
    assert_int_equal(parse(&command, "one --flag two --text=a=b --number 7 --colour green -j3 - --port 80", &s,
                           operands), -1);
    assert_string_equal(operands, "one two -");
    assert_true(s.flag && s.given);
    assert_string_equal(s.text, "a=b");
    assert_int_equal(s.number, 7);
    assert_int_equal(s.colour, GREEN);
    assert_int_equal(s.jobs, 3);
    assert_int_equal(s.port, 80);
    assert_int_equal(parse(&command, "--waive a -j 4 --waive=b --percent 100 -- --flag", &s, operands), -1);
    assert_string_equal(operands, "--flag");
    assert_false(s.flag || s.given);
    assert_int_equal(s.waived, 2);
    assert_int_equal(s.jobs, 4);
    assert_int_equal(s.percent, 100);
}

static void options_end_at_a_program(void **state)
{
    (void)state;
    settings s;
    char operands[300];
    aphi_command runs = command;
    runs.runs_program = true;
    assert_int_equal(parse(&runs, "--flag program --number 1", &s, operands), -1);
    assert_string_equal(operands, "program --number 1");
    assert_true(s.flag);
}

static void unique_prefixes_are_options(void **state)
{
    (void)state;
    settings s;
    char operands[300];
    assert_int_equal(parse(&command, "--fl --num=5 x", &s, operands), -1);
    assert_true(s.flag);
    assert_int_equal(s.number, 5);
    assert_rejected("--t 5 x"); /* --text or --time */
}

static void wrong_lines_are_rejected(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "", "a b c d", "--nothing x", "-z x", "--flag=1 x", "x --text", "x --number", "--number 1 x", "--number 7x x",
        "--number -7 x", "--number= x", "--number 18446744073709551616 x", "--port 65536 x", "--percent 101 x",
        "--colour blue x", "--colour= x", "--memory 1T x", "--memory -1 x", "--time 1d x", "--time soon x",
        "--time -1 x", "--delay 0.5 x", "--delay 2s x", "--waive none x", "-j x", "-j 257 x", "--jobs 1.5 x"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        assert_rejected(lines[i]);
}

static void assert_duration(const char *text, int64_t bare_ns, int64_t expected)
{
    int64_t ns;
    if (!aphi_parse_duration(text, bare_ns, &ns) || ns != expected)
        fail_msg("%s: not %lld ns", text, (long long)expected);
}

static void durations_have_units(void **state)
{
    (void)state;
    int64_t ns;
    assert_duration("20s", APHI_SECOND_NS, 20 * APHI_SECOND_NS);
    assert_duration("500ms", APHI_SECOND_NS, 500 * APHI_MS_NS);
    assert_duration("2m", APHI_SECOND_NS, 120 * APHI_SECOND_NS);
    assert_duration("1h", APHI_SECOND_NS, 3600 * APHI_SECOND_NS);
    assert_duration("0.5", APHI_SECOND_NS, 500 * APHI_MS_NS);
    assert_duration(".5", APHI_SECOND_NS, 500 * APHI_MS_NS);
    assert_duration("1.5s", APHI_MS_NS, 1500 * APHI_MS_NS);
    assert_duration("7", APHI_MS_NS, 7 * APHI_MS_NS);
    assert_duration("0", APHI_SECOND_NS, 0);
    static const char *const wrong[] = {"", ".", "s", "1.2.3", "1..2", "1 s", "1x", "1e3", "nan", "inf", "0x10",
                                        "+1", "99999999999h"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (aphi_parse_duration(wrong[i], APHI_SECOND_NS, &ns))
            fail_msg("a duration: %s", wrong[i]);
}

static void assert_size(const char *text, uint64_t expected)
{
    uint64_t bytes;
    if (!aphi_parse_size(text, &bytes) || bytes != expected)
        fail_msg("%s: not %llu bytes", text, (unsigned long long)expected);
}

static void sizes_have_units(void **state)
{
    (void)state;
    uint64_t bytes;
    assert_size("512K", 512 << 10);
    assert_size("64M", 64 << 20);
    assert_size("2G", UINT64_C(2) << 30);
    assert_size("64", 64 << 20);
    assert_size("0.5", 512 << 10);
    assert_size("0", 0);
    assert_false(aphi_parse_size("64MB", &bytes));
    assert_false(aphi_parse_size("M", &bytes));
}

static char *printed(void (*print)(const aphi_command *, FILE *))
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    print(&command, out);
    fclose(out);
    return text;
}

static void help_and_completion_have_all(void **state)
{
    (void)state;
    setenv("COLUMNS", "80", 1);
    char *help = printed(aphi_options_help), *lines = printed(aphi_options_complete);
    assert_non_null(strstr(help, "usage: antiphon try [OPTION]... ONE...\n"));
    assert_non_null(strstr(help, "\n  --colour COLOUR  a choice\n"));
    assert_non_null(strstr(help, "\n  -j, --jobs N     jobs\n"));
    assert_non_null(strstr(help, "\n  -h, --help       print this help\n"));
    assert_non_null(strstr(lines, "--colour\tred green\ta choice\n"));
    assert_non_null(strstr(lines, "--text\tfiles\ta text\n"));
    assert_non_null(strstr(lines, "--help\t\tprint this help\n"));
    free(help);
    free(lines);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_and_operands_mix),   cmocka_unit_test(options_end_at_a_program),
        cmocka_unit_test(unique_prefixes_are_options), cmocka_unit_test(wrong_lines_are_rejected),
        cmocka_unit_test(durations_have_units),       cmocka_unit_test(sizes_have_units),
        cmocka_unit_test(help_and_completion_have_all),
    };
    return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}

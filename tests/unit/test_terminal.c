/* SPDX-License-Identifier: Apache-2.0
 *
 * test_terminal.c - capabilities of terminals, cutting of text, and the progress line on a pseudo-terminal. */
#include "report/terminal.h"
#include "base/clock.h"
#include "report/utf8.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmocka.h>

#define SECOND_NS INT64_C(1000000000)

/* The usual environment variables of an interactive terminal. */
static int usual(void **state)
{
    (void)state;
    unsetenv("NO_COLOR");
    unsetenv("LC_ALL");
    unsetenv("LC_CTYPE");
    unsetenv("COLUMNS");
    setenv("LANG", "en_GB.UTF-8", 1);
    setenv("TERM", "xterm", 1);
    return 0;
}

/* A pseudo-terminal: output to the stream can be read from *master. */
static FILE *terminal_open(int *master, unsigned short columns)
{
    *master = posix_openpt(O_RDWR | O_NOCTTY);
    assert_true(*master >= 0);
    assert_int_equal(grantpt(*master), 0);
    assert_int_equal(unlockpt(*master), 0);
    FILE *stream = fopen(ptsname(*master), "w");
    assert_non_null(stream);
    struct winsize size = {.ws_row = 24, .ws_col = columns};
    assert_int_equal(ioctl(*master, TIOCSWINSZ, &size), 0);
    return stream;
}

static void test_no_terminal(void **state)
{
    (void)state;
    FILE *file = tmpfile();
    aphi_terminal t = aphi_terminal_of(file, APHI_COLOUR_AUTO);
    assert_false(t.interactive);
    assert_false(t.colour);
    assert_true(t.unicode);
    assert_int_equal(t.columns, 100);
    assert_true(aphi_terminal_of(file, APHI_COLOUR_ALWAYS).colour);
    setenv("COLUMNS", "132", 1);
    assert_int_equal(aphi_terminal_of(file, APHI_COLOUR_AUTO).columns, 132);
    setenv("COLUMNS", "7", 1);
    assert_int_equal(aphi_terminal_of(file, APHI_COLOUR_AUTO).columns, 40);
    setenv("COLUMNS", "many", 1);
    assert_int_equal(aphi_terminal_of(file, APHI_COLOUR_AUTO).columns, 100);
    fclose(file);
}

static void test_terminal(void **state)
{
    (void)state;
    int master;
    FILE *stream = terminal_open(&master, 93);
    aphi_terminal t = aphi_terminal_of(stream, APHI_COLOUR_AUTO);
    assert_true(t.interactive);
    assert_true(t.colour);
    assert_int_equal(t.columns, 93);
    assert_false(aphi_terminal_of(stream, APHI_COLOUR_NEVER).colour);
    setenv("NO_COLOR", "", 1); /* an empty value counts as unset */
    assert_true(aphi_terminal_of(stream, APHI_COLOUR_AUTO).colour);
    setenv("NO_COLOR", "1", 1);
    assert_false(aphi_terminal_of(stream, APHI_COLOUR_AUTO).colour);
    assert_true(aphi_terminal_of(stream, APHI_COLOUR_ALWAYS).colour);
    unsetenv("NO_COLOR");
    setenv("TERM", "dumb", 1);
    assert_false(aphi_terminal_of(stream, APHI_COLOUR_AUTO).colour);
    fclose(stream);
    close(master);
}

static void test_locale(void **state)
{
    (void)state;
    setenv("LC_CTYPE", "de_DE.utf8", 1);
    setenv("LANG", "C", 1);
    assert_true(aphi_terminal_of(stdout, APHI_COLOUR_AUTO).unicode);
    setenv("LC_ALL", "de_DE.ISO-8859-1", 1);
    assert_false(aphi_terminal_of(stdout, APHI_COLOUR_AUTO).unicode);
    setenv("LC_ALL", "", 1);
    unsetenv("LC_CTYPE");
    assert_false(aphi_terminal_of(stdout, APHI_COLOUR_AUTO).unicode);
    unsetenv("LANG");
    assert_false(aphi_terminal_of(stdout, APHI_COLOUR_AUTO).unicode);
}

static void test_paint(void **state)
{
    (void)state;
    aphi_buffer out = {0};
    const aphi_terminal off = {0}, on = {.colour = true};
    aphi_terminal_paint(&out, &off, APHI_INK_RED, "a");
    aphi_terminal_paint(&out, &on, APHI_INK_RED, "b");
    aphi_terminal_paint(&out, &on, APHI_INK_NONE, "c");
    assert_string_equal(aphi_buffer_text(&out), "a\33[31mb\33[0mc");
    aphi_buffer_free(&out);
}

static void cuts(void (*cut)(aphi_buffer *, const char *, size_t, bool), const char *text, size_t columns, bool unicode,
                 const char *expected)
{
    aphi_buffer out = {0};
    cut(&out, text, columns, unicode);
    assert_string_equal(aphi_buffer_text(&out), expected);
    assert_true(aphi_utf8_columns(expected) <= columns);
    aphi_buffer_free(&out);
}

static void test_cut(void **state)
{
    (void)state;
    cuts(aphi_utf8_cut, "abcdef", 6, true, "abcdef");
    cuts(aphi_utf8_cut, "abcdef", 5, true, "abcd…");
    cuts(aphi_utf8_cut, "abcdef", 5, false, "abc..");
    cuts(aphi_utf8_cut, "äöüäöü", 3, true, "äö…");
    cuts(aphi_utf8_cut, "abc", 1, true, "…");
    cuts(aphi_utf8_cut, "abc", 1, false, "a");
    cuts(aphi_utf8_cut, "abc", 0, true, "");
    cuts(aphi_utf8_cut_middle, "one/two/three", 9, true, "one/…hree");
    cuts(aphi_utf8_cut_middle, "one/two/three", 9, false, "one..hree");
    cuts(aphi_utf8_cut_middle, "äöüäöü", 4, true, "ä…öü");
    cuts(aphi_utf8_cut_middle, "äöüäöü", 6, true, "äöüäöü");
}

static void cleans(const char *text, bool unicode, const char *expected)
{
    aphi_buffer out = {0};
    aphi_utf8_clean(&out, text, unicode);
    assert_string_equal(aphi_buffer_text(&out), expected);
    aphi_buffer_free(&out);
}

static void test_clean(void **state)
{
    (void)state;
    cleans("é → \xf0\x9f\x8c\x90", true, "é → \xf0\x9f\x8c\x90");
    cleans("é → \xf0\x9f\x8c\x90", false, "? -> ?");
    cleans("\33[2J\n\x7f\xff", true, "\uFFFD[2J\uFFFD\uFFFD\uFFFD");
    cleans("\xc2\x9b" "2J", true, "\uFFFD" "2J");             /* the same control sequence as one character */
    cleans("a\xe2\x80\xae" "b", true, "a\uFFFD" "b");         /* right-to-left override */
    cleans("1 ≤ 2… “x”", false, "1 <= 2... \"x\"");
}

static void lasts(int64_t ns, const char *expected)
{
    aphi_buffer out = {0};
    aphi_report_duration(&out, ns);
    assert_string_equal(aphi_buffer_text(&out), expected);
    aphi_buffer_free(&out);
}

static void test_durations(void **state)
{
    (void)state;
    lasts(0, "0 ns");
    lasts(999, "999 ns");
    lasts(1000, "1.00 us");
    lasts(12345, "12.3 us");
    lasts(999499, "999 us");
    lasts(999500, "1.00 ms");
    lasts(9994999, "9.99 ms");
    lasts(9996000, "10.0 ms");
    lasts(123456789, "123 ms");
    lasts(59 * SECOND_NS, "59.0 s");
    lasts(60 * SECOND_NS, "1 min 00 s");
    lasts(3725 * SECOND_NS, "62 min 05 s");
}

static void tells(const aphi_terminal *t, uint64_t done, uint64_t total, int64_t ns, const char *expected)
{
    aphi_buffer out = {0};
    aphi_progress_text(&out, t, "observations checked:", done, total, ns);
    assert_string_equal(aphi_buffer_text(&out), expected);
    aphi_buffer_free(&out);
}

static void test_progress_text(void **state)
{
    (void)state;
    const aphi_terminal t = {.unicode = true, .columns = 100}, narrow = {.unicode = true, .columns = 40};
    tells(&t, 1234, 0, SECOND_NS, "observations checked:  1,234  1 s");
    tells(&t, 1000000, 4000000, 90 * SECOND_NS,
          "observations checked:  1,000,000 of 4,000,000 (25%)  1 min 30 s, about 4 min 30 s left");
    tells(&t, 0, 4000000, 3 * SECOND_NS, "observations checked:  0 of 4,000,000 (0%)  3 s");
    tells(&t, 5, 5, SECOND_NS, "observations checked:  5 of 5 (100%)  1 s");
    tells(&narrow, 999, 1000, SECOND_NS, "observations checked:  999 of 1,000 (9…");
}

static void lives(size_t columns, const aphi_live *live, const char *expected)
{
    aphi_buffer out = {0};
    aphi_live_text(&out, &(aphi_terminal){.unicode = true, .columns = columns}, "swap at 127.0.0.1:4711", live);
    assert_string_equal(aphi_buffer_text(&out), expected);
    assert_true(aphi_utf8_columns(expected) < columns);
    aphi_buffer_free(&out);
}

static void test_live_text(void **state)
{
    (void)state;
    aphi_live l = {.messages = 12345, .rate = 8120, .explanations = 3, .reached = 5, .branches = 7,
                   .left_ns = 11 * SECOND_NS + 1};
    lives(100, &l,
          "swap at 127.0.0.1:4711  12,345 messages  8,120/s  3 explanations  branches 5/7  12 s left");
    lives(80, &l, "swap at 127…  12,345 messages  8,120/s  3 explanations  branches 5/7  12 s left");
    lives(60, &l, "swap at…  12,345 messages  8,120/s  branches 5/7  12 s left");
    lives(48, &l, "swap at 1…  12,345 messages  8,120/s  12 s left");
    lives(40, &l, "swap at 12…  12,345 messages  12 s left");
    lives(30, &l, "swap at 127…  12,345 messages");
    lives(16, &l, "12,345 messages");
    l = (aphi_live){.messages = 1, .explanations = 1, .left_ns = -1};
    lives(80, &l, "swap at 127.0.0.1:4711  1 message  1 explanation");
    l.left_ns = 125 * SECOND_NS;
    lives(80, &l, "swap at 127.0.0.1:4711  1 message  1 explanation  2 min 05 s left");
}

/* Stores the output on stderr, a terminal, while work takes the given time. */
static size_t watch(int64_t ns, char *seen, size_t size)
{
    int master, saved = dup(STDERR_FILENO);
    FILE *stream = terminal_open(&master, 80);
    fflush(stderr);
    dup2(fileno(stream), STDERR_FILENO);
    int64_t begun = aphi_clock_ns();
    aphi_progress_begin("work", 0);
    for (uint64_t i = 0; aphi_clock_ns() - begun < ns; i++)
        aphi_progress_at(i);
    aphi_progress_end();
    dup2(saved, STDERR_FILENO);
    close(saved);
    /* After the terminal is closed, the remaining output can be read, then an error. */
    fclose(stream);
    size_t n = 0;
    for (ssize_t got; n < size - 1 && (got = read(master, seen + n, size - 1 - n)) > 0;)
        n += (size_t)got;
    close(master);
    seen[n] = '\0';
    return n;
}

/* Short work has no output. After a second, a progress line appears; it has a limited update rate and is erased at the
 * end. */
static void test_progress(void **state)
{
    (void)state;
    char seen[8192];
    assert_int_equal(watch(SECOND_NS / 20, seen, sizeof seen), 0);
    size_t n = watch(SECOND_NS + SECOND_NS / 4, seen, sizeof seen);
    assert_true(n > 0);
    assert_memory_equal(seen, "\r\33[2mwork  ", 11);
    assert_string_equal(seen + n - 4, "\r\33[K");
    size_t times = 0;
    for (const char *at = seen; (at = strstr(at, "work")); at++)
        times++;
    assert_true(times >= 1 && times <= 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_no_terminal, usual),
        cmocka_unit_test_setup(test_terminal, usual),
        cmocka_unit_test_setup(test_locale, usual),
        cmocka_unit_test(test_paint),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_clean),
        cmocka_unit_test(test_durations),
        cmocka_unit_test(test_progress_text),
        cmocka_unit_test(test_live_text),
        cmocka_unit_test_setup(test_progress, usual),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

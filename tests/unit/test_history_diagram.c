/* SPDX-License-Identifier: Apache-2.0
 *
 * test_history_diagram.c - drawings of histories, compared character by character. */
#include "report/history_diagram.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NEVER APHI_HISTORY_DIAGRAM_NEVER
#define COUNT(array) (sizeof(array) / sizeof *(array))

static const aphi_terminal plain = {.unicode = true, .columns = 80};
static const aphi_terminal ascii = {.columns = 80};
static const aphi_terminal coloured = {.unicode = true, .colour = true, .columns = 80};

static void draws(const aphi_history_diagram *d, const aphi_terminal *t, const char *expected)
{
    aphi_buffer out = {0};
    aphi_history_diagram_draw(&out, d, t);
    assert_string_equal(aphi_buffer_text(&out), expected);
    aphi_buffer_free(&out);
}

/* A register: a read returns a value that was overwritten before it began. */
static const aphi_history_diagram_operation stale[] = {
    {0, "write 3 → ok", 1, 4, 11, APHI_HISTORY_DIAGRAM_PLAIN},
    {1, "write 2", 2, NEVER, 12, APHI_HISTORY_DIAGRAM_PLAIN},
    {2, "cas [3,4] → ok", 5, 8, 15, APHI_HISTORY_DIAGRAM_RELATED},
    {0, "read → 3", 9, 10, 19, APHI_HISTORY_DIAGRAM_VIOLATED},
};

static void test_stale_read(void **state)
{
    (void)state;
    const aphi_history_diagram d = {
        .operations = stale, .n = COUNT(stale), .caption = "no order explains the read",
        .expected = "expected 2 or 4", .related = "set the value", .earlier = 1200, .later = 1,
    };
    draws(&d, &plain,
          "no order explains the read\n"
          "  … 1,200 earlier operations\n"
          "  line      11                 15                     19\n"
          "  client 0  ├─ write 3 → ok ─┤                        ├─ ✗ read → 3 ─┤\n"
          "                                                      ╰─ expected 2 or 4\n"
          "  client 1   ├─ write 2 ── ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ?\n"
          "  client 2                     ├─ • cas [3,4] → ok ─┤\n"
          "  … 1 later operation\n"
          "  • set the value\n");
    draws(&d, &ascii,
          "no order explains the read\n"
          "  ... 1,200 earlier operations\n"
          "  line      11                  15                      19\n"
          "  client 0  |- write 3 -> ok -|                         |- X read -> 3 -|\n"
          "                                                        '- expected 2 or 4\n"
          "  client 1   |- write 2 - - - - - - - - - - - - - - - - - - - - - - - - ?\n"
          "  client 2                      |- * cas [3,4] -> ok -|\n"
          "  ... 1 later operation\n"
          "  * set the value\n");
}

static void test_colours(void **state)
{
    (void)state;
    const aphi_history_diagram_operation operations[] = {
        {0, "write 3 → ok", 1, 2, 0, APHI_HISTORY_DIAGRAM_RELATED},
        {1, "read → 3", 3, 4, 0, APHI_HISTORY_DIAGRAM_PLAIN},
        {1, "read → 2", 5, 6, 0, APHI_HISTORY_DIAGRAM_VIOLATED},
    };
    const aphi_history_diagram d = {.operations = operations, .n = COUNT(operations), .expected = "expected 3"};
    draws(&d, &coloured,
          "  client 0  \33[33m├─ • write 3 → ok ─┤\33[0m\n"
          "  client 1                       \33[2m├─ \33[0mread → 3 \33[2m─┤ \33[0m"
          "\33[1;31m├─ ✗ read → 2 ─┤\33[0m\n"
          "                                                \33[1;31m╰─ \33[0m\33[31mexpected 3\33[0m\n");
}

/* Concurrent requests from one client are in separate rows. */
static void test_pipelined(void **state)
{
    (void)state;
    const aphi_history_diagram_operation operations[] = {
        {7, "get a → 1", 1, 4, 0, APHI_HISTORY_DIAGRAM_PLAIN},
        {7, "get b → 2", 2, 5, 0, APHI_HISTORY_DIAGRAM_PLAIN},
        {7, "get c → 3", 6, 7, 0, APHI_HISTORY_DIAGRAM_PLAIN},
        {-3, "put a", 3, NEVER, 0, APHI_HISTORY_DIAGRAM_PLAIN},
    };
    const aphi_history_diagram d = {.operations = operations, .n = COUNT(operations), .lane = "connection"};
    draws(&d, &plain,
          "  connection -3    ├─ put a ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ?\n"
          "  connection 7   ├─ get a → 1 ─┤  ├─ get c → 3 ─┤\n"
          "                  ├─ get b → 2 ─┤\n");
}

/* A wide drawing is split into bands. The first band is the short one; operations that are still open are listed
 * below. */
static void test_bands(void **state)
{
    (void)state;
    const aphi_history_diagram_operation operations[] = {
        {0, "write 0", 1, NEVER, 1, APHI_HISTORY_DIAGRAM_PLAIN},
        {1, "write 1 → ok", 2, 3, 2, APHI_HISTORY_DIAGRAM_PLAIN},
        {1, "write 2 → ok", 4, 5, 4, APHI_HISTORY_DIAGRAM_PLAIN},
        {2, "cas [2,3] → ok", 6, 9, 6, APHI_HISTORY_DIAGRAM_PLAIN},
        {1, "write 4 → ok", 7, 8, 7, APHI_HISTORY_DIAGRAM_PLAIN},
        {1, "read → 1", 10, 11, 10, APHI_HISTORY_DIAGRAM_VIOLATED},
    };
    const aphi_history_diagram d = {
        .operations = operations, .n = COUNT(operations), .expected = "expected 0, 3 or 4: the others were overwritten",
    };
    const aphi_terminal narrow = {.unicode = true, .columns = 60};
    draws(&d, &narrow,
          "  line      1                   4\n"
          "  client 0  ├─ write 0 ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ?\n"
          "  client 1   ├─ write 1 → ok ─┤ ├─ write 2 → ok ─┤\n"
          "\n"
          "  line      6                    10\n"
          "  client 1   ├─ write 4 → ok ─┤  ├─ ✗ read → 1 ─┤\n"
          "  expected 0, 3 or 4: the others were ──────────╯\n"
          "  overwritten\n"
          "  client 2  ├─ cas [2,3] → ok ─┤\n"
          "  still open: write 0 (0)\n");
}

static void test_across_bands(void **state)
{
    (void)state;
    const aphi_history_diagram_operation operations[] = {
        {0, "write 1 → ok", 1, 9, 0, APHI_HISTORY_DIAGRAM_PLAIN},
        {1, "write 2 → ok", 2, 3, 0, APHI_HISTORY_DIAGRAM_PLAIN},
        {1, "write 3 → ok", 4, 5, 0, APHI_HISTORY_DIAGRAM_PLAIN},
        {1, "write 4 → ok", 6, 7, 0, APHI_HISTORY_DIAGRAM_PLAIN},
    };
    const aphi_history_diagram d = {.operations = operations, .n = COUNT(operations)};
    const aphi_terminal narrow = {.unicode = true, .columns = 40};
    draws(&d, &narrow,
          "  client 0  ├─ write 1 → ok ──»\n"
          "  client 1   ├─ write 2 → ok ─┤\n"
          "\n"
          "  client 1  ├─ write 3 → ok ─┤\n"
          "  still open: write 1 → ok (0)\n"
          "\n"
          "  client 0  »─ write 1 → ok ──┤\n"
          "  client 1  ├─ write 4 → ok ─┤\n");
}

/* Long text: labels lose their middle, the expected text is wrapped, newlines are kept. */
static void test_long_text(void **state)
{
    (void)state;
    const aphi_history_diagram_operation operations[] = {
        {0, "get \"5\" → \"x 0 0 yx 0 1 yx 0 2 yx 0 3 yx 0 4 yx 0 5 y\"", 1, 3, 0, APHI_HISTORY_DIAGRAM_VIOLATED},
        {1, "append \"5\" \"x 0 0 yx 0 1 y\" → ok", 2, 4, 0, APHI_HISTORY_DIAGRAM_PLAIN},
    };
    const aphi_history_diagram d = {
        .operations = operations, .n = COUNT(operations),
        .expected = "expected \"\"\nor any prefix of what had been appended by then, in the order of the appends",
    };
    const aphi_terminal narrow = {.unicode = true, .columns = 60};
    draws(&d, &narrow,
          "  client 0  ├─ ✗ get \"5\" → \"x 0 0 y… 0 3 yx 0 4 yx 0 5 y\" ─┤\n"
          "            ╰─ expected \"\"\n"
          "               or any prefix of what had been appended by\n"
          "               then, in the order of the appends\n"
          "  client 1   ├─ append … y\" → ok ──────────────────────────»\n");
}

/* Control sequences in labels and texts have no effect. */
static void test_hostile_text(void **state)
{
    (void)state;
    const aphi_history_diagram_operation operations[] = {
        {0, "put \33[31m\xff\xc3\xa9\n", 1, 2, 0, APHI_HISTORY_DIAGRAM_VIOLATED},
    };
    const aphi_history_diagram d = {
        .operations = operations, .n = 1, .caption = "a\tb", .expected = "\x9b" "c\n",
    };
    draws(&d, &plain,
          "a\uFFFDb\n"
          "  client 0  ├─ ✗ put \uFFFD[31m\uFFFDé\uFFFD ─┤\n"
          "            ╰─ \uFFFDc\n");
    draws(&d, &ascii,
          "a?b\n"
          "  client 0  |- X put ?[31m??? -|\n"
          "            '- ?c\n");
}

/* Calls and returns after the return of the violated operation are not drawn. */
static void test_decided(void **state)
{
    (void)state;
    const aphi_history_diagram_operation operations[] = {
        {0, "write 1 → ok", 1, 5, 0, APHI_HISTORY_DIAGRAM_PLAIN},
        {1, "read → 2", 2, 3, 0, APHI_HISTORY_DIAGRAM_VIOLATED},
        {1, "read → 1", 4, 6, 0, APHI_HISTORY_DIAGRAM_PLAIN},
    };
    const aphi_history_diagram d = {.operations = operations, .n = COUNT(operations)};
    draws(&d, &plain,
          "  client 0  ├─ write 1 → ok ─»\n"
          "  client 1   ├─ ✗ read → 2 ─┤\n"
          "  … 1 later operation\n");
}

static size_t occurrences(const char *text, const char *of)
{
    size_t n = 0;
    for (const char *at = text; (at = strstr(at, of)); at++)
        n++;
    return n;
}

/* In a long history, the marked operations and the last ones before the violated one are drawn. */
static void test_bounded(void **state)
{
    (void)state;
    enum { ALL = 500, VIOLATED = 400 };
    aphi_history_diagram_operation operations[ALL];
    for (unsigned i = 0; i < ALL; i++)
        operations[i] =
            (aphi_history_diagram_operation){i % 3, "op", 2 * i, 2 * i + 1, i + 1, APHI_HISTORY_DIAGRAM_PLAIN};
    operations[7].mark = APHI_HISTORY_DIAGRAM_RELATED;
    operations[VIOLATED].mark = APHI_HISTORY_DIAGRAM_VIOLATED;
    const aphi_history_diagram d = {.operations = operations, .n = ALL};
    aphi_buffer out = {0};
    aphi_history_diagram_draw(&out, &d, &plain);
    const char *text = aphi_buffer_text(&out);
    assert_int_equal(occurrences(text, "op ─"), APHI_HISTORY_DIAGRAM_MAX);
    assert_non_null(strstr(text, "• op"));
    assert_non_null(strstr(text, "✗ op"));
    assert_non_null(strstr(text, "  … 361 earlier operations\n"));
    assert_non_null(strstr(text, "  … 99 later operations\n"));
    assert_null(strstr(text, "402"));
    aphi_buffer_free(&out);
}

static void test_nothing(void **state)
{
    (void)state;
    draws(&(aphi_history_diagram){.caption = "nothing was seen"}, &plain, "nothing was seen\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stale_read),
        cmocka_unit_test(test_colours),
        cmocka_unit_test(test_pipelined),
        cmocka_unit_test(test_bands),
        cmocka_unit_test(test_across_bands),
        cmocka_unit_test(test_long_text),
        cmocka_unit_test(test_hostile_text),
        cmocka_unit_test(test_decided),
        cmocka_unit_test(test_bounded),
        cmocka_unit_test(test_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

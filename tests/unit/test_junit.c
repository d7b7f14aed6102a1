/* SPDX-License-Identifier: Apache-2.0
 *
 * test_junit.c - whole JUnit files. */
#include "report/junit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void writes(const char *suite, const char *timestamp, const aphi_result *results, size_t n, const char *expected)
{
    aphi_buffer out = {0};
    aphi_junit_write(&out, suite, timestamp, results, n);
    assert_string_equal(aphi_buffer_text(&out), expected);
    aphi_buffer_free(&out);
}

static void test_all_outcomes(void **state)
{
    (void)state;
    const aphi_result results[] = {
        {"a.jsonl", APHI_OUTCOME_PASS, 170, 412, 3100000, NULL, NULL},
        {"b.jsonl", APHI_OUTCOME_FAIL, 20, 90, 1500000000, "line 12: read → 3", "client 0  |- read -> 3 -|\n"},
        {"c.jsonl", APHI_OUTCOME_UNKNOWN, 0, 0, 0, NULL, NULL},
        {"d.jsonl", APHI_OUTCOME_ERROR, 0, 0, 999, "d.jsonl:1:3: the text is malformed", NULL},
    };
    writes("register", "2024-05-01T10:00:00", results, 4,
           "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
           "<testsuites name=\"antiphon\" tests=\"4\" failures=\"1\" errors=\"2\" skipped=\"0\" time=\"1.503100\">\n"
           "  <testsuite name=\"register\" tests=\"4\" failures=\"1\" errors=\"2\" skipped=\"0\" time=\"1.503100\""
           " timestamp=\"2024-05-01T10:00:00\">\n"
           "    <testcase classname=\"register\" name=\"a.jsonl\" time=\"0.003100\">\n"
           "      <system-out>170 operations, 412 configurations</system-out>\n"
           "    </testcase>\n"
           "    <testcase classname=\"register\" name=\"b.jsonl\" time=\"1.500000\">\n"
           "      <failure type=\"fail\" message=\"line 12: read → 3\">client 0  |- read -&gt; 3 -|\n"
           "</failure>\n"
           "      <system-out>20 operations, 90 configurations</system-out>\n"
           "    </testcase>\n"
           "    <testcase classname=\"register\" name=\"c.jsonl\" time=\"0.000000\">\n"
           "      <error type=\"unknown\" message=\"a limit was reached before the verdict was certain\"/>\n"
           "      <system-out>0 operations, 0 configurations</system-out>\n"
           "    </testcase>\n"
           "    <testcase classname=\"register\" name=\"d.jsonl\" time=\"0.000000\">\n"
           "      <error type=\"input\" message=\"d.jsonl:1:3: the text is malformed\"/>\n"
           "      <system-out>0 operations, 0 configurations</system-out>\n"
           "    </testcase>\n"
           "  </testsuite>\n"
           "</testsuites>\n");
}

static void test_no_files(void **state)
{
    (void)state;
    writes("kv", NULL, NULL, 0,
           "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
           "<testsuites name=\"antiphon\" tests=\"0\" failures=\"0\" errors=\"0\" skipped=\"0\" time=\"0.000000\">\n"
           "  <testsuite name=\"kv\" tests=\"0\" failures=\"0\" errors=\"0\" skipped=\"0\" time=\"0.000000\">\n"
           "  </testsuite>\n"
           "</testsuites>\n");
}

/* Checks the message and the body of a failure that has this text in both. */
static void escapes(const char *text, const char *attribute, const char *body)
{
    const aphi_result r = {"f", APHI_OUTCOME_FAIL, 0, 0, 0, text, text};
    aphi_buffer out = {0}, expected = {0};
    aphi_junit_write(&out, "m", NULL, &r, 1);
    aphi_buffer_format(&expected, "<failure type=\"fail\" message=\"%s\">%s</failure>\n", attribute, body);
    assert_non_null(strstr(aphi_buffer_text(&out), aphi_buffer_text(&expected)));
    aphi_buffer_free(&expected);
    aphi_buffer_free(&out);
}

static void test_escapes(void **state)
{
    (void)state;
    escapes("a<b>&\"c\" 'd'", "a&lt;b&gt;&amp;&quot;c&quot; 'd'", "a&lt;b&gt;&amp;\"c\" 'd'");
    escapes("]]>", "]]&gt;", "]]&gt;");
    escapes("1\n2\t3\r4", "1&#10;2&#9;3&#13;4", "1\n2\t3&#13;4");
    escapes("\33[0m\1\x7f", "\\x1b[0m\\x01\\x7f", "\\x1b[0m\\x01\\x7f");
    escapes("é→\xf0\x9f\x8c\x90", "é→\xf0\x9f\x8c\x90", "é→\xf0\x9f\x8c\x90");
    escapes("\xff\xc3(\xc3", "\\xff\\xc3(\\xc3", "\\xff\\xc3(\\xc3");             /* not UTF-8; truncated */
    escapes("\xc0\xaf", "\\xc0\\xaf", "\\xc0\\xaf");                             /* overlong */
    escapes("\xed\xa0\x80", "\\xed\\xa0\\x80", "\\xed\\xa0\\x80");               /* half of a surrogate pair */
    escapes("\xef\xbf\xbf", "\\xef\\xbf\\xbf", "\\xef\\xbf\\xbf");               /* U+FFFF is not an XML character */
    escapes("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80", "\\xf4\\x90\\x80\\x80"); /* beyond U+10FFFF */
}

/* Checks the elements of a live run for a verdict. */
static void runs(const char *verdict, const char *headline, const char *totals, const char *body)
{
    const aphi_run_diagram t = {.title = "kv at <host>", .verdict = verdict, .headline = headline, .ns = 1,
                             .total_ns = 1500000000, .run = aph_record("messages", aph_int(6)),
                             .failing = APHI_RUN_DIAGRAM_NONE, .replay = "antiphon replay x"};
    aphi_buffer out = {0}, expected = {0};
    aphi_junit_run(&out, "kv", NULL, &t);
    aphi_buffer_format(&expected,
                       "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                       "<testsuites name=\"antiphon\" tests=\"1\" %s skipped=\"0\" time=\"1.500000\">\n"
                       "  <testsuite name=\"kv\" tests=\"1\" %s skipped=\"0\" time=\"1.500000\">\n"
                       "    <testcase classname=\"kv\" name=\"kv at &lt;host&gt;\" time=\"1.500000\">\n"
                       "%s"
                       "      <system-out>{\"messages\":6}</system-out>\n"
                       "    </testcase>\n"
                       "  </testsuite>\n"
                       "</testsuites>\n",
                       totals, totals, body);
    assert_string_equal(aphi_buffer_text(&out), aphi_buffer_text(&expected));
    aphi_buffer_free(&expected);
    aphi_buffer_free(&out);
}

static void test_live_run(void **state)
{
    (void)state;
    runs("pass", NULL, "failures=\"0\" errors=\"0\"", "");
    runs("fail", "nothing explains \"x\"", "failures=\"1\" errors=\"0\"",
         "      <failure type=\"fail\" message=\"nothing explains &quot;x&quot;\">fail: nothing explains \"x\"\n\n\n"
         "  To reproduce:\n    antiphon replay x\n</failure>\n");
    runs("starved", NULL, "failures=\"1\" errors=\"0\"",
         "      <failure type=\"starved\" message=\"starved\">starved: kv at &lt;host&gt;\n\n\n"
         "  To reproduce:\n    antiphon replay x\n</failure>\n");
    runs("vacuous", NULL, "failures=\"0\" errors=\"1\"",
         "      <error type=\"vacuous\" message=\"vacuous\">vacuous: kv at &lt;host&gt;\n\n\n"
         "  To reproduce:\n    antiphon replay x\n</error>\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_outcomes),
        cmocka_unit_test(test_no_files),
        cmocka_unit_test(test_escapes),
        cmocka_unit_test(test_live_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * junit.c - results as JUnit XML.
 *
 * Not done: CDATA, which needs escaping, too ("]]>"). XML 1.0 forbids control characters everywhere, even as
 *           references; they are written as \xHH, and so are bytes that are not UTF-8. */
#include "report/junit.h"

#include "report/message_text.h"
#include "report/utf8.h"
#include "tester/run.h"

#include <string.h>

static bool is_character(uint32_t p)
{
    return p == '\t' || p == '\n' || p == '\r' ||
           (p >= 0x20 && p != 0x7f && p != 0xfffe && p != 0xffff && p != APHI_UTF8_INVALID);
}

static void escape_point(aphi_buffer *out, uint32_t p, bool attribute)
{
    switch (p) {
    case '&': aphi_buffer_str(out, "&amp;"); return;
    case '<': aphi_buffer_str(out, "&lt;"); return;
    case '>': aphi_buffer_str(out, "&gt;"); return;
    case '"': aphi_buffer_str(out, attribute ? "&quot;" : "\""); return;
    case '\r': aphi_buffer_str(out, "&#13;"); return; /* a parser would turn it into a newline */
    case '\n': aphi_buffer_str(out, attribute ? "&#10;" : "\n"); return;
    case '\t': aphi_buffer_str(out, attribute ? "&#9;" : "\t"); return;
    default: aphi_utf8_add(out, p);
    }
}

static void escape(aphi_buffer *out, const char *text, bool attribute)
{
    uint32_t p;
    for (size_t n = strlen(text), length; n; text += length, n -= length) {
        length = aphi_utf8_next(text, n, &p);
        if (is_character(p))
            escape_point(out, p, attribute);
        else
            for (size_t i = 0; i < length; i++)
                aphi_buffer_format(out, "\\x%02x", (unsigned char)text[i]);
    }
}

static void write_attribute(aphi_buffer *out, const char *name, const char *value)
{
    aphi_buffer_format(out, " %s=\"", name);
    escape(out, value, true);
    aphi_buffer_byte(out, '"');
}

/* Prints integers, because %f could write the locale's decimal comma. */
static void write_time(aphi_buffer *out, int64_t ns)
{
    int64_t us = (ns < 0 ? 0 : ns) / 1000;
    aphi_buffer_format(out, " time=\"%lld.%06lld\"", (long long)(us / 1000000), (long long)(us % 1000000));
}

/* A test case of either kind. */
typedef struct test_case {
    const char *name;
    int64_t ns;
    const char *element;                /* "failure" or "error"; NULL: the test case passed */
    const char *type, *message, *detail;
    const char *output;
} test_case;

static void write_failure(aphi_buffer *out, const test_case *t)
{
    aphi_buffer_format(out, "      <%s", t->element);
    write_attribute(out, "type", t->type);
    write_attribute(out, "message", t->message);
    if (!t->detail) {
        aphi_buffer_str(out, "/>\n");
        return;
    }
    aphi_buffer_byte(out, '>');
    escape(out, t->detail, false);
    aphi_buffer_format(out, "</%s>\n", t->element);
}

static void write_case(aphi_buffer *out, const char *suite, const test_case *t)
{
    aphi_buffer_str(out, "    <testcase");
    write_attribute(out, "classname", suite);
    write_attribute(out, "name", t->name);
    write_time(out, t->ns);
    aphi_buffer_str(out, ">\n");
    if (t->element)
        write_failure(out, t);
    aphi_buffer_str(out, "      <system-out>");
    escape(out, t->output, false);
    aphi_buffer_str(out, "</system-out>\n    </testcase>\n");
}

typedef struct tally {
    size_t tests, failures, errors;
    int64_t ns;
} tally;

static void write_totals(aphi_buffer *out, const tally *t)
{
    aphi_buffer_format(out, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"0\"", t->tests, t->failures,
                       t->errors);
    write_time(out, t->ns);
}

static void write_head(aphi_buffer *out, const char *suite, const char *timestamp, const tally *t)
{
    aphi_buffer_str(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"antiphon\"");
    write_totals(out, t);
    aphi_buffer_str(out, ">\n  <testsuite");
    write_attribute(out, "name", suite);
    write_totals(out, t);
    if (timestamp)
        write_attribute(out, "timestamp", timestamp);
    aphi_buffer_str(out, ">\n");
}

static void write_end(aphi_buffer *out)
{
    aphi_buffer_str(out, "  </testsuite>\n</testsuites>\n");
}

/* ---- checks of files --------------------------------------------------------------------------------------------- */

static void write_result(aphi_buffer *out, const char *suite, const aphi_result *r)
{
    static const struct { const char *element, *type, *message; } kinds[APHI_OUTCOMES] = {
        [APHI_OUTCOME_FAIL] = {"failure", "fail", "the model does not explain the history"},
        [APHI_OUTCOME_UNKNOWN] = {"error", "unknown", "a limit was reached before the verdict was certain"},
        [APHI_OUTCOME_ERROR] = {"error", "input", "the history could not be checked"},
        [APHI_OUTCOME_VACUOUS] = {"error", "vacuous", "the history has no response"},
    };
    char output[80];
    snprintf(output, sizeof output, "%llu operations, %llu configurations", (unsigned long long)r->operations,
             (unsigned long long)r->configurations);
    write_case(out, suite, &(test_case){.name = r->file, .ns = r->time_ns, .element = kinds[r->outcome].element,
                                   .type = kinds[r->outcome].type,
                                   .message = r->message ? r->message : kinds[r->outcome].message,
                                   .detail = r->detail, .output = output});
}

void aphi_junit_write(aphi_buffer *out, const char *suite, const char *timestamp, const aphi_result *results, size_t n)
{
    tally t = {.tests = n};
    for (size_t i = 0; i < n; i++) {
        t.failures += results[i].outcome == APHI_OUTCOME_FAIL;
        t.errors += results[i].outcome != APHI_OUTCOME_PASS && results[i].outcome != APHI_OUTCOME_FAIL;
        t.ns += results[i].time_ns;
    }
    write_head(out, suite, timestamp, &t);
    for (size_t i = 0; i < n; i++)
        write_result(out, suite, &results[i]);
    write_end(out);
}

/* ---- live runs --------------------------------------------------------------------------------------------------- */

void aphi_junit_run(aphi_buffer *out, const char *suite, const char *timestamp, const aphi_run_diagram *run)
{
    bool passed = !strcmp(run->verdict, "pass"), failed = aphi_run_verdict_name_blames_subject(aph_str(run->verdict));
    aphi_buffer detail = {0}, facts = {0};
    aphi_run_diagram_report(&detail, run, &(aphi_terminal){.unicode = true, .columns = 120});
    aphi_message_json(&facts, run->run, APHI_MESSAGE_WHOLE);
    write_head(out, suite, timestamp,
               &(tally){.tests = 1, .failures = failed, .errors = !passed && !failed, .ns = run->total_ns});
    write_case(out, suite, &(test_case){.name = run->title, .ns = run->total_ns,
                                   .element = passed ? NULL : failed ? "failure" : "error", .type = run->verdict,
                                   .message = run->headline ? run->headline : run->verdict,
                                   .detail = aphi_buffer_text(&detail), .output = aphi_buffer_text(&facts)});
    write_end(out);
    aphi_buffer_free(&detail);
    aphi_buffer_free(&facts);
}

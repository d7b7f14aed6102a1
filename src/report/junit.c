/* SPDX-License-Identifier: Apache-2.0
 *
 * junit.c - results as the XML that continuous integration reads.
 *
 * Not done: CDATA. It needs escaping too ("]]>"), and control characters are forbidden in it as anywhere in XML 1.0,
 * even as references; they and bytes that are not UTF-8 are written as \xHH. */
#include "report/junit.h"

#include "report/utf8.h"

#include <string.h>

static bool is_character(uint32_t p)
{
    return p == '\t' || p == '\n' || p == '\r' || (p >= 0x20 && p != 0x7f && p != 0xfffe && p != 0xffff);
}

static void escape_point(aphi_buffer *out, uint32_t p, bool attribute)
{
    switch (p) {
    case '&': aphi_buffer_str(out, "&amp;"); return;
    case '<': aphi_buffer_str(out, "&lt;"); return;
    case '>': aphi_buffer_str(out, "&gt;"); return;
    case '"': aphi_buffer_str(out, attribute ? "&quot;" : "\""); return;
    case '\r': aphi_buffer_str(out, "&#13;"); return; /* or else a parser makes it a newline */
    case '\n': aphi_buffer_str(out, attribute ? "&#10;" : "\n"); return;
    case '\t': aphi_buffer_str(out, attribute ? "&#9;" : "\t"); return;
    default: aphi_utf8_add(out, p);
    }
}

static void escape(aphi_buffer *out, const char *text, bool attribute)
{
    for (size_t n = strlen(text); n;) {
        uint32_t p;
        size_t taken = aphi_utf8_next(text, n, &p);
        if (taken && is_character(p)) {
            escape_point(out, p, attribute);
        } else {
            taken = taken ? taken : 1;
            for (size_t i = 0; i < taken; i++)
                aphi_buffer_format(out, "\\x%02x", (unsigned char)text[i]);
        }
        text += taken;
        n -= taken;
    }
}

static void attribute_text(aphi_buffer *out, const char *name, const char *value)
{
    aphi_buffer_format(out, " %s=\"", name);
    escape(out, value, true);
    aphi_buffer_byte(out, '"');
}

/* Digits alone: a decimal comma of the locale would not be read. */
static void attribute_time(aphi_buffer *out, int64_t ns)
{
    int64_t us = (ns < 0 ? 0 : ns) / 1000;
    aphi_buffer_format(out, " time=\"%lld.%06lld\"", (long long)(us / 1000000), (long long)(us % 1000000));
}

static void complain(aphi_buffer *out, const aphi_result *r)
{
    static const struct { const char *element, *type, *message; } kinds[APHI_OUTCOMES] = {
        [APHI_OUTCOME_FAIL] = {"failure", "fail", "the model does not explain the history"},
        [APHI_OUTCOME_UNKNOWN] = {"error", "unknown", "a limit was reached before the verdict was certain"},
        [APHI_OUTCOME_ERROR] = {"error", "input", "the history could not be checked"},
    };
    const char *element = kinds[r->outcome].element;
    aphi_buffer_format(out, "      <%s", element);
    attribute_text(out, "type", kinds[r->outcome].type);
    attribute_text(out, "message", r->message ? r->message : kinds[r->outcome].message);
    if (!r->detail) {
        aphi_buffer_str(out, "/>\n");
        return;
    }
    aphi_buffer_byte(out, '>');
    escape(out, r->detail, false);
    aphi_buffer_format(out, "</%s>\n", element);
}

static void write_case(aphi_buffer *out, const char *suite, const aphi_result *r)
{
    aphi_buffer_str(out, "    <testcase");
    attribute_text(out, "classname", suite);
    attribute_text(out, "name", r->file);
    attribute_time(out, r->time_ns);
    aphi_buffer_str(out, ">\n");
    if (r->outcome != APHI_OUTCOME_PASS)
        complain(out, r);
    aphi_buffer_format(out, "      <system-out>%llu operations, %llu configurations</system-out>\n    </testcase>\n",
                       (unsigned long long)r->operations, (unsigned long long)r->configurations);
}

typedef struct tally {
    size_t of[APHI_OUTCOMES];
    int64_t ns;
} tally;

static void write_totals(aphi_buffer *out, const tally *t, size_t n)
{
    aphi_buffer_format(out, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"0\"", n, t->of[APHI_OUTCOME_FAIL],
                       t->of[APHI_OUTCOME_UNKNOWN] + t->of[APHI_OUTCOME_ERROR]);
    attribute_time(out, t->ns);
}

void aphi_junit_write(aphi_buffer *out, const char *suite, const char *timestamp, const aphi_result *results, size_t n)
{
    tally t = {0};
    for (size_t i = 0; i < n; i++) {
        t.of[results[i].outcome]++;
        t.ns += results[i].time_ns;
    }
    aphi_buffer_str(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"antiphon\"");
    write_totals(out, &t, n);
    aphi_buffer_str(out, ">\n  <testsuite");
    attribute_text(out, "name", suite);
    write_totals(out, &t, n);
    if (timestamp)
        attribute_text(out, "timestamp", timestamp);
    aphi_buffer_str(out, ">\n");
    for (size_t i = 0; i < n; i++)
        write_case(out, suite, &results[i]);
    aphi_buffer_str(out, "  </testsuite>\n</testsuites>\n");
}

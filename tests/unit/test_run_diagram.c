/* SPDX-License-Identifier: Apache-2.0
 *
 * test_run_diagram.c - drawings of runs for a terminal, compared character by character. */
#include "report/message_text.h"
#include "report/run_diagram.h"
#include "report/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const aphi_terminal plain = {.unicode = true, .columns = 80};
static const aphi_terminal ascii = {.columns = 80};
static const aphi_terminal coloured = {.unicode = true, .colour = true, .columns = 80};

static aph_value json(const char *text)
{
    aph_value v = APH_NIL;
    assert_true(aph_json_read(text, strlen(text), &v, NULL));
    return v;
}

static void draws(const aphi_run_diagram *t, const aphi_terminal *terminal, size_t rows, const char *expected)
{
    aphi_buffer out = {0};
    aphi_run_diagram_draw(&out, t, terminal, rows);
    assert_string_equal(aphi_buffer_text(&out), expected);
    aphi_buffer_free(&out);
}

/* A key-value server that forgets: two puts, both confirmed, then a get on a third connection. */
static void forgetful(aphi_run_event *m, aphi_run_diagram *t)
{
    const aphi_run_event moments[] = {
        {APHI_RUN_EVENT_SENT, 0, 0, 1, json("{\"f\":\"put\",\"key\":\"a\",\"value\":1}")},
        {APHI_RUN_EVENT_SENT, 31000, 1, 3, json("{\"f\":\"put\",\"key\":\"a\",\"value\":2}")},
        {APHI_RUN_EVENT_RECEIVED, 120000, 0, 2, json("\"ok\"")},
        {APHI_RUN_EVENT_RECEIVED, 151999, 1, 4, json("\"ok\"")},
        {APHI_RUN_EVENT_SENT, 310000, 2, 5, json("{\"f\":\"get\",\"key\":\"a\"}")},
        {APHI_RUN_EVENT_RECEIVED, 420000, 2, 6, json("0")},
    };
    memcpy(m, moments, sizeof moments);
    *t = (aphi_run_diagram){
        .title = "kv at 127.0.0.1:4711", .verdict = "fail", .headline = "nothing explains the answer #6: 0",
        .events = m, .count = COUNT(moments), .failing = 5,
        .run = json("{\"messages\":6,\"seed\":7}"), .ns = 1500000000,
        .allowed = json("[{\"answer\":1,\"clauses\":[\"RFC 9110 9.3.1\"],\"state\":{\"a\":1},\"order\":[3,1,5]},"
                        "{\"answer\":2,\"state\":{\"a\":2},\"order\":[1,3,5]}]"),
        .script = json("[{\"label\":1,\"conn\":0,\"send\":0},{\"label\":3,\"conn\":1,\"send\":0},"
                       "{\"label\":5,\"conn\":2,\"send\":0,\"wait\":{\"answer\":2}}]"),
        .replay = "antiphon replay .antiphon/kv-1.jsonl --target 127.0.0.1:4711",
    };
}

static void test_counterexample(void **state)
{
    (void)state;
    aphi_run_event m[8];
    aphi_run_diagram t;
    forgetful(m, &t);
    draws(&t, &plain, 0,
          "       ms  conn 0  conn 1  conn 2                              subject\n"
          "              │       │       │                                   │\n"
          "    0.000     ├───────┼───────┼─── #1 put \"a\" 1 ─────────────────▶│\n"
          "    0.031     │       ├───────┼─── #3 put \"a\" 2 ─────────────────▶│\n"
          "    0.120     │◀──────┼───────┼─── #2 \"ok\" ───────────────────────┤\n"
          "    0.151     │       │◀──────┼─── #4 \"ok\" ───────────────────────┤\n"
          "              │       │       ┊    waits for response #2          │\n"
          "    0.310     │       │       ├─── #5 get \"a\" ───────────────────▶│\n"
          "  ✗ 0.420     │       │       │◀── ✗ #6 0 ────────────────────────┤\n"
          "              │       │       ╰─── expected 1 (RFC 9110 9.3.1)    │\n"
          "              │       │                  or 2                     │\n");
    draws(&t, &ascii, 0,
          "       ms  conn 0  conn 1  conn 2                              subject\n"
          "              |       |       |                                   |\n"
          "    0.000     |-------+-------+--- #1 put \"a\" 1 ----------------->|\n"
          "    0.031     |       |-------+--- #3 put \"a\" 2 ----------------->|\n"
          "    0.120     |<------+-------+--- #2 \"ok\" -----------------------|\n"
          "    0.151     |       |<------+--- #4 \"ok\" -----------------------|\n"
          "              |       |       :    waits for response #2          |\n"
          "    0.310     |       |       |--- #5 get \"a\" ------------------->|\n"
          "  X 0.420     |       |       |<-- X #6 0 ------------------------|\n"
          "              |       |       '--- expected 1 (RFC 9110 9.3.1)    |\n"
          "              |       |                  or 2                     |\n");
}

/* A short run is drawn to its end, even if the failing message comes earlier. */
static void test_short_run(void **state)
{
    (void)state;
    aphi_run_event m[8];
    aphi_run_diagram t;
    forgetful(m, &t);
    t.events += 2;
    t.count = 3;
    t.failing = 0;
    t.allowed = t.script = APH_NIL;
    draws(&t, &ascii, 0,
          "       ms  conn 0  conn 1  conn 2                subject\n"
          "              |       |       |                     |\n"
          "  X 0.120     |<------+-------+--- X #2 \"ok\" -------|\n"
          "              '-------+-------+--- expected a message that the model allows\n"
          "    0.151     |       |<------+--- #4 \"ok\" ---------|\n"
          "    0.310     |       |       |--- #5 get \"a\" ----->|\n");
    draws(&t, &ascii, 2,
          "       ms  conn 0                subject\n"
          "              |                     |\n"
          "  X 0.120     |<-- X #2 \"ok\" -------|\n"
          "              '--- expected a message that the model allows\n"
          "              :    ... 2 later messages\n");
}

static void test_colours(void **state)
{
    (void)state;
    aphi_run_event m[8];
    aphi_run_diagram t;
    forgetful(m, &t);
    t.events += 4;
    t.count = 2;
    t.failing = 1;
    t.script = APH_NIL;
    draws(&t, &coloured, 0,
          "       \33[2mms  \33[0m\33[1mconn 2                              subject\33[0m\n"
          "              \33[2m│                                   │\33[0m\n"
          "    \33[2m0.310     ├─── \33[0m#5 get \"a\" \33[2m───────────────────▶│\33[0m\n"
          "  \33[1;31m✗ \33[0m\33[2m0.420     \33[0m\33[1;31m│◀── ✗ #6 0 ────────────────────────┤\33[0m\n"
          "              \33[1;31m╰─── \33[0mexpected \33[31m1 (RFC 9110 9.3.1)    \33[0m\33[2m│\33[0m\n"
          "                         or \33[31m2                     \33[0m\33[2m│\33[0m\n");
}

/* Unknowns: their conditions, and one note that explains them. */
static void test_unknowns(void **state)
{
    (void)state;
    aphi_run_event m[8];
    aphi_run_diagram t;
    aphi_buffer out = {0};
    forgetful(m, &t);
    t.allowed = json("[{\"answer\":{\"?\":0,\"sort\":\"string\"},"
                     "\"given\":[{\"not\":[{\"=\":[{\"?\":0,\"sort\":\"string\"},\"x\"]}]},"
                     "{\"<\":[{\"?\":1,\"sort\":\"int\"},5]}]},{\"answer\":{\"a\":[{\"?\":0,\"sort\":\"int\"}]}}]");
    aphi_run_diagram_report(&out, &t, &plain);
    assert_non_null(strstr(aphi_buffer_text(&out),
          "\n  The model allows instead:\n"
          "    ?0, where not (?0 = \"x\") and (?1 < 5)\n"
          "    {\"a\":[?0]}\n"
          "  Here ?0, ?1, ... stand for any values that the server may choose.\n"
          "\n"
          "  To reproduce:\n"));
    aphi_buffer_free(&out);
    assert_false(aphi_message_has_unknown(json("[{\"?\":\"x\"},{\"a\":{\"b\":[1,\"?\"]}},null]")));
}

/* The whole report of a run. */
static void test_report(void **state)
{
    (void)state;
    aphi_run_event m[8];
    aphi_run_diagram t;
    aphi_buffer out = {0};
    forgetful(m, &t);
    aphi_run_diagram_report(&out, &t, &plain);
    assert_string_equal(aphi_buffer_text(&out),
          "fail: nothing explains the answer #6: 0\n"
          "\n"
          "       ms  conn 0  conn 1  conn 2                              subject\n"
          "              │       │       │                                   │\n"
          "    0.000     ├───────┼───────┼─── #1 put \"a\" 1 ─────────────────▶│\n"
          "    0.031     │       ├───────┼─── #3 put \"a\" 2 ─────────────────▶│\n"
          "    0.120     │◀──────┼───────┼─── #2 \"ok\" ───────────────────────┤\n"
          "    0.151     │       │◀──────┼─── #4 \"ok\" ───────────────────────┤\n"
          "              │       │       ┊    waits for response #2          │\n"
          "    0.310     │       │       ├─── #5 get \"a\" ───────────────────▶│\n"
          "  ✗ 0.420     │       │       │◀── ✗ #6 0 ────────────────────────┤\n"
          "              │       │       ╰─── expected 1 (RFC 9110 9.3.1)    │\n"
          "              │       │                  or 2                     │\n"
          "\n"
          "  The model allows instead:\n"
          "    1 (RFC 9110 9.3.1), in state {\"a\":1}, if the requests were applied in the\n"
          "      order #3, #1, #5\n"
          "    2, in state {\"a\":2}, if the requests were applied in the order #1, #3, #5\n"
          "\n"
          "  To reproduce:\n"
          "    antiphon replay .antiphon/kv-1.jsonl --target 127.0.0.1:4711\n");
    out.n = 0;
    t.verdict = "pass";
    aphi_run_diagram_report(&out, &t, &plain);
    assert_int_equal(out.n, 0);
    t = (aphi_run_diagram){.title = "kv at :1", .verdict = "vacuous", .failing = APHI_RUN_DIAGRAM_NONE,
                        .branches = json("{\"get\":3,\"put\":0,\"\\u001b[2Jdel\":0}")};
    aphi_run_diagram_report(&out, &t, &plain);
    assert_string_equal(aphi_buffer_text(&out), "vacuous: kv at :1\n\n\n  Never reached: \\u001b[2Jdel, put\n");
    aphi_buffer_free(&out);
}

/* Other events than messages: closed, dropped, lost, malformed; a pause; a reused connection. */
static void test_other_events(void **state)
{
    (void)state;
    const char bytes[] = "\0\xff\33[2J<ok>";
    const aphi_run_event m[] = {
        {APHI_RUN_EVENT_SENT, 0, 0, 1, json("\"one\"")},
        {APHI_RUN_EVENT_SENT, 5000000, 7, 3, json("\"two\"")},
        {APHI_RUN_EVENT_DROPPED, 6000000, 0, 0, json("\"reset\"")},
        {APHI_RUN_EVENT_LOST, 6000000, 0, 2, APH_NIL},
        {APHI_RUN_EVENT_SENT, 2006000000, 0, 5, json("\"three\"")},
        {APHI_RUN_EVENT_CLOSED, 2007000000, 0, 7, APH_NIL},
        {APHI_RUN_EVENT_MALFORMED, 2008000000, 7, 4, aph_bytes(bytes, sizeof bytes - 1)},
    };
    const aphi_run_diagram t = {
        .title = "", .verdict = "malformed", .events = m, .count = COUNT(m), .failing = 6,
        .script = json("[{\"label\":7,\"wait\":\"quiet\"},{\"label\":3,\"wait\":{\"pause_us\":5000}}]")};
    draws(&t, &plain, 0,
          "          ms  conn 0  conn 7                                            subject\n"
          "                 │       │                                                 │\n"
          "       0.000     ├───────┼─── #1 \"one\" ───────────────────────────────────▶│\n"
          "                 │       ┊    waits for a pause of 5.00 ms                 │\n"
          "       5.000     │       ├─── #3 \"two\" ───────────────────────────────────▶│\n"
          "       6.000     │◀──────┼─── resets the connection ───────────────────────┤\n"
          "       6.000     │?┄┄┄┄┄┄┼┄┄┄ #2 never arrived ┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┤\n"
          "                 ⋮       ⋮    2.00 s without a message                     ⋮\n"
          "    2006.000     ├───────┼─── #5 \"three\" ─────────────────────────────────▶│\n"
          "                 ┊       │    waits for quiet                              │\n"
          "    2007.000     ├───────┼─── #7 closes the connection ───────────────────▶│\n"
          "  ✗ 2008.000             │◀── ✗ #4 malformed: \"\\u0000\\xff\\u001b[2J<ok>\" ───┤\n"
          "                         ╰─── expected a message                           │\n");
}

/* A silence belongs to no connection. */
static void test_silence(void **state)
{
    (void)state;
    const aphi_run_event m[] = {
        {APHI_RUN_EVENT_SENT, 0, 0, 0, APH_OPENED},       {APHI_RUN_EVENT_SENT, 1000000, 0, 0, APH_BROKEN},
        {APHI_RUN_EVENT_QUIET, 301000000, 0, 0, APH_NIL}, {APHI_RUN_EVENT_SENT, 301000000, 1, 0, APH_OPENED},
        {APHI_RUN_EVENT_RECEIVED, 302000000, 1, 0, json("\"busy\"")},
    };
    aphi_run_diagram t = {.title = "", .verdict = "fail", .events = m, .count = COUNT(m), .failing = 4};
    draws(&t, &plain, 0,
          "         ms  conn 0  conn 1                                     subject\n"
          "                │       │                                          │\n"
          "      0.000     ├───────┼─── opens ───────────────────────────────▶│\n"
          "      1.000     ├───────┼─── resets ──────────────────────────────▶│\n"
          "                ⋮       ⋮    300 ms without a message              ⋮\n"
          "    301.000     │       │    silence: all messages have arrived    │\n"
          "    301.000     │       ├─── opens ───────────────────────────────▶│\n"
          "  ✗ 302.000     │       │◀── ✗ \"busy\" ─────────────────────────────┤\n"
          "                │       ╰─── expected a message that the model     │\n"
          "                │                     allows                       │\n");
    t.failing = 2;
    draws(&t, &plain, 3,
          "         ms  conn 0                                       subject\n"
          "                │                                            │\n"
          "      0.000     ├─── opens ─────────────────────────────────▶│\n"
          "      1.000     ├─── resets ────────────────────────────────▶│\n"
          "                ⋮    300 ms without a message                ⋮\n"
          "  ✗ 301.000     │    silence: all messages have arrived      │\n"
          "                ╰─── expected a message that is due          │\n"
          "                ⋮    … 2 later messages                      ⋮\n");
}

/* A request without a response. */
static void test_starved(void **state)
{
    (void)state;
    const aphi_run_event m[] = {
        {APHI_RUN_EVENT_SENT, 0, 0, 1, json("{\"f\":\"get\",\"key\":\"a\"}")},
    };
    aphi_run_diagram t = {.title = "", .verdict = "starved", .events = m, .count = 1, .failing = 0,
                       .allowed = json("[{\"answer\":null}]")};
    draws(&t, &plain, 0,
          "       ms  conn 0                subject\n"
          "              │                     │\n"
          "  ✗ 0.000     ├─── ✗ #1 get \"a\" ───▶│\n"
          "              ╰──────── got no response\n"
          "                   expected null    │\n");
    t.failing = APHI_RUN_DIAGRAM_NONE;
    draws(&t, &plain, 0,
          "       ms  conn 0                subject\n"
          "              │                     │\n"
          "    0.000     ├─── #1 get \"a\" ─────▶│\n");
    t.count = 0;
    draws(&t, &plain, 0, "");
}

/* A long run: many connections, the failing message long after its request. */
static void long_run(aphi_run_event *m, size_t n, int64_t connections, aphi_run_diagram *t)
{
    for (size_t i = 0; i < n; i++) {
        int64_t request = (int64_t)(i / 2 * 2 + 1);
        const char *answer = "{\"tag\":\"abc\",\"value\":\"an answer much longer than there is room for\"}";
        bool sent = i % 2 == 0;
        m[i] = (aphi_run_event){sent ? APHI_RUN_EVENT_SENT : APHI_RUN_EVENT_RECEIVED, (int64_t)i * 12345678,
                             (int64_t)(i / 2) % connections, sent ? request : request + 1,
                             json(sent ? "{\"f\":\"get\",\"key\":\"k\"}" : answer)};
    }
    m[n - 3].label = 100; /* its request was sent long before */
    *t = (aphi_run_diagram){.title = "", .verdict = "fail", .events = m, .count = n, .earlier = 1000000,
                         .failing = n - 3, .allowed = json("[]")};
}

static void test_long_run(void **state)
{
    (void)state;
    static aphi_run_event m[2000];
    aphi_run_diagram t;
    long_run(m, COUNT(m), 9, &t);
    draws(&t, &plain, 6,
          "           ms  4  6  7  8   connections                                  subject\n"
          "               │  │  │  │                                                   │\n"
          "               ⋮  ⋮  ⋮  ⋮    … 1,000,098 earlier messages                   ⋮\n"
          "     1209.876  ├──┼──┼──┼─── #99 get \"k\" ──────────────────────────────────▶│\n"
          "               ⋮  ⋮  ⋮  ⋮    … 1,894 messages                               ⋮\n"
          "    24604.936  │  │◀─┼──┼─── #1994 {\"tag\":\"abc\",\"value\":\"an answer much … ──┤\n"
          "    24617.281  │  │  ├──┼─── #1995 get \"k\" ────────────────────────────────▶│\n"
          "    24629.627  │  │  │◀─┼─── #1996 {\"tag\":\"abc\",\"value\":\"an answer much … ──┤\n"
          "    24641.973  │  │  │  ├─── #1997 get \"k\" ────────────────────────────────▶│\n"
          "  ✗ 24654.318  │  │  │  │◀── ✗ #100 {\"tag\":\"abc\",\"value\":\"an answer much… ──┤\n"
          "               │  │  │  ╰──────── got {\"tag\":\"abc\",\"value\":\"an answer much  │\n"
          "               │  │  │                longer than there is room for\"}       │\n"
          "               ⋮  ⋮  ⋮  ⋮    … 2 later messages                             ⋮\n");
    long_run(m, COUNT(m), 40, &t);
    draws(&t, &(aphi_terminal){.unicode = true, .columns = 60}, 30,
          "           ms        tester                          subject\n"
          "                        │                               │\n"
          "                        ⋮    … 1,000,098 earlier messages\n"
          "     1209.876   conn 9  ├─── #99 get \"k\" ──────────────▶│\n"
          "                        ⋮    … 1,870 messages           ⋮\n"
          "    24308.639  conn 24  │◀── #1970 {\"tag\":\"abc\",\"val… ──┤\n"
          "    24320.985  conn 25  ├─── #1971 get \"k\" ────────────▶│\n"
          "    24333.331  conn 25  │◀── #1972 {\"tag\":\"abc\",\"val… ──┤\n"
          "    24345.677  conn 26  ├─── #1973 get \"k\" ────────────▶│\n"
          "    24358.022  conn 26  │◀── #1974 {\"tag\":\"abc\",\"val… ──┤\n"
          "    24370.368  conn 27  ├─── #1975 get \"k\" ────────────▶│\n"
          "    24382.714  conn 27  │◀── #1976 {\"tag\":\"abc\",\"val… ──┤\n"
          "    24395.059  conn 28  ├─── #1977 get \"k\" ────────────▶│\n"
          "    24407.405  conn 28  │◀── #1978 {\"tag\":\"abc\",\"val… ──┤\n"
          "    24419.751  conn 29  ├─── #1979 get \"k\" ────────────▶│\n"
          "    24432.096  conn 29  │◀── #1980 {\"tag\":\"abc\",\"val… ──┤\n"
          "    24444.442  conn 30  ├─── #1981 get \"k\" ────────────▶│\n"
          "    24456.788  conn 30  │◀── #1982 {\"tag\":\"abc\",\"val… ──┤\n"
          "    24469.133  conn 31  ├─── #1983 get \"k\" ────────────▶│\n"
          "    24481.479  conn 31  │◀── #1984 {\"tag\":\"abc\",\"val… ──┤\n"
          "    24493.825  conn 32  ├─── #1985 get \"k\" ────────────▶│\n"
          "    24506.170  conn 32  │◀── #1986 {\"tag\":\"abc\",\"val… ──┤\n"
          "    24518.516  conn 33  ├─── #1987 get \"k\" ────────────▶│\n"
          "    24530.862  conn 33  │◀── #1988 {\"tag\":\"abc\",\"val… ──┤\n"
          "    24543.207  conn 34  ├─── #1989 get \"k\" ────────────▶│\n"
          "    24555.553  conn 34  │◀── #1990 {\"tag\":\"abc\",\"val… ──┤\n"
          "    24567.899  conn 35  ├─── #1991 get \"k\" ────────────▶│\n"
          "    24580.244  conn 35  │◀── #1992 {\"tag\":\"abc\",\"val… ──┤\n"
          "    24592.590  conn 36  ├─── #1993 get \"k\" ────────────▶│\n"
          "    24604.936  conn 36  │◀── #1994 {\"tag\":\"abc\",\"val… ──┤\n"
          "    24617.281  conn 37  ├─── #1995 get \"k\" ────────────▶│\n"
          "    24629.627  conn 37  │◀── #1996 {\"tag\":\"abc\",\"val… ──┤\n"
          "    24641.973  conn 38  ├─── #1997 get \"k\" ────────────▶│\n"
          "  ✗ 24654.318  conn 38  │◀── ✗ #100 {\"tag\":\"abc\",\"va… ──┤\n"
          "                        ╰──────── got {\"tag\":\"abc\",\"value\":\"\n"
          "                                      an answer much longer\n"
          "                                      than there is room\n"
          "                                      for\"}             │\n"
          "                        ⋮    … 2 later messages         ⋮\n");
}

/* No line is wider than the terminal, for any messages. */
static void test_widths(void **state)
{
    (void)state;
    static aphi_run_event m[300];
    aphi_run_diagram t;
    for (size_t columns = 48; columns < 140; columns += 7) {
        for (int64_t connections = 1; connections < 60; connections += 5) {
            long_run(m, COUNT(m), connections, &t);
            t.allowed = json("[{\"answer\":\"an answer that is much longer than there is ever any room for\"}]");
            aphi_buffer out = {0};
            aphi_run_diagram_draw(&out, &t, &(aphi_terminal){.unicode = columns % 2, .columns = columns}, 40);
            for (char *line = strtok(aphi_buffer_text(&out), "\n"); line; line = strtok(NULL, "\n"))
                assert_true(aphi_utf8_columns(line) <= columns);
            aphi_buffer_free(&out);
        }
    }
}

static void prints(void (*show)(aphi_buffer *, aph_value, size_t), aph_value v, size_t limit, const char *expected)
{
    aphi_buffer out = {0};
    show(&out, v, limit);
    assert_string_equal(aphi_buffer_text(&out), expected);
    aphi_buffer_free(&out);
}

static void formats(aphi_buffer *out, aph_value v, size_t limit) { aphi_message_words(out, v, NULL, limit); }

static void test_messages(void **state)
{
    (void)state;
    const char bytes[] = "\0\xff\xe2\x80\xae\33\\\"é\n";
    prints(aphi_message_json, aph_bytes(bytes, sizeof bytes - 1), APHI_MESSAGE_WHOLE,
          "\"\\u0000\\xff\\u202e\\u001b\\\\\\\"é\\n\"");
    prints(formats, json("{\"f\":\"cas\",\"key\":\"k\",\"value\":[1,2],\"if\":{\"a\":null}}"),
          APHI_MESSAGE_WHOLE, "cas if={\"a\":null} \"k\" [1,2]");
    prints(formats, json("{\"tag\":{\"?\":0,\"sort\":\"string\"},\"n\":{\"=\":[1,{\"not\":[true]}]}}"),
          APHI_MESSAGE_WHOLE, "{\"n\":(1 = not true),\"tag\":?0}");
    prints(aphi_message_json, json("[\"éééééé\",1,2,3,4,5,6]"), 6, "[\"éé…");
    prints(formats, json("{\"f\":\"put\",\"key\":\"0123456789\",\"value\":1}"), 8, "put \"012…");
    prints(aphi_message_json, json("[]"), 2, "[]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counterexample),
        cmocka_unit_test(test_short_run),
        cmocka_unit_test(test_colours),
        cmocka_unit_test(test_unknowns),
        cmocka_unit_test(test_report),
        cmocka_unit_test(test_other_events),
        cmocka_unit_test(test_silence), cmocka_unit_test(test_starved),
        cmocka_unit_test(test_long_run),
        cmocka_unit_test(test_widths),
        cmocka_unit_test(test_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

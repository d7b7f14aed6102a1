/* SPDX-License-Identifier: Apache-2.0
 *
 * test_spacetime.c - space-time diagrams of where model and program part: events, arrows, remarks, what is left out. */
#include "report/spacetime.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { A, B, C };

/* A sends x and notes, B takes x; C passes y to B. */
static const aphi_recorded events[] = {
    {.did = APHI_DID_SEND, .at = {A, 1}, .port = 0, .label = 1, .peer = {B, 1}},
    {.did = APHI_DID_LOCAL, .at = {A, 2}, .label = 3},
    {.did = APHI_DID_RECEIVE, .at = {B, 1}, .port = 0, .label = 1, .peer = {A, 1}},
    {.did = APHI_DID_SEND, .sync = true, .at = {C, 1}, .port = 0, .label = 2, .peer = {B, 2}},
    {.did = APHI_DID_RECEIVE, .sync = true, .at = {B, 2}, .port = 0, .label = 2, .peer = {C, 1}},
};

static aphi_cast make_cast(void)
{
    aphi_cast c = {0};
    aphi_cast_add_thread(&c, "A");
    aphi_cast_add_thread(&c, "B");
    aphi_cast_add_thread(&c, "C");
    aphi_cast_add_port(&c, "p", B, APHI_CAST_PAIR, 0);
    aphi_cast_label(&c, "x");
    aphi_cast_label(&c, "y");
    aphi_cast_label(&c, "done");
    return c;
}

static void expect(aphi_difference d, bool unicode, size_t rows, const char *wanted)
{
    aphi_cast c = make_cast();
    aphi_terminal t = {.unicode = unicode, .columns = 100};
    aphi_buffer out = {0};
    d.run.events = (aphi_recorded *)events;
    d.run.event_count = sizeof events / sizeof *events;
    aphi_spacetime_draw(&out, &c, &d, &t, rows);
    assert_string_equal(aphi_buffer_text(&out), wanted);
    aphi_buffer_free(&out);
    aphi_cast_free(&c);
}

static void test_races(void **state)
{
    aphi_rival rival = {.send = {C, 1}, .port = 0, .label = 2};
    aphi_difference d = {.breach = APHI_BREACH_MORE, .alone = -1, .at = {B, 1}, .program = {&rival, 1, 1}};
    (void)state;
    expect(d, true, 40,
           "  (1 event omitted: unrelated or too early)\n"
           "      A    B    C\n"
           "      ●    │    │   A:1 sends p x to B\n"
           " ✗    ├╌╌╌▶│    │   A:1's message p x reaches B:1\n"
           "      │    ╰─ in the model, it could have received nothing else\n"
           "      │    ╰─ in the program, it could have received instead: p y from C:1\n"
           "      │    │◀───┤   C:1 passes p y to B:2\n");
}

/* An event that one side does not have stands below the others; only its own past is shown. */
static void test_missing(void **state)
{
    aphi_difference d = {.breach = APHI_BREACH_MISSING, .alone = -1, .at = {A, 3}, .expects = true,
                         .expected = {.did = APHI_DID_SEND, .sync = true, .port = 0, .label = 2, .peer = {B, 0}},
                         .detail = "missing event: ..., the program ends"};
    (void)state;
    expect(d, false, 40,
           "  (2 events omitted: unrelated or too early)\n"
           "      A    B\n"
           "      *    |   A:1 sends p x to B\n"
           "      o    |   A:2 done\n"
           " x    x    |   A:3\n"
           "      `- in the model: synchronous send p y to B\n"
           "      `- in the program: it ends\n");
    d.expects = false;
    expect(d, false, 1,
           "  (3 events omitted: unrelated or too early)\n"
           "      A\n"
           "      o   A:2 done\n"
           " x    x   A:3\n"
           "      `- in the model: no more events\n"
           "      `- in the program: it ends\n");
}

/* Where no event is to blame, the end of the run is shown. */
static void test_whole_run(void **state)
{
    aphi_difference d = {.breach = APHI_BREACH_CRASHED, .alone = -1};
    (void)state;
    expect(d, false, 40,
           "      A    B    C\n"
           "      *    |    |   A:1 sends p x to B\n"
           "      o    |    |   A:2 done\n"
           "      +...>|    |   A:1's message p x reaches B:1\n"
           "      |    |<---+   C:1 passes p y to B:2\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_races),
        cmocka_unit_test(test_missing),
        cmocka_unit_test(test_whole_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * test_divergence_diagram.c - space-time diagrams of differences between model and program: events, arrows,
 * remarks, omissions. */
#include "report/divergence_diagram.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { A, B, C };

/* A sends x and has a local event, B receives x; C passes y to B. */
static const aphi_recorded_event events[] = {
    {.op = APHI_ALTS_SEND, .id = {A, 1}, .port = 0, .label = 1, .peer = {B, 1}},
    {.op = APHI_ALTS_LOCAL, .id = {A, 2}, .label = 3},
    {.op = APHI_ALTS_RECEIVE, .id = {B, 1}, .port = 0, .label = 1, .peer = {A, 1}},
    {.op = APHI_ALTS_SEND, .sync = true, .id = {C, 1}, .port = 0, .label = 2, .peer = {B, 2}},
    {.op = APHI_ALTS_RECEIVE, .sync = true, .id = {B, 2}, .port = 0, .label = 2, .peer = {C, 1}},
};

static aphi_layout make_cast(void)
{
    aphi_layout c = {0};
    aphi_layout_add_thread(&c, "A");
    aphi_layout_add_thread(&c, "B");
    aphi_layout_add_thread(&c, "C");
    aphi_layout_add_port(&c, "p", B, APHI_MEDIUM_PAIR, 0);
    aphi_layout_label(&c, "x");
    aphi_layout_label(&c, "y");
    aphi_layout_label(&c, "done");
    return c;
}

static void expect(aphi_difference d, bool unicode, size_t rows, const char *wanted)
{
    aphi_layout c = make_cast();
    aphi_terminal t = {.unicode = unicode, .columns = 100};
    aphi_buffer out = {0};
    d.run.events = (aphi_recorded_event *)events;
    d.run.event_count = sizeof events / sizeof *events;
    aphi_divergence_diagram_draw(&out, &c, &d, &t, rows);
    assert_string_equal(aphi_buffer_text(&out), wanted);
    aphi_buffer_free(&out);
    aphi_layout_free(&c);
}

static void test_races(void **state)
{
    aphi_race_message rival = {.send = {C, 1}, .port = 0, .label = 2};
    aphi_difference d = {
        .violation = APHI_VIOLATION_RACE_EXTRA, .local_thread = -1, .id = {B, 1}, .program = {&rival, 1, 1}};
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

/* An event that only one side has is drawn below the others; only its causal past is shown. */
static void test_missing(void **state)
{
    aphi_difference d = {.violation = APHI_VIOLATION_MISSING, .local_thread = -1, .id = {A, 3},
                         .expected = &(aphi_recorded_event){.op = APHI_ALTS_SEND, .sync = true, .port = 0, .label = 2,
                                                            .peer = {B, 0}},
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
    d.expected = NULL;
    expect(d, false, 1,
           "  (3 events omitted: unrelated or too early)\n"
           "      A\n"
           "      o   A:2 done\n"
           " x    x   A:3\n"
           "      `- in the model: no more events\n"
           "      `- in the program: it ends\n");
}

/* Without a differing event, the end of the run is shown. */
static void test_whole_run(void **state)
{
    aphi_difference d = {.violation = APHI_VIOLATION_CRASHED, .local_thread = -1};
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

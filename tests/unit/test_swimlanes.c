/* SPDX-License-Identifier: Apache-2.0
 *
 * test_swimlanes.c - space-time diagrams of programs: the order of rows, the drawing, and hostile texts. */
#include "report/swimlanes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NONE APHI_SWIMLANES_NONE

static const char *const names[] = {"A", "B", "C"};

static char *drawn(const aphi_swimlanes *s, bool unicode)
{
    aphi_buffer out = {0};
    aphi_swimlanes_draw(&out, s, &(aphi_terminal){.unicode = unicode, .columns = 80});
    return aphi_buffer_text(&out);
}

static char *page_of(const aphi_swimlanes *s)
{
    aphi_buffer out = {0};
    aphi_swimlanes_page_begin(&out, "a <b> model", "one & all");
    aphi_swimlanes_page_add(&out, s);
    aphi_swimlanes_page_end(&out);
    return aphi_buffer_text(&out);
}

/* B sends to A and C; A receives C's message before B's, so B's is received later. */
static const aphi_swimlanes_event crossing[] = {
    {.lane = 0, .kind = APHI_ALTS_RECEIVE, .partner = 4, .after = NONE, .label = "second", .note = "race: first",
     .mark = APHI_SWIMLANES_CHANGED},
    {.lane = 0, .kind = APHI_ALTS_RECEIVE, .partner = 2, .after = NONE, .label = "first"},
    {.lane = 1, .kind = APHI_ALTS_SEND, .partner = 1, .after = NONE, .label = "first"},
    {.lane = 1, .kind = APHI_ALTS_RECEIVE, .partner = 5, .after = NONE, .label = "go", .sync = true},
    {.lane = 2, .kind = APHI_ALTS_SEND, .partner = 0, .after = 3, .label = "second"},
    {.lane = 2, .kind = APHI_ALTS_SEND, .partner = 3, .after = NONE, .label = "go", .sync = true},
};

static void rows_are_ordered(void **state)
{
    /* C: go, then second, so that second follows B's send. */
    aphi_swimlanes_event events[6];
    (void)state;
    memcpy(events, crossing, sizeof events);
    events[4] = crossing[5];
    events[5] = crossing[4];
    events[0].partner = 5;
    events[3].partner = 4;
    aphi_swimlanes s = {.title = "t", .lanes = names, .lane_count = 3, .events = events, .count = 6};
    char *text = drawn(&s, true);
    assert_string_equal(text, "t\n"
                              "       A     B     C\n"
                              "  1    │     ●     │    first (received in 4)\n"
                              "  2    │     │◀────┤    go\n"
                              "≠ 3    │◀──────────┤    second; race: first\n"
                              "  4    │◀┄┄┄┄┤          first (sent in 1)\n");
    free(text);
    text = drawn(&s, false);
    assert_string_equal(text, "t\n"
                              "       A     B     C\n"
                              "  1    |     *     |    first (received in 4)\n"
                              "  2    |     |<----+    go\n"
                              "~ 3    |<----------+    second; race: first\n"
                              "  4    |<....+          first (sent in 1)\n");
    free(text);
}

/* Every event gets a row, even if two events wait for each other, which cannot happen in a run. */
static void cycles_terminate(void **state)
{
    (void)state;
    aphi_swimlanes s = {.lanes = names, .lane_count = 3, .events = crossing, .count = 6};
    aphi_swimlanes_rows r = aphi_swimlanes_order(&s);
    unsigned seen[6] = {0};
    for (size_t i = 0; i < r.count; i++) {
        seen[r.rows[i].event]++;
        if (r.rows[i].receive != NONE)
            seen[r.rows[i].receive]++;
    }
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(seen[i], 1);
    aphi_swimlanes_rows_free(&r);
}

static void nothing_at_all(void **state)
{
    (void)state;
    aphi_swimlanes s = {.lanes = names, .lane_count = 3, .ends = (const char *const[]){NULL, "B waits", NULL}};
    char *text = drawn(&s, true);
    assert_string_equal(text, "       A     B     C\n  B waits\n");
    free(text);
    text = page_of(&s);
    assert_non_null(strstr(text, "<li>B waits</li>"));
    free(text);
}

/* Control sequences and markup in texts have no effect. */
static void hostile_texts(void **state)
{
    static const char *const bad[] = {"\x1b[31mred", "</svg><script>alert(1)</script>", "\"' onload=\"x"};
    aphi_swimlanes_event event = {.lane = 0, .kind = APHI_ALTS_LOCAL, .partner = NONE, .after = NONE,
                                  .label = "</text><img src=x onerror=alert(2)>\n\xe2\x80\xae\xff", .note = bad[1]};
    (void)state;
    aphi_swimlanes s = {.title = bad[1], .lanes = bad, .lane_count = 3, .events = &event, .count = 1, .ends = bad,
                        .remark = bad[0]};
    char *text = drawn(&s, true);
    assert_null(strchr(text, 0x1b));
    assert_null(strstr(text, "\xe2\x80\xae"));
    free(text);
    text = page_of(&s);
    assert_null(strstr(text, "<script"));
    assert_null(strstr(text, "<img"));
    assert_null(strstr(text, "\" onload"));
    assert_null(strstr(text, "\xe2\x80\xae"));
    assert_null(strstr(text, "<b> model"));
    assert_non_null(strstr(text, "a &lt;b&gt; model"));
    assert_non_null(strstr(text, "one &amp; all"));
    free(text);
}

/* An arrow goes from its sender to its receiver, between their rows. */
static void arrows_meet_lanes(void **state)
{
    aphi_swimlanes_event events[] = {
        {.lane = 0, .kind = APHI_ALTS_SEND, .partner = 3, .after = NONE, .label = "late"},
        {.lane = 0, .kind = APHI_ALTS_LOCAL, .partner = NONE, .after = NONE, .label = "own"},
        {.lane = 1, .kind = APHI_ALTS_LOCAL, .partner = NONE, .after = 1, .label = "wait"},
        {.lane = 1, .kind = APHI_ALTS_RECEIVE, .partner = 0, .after = NONE, .label = "late"},
    };
    (void)state;
    aphi_swimlanes s = {.lanes = names, .lane_count = 2, .events = events, .count = 4};
    aphi_buffer out = {0};
    aphi_swimlanes_svg(&out, &s);
    char *text = aphi_buffer_text(&out);
    /* Lanes are 74 wide, with the line in the middle; rows are 26 high and start at 44. */
    assert_non_null(strstr(text, "<path class=\"arrow\" d=\"M85.0 57.0L"));
    assert_non_null(strstr(text, "<path class=\"head\" d=\"M15"));
    assert_non_null(strstr(text, "<title>B receives late from A</title>"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_ordered),  cmocka_unit_test(cycles_terminate),       cmocka_unit_test(nothing_at_all),
        cmocka_unit_test(hostile_texts), cmocka_unit_test(arrows_meet_lanes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

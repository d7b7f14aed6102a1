/* SPDX-License-Identifier: Apache-2.0
 *
 * test_run_log.c - the latest events of a long run are stored in order and with their numbers; all actions are
 * stored. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "tester/run_log.h"

static void note(aphi_run_log *d, int64_t i)
{
    aphi_run_log_event(
        d, &(aphi_run_event){APHI_RUN_EVENT_SENT, i, i % 7, 2 * i + 1, aph_strf("message %lld", (long long)i)},
        (uint64_t)i);
}

static void expect_last(aphi_run_log *d, int64_t count)
{
    size_t n;
    int64_t connection;
    const aphi_run_event *events = aphi_run_log_events(d, &n);
    assert_int_equal(aphi_run_log_count(d), count);
    assert_int_equal(d->discarded + n, count);
    assert_int_equal(aphi_run_log_find(d, (uint64_t)count - 3, &connection), (int64_t)n - 3);
    assert_int_equal(connection, (count - 3) % 7);
    assert_int_equal(aphi_run_log_find(d, UINT64_MAX, &connection), -1);
    for (size_t i = 0; i < n; i++) {
        int64_t number = (int64_t)(d->discarded + i);
        assert_int_equal(events[i].at_ns, number);
        assert_ptr_equal(events[i].message, aph_strf("message %lld", (long long)number));
    }
}

static void the_last_events_are_kept(void **unused)
{
    (void)unused;
    aphi_run_log d = {0};
    int64_t i = 0;
    for (; i < 10; i++)
        note(&d, i);
    expect_last(&d, i);
    assert_int_equal(d.discarded, 0);
    for (; i < 300000; i++)
        note(&d, i);
    expect_last(&d, i);
    assert_true(i - (int64_t)d.discarded >= 1 << 16 && i - (int64_t)d.discarded <= 1 << 17);
    aphi_run_log_free(&d);
}

static void silence_is_a_line_of_the_trace(void **unused)
{
    (void)unused;
    aphi_run_log d = {.traced = true, .trace_fd = -1};
    aphi_run_log_event(&d, &(aphi_run_event){APHI_RUN_EVENT_QUIET, 5000, 3, 0, APH_NIL}, 0);
    assert_string_equal(aphi_buffer_text(&d.trace), "{\"quiet\":true,\"time\":5}\n");
    assert_int_equal(aphi_run_log_count(&d), 1);
    d.traced = false;
    aphi_run_log_free(&d);
}

static void actions_are_all_kept(void **unused)
{
    (void)unused;
    aphi_run_log d = {0};
    for (int64_t i = 0; i < 1000; i++)
        aphi_run_log_action(&d, &(aphi_action){.label = 2 * i + 1, .connection = i % 3,
                                          .send = i % 10 ? aph_strf("action %lld", (long long)i) : APH_NIL,
                                          .wait = APHI_WAIT_ANSWER, .waits_for = 2 * i});
    aph_collect();
    const aphi_script *s = aphi_run_log_script(&d);
    assert_int_equal(s->count, 1000);
    for (int64_t i = 0; i < 1000; i++) {
        assert_int_equal(s->actions[i].label, 2 * i + 1);
        assert_int_equal(s->actions[i].waits_for, 2 * i);
        assert_ptr_equal(s->actions[i].send, i % 10 ? aph_strf("action %lld", (long long)i) : APH_NIL);
    }
    aphi_run_log_free(&d);
}

/* The script is cut off only at its limits: 2^17 actions, or 128 MB. */
static void long_scripts_are_cut(void **unused)
{
    (void)unused;
    aphi_run_log d = {0};
    for (int64_t i = 0; i < 1 << 17; i++)
        aphi_run_log_action(&d, &(aphi_action){.label = 2 * i + 1, .send = aph_int(i)});
    assert_false(d.actions_cut);
    aphi_run_log_action(&d, &(aphi_action){.label = 1 << 19, .send = aph_int(1)});
    assert_true(d.actions_cut);
    assert_int_equal(d.action_count, 1 << 17);
    aphi_run_log_free(&d);
    enum { MB = 1 << 20 };
    char *text = malloc(MB + 1);
    memset(text, 'x', MB);
    text[MB] = 0;
    d = (aphi_run_log){0};
    for (int64_t i = 0; i < 60; i++)
        aphi_run_log_action(&d, &(aphi_action){.label = 2 * i + 1, .send = aph_str(text)});
    assert_false(d.actions_cut);
    assert_int_equal(d.action_count, 60);
    aphi_run_log_free(&d);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_events_are_kept),
        cmocka_unit_test(silence_is_a_line_of_the_trace),
        cmocka_unit_test(actions_are_all_kept),
        cmocka_unit_test(long_scripts_are_cut),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    aph_heap_close();
    return failed;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * test_losses.c - limits of the requests that a subject may lose. */
#include "tester/losses.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MS INT64_C(1000000)

static void test_limits(void **state)
{
    (void)state;
    aphi_max_losses usual = {0}, none = {APHI_LOSSES_COUNT, 0}, some = {APHI_LOSSES_COUNT, 7};
    aphi_max_losses tenth = {APHI_LOSSES_PERCENT, 10}, all = {APHI_LOSSES_PERCENT, 100};
    assert_false(aphi_losses_exceed(&usual, 20, 20));
    assert_true(aphi_losses_exceed(&usual, 21, 400));
    assert_false(aphi_losses_exceed(&usual, 21, 420));
    assert_true(aphi_losses_exceed(&usual, 22, 420));
    assert_false(aphi_losses_exceed(&none, 0, 100));
    assert_true(aphi_losses_exceed(&none, 1, UINT64_MAX));
    assert_false(aphi_losses_exceed(&some, 7, 7));
    assert_true(aphi_losses_exceed(&some, 8, 1000000));
    assert_false(aphi_losses_exceed(&tenth, 20, 20));
    assert_false(aphi_losses_exceed(&tenth, 100, 1000));
    assert_true(aphi_losses_exceed(&tenth, 101, 1000));
    assert_false(aphi_losses_exceed(&all, 1000, 1000));
}

/* The tester becomes careful after many excused requests, and less so as responses arrive. */
static void test_care(void **state)
{
    (void)state;
    aphi_losses l = {.excused = 17};
    assert_true(aphi_losses_need_care(&l, 0));
    assert_false(aphi_losses_need_care(&l, 512));
    l.excused = 16;
    assert_false(aphi_losses_need_care(&l, 0));
    /* If requests on rested connections get responses, more are excused. */
    l.excused = 32;
    aphi_losses_note_response(&l, -1);
    aphi_losses_note_response(&l, 1 * MS);
    assert_true(aphi_losses_need_care(&l, 0));
    for (int i = 0; i < 99; i++)
        aphi_losses_note_response(&l, 2 * MS);
    assert_true(aphi_losses_need_care(&l, 0));
    aphi_losses_note_response(&l, 2 * MS);
    assert_false(aphi_losses_need_care(&l, 0));
    l.excused = 417;
    assert_true(aphi_losses_need_care(&l, 0));
    l.excused = 416;
    assert_false(aphi_losses_need_care(&l, 0));
    aphi_losses_add(&l, 0, 1, aph_str("x"));
    assert_true(aphi_losses_need_care(&l, 0));
}

/* A connection rests for longer than the subject takes to close one; the close of an idle one does not count. */
static void test_rest(void **state)
{
    (void)state;
    aphi_losses l = {0};
    assert_int_equal(aphi_losses_rest_ns(&l), 2 * MS);
    aphi_losses_note_close(&l, 30 * MS);
    aphi_losses_note_close(&l, 10 * MS);
    assert_int_equal(aphi_losses_rest_ns(&l), 60 * MS);
    aphi_losses_note_close(&l, 5000 * MS);
    assert_int_equal(aphi_losses_rest_ns(&l), 60 * MS);
}

static void test_shown(void **state)
{
    (void)state;
    aphi_losses l = {0};
    for (int64_t i = 0; i < 100; i++)
        aphi_losses_add(&l, i, 2 * i + 1, aph_str("x"));
    assert_int_equal(l.count, 100);
    assert_int_equal(aph_count(l.shown), APHI_LOSSES_SHOWN);
    assert_int_equal(aph_int_of(aph_field(aph_at(l.shown, 1), "label")), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_limits), cmocka_unit_test(test_care),
                                       cmocka_unit_test(test_rest), cmocka_unit_test(test_shown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

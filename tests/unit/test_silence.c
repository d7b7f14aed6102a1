/* SPDX-License-Identifier: Apache-2.0
 *
 * test_silence.c - the limit of a silence, by default and for slow subjects. */
#include "tester/silence.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define MS INT64_C(1000000)

static int64_t no_idle_clock(void) { return -1; }

static aphi_silence opened(bool fixed)
{
    return (aphi_silence){.paired = true, .is_fixed = fixed, .patience_ns = 400 * MS, .idle_clock = no_idle_clock};
}

/* Counts a silence of this length in turns of ten milliseconds, then an arrival. */
static void pass_silence(aphi_silence *s, int64_t ms)
{
    for (int64_t i = 0; i < ms; i += 10)
        aphi_silence_count(s, i * MS, 10 * MS, false, false, true);
    aphi_silence_count(s, ms * MS, 0, true, true, true);
}

static void limit_follows_the_longest_silence(void **state)
{
    (void)state;
    aphi_silence s = opened(false);
    assert_int_equal(aphi_silence_limit(&s), 5000 * MS);
    pass_silence(&s, 700);
    assert_int_equal(aphi_silence_limit(&s), 5000 * MS);
    pass_silence(&s, 3000);
    assert_int_equal(aphi_silence_limit(&s), 12000 * MS);
    s.seen_ns = 4000 * MS;
    assert_int_equal(aphi_silence_limit(&s), 16000 * MS);
    pass_silence(&s, 30000);
    assert_int_equal(aphi_silence_limit(&s), 60000 * MS);
}

static void silence_without_awaited_responses_does_not_count(void **state)
{
    (void)state;
    aphi_silence s = opened(false);
    for (int i = 0; i < 1000; i++)
        aphi_silence_count(&s, i * 10 * MS, 10 * MS, false, false, false);
    aphi_silence_count(&s, 10000 * MS, 0, true, true, false);
    assert_int_equal(aphi_silence_limit(&s), 5000 * MS);
}

static void brief_silences_follow_the_longest_silence(void **state)
{
    (void)state;
    aphi_silence s = opened(false);
    assert_int_equal(aphi_silence_recorded_after(&s), 5000 * MS);
    s.is_brief = true;
    assert_int_equal(aphi_silence_recorded_after(&s), 200 * MS);
    pass_silence(&s, 700);
    assert_int_equal(aphi_silence_recorded_after(&s), 2800 * MS);
    pass_silence(&s, 3000);
    assert_int_equal(aphi_silence_recorded_after(&s), aphi_silence_limit(&s));
    s = opened(true);
    assert_int_equal(aphi_silence_recorded_after(&s), 400 * MS);
}

static void fixed_patience_is_the_limit(void **state)
{
    (void)state;
    aphi_silence s = opened(true);
    pass_silence(&s, 3000);
    aphi_silence_got_response(&s, 3000 * MS);
    assert_int_equal(aphi_silence_limit(&s), 400 * MS);
    assert_int_equal(aphi_silence_late_after(&s), 1600 * MS);
}

static void late_requests_are_compared_with_others(void **state)
{
    (void)state;
    aphi_silence s = opened(false);
    aphi_silence_got_response(&s, 700 * MS);
    assert_int_equal(aphi_silence_late_after(&s), 5600 * MS);
    for (int i = 0; i < APHI_LATENCIES; i++)
        aphi_silence_got_response(&s, MS);
    assert_int_equal(aphi_silence_slowest(&s), MS);
    assert_int_equal(aphi_silence_late_after(&s), 5000 * MS);
}

/* The oracle is probed when most responses would have arrived, at the latest after 20 ms. */
static void unusual_silence(void **state)
{
    (void)state;
    aphi_silence s = opened(false);
    s.silent_ns = MS / 2;
    assert_false(aphi_silence_is_unusual(&s));
    for (int i = 0; i < 3; i++)
        aphi_silence_got_response(&s, i == 0 ? 100 * MS : MS);
    s.silent_ns = 7 * MS;
    assert_false(aphi_silence_is_unusual(&s));
    s.silent_ns = 8 * MS;
    assert_true(aphi_silence_is_unusual(&s));
    for (int i = 0; i < 3; i++)
        aphi_silence_got_response(&s, 100 * MS);
    assert_false(aphi_silence_is_unusual(&s));
    s.silent_ns = 20 * MS;
    assert_true(aphi_silence_is_unusual(&s));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limit_follows_the_longest_silence),
        cmocka_unit_test(silence_without_awaited_responses_does_not_count),
        cmocka_unit_test(brief_silences_follow_the_longest_silence),
        cmocka_unit_test(fixed_patience_is_the_limit),
        cmocka_unit_test(late_requests_are_compared_with_others),
        cmocka_unit_test(unusual_silence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

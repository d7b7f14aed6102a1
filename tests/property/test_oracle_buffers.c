/* SPDX-License-Identifier: Apache-2.0
 *
 * test_oracle_buffers.c - the oracle's verdicts are those of enumeration where connections hold one or two messages
 * each way. */
#include "tests/support/compare.h"
#include "tests/support/peculiar.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void of_register(void **state)
{
    (void)state;
    assert_true(compare_many_in(&subject_register, ENUMERATE_TCP_1, compare_cases(10000)));
    assert_true(compare_many_in(&subject_register, ENUMERATE_TCP_2, compare_cases(10000)));
}

static void of_kv(void **state)
{
    (void)state;
    assert_true(compare_many_in(&subject_kv, ENUMERATE_TCP_1, compare_cases(10000)));
    assert_true(compare_many_in(&subject_kv, ENUMERATE_TCP_2, compare_cases(10000)));
}

static void of_swap(void **state)
{
    (void)state;
    assert_true(compare_many_in(&subject_swap, ENUMERATE_TCP_1, compare_cases(10000)));
    assert_true(compare_many_in(&subject_swap, ENUMERATE_TCP_2, compare_cases(10000)));
}

static void of_queue(void **state)
{
    (void)state;
    assert_true(compare_many_in(&subject_queue, ENUMERATE_TCP_1, compare_cases(10000)));
    assert_true(compare_many_in(&subject_queue, ENUMERATE_TCP_2, compare_cases(10000)));
}

static void of_etag_kv(void **state)
{
    (void)state;
    assert_true(compare_many_in(&subject_etag_kv, ENUMERATE_TCP_1, compare_cases(10000)));
    assert_true(compare_many_in(&subject_etag_kv, ENUMERATE_TCP_2, compare_cases(10000)));
}

static void of_relay(void **state)
{
    (void)state;
    assert_true(compare_many_in(&subject_relay, ENUMERATE_TCP_1, compare_cases(10000)));
    assert_true(compare_many_in(&subject_relay, ENUMERATE_TCP_2, compare_cases(10000)));
}

static void of_lock(void **state)
{
    (void)state;
    assert_true(compare_many_in(&subject_lock, ENUMERATE_TCP_1, compare_cases(10000)));
    assert_true(compare_many_in(&subject_lock, ENUMERATE_TCP_2, compare_cases(10000)));
}

static void of_greeter(void **state)
{
    (void)state;
    assert_true(compare_many_in(&subject_greeter, ENUMERATE_TCP_1, compare_cases(10000)));
    assert_true(compare_many_in(&subject_greeter, ENUMERATE_TCP_2, compare_cases(10000)));
}

static void of_chatty(void **state)
{
    (void)state;
    assert_true(compare_many_in(&subject_chatty, ENUMERATE_TCP_1, compare_cases(10000)));
    assert_true(compare_many_in(&subject_chatty, ENUMERATE_TCP_2, compare_cases(10000)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(of_register),
                                       cmocka_unit_test(of_kv),
                                       cmocka_unit_test(of_swap),
                                       cmocka_unit_test(of_queue),
                                       cmocka_unit_test(of_etag_kv),
                                       cmocka_unit_test(of_relay),
                                       cmocka_unit_test(of_lock),
                                       cmocka_unit_test(of_greeter),
                                       cmocka_unit_test(of_chatty)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * test_oracle_buffers_general.c - the oracle's verdicts equal those of enumeration with buffers of one or two
 * messages, on models without rpc. */
#include "tests/support/compare.h"
#include "tests/support/odd_models.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void of_relay(void **state)
{
    (void)state;
    assert_true(compare_many_in(&subject_relay, ENUMERATE_TCP_1, compare_cases(2500)));
    assert_true(compare_many_in(&subject_relay, ENUMERATE_TCP_2, compare_cases(2500)));
}

static void of_lock(void **state)
{
    (void)state;
    assert_true(compare_many_in(&subject_lock, ENUMERATE_TCP_1, compare_cases(2500)));
    assert_true(compare_many_in(&subject_lock, ENUMERATE_TCP_2, compare_cases(2500)));
}

static void of_greeter(void **state)
{
    (void)state;
    assert_true(compare_many_in(&subject_greeter, ENUMERATE_TCP_1, compare_cases(2500)));
    assert_true(compare_many_in(&subject_greeter, ENUMERATE_TCP_2, compare_cases(2500)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(of_relay), cmocka_unit_test(of_lock),
                                       cmocka_unit_test(of_greeter)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

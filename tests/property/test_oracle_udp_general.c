/* SPDX-License-Identifier: Apache-2.0
 *
 * test_oracle_udp_general.c - the oracle agrees with enumeration if messages are lost, duplicated and reordered,
 * on models without rpc. */
#include "tests/support/compare.h"
#include "tests/support/odd_models.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void of_relay(void **state)
{
    (void)state;
    assert_true(compare_many_in(&subject_relay, ENUMERATE_UDP, compare_cases(5000)));
}

static void of_lock(void **state)
{
    (void)state;
    assert_true(compare_many_in(&subject_lock, ENUMERATE_UDP, compare_cases(5000)));
}

static void of_greeter(void **state)
{
    (void)state;
    assert_true(compare_many_in(&subject_greeter, ENUMERATE_UDP, compare_cases(5000)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(of_relay), cmocka_unit_test(of_lock),
                                       cmocka_unit_test(of_greeter)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

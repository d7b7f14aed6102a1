/* SPDX-License-Identifier: Apache-2.0
 *
 * test_oracle_quiet.c - the oracle agrees with enumeration on histories with quiet marks (no message in flight), on the
 * built-in models. */
#include "tests/support/compare.h"
#include "tests/support/odd_models.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void of_register(void **state)
{
    (void)state;
    assert_true(compare_many_in(&subject_register, ENUMERATE_TCP, compare_cases(5000)));
}

static void of_kv(void **state)
{
    (void)state;
    assert_true(compare_many_in(&subject_kv, ENUMERATE_TCP, compare_cases(5000)));
}

static void of_swap(void **state)
{
    (void)state;
    assert_true(compare_many_in(&subject_swap, ENUMERATE_TCP, compare_cases(5000)));
}

static void of_queue(void **state)
{
    (void)state;
    assert_true(compare_many_in(&subject_queue, ENUMERATE_TCP, compare_cases(5000)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(of_register), cmocka_unit_test(of_kv),
                                       cmocka_unit_test(of_swap), cmocka_unit_test(of_queue)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

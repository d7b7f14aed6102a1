/* SPDX-License-Identifier: Apache-2.0
 *
 * test_oracle_buffers.c - the oracle's verdicts equal those of enumeration with buffers of one or two messages,
 * on the built-in models. */
#include "tests/support/compare.h"
#include "tests/support/odd_models.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void of_register(void **state)
{
    (void)state;
    assert_true(compare_many_in(&subject_register, ENUMERATE_TCP_1, compare_cases(2500)));
    assert_true(compare_many_in(&subject_register, ENUMERATE_TCP_2, compare_cases(2500)));
}

static void of_kv(void **state)
{
    (void)state;
    assert_true(compare_many_in(&subject_kv, ENUMERATE_TCP_1, compare_cases(2500)));
    assert_true(compare_many_in(&subject_kv, ENUMERATE_TCP_2, compare_cases(2500)));
}

static void of_swap(void **state)
{
    (void)state;
    assert_true(compare_many_in(&subject_swap, ENUMERATE_TCP_1, compare_cases(2500)));
    assert_true(compare_many_in(&subject_swap, ENUMERATE_TCP_2, compare_cases(2500)));
}

static void of_queue(void **state)
{
    (void)state;
    assert_true(compare_many_in(&subject_queue, ENUMERATE_TCP_1, compare_cases(2500)));
    assert_true(compare_many_in(&subject_queue, ENUMERATE_TCP_2, compare_cases(2500)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(of_register), cmocka_unit_test(of_kv),
                                       cmocka_unit_test(of_swap), cmocka_unit_test(of_queue)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

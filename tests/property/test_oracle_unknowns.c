/* SPDX-License-Identifier: Apache-2.0
 *
 * test_oracle_unknowns.c - the oracle's verdicts equal those of the slow deciders on models with unknown state, free
 * and bounded choices, and the promise commute. */
#include "tests/support/compare.h"
#include "tests/support/odd_models.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void fickle(void **state)
{
    (void)state;
    assert_true(compare_many(&subject_fickle, compare_cases(15000), 20));
}

static void counters(void **state)
{
    (void)state;
    assert_true(compare_many(&subject_counters, compare_cases(30000), 20));
}

static void dice(void **state)
{
    (void)state;
    assert_true(compare_many(&subject_dice, compare_cases(20000), 20));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(fickle), cmocka_unit_test(counters), cmocka_unit_test(dice)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

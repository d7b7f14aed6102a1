/* SPDX-License-Identifier: Apache-2.0
 *
 * test_oracle_general.c - the oracle's verdicts equal those of the slow deciders on models that respond on other
 * connections, later, twice, without a request or never. */
#include "tests/support/compare.h"
#include "tests/support/odd_models.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void relay(void **state)
{
    (void)state;
    assert_true(compare_many(&subject_relay, compare_cases(30000), 20));
}

static void lock(void **state)
{
    (void)state;
    assert_true(compare_many(&subject_lock, compare_cases(30000), 20));
}

static void greeter(void **state)
{
    (void)state;
    assert_true(compare_many(&subject_greeter, compare_cases(30000), 20));
}

static void chatty(void **state)
{
    (void)state;
    assert_true(compare_many(&subject_chatty, compare_cases(10000), 20));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(relay), cmocka_unit_test(lock), cmocka_unit_test(greeter),
                                       cmocka_unit_test(chatty)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * test_oracle_queue.c - the oracle's verdicts on histories of the model queue equal those of the slow deciders. */
#include "tests/support/compare.h"
#include "tests/support/odd_models.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void same_verdicts(void **state)
{
    (void)state;
    assert_true(compare_many(&subject_queue, compare_cases(101000), 40));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_verdicts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

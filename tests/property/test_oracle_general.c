/* SPDX-License-Identifier: Apache-2.0
 *
 * test_oracle_general.c - the oracle's verdicts are those of the slow deciders on models that answer elsewhere, later, twice,
 * unasked or not at all, and on models full of unknowns. */
#include "tests/support/compare.h"
#include "tests/support/peculiar.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define SAME_VERDICTS(name) \
    static void name(void **state) \
    { \
        (void)state; \
        assert_true(compare_many(&subject_##name, compare_cases(20000), 20)); \
    }

SAME_VERDICTS(relay)
SAME_VERDICTS(lock)
SAME_VERDICTS(greeter)
SAME_VERDICTS(chatty)
SAME_VERDICTS(fickle)
SAME_VERDICTS(counters)
SAME_VERDICTS(dice)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(relay),  cmocka_unit_test(lock),     cmocka_unit_test(greeter), cmocka_unit_test(chatty),
        cmocka_unit_test(fickle), cmocka_unit_test(counters), cmocka_unit_test(dice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

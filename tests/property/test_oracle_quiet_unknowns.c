/* SPDX-License-Identifier: Apache-2.0
 *
 * test_oracle_quiet_unknowns.c - the oracle agrees with enumeration on histories with quiet marks (no message in
 * flight), on models with unknowns. */
#include "tests/support/compare.h"
#include "tests/support/odd_models.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void of_etag_kv(void **state)
{
    (void)state;
    assert_true(compare_many_in(&subject_etag_kv, ENUMERATE_TCP, compare_cases(5000)));
}

static void of_chatty(void **state)
{
    (void)state;
    assert_true(compare_many_in(&subject_chatty, ENUMERATE_TCP, compare_cases(5000)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(of_etag_kv), cmocka_unit_test(of_chatty)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * test_oracle_udp_unknowns.c - the oracle agrees with enumeration if messages are lost, duplicated and reordered,
 * on models with unknowns. */
#include "tests/support/compare.h"
#include "tests/support/odd_models.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void of_etag_kv(void **state)
{
    (void)state;
    assert_true(compare_many_in(&subject_etag_kv, ENUMERATE_UDP, compare_cases(5000)));
}

static void of_dice(void **state)
{
    (void)state;
    assert_true(compare_many_in(&subject_dice, ENUMERATE_UDP, compare_cases(1000)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(of_etag_kv), cmocka_unit_test(of_dice)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * test_oracle_buffers_unknowns.c - the oracle's verdicts equal those of enumeration with buffers of one or two
 * messages, on models with unknowns. */
#include "tests/support/compare.h"
#include "tests/support/odd_models.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void of_etag_kv(void **state)
{
    (void)state;
    assert_true(compare_many_in(&subject_etag_kv, ENUMERATE_TCP_1, compare_cases(2500)));
    assert_true(compare_many_in(&subject_etag_kv, ENUMERATE_TCP_2, compare_cases(2500)));
}

static void of_chatty(void **state)
{
    (void)state;
    assert_true(compare_many_in(&subject_chatty, ENUMERATE_TCP_1, compare_cases(2500)));
    assert_true(compare_many_in(&subject_chatty, ENUMERATE_TCP_2, compare_cases(2500)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(of_etag_kv), cmocka_unit_test(of_chatty)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * test_oracle_opens.c - the oracle's verdicts equal those of the slow deciders on random models that receive the
 * openings and ends of connections. `make deciders` compares 100,000 models. */
#include "tests/support/compare.h"
#include "tests/support/random_server.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* Sanitizers slow the derivation down; compare_cases keeps at least 500 cases for them, which is too many here. */
#if defined(__SANITIZE_ADDRESS__)
enum { PERCENT = 20 };
#else
enum { PERCENT = 100 };
#endif

static void unbounded(void **state)
{
    (void)state;
    assert_true(compare_many(&subject_random_server, compare_cases(1200 * PERCENT / 100), 20));
}

static void quiet(void **state)
{
    (void)state;
    assert_true(compare_many_in(&subject_random_server, ENUMERATE_TCP, compare_cases(800 * PERCENT / 100)));
}

static void buffers(void **state)
{
    (void)state;
    assert_true(compare_many_in(&subject_random_server, ENUMERATE_TCP_1, compare_cases(200 * PERCENT / 100)));
    assert_true(compare_many_in(&subject_random_server, ENUMERATE_TCP_2, compare_cases(200 * PERCENT / 100)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(unbounded), cmocka_unit_test(quiet),
                                       cmocka_unit_test(buffers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

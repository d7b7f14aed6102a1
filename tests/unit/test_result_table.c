/* SPDX-License-Identifier: Apache-2.0
 *
 * test_result_table.c - the summary of one, of a few and of many files. */
#include "report/result_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const aphi_terminal plain = {.unicode = true, .columns = 80};

static void writes(const aphi_result *results, size_t n, bool all, const aphi_terminal *t, const char *expected)
{
    aphi_buffer out = {0};
    aphi_table_write(&out, results, n, all, t);
    assert_string_equal(aphi_buffer_text(&out), expected);
    aphi_buffer_free(&out);
}

static const aphi_result few[] = {
    {"a.jsonl", APHI_OUTCOME_PASS, 170, 1412, 3100000, NULL, NULL},
    {"histories/of/a/very/long/path/to/the/recorded/traces/etcd_002.log", APHI_OUTCOME_FAIL, 20, 90, 1500, NULL, NULL},
    {"é.log", APHI_OUTCOME_UNKNOWN, 1234567, 98765432, 75000000000, NULL, NULL},
    {"\33.edn", APHI_OUTCOME_ERROR, 0, 0, 0, NULL, NULL},
};

static void test_one(void **state)
{
    (void)state;
    writes(few, 1, false, &plain, "pass  a.jsonl: 170 operations, 1,412 configurations, 3.10 ms\n");
    const aphi_terminal coloured = {.colour = true, .columns = 80};
    writes(few + 3, 1, true, &coloured, "\33[31merror\33[0m  ?.edn: 0 operations, 0 configurations, 0 ns\n");
    const aphi_result r = {"x", APHI_OUTCOME_FAIL, 1, 1, 999, NULL, NULL};
    writes(&r, 1, false, &plain, "fail  x: 1 operation, 1 configuration, 999 ns\n");
}

static void test_few(void **state)
{
    (void)state;
    writes(few, 4, false, &plain,
           "verdict  file                             operations  configurations        time\n"
           "pass     a.jsonl                                 170           1,412     3.10 ms\n"
           "fail     histories/of/a/…es/etcd_002.log          20              90     1.50 us\n"
           "unknown  é.log                             1,234,567      98,765,432  1 min 15 s\n"
           "error    \uFFFD.edn                                     0               0        0 ns\n"
           "4 files: 1 pass, 1 fail, 1 unknown, 1 error; 1,234,757 operations, "
           "98,766,934 configurations, 1 min 15 s\n");
}

static void test_colours(void **state)
{
    (void)state;
    const aphi_terminal coloured = {.colour = true, .columns = 80};
    writes(few, 2, false, &coloured,
           "\33[2mverdict\33[0m  \33[2mfile\33[0m"
           "                                \33[2moperations\33[0m  \33[2mconfigurations\33[0m"
           "     \33[2mtime\33[0m\n"
           "\33[32mpass\33[0m     a.jsonl                                    170           1,412  3.10 ms\n"
           "\33[1;31mfail\33[0m     histories/of/a/v..ces/etcd_002.log          20              90  1.50 us\n"
           "2 files: \33[32m1 pass\33[0m, \33[1;31m1 fail\33[0m; 190 operations, 1,502 configurations, 3.10 ms\n");
}

/* If there are many files, only those that did not pass are listed, unless `all` is set. */
static void test_many(void **state)
{
    (void)state;
    enum { MANY = 1000 };
    static aphi_result results[MANY];
    for (size_t i = 0; i < MANY; i++)
        results[i] = (aphi_result){"a.jsonl", APHI_OUTCOME_PASS, 10, 20, 1000000, NULL, NULL};
    writes(results, MANY, false, &plain, "1,000 files: 1,000 pass; 10,000 operations, 20,000 configurations, 1.00 s\n");
    results[500] = (aphi_result){"b.jsonl", APHI_OUTCOME_FAIL, 10, 20, 1000000, NULL, NULL};
    writes(results, MANY, false, &plain,
           "verdict  file     operations  configurations     time\n"
           "fail     b.jsonl          10              20  1.00 ms\n"
           "1,000 files: 999 pass, 1 fail; 10,000 operations, 20,000 configurations, 1.00 s\n");
    aphi_buffer out = {0};
    aphi_table_write(&out, results, MANY, true, &plain);
    size_t lines = 0;
    for (const char *at = aphi_buffer_text(&out); (at = strchr(at, '\n')); at++)
        lines++;
    assert_int_equal(lines, MANY + 2);
    aphi_buffer_free(&out);
}

static void test_none(void **state)
{
    (void)state;
    writes(NULL, 0, true, &plain, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one), cmocka_unit_test(test_few), cmocka_unit_test(test_colours),
        cmocka_unit_test(test_many), cmocka_unit_test(test_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

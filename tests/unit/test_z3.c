/* SPDX-License-Identifier: Apache-2.0
 *
 * test_z3.c - the bridge to Z3: results and values compared with brute force, the time limit, the cache of results. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "solve/z3.h"
#include "tests/support/brute.h"

enum { MS = 10000, CONDITIONS = 3 };

static aph_value x, y, z;

static int setup(void **state)
{
    (void)state;
    x = aph_symbol(APH_INT, 0);
    y = aph_symbol(APH_INT, 1);
    z = aph_symbol(APH_INT, 2);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    aphi_z3_close();
    aph_heap_close();
    return 0;
}

#define ASK(...) \
    aphi_z3_ask(sizeof((aph_value[]){__VA_ARGS__}) / sizeof(aph_value), (aph_value[]){__VA_ARGS__}, MS, NULL)

static void integers_have_64_bits(void **state)
{
    (void)state;
    aph_value one = aph_int(1), most = aph_int(INT64_MAX);
    assert_int_equal(ASK(aph_lt(most, aph_add(x, y))), APHI_UNSAT);
    assert_int_equal(ASK(aph_eq(most, x), aph_le(aph_add(x, one), y)), APHI_UNSAT);
    assert_int_equal(ASK(aph_eq(most, x), aph_not(aph_le(aph_add(x, one), y))), APHI_UNSAT);
    assert_int_equal(ASK(aph_lt(x, y), aph_le(most, x)), APHI_UNSAT);
    assert_int_equal(ASK(aph_eq(x, aph_int(INT64_MIN)), aph_eq(y, aph_int(-1)), aph_eq(aph_div(x, y), z)), APHI_UNSAT);
    assert_int_equal(ASK(aph_eq(x, aph_int(INT64_MIN)), aph_eq(y, aph_int(1)), aph_eq(aph_div(x, y), z)), APHI_SAT);
}

static void every_part_must_not_be_wrong(void **state)
{
    (void)state;
    aph_value quotient = aph_lt(aph_div(x, y), aph_int(3)), zero = aph_eq(y, aph_int(0));
    assert_int_equal(ASK(zero, aph_or(aph_le(x, z), quotient)), APHI_UNSAT);
    assert_int_equal(ASK(zero, aph_not(aph_and(aph_le(x, z), quotient))), APHI_UNSAT);
    assert_int_equal(ASK(aph_term(APH_WRONG, x, y)), APHI_UNSAT);
    assert_int_equal(ASK(aph_bool(true)), APHI_SAT);
    assert_int_equal(ASK(aph_bool(false)), APHI_UNSAT);
    assert_int_equal(aphi_z3_ask(0, NULL, MS, NULL), APHI_SAT);
}

/* A sum of two cubes that is 9 times a cube plus 4: impossible modulo 9, but hard for Z3. */
static aph_value hard_query(void)
{
    aph_value cubes = aph_add(aph_mul(x, aph_mul(x, x)), aph_mul(y, aph_mul(y, y)));
    return aph_eq(cubes, aph_add(aph_mul(aph_mul(z, aph_mul(z, z)), aph_int(9)), aph_int(4)));
}

static void time_is_limited(void **state)
{
    (void)state;
    aph_value question = hard_query();
    uint64_t before = aphi_z3_questions();
    int64_t start = aphi_clock_ns();
    assert_int_equal(aphi_z3_ask(1, &question, 50, NULL), APHI_UNDECIDED);
    assert_true(aphi_clock_ns() - start < INT64_C(60000000000));
    assert_int_equal(aphi_z3_ask(1, &question, 50, NULL), APHI_UNDECIDED);
    assert_int_equal(aphi_z3_questions(), before + 1);
    assert_int_equal(aphi_z3_ask(1, &question, 60, NULL), APHI_UNDECIDED);
    assert_int_equal(aphi_z3_questions(), before + 2);
    assert_int_equal(ASK(aph_lt(x, y), aph_lt(y, x)), APHI_UNSAT);
}

static void results_are_cached_until_a_collection(void **state)
{
    (void)state;
    aph_value a = aph_symbol(APH_INT, 70), b = aph_symbol(APH_INT, 71);
    uint64_t before = aphi_z3_questions();
    assert_int_equal(ASK(aph_lt(x, aph_mul(y, y))), APHI_SAT);
    assert_int_equal(ASK(aph_lt(a, aph_mul(b, b))), APHI_SAT);
    assert_int_equal(aphi_z3_questions(), before + 1);
    aph_collect();
    setup(NULL);
    assert_int_equal(ASK(aph_lt(x, aph_mul(y, y))), APHI_SAT);
    assert_int_equal(aphi_z3_questions(), before + 2);
}

static void many_results_are_cached(void **state)
{
    (void)state;
    uint64_t before = aphi_z3_questions();
    for (int twice = 0; twice < 2; twice++)
        for (int i = 0; i < 400; i++)
            assert_int_equal(ASK(aph_lt(x, aph_add(y, z)), aph_le(aph_int(i), x)), APHI_SAT);
    assert_int_equal(aphi_z3_questions(), before + 400);
}

static void it_can_be_closed_and_used_again(void **state)
{
    (void)state;
    uint64_t before = aphi_z3_questions();
    aphi_z3_close();
    aphi_z3_close();
    assert_int_equal(ASK(aph_lt(x, y)), APHI_SAT);
    assert_int_equal(aphi_z3_questions(), before + 1);
}

static void unknown_strings_are_not_mistaken_for_known_ones(void **state)
{
    (void)state;
    aph_value s[3], conditions[8];
    size_t n = 0;
    for (uint32_t i = 0; i < 3; i++)
        s[i] = aph_symbol(APH_STR, 10 + i);
    for (size_t i = 0; i < 3; i++)
        conditions[n++] = aph_ne(s[i], s[(i + 1) % 3]);
    for (int i = 0; i < 4; i++)
        conditions[n++] = aph_ne(s[0], aph_strf("%d", i));
    conditions[n++] = aph_or(aph_eq(s[1], aph_str("a rather long string")), aph_eq(s[2], aph_str("")));
    aphi_bindings values = {0};
    assert_int_equal(aphi_z3_ask(n, conditions, MS, &values), APHI_SAT);
    for (size_t i = 0; i < n; i++)
        assert_ptr_equal(aphi_substitute(conditions[i], &values), aph_bool(true));
    aphi_bindings_deinit(&values);
}

/* ---- against brute force ----------------------------------------------------------------------------------------- */

static void check_values(size_t n, const aph_value *conditions)
{
    aphi_bindings values = {0};
    assert_int_equal(aphi_z3_ask(n, conditions, MS, &values), APHI_SAT);
    for (size_t i = 0; i < n; i++)
        assert_ptr_equal(aphi_substitute(conditions[i], &values), aph_bool(true));
    aphi_bindings_deinit(&values);
}

static void check_random_query(aphi_choice *c)
{
    brute_world w = brute_random_world(c, 5);
    brute_expression e[CONDITIONS];
    aph_value conditions[CONDITIONS + 2 * BRUTE_SYMBOLS];
    size_t n = 0;
    for (; n < CONDITIONS; n++) {
        e[n] = (brute_expression){.count = 0};
        e[n].root = brute_random(&e[n], &w, c, APH_BOOL, 3);
        conditions[n] = brute_term(&e[n], &w);
    }
    for (int i = 0; i < BRUTE_SYMBOLS; i++)
        if (w.sort[i] == APH_INT) {
            conditions[n++] = aph_le(aph_int(w.low), brute_symbol(&w, i));
            conditions[n++] = aph_le(brute_symbol(&w, i), aph_int(w.high));
        }
    bool any = false;
    for (size_t i = 0; i < brute_assignments(&w) && !any; i++) {
        brute_assignment a = brute_assignment_at(&w, i);
        any = true;
        for (size_t k = 0; k < CONDITIONS; k++)
            any = any && brute_holds(&e[k], &a);
    }
    assert_int_equal(aphi_z3_ask(n, conditions, MS, NULL), any ? APHI_SAT : APHI_UNSAT);
    if (any)
        check_values(n, conditions);
}

static void results_agree_with_brute_force(void **state)
{
    (void)state;
    aphi_choice c = aphi_choice_seed(31);
    for (int i = 0; i < 1000; i++)
        check_random_query(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_have_64_bits),
        cmocka_unit_test(every_part_must_not_be_wrong),
        cmocka_unit_test(time_is_limited),
        cmocka_unit_test(results_are_cached_until_a_collection),
        cmocka_unit_test(many_results_are_cached),
        cmocka_unit_test(it_can_be_closed_and_used_again),
        cmocka_unit_test(unknown_strings_are_not_mistaken_for_known_ones),
        cmocka_unit_test(results_agree_with_brute_force),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * test_term.c - construction and simplification of terms; simplifications preserve the meaning. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "solve/bindings.h"
#include "solve/range.h"
#include "solve/term.h"
#include "tests/support/brute.h"

static aph_value x, y, p, q, s, t, wrong;

static int setup(void **state)
{
    (void)state;
    x = aph_symbol(APH_INT, 0);
    y = aph_symbol(APH_INT, 1);
    p = aph_symbol(APH_BOOL, 2);
    q = aph_symbol(APH_BOOL, 3);
    s = aph_symbol(APH_STR, 4);
    t = aph_symbol(APH_STR, 5);
    wrong = aph_term(APH_WRONG, APH_NIL, APH_NIL);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    aph_heap_close();
    return 0;
}

static aph_value number(int64_t i)
{
    return aph_int(i);
}

static void known_arithmetic_is_computed(void **state)
{
    (void)state;
    assert_ptr_equal(aph_add(number(2), number(3)), number(5));
    assert_ptr_equal(aph_sub(number(2), number(3)), number(-1));
    assert_ptr_equal(aph_mul(number(-2), number(3)), number(-6));
    assert_ptr_equal(aph_div(number(7), number(2)), number(3));
    assert_ptr_equal(aph_div(number(-7), number(2)), number(-4));
    assert_ptr_equal(aph_div(number(7), number(-2)), number(-4));
    assert_ptr_equal(aph_div(number(-7), number(-2)), number(3));
    assert_ptr_equal(aph_div(number(-6), number(2)), number(-3));
    assert_ptr_equal(aph_lt(number(1), number(2)), aph_bool(true));
    assert_ptr_equal(aph_le(number(3), number(2)), aph_bool(false));
}

static void leaving_64_bits_is_wrong(void **state)
{
    (void)state;
    assert_ptr_equal(aph_add(number(INT64_MAX), number(1)), wrong);
    assert_ptr_equal(aph_sub(number(INT64_MIN), number(1)), wrong);
    assert_ptr_equal(aph_mul(number(INT64_MIN), number(-1)), wrong);
    assert_ptr_equal(aph_div(number(INT64_MIN), number(-1)), wrong);
    assert_ptr_equal(aph_div(number(1), number(0)), wrong);
    assert_ptr_equal(aph_div(x, number(0)), wrong);
    assert_ptr_equal(aph_add(number(INT64_MAX), number(0)), number(INT64_MAX));
}

static void wrong_stays_wrong(void **state)
{
    (void)state;
    assert_ptr_equal(aph_add(wrong, x), wrong);
    assert_ptr_equal(aph_lt(x, wrong), wrong);
    assert_ptr_equal(aph_eq(wrong, wrong), wrong);
    assert_ptr_equal(aph_eq(wrong, aph_str("a")), wrong);
    assert_ptr_equal(aph_not(wrong), wrong);
    assert_ptr_equal(aph_and(aph_bool(false), wrong), wrong);
    assert_ptr_equal(aph_or(wrong, aph_bool(true)), wrong);
    assert_ptr_equal(aph_eq(APH_ARRAY_OF(wrong, x), APH_ARRAY_OF(number(1), x)), wrong);
}

static void operands_of_a_wrong_kind_are_wrong(void **state)
{
    (void)state;
    assert_ptr_equal(aph_add(s, number(1)), wrong);
    assert_ptr_equal(aph_lt(s, t), wrong);
    assert_ptr_equal(aph_le(p, number(1)), wrong);
    assert_ptr_equal(aph_and(p, x), wrong);
    assert_ptr_equal(aph_not(x), wrong);
    assert_ptr_equal(aph_add(APH_NIL, number(1)), wrong);
}

static void booleans_fold(void **state)
{
    (void)state;
    assert_ptr_equal(aph_not(aph_not(p)), p);
    assert_ptr_equal(aph_eq(p, aph_bool(true)), p);
    assert_ptr_equal(aph_eq(aph_bool(false), p), aph_not(p));
    assert_ptr_equal(aph_and(p, aph_bool(true)), p);
    assert_ptr_equal(aph_and(p, aph_bool(false)), aph_bool(false));
    assert_ptr_equal(aph_or(aph_bool(true), p), aph_bool(true));
    assert_ptr_equal(aph_and(p, q), aph_and(q, p));
    assert_ptr_equal(aph_not(aph_eq(p, q)), aph_eq(q, aph_not(p)));
    assert_ptr_equal(aph_eq(p, p), aph_bool(true));
    assert_ptr_equal(aph_eq(p, aph_not(p)), aph_bool(false));
    assert_ptr_equal(aph_not(aph_lt(x, y)), aph_le(y, x));
    assert_ptr_equal(aph_not(aph_le(x, y)), aph_lt(y, x));
    assert_ptr_equal(aph_lt(x, number(3)), aph_le(x, number(2)));
    assert_ptr_equal(aph_not(aph_and(p, q)), aph_or(aph_not(p), aph_not(q)));
}

static void only_total_operands_are_dropped(void **state)
{
    (void)state;
    aph_value partial = aph_lt(aph_add(x, number(1)), y);
    assert_ptr_not_equal(aph_and(aph_bool(false), partial), aph_bool(false));
    assert_ptr_not_equal(aph_eq(aph_add(x, number(1)), aph_add(x, number(1))), aph_bool(true));
    assert_ptr_equal(aph_eq(x, x), aph_bool(true));
    assert_ptr_equal(aph_mul(x, number(0)), number(0));
    assert_ptr_equal(aph_sub(x, x), number(0));
    assert_ptr_not_equal(aph_mul(aph_mul(x, y), number(0)), number(0));
    assert_ptr_equal(aph_lt(x, number(INT64_MIN)), aph_bool(false));
    assert_ptr_equal(aph_le(x, number(INT64_MAX)), aph_bool(true));
}

static void sums_with_constants_stay_small(void **state)
{
    (void)state;
    assert_ptr_equal(aph_add(aph_add(x, number(1)), number(2)), aph_add(number(3), x));
    assert_ptr_equal(aph_sub(x, number(3)), aph_add(x, number(-3)));
    assert_ptr_not_equal(aph_sub(aph_add(x, number(1)), number(1)), x);
    aph_value counter = x, again = x;
    for (int i = 0; i < 1000; i++)
        counter = aph_add(counter, number(i % 2 ? -3 : 2));
    for (int i = 0; i < 1000; i++)
        again = aph_add(again, number(i % 2 ? -3 : 2));
    assert_ptr_equal(counter, again);
    size_t depth = 0;
    for (aph_value v = counter; aph_kind_of(v) == APH_TERM; v = aph_term_arg(v, 0))
        depth++;
    assert_true(depth <= 3);
}

static void structures_are_compared_by_items(void **state)
{
    (void)state;
    assert_ptr_equal(aph_eq(APH_ARRAY_OF(x, number(1)), APH_ARRAY_OF(number(7), number(1))), aph_eq(x, number(7)));
    assert_ptr_equal(aph_eq(APH_ARRAY_OF(x), APH_ARRAY_OF(x, y)), aph_bool(false));
    assert_ptr_equal(aph_eq(APH_ARRAY_OF(x), aph_str("x")), aph_bool(false));
    assert_ptr_equal(aph_eq(x, aph_str("x")), aph_bool(false));
    assert_ptr_equal(aph_eq(x, APH_NIL), aph_bool(false));
    assert_ptr_equal(aph_eq(s, x), aph_bool(false));
    assert_ptr_equal(aph_eq(APH_ARRAY_OF(s, x), APH_ARRAY_OF(t, y)), aph_and(aph_eq(s, t), aph_eq(x, y)));
    assert_ptr_equal(aph_eq(aph_record("k", x, "l", number(1)), aph_record("k", y, "l", number(1))), aph_eq(x, y));
    assert_ptr_equal(aph_eq(aph_record("k", x), aph_record("l", x)), aph_bool(false));
    aph_value large = aph_object(), other = aph_object();
    for (int i = 0; i < 40; i++) {
        large = aph_set(large, aph_strf("key %d", i), i == 7 ? x : number(i));
        other = aph_set(other, aph_strf("key %d", i), i == 7 ? y : number(i));
    }
    assert_ptr_equal(aph_eq(large, other), aph_eq(x, y));
    assert_ptr_equal(aph_eq(large, aph_put(other, "key 7", number(9))), aph_eq(x, number(9)));
    aph_value different = aph_ne(APH_ARRAY_OF(x, s), APH_ARRAY_OF(number(1), aph_str("a")));
    assert_ptr_equal(different, aph_or(aph_ne(x, number(1)), aph_ne(s, aph_str("a"))));
}

static void sorts(void **state)
{
    (void)state;
    assert_int_equal(aph_sort_of(x), APH_INT);
    assert_int_equal(aph_sort_of(s), APH_STR);
    assert_int_equal(aph_sort_of(aph_add(x, y)), APH_INT);
    assert_int_equal(aph_sort_of(aph_lt(x, y)), APH_BOOL);
    assert_int_equal(aph_sort_of(aph_ne(s, t)), APH_BOOL);
    assert_int_equal(aph_sort_of(number(1)), APH_INT);
    assert_int_equal(aph_sort_of(aph_str("a")), APH_STR);
}

static void substitution_reaches_into_structures(void **state)
{
    (void)state;
    aphi_bindings b = {0};
    aphi_bindings_set(&b, x, number(5));
    aphi_bindings_set(&b, s, t);
    aph_value large = aph_object(), want = aph_object();
    for (int i = 0; i < 30; i++) {
        large = aph_set(large, number(i), i % 3 ? number(i) : aph_add(x, number(i)));
        want = aph_set(want, number(i), i % 3 ? number(i) : number(5 + i));
    }
    assert_ptr_equal(aphi_substitute(large, &b), want);
    assert_ptr_equal(aphi_substitute(APH_ARRAY_OF(s, y, x), &b), APH_ARRAY_OF(t, y, number(5)));
    assert_ptr_equal(aphi_substitute(aph_eq(s, t), &b), aph_bool(true));
    assert_ptr_equal(aphi_substitute(aph_lt(y, aph_add(x, y)), &b), aph_lt(y, aph_add(y, number(5))));
    aphi_bindings_deinit(&b);
}

static void substitution_is_simultaneous(void **state)
{
    (void)state;
    aphi_bindings b = {0};
    aphi_bindings_set(&b, x, y);
    aphi_bindings_set(&b, y, x);
    assert_ptr_equal(aphi_substitute(aph_lt(x, y), &b), aph_lt(y, x));
    aphi_bindings_deinit(&b);
}

static void many_bindings_are_found(void **state)
{
    (void)state;
    aphi_bindings b = {0};
    for (uint32_t i = 0; i < 1000; i++)
        aphi_bindings_set(&b, aph_symbol(APH_INT, i * 7), number(i));
    for (uint32_t i = 0; i < 1000; i++)
        assert_ptr_equal(aphi_bindings_get(&b, aph_symbol(APH_INT, i * 7)), number(i));
    assert_null(aphi_bindings_get(&b, aph_symbol(APH_INT, 1)));
    assert_null(aphi_bindings_get(&b, aph_symbol(APH_STR, 7)));
    assert_int_equal(aphi_bindings_count(&b), 1000);
    aphi_bindings_deinit(&b);
}

/* Without sharing, the 60th term would have 2^60 nodes. */
static void shared_parts_are_visited_once(void **state)
{
    (void)state;
    aph_value grown = aph_add(x, y);
    for (int i = 0; i < 60; i++)
        grown = aph_add(aph_mul(grown, y), aph_mul(grown, x));
    aphi_symset inside = {0};
    aphi_symset_collect(&inside, grown);
    assert_int_equal(inside.count, 2);
    aphi_symset_deinit(&inside);
    aphi_bindings b = {0};
    aphi_bindings_set(&b, x, number(0));
    aphi_bindings_set(&b, y, number(1));
    assert_ptr_equal(aphi_substitute(grown, &b), number(1));
    aphi_bindings_deinit(&b);
}

/* ---- against the plain meaning ----------------------------------------------------------------------------------- */

static brute_meaning meaning_after_substitution(aph_value v, const brute_world *w, const brute_assignment *a)
{
    aphi_bindings b = {0};
    for (int i = 0; i < BRUTE_SYMBOLS; i++)
        aphi_bindings_set(&b, brute_symbol(w, i), a->value[i]);
    brute_meaning m = brute_of_value(aphi_substitute(v, &b));
    aphi_bindings_deinit(&b);
    return m;
}

static void simplified_terms_mean_the_same(void **state)
{
    (void)state;
    aphi_choice c = aphi_choice_seed(11);
    for (int n = 0; n < 60000; n++) {
        brute_world w = brute_random_world(&c, 5);
        brute_expression e = {.count = 0};
        e.root = brute_random(&e, &w, &c, aphi_choice_chance(&c, 3, 4) ? APH_BOOL : APH_INT, 4);
        aph_value v = brute_term(&e, &w);
        for (int k = 0; k < 12; k++) {
            brute_assignment a = brute_assignment_at(&w, aphi_choice_below(&c, brute_assignments(&w)));
            brute_meaning want = brute_meaning_at(&e, &a, e.root);
            assert_true(brute_same(want, brute_meaning_of(v, w.first, BRUTE_SYMBOLS, a.value)));
            assert_true(brute_same(want, meaning_after_substitution(v, &w, &a)));
        }
        if (n % 1000 == 0) {
            aph_collect();
            setup(NULL);
        }
    }
}

static aphi_range narrow(const void *context, aph_value symbol)
{
    (void)symbol;
    return *(const aphi_range *)context;
}

/* Backward ranges are exact preimages; forward ranges contain all results. */
static void ranges_agree_with_values(void **state)
{
    (void)state;
    aphi_choice c = aphi_choice_seed(12);
    for (int n = 0; n < 60000; n++) {
        brute_world w = brute_random_world(&c, 5);
        brute_expression e = {.count = 0};
        for (int i = 0; i < BRUTE_SYMBOLS; i++)
            w.sort[i] = APH_INT;
        e.root = brute_random(&e, &w, &c, n % 2 ? APH_INT : APH_BOOL, 3);
        aph_value v = brute_term(&e, &w), symbol;
        aphi_range world = {w.low, w.high}, to, from;
        int64_t a = aph_int_of(brute_random_constant(&w, &c, APH_INT));
        int64_t b = aph_int_of(brute_random_constant(&w, &c, APH_INT));
        to = a < b ? (aphi_range){a, b} : (aphi_range){b, a};
        bool unary = n % 2 && aphi_range_before(v, to, &symbol, &from);
        aphi_outcome o = n % 2 || v == wrong ? (aphi_outcome){true, true, true} : aphi_range_outcome(v, narrow, &world);
        for (int k = 0; k < 12; k++) {
            brute_assignment at = brute_assignment_at(&w, aphi_choice_below(&c, brute_assignments(&w)));
            brute_meaning m = brute_meaning_at(&e, &at, e.root);
            if (unary) {
                int64_t i = aph_int_of(at.value[aph_symbol_number(symbol) - w.first]);
                bool inside = m.kind == BRUTE_INT && m.i >= to.low && m.i <= to.high;
                assert_int_equal(i >= from.low && i <= from.high, inside);
            }
            assert_true(m.kind == BRUTE_WRONG ? o.can_be_wrong : n % 2 || (m.i ? o.can_hold : o.can_fail));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_arithmetic_is_computed),
        cmocka_unit_test(leaving_64_bits_is_wrong),
        cmocka_unit_test(wrong_stays_wrong),
        cmocka_unit_test(operands_of_a_wrong_kind_are_wrong),
        cmocka_unit_test(booleans_fold),
        cmocka_unit_test(only_total_operands_are_dropped),
        cmocka_unit_test(sums_with_constants_stay_small),
        cmocka_unit_test(structures_are_compared_by_items),
        cmocka_unit_test(sorts),
        cmocka_unit_test(substitution_reaches_into_structures),
        cmocka_unit_test(substitution_is_simultaneous),
        cmocka_unit_test(many_bindings_are_found),
        cmocka_unit_test(shared_parts_are_visited_once),
        cmocka_unit_test(simplified_terms_mean_the_same),
        cmocka_unit_test(ranges_agree_with_values),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * test_value.c - interning, the total order, and operations on scalars, strings and arrays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "random_value.h"
#include "value/heap.h"

static int fresh_heap(void **unused)
{
    (void)unused;
    aph_heap_close();
    return 0;
}

/* Returns the same content, built in another way: by push, replace and slice. */
static aph_value rebuilt(aph_value v)
{
    size_t n = aph_count(v);
    aph_value key, item, copy;
    switch (aph_kind_of(v)) {
    case APH_BOOL: return aph_bool(aph_truth(v));
    case APH_INT: return aph_int(aph_int_of(v));
    case APH_STR: return aph_concat(aph_substr(v, 0, n / 2), aph_substr(v, n / 2, n - n / 2));
    case APH_ARRAY:
        copy = aph_array(0, NULL);
        for (size_t i = 0; i < n; i++)
            copy = aph_replace(aph_push(copy, aph_str("in its place")), i, rebuilt(aph_at(v, i)));
        return aph_slice(aph_push(copy, APH_NIL), 0, n);
    case APH_OBJECT:
        copy = aph_put(aph_object(), "a key that is not there", APH_NIL);
        for (size_t i = n; i-- > 0;) {
            assert_true(aph_pair_at(v, i, &key, &item));
            copy = aph_set(copy, rebuilt(key), rebuilt(item));
        }
        return aph_remove(copy, aph_str("a key that is not there"));
    default: return v;
    }
}

static void test_equal_content_is_one_word(void **unused)
{
    (void)unused;
    aphi_choice c = aphi_choice_seed(1);
    for (int i = 0; i < 5000; i++) {
        aph_value v = random_value(&c, 3), w = rebuilt(v);
        assert_ptr_equal(v, w);
        assert_int_equal(aph_hash(v), aph_hash(w));
        assert_int_equal(aph_compare(v, w), 0);
    }
}

/* Words are equal if and only if aph_compare returns 0; the two are implemented independently. */
static void test_order_is_total(void **unused)
{
    (void)unused;
    enum { N = 120 };
    aphi_choice c = aphi_choice_seed(2);
    aph_value v[N];
    unsigned same_hash = 0;
    for (int i = 0; i < N; i++)
        v[i] = random_value(&c, 2);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            int ij = aph_compare(v[i], v[j]), ji = aph_compare(v[j], v[i]);
            assert_int_equal(ij == 0, v[i] == v[j]);
            assert_int_equal((ij > 0) - (ij < 0), (ji < 0) - (ji > 0));
            same_hash += v[i] != v[j] && aph_hash(v[i]) == aph_hash(v[j]);
            if (aph_kind_of(v[i]) < aph_kind_of(v[j]))
                assert_true(ij < 0);
            for (int k = 0; k < N; k++)
                if (ij <= 0 && aph_compare(v[j], v[k]) <= 0)
                    assert_true(aph_compare(v[i], v[k]) <= 0);
        }
    assert_int_equal(same_hash, 0);
}

static void test_hash_is_the_same_in_every_heap(void **unused)
{
    (void)unused;
    aphi_choice c = aphi_choice_seed(3);
    uint64_t before[200];
    for (int i = 0; i < 200; i++)
        before[i] = aph_hash(random_value(&c, 3));
    aph_heap_close();
    aph_str("something else comes first in this heap");
    c = aphi_choice_seed(3);
    for (int i = 0; i < 200; i++)
        assert_int_equal(aph_hash(random_value(&c, 3)), before[i]);
}

static void test_integers_at_the_borders(void **unused)
{
    (void)unused;
    const int64_t one = 1;
    const int64_t borders[] = {INT64_MIN, INT64_MIN + 1, -(one << 60) - 1, -(one << 60), -(one << 60) + 1, -1, 0, 1,
                               (one << 60) - 1, one << 60, (one << 60) + 1, INT64_MAX - 1, INT64_MAX};
    enum { N = sizeof borders / sizeof *borders };
    for (int i = 0; i < N; i++) {
        aph_value v = aph_int(borders[i]);
        assert_true(aph_is_int(v));
        assert_int_equal(aph_int_of(v), borders[i]);
        assert_ptr_equal(v, aph_int(borders[i]));
        bool fits = borders[i] >= -(one << 60) && borders[i] < one << 60;
        assert_int_equal(aphi_is_node(v), !fits);
        for (int j = 0; j < N; j++)
            assert_int_equal(aph_compare(v, aph_int(borders[j])) < 0, borders[i] < borders[j]);
    }
}

static void test_strings_around_seven_bytes(void **unused)
{
    (void)unused;
    const char text[] = "0123456789abcdefghij";
    for (size_t n = 0; n <= 20; n++) {
        aph_value v = aph_bytes(text, n);
        size_t length;
        const char *bytes = aph_bytes_of(&v, &length);
        assert_true(aph_is_str(v));
        assert_int_equal(length, n);
        assert_int_equal(aph_count(v), n);
        assert_memory_equal(bytes, text, n);
        assert_int_equal(aphi_is_node(v), n > 7);
        assert_ptr_equal(v, aph_concat(aph_bytes(text, n / 3), aph_bytes(text + n / 3, n - n / 3)));
        assert_true(aph_compare(v, aph_bytes(text, n + 1)) < 0);
        assert_ptr_equal(aph_substr(aph_str(text), 0, n), v);
    }
}

static void test_strings_hold_any_bytes(void **unused)
{
    (void)unused;
    aph_value none = aph_bytes("", 0), one = aph_bytes("\0", 1), two = aph_bytes("\0\0", 2);
    assert_ptr_not_equal(none, one);
    assert_ptr_not_equal(one, two);
    assert_true(aph_compare(none, one) < 0 && aph_compare(one, two) < 0);
    assert_true(aph_str_is(none, ""));
    assert_false(aph_str_is(one, ""));
    assert_false(aph_str_is(APH_NIL, ""));
    assert_false(aph_str_is(aph_int(0), ""));
    aph_value a = aph_bytes("0123456\0x", 9), b = aph_bytes("0123456\0y", 9);
    assert_true(aph_compare(a, b) < 0);
    assert_ptr_equal(aph_substr(a, 7, 2), aph_bytes("\0x", 2));
    assert_true(aph_compare(aph_bytes("\x7f", 1), aph_bytes("\x80", 1)) < 0); /* bytes are unsigned */
    assert_true(aph_compare(aph_bytes("12345678\x7f", 9), aph_bytes("12345678\x80", 9)) < 0);
}

static void test_formatted_strings(void **unused)
{
    (void)unused;
    char long_text[1000];
    memset(long_text, 'x', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = '\0';
    assert_ptr_equal(aph_strf("%d-%s", 7, "a"), aph_str("7-a"));
    assert_ptr_equal(aph_strf("%s", long_text), aph_str(long_text));
    assert_ptr_equal(aph_strf("%.255s", long_text), aph_bytes(long_text, 255));
    assert_ptr_equal(aph_strf("%.256s", long_text), aph_bytes(long_text, 256));
}

static void test_arrays(void **unused)
{
    (void)unused;
    aph_value a = APH_ARRAY_OF(aph_int(1), aph_str("two"), APH_NIL);
    assert_int_equal(aph_count(a), 3);
    assert_ptr_equal(aph_at(a, 1), aph_str("two"));
    assert_ptr_equal(aph_at(a, 2), APH_NIL);
    assert_ptr_equal(aph_at(a, 3), APH_NIL);
    assert_ptr_equal(aph_at(a, SIZE_MAX), APH_NIL);
    aph_value b = aph_replace(a, 0, aph_int(9));
    assert_ptr_equal(aph_at(a, 0), aph_int(1)); /* a is unchanged */
    assert_ptr_equal(b, APH_ARRAY_OF(aph_int(9), aph_str("two"), APH_NIL));
    assert_ptr_equal(aph_slice(a, 1, 1), APH_ARRAY_OF(aph_str("two")));
    assert_ptr_equal(aph_slice(a, 0, 0), aph_array(0, NULL));
    assert_ptr_not_equal(aph_array(0, NULL), aph_object());
    assert_ptr_not_equal(aph_array(0, NULL), APH_NIL);
    assert_true(aph_compare(APH_ARRAY_OF(aph_int(9)), APH_ARRAY_OF(aph_int(1), aph_int(1))) < 0); /* by length first */
}

static void test_kinds(void **unused)
{
    (void)unused;
    assert_int_equal(aph_kind_of(APH_NIL), APH_NULL);
    assert_int_equal(aph_kind_of(aph_bool(false)), APH_BOOL);
    assert_int_equal(aph_kind_of(aph_int(INT64_MIN)), APH_INT);
    assert_int_equal(aph_kind_of(aph_str("")), APH_STR);
    assert_int_equal(aph_kind_of(aph_array(0, NULL)), APH_ARRAY);
    assert_int_equal(aph_kind_of(aph_object()), APH_OBJECT);
    assert_int_equal(aph_kind_of(aph_symbol(APH_INT, 3)), APH_SYMBOL);
    assert_true(aph_truth(aph_bool(true)));
    assert_false(aph_truth(aph_bool(false)));
    assert_false(aph_truth(aph_int(1)));
    assert_int_equal(aph_count(aph_int(5)), 0);
    assert_ptr_not_equal(aph_bool(false), APH_NIL);
    assert_ptr_not_equal(aph_bool(false), aph_int(0));
}

static void test_symbolic_inside(void **unused)
{
    (void)unused;
    aph_value x = aph_symbol(APH_INT, 70), y = aph_symbol(APH_INT, 6); /* 70 and 6 share a bit of the mask */
    assert_ptr_not_equal(x, y);
    assert_ptr_not_equal(x, aph_symbol(APH_STR, 70));
    assert_int_equal(aph_symbol_number(x), 70);
    aph_value deep = aph_record("a", APH_ARRAY_OF(aph_int(1), aph_record("b", x)));
    assert_true(aph_is_symbolic(deep));
    assert_false(aph_is_symbolic(aph_record("a", APH_ARRAY_OF(aph_int(1)))));
    aph_value large = aph_object();
    for (int i = 0; i < 100; i++)
        large = aph_set(large, aph_int(i), aph_int(i));
    assert_false(aph_is_symbolic(large));
    assert_true(aph_is_symbolic(aph_set(large, aph_int(50), y)));
    assert_false(aph_is_symbolic(aph_set(aph_set(large, aph_int(50), y), aph_int(50), APH_NIL)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_equal_content_is_one_word, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_order_is_total, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_hash_is_the_same_in_every_heap, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_integers_at_the_borders, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_strings_around_seven_bytes, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_strings_hold_any_bytes, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_formatted_strings, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_arrays, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_kinds, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_symbolic_inside, fresh_heap, fresh_heap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * test_object.c - objects compared with a reference implementation, below and above the eight keys at which their
 * representation changes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "base/random_choice.h"
#include "value/heap.h"

enum { KEYS = 40 };

static int fresh_heap(void **unused)
{
    (void)unused;
    aph_heap_close();
    return 0;
}

/* ---- reference: arrays indexed by key ---------------------------------------------------------------------------- */

typedef struct twin {
    bool there[KEYS];
    aph_value item[KEYS];
} twin;

/* Short and long keys. Zero-padding makes their numeric order that of aph_compare. */
static aph_value key_of(size_t i)
{
    return i % 2 ? aph_strf("k%03zu", i) : aph_strf("k%03zu, a long one", i);
}

static size_t twin_count(const twin *t)
{
    size_t n = 0;
    for (size_t i = 0; i < KEYS; i++)
        n += t->there[i];
    return n;
}

static aph_value built_forwards(const twin *t)
{
    aph_value o = aph_object();
    for (size_t i = 0; i < KEYS; i++)
        if (t->there[i])
            o = aph_set(o, key_of(i), t->item[i]);
    return o;
}

static aph_value built_backwards(const twin *t)
{
    aph_value o = aph_object();
    for (size_t i = KEYS; i-- > 0;)
        if (t->there[i])
            o = aph_set(o, key_of(i), t->item[i]);
    return o;
}

static aph_value built_at_once(const twin *t)
{
    aph_value pairs[4 * KEYS];
    size_t n = 0;
    for (size_t i = 0; i < KEYS; i++)
        if (t->there[i]) {
            pairs[2 * n] = key_of(i);
            pairs[2 * n++ + 1] = aph_str("overridden by the one that comes later");
        }
    for (size_t i = KEYS; i-- > 0;)
        if (t->there[i]) {
            pairs[2 * n] = key_of(i);
            pairs[2 * n++ + 1] = t->item[i];
        }
    return n ? aphi_object_of(n, pairs) : aph_object();
}

static void compare(aph_value o, const twin *t)
{
    size_t at = 0;
    aph_value key, item;
    assert_int_equal(aph_kind_of(o), APH_OBJECT);
    assert_int_equal(aph_count(o), twin_count(t));
    for (size_t i = 0; i < KEYS; i++) {
        assert_int_equal(aph_has(o, key_of(i)), t->there[i]);
        assert_ptr_equal(aph_get(o, key_of(i)), t->there[i] ? t->item[i] : APH_NIL);
        if (t->there[i]) {
            assert_true(aph_pair_at(o, at++, &key, &item));
            assert_ptr_equal(key, key_of(i));
            assert_ptr_equal(item, t->item[i]);
        }
    }
    assert_false(aph_pair_at(o, at, &key, &item));
}

/* The object grows and shrinks in waves, crossing the limit of eight keys in both directions. */
static void test_against_reference(void **unused)
{
    (void)unused;
    aphi_choice c = aphi_choice_seed(4);
    twin t = {0};
    aph_value o = aph_object();
    unsigned up = 0, down = 0;
    for (int i = 0; i < 6000; i++) {
        size_t key = aphi_choice_below(&c, KEYS), before = aph_count(o);
        bool grow = aphi_choice_chance(&c, (i / 60) % 2 ? 7 : 1, 8);
        if (grow) {
            t.there[key] = true;
            t.item[key] = aphi_choice_chance(&c, 1, 10) ? APH_NIL : aph_int((int64_t)aphi_choice_below(&c, 5));
            o = aph_set(o, key_of(key), t.item[key]);
        } else {
            t.there[key] = false;
            o = aph_remove(o, key_of(key));
        }
        up += before == APHI_PAIRS_MAX && aph_count(o) > before;
        down += before == APHI_PAIRS_MAX + 1 && aph_count(o) < before;
        assert_ptr_equal(o, built_forwards(&t));
        if (i % 16 == 0) {
            compare(o, &t);
            assert_ptr_equal(o, built_backwards(&t));
            assert_ptr_equal(o, built_at_once(&t));
        }
    }
    assert_true(up > 20 && down > 20);
}

static void test_keys_that_are_not_strings(void **unused)
{
    (void)unused;
    aph_value o = aph_set(aph_object(), aph_int(12), aph_str("a"));
    assert_ptr_equal(aph_field(o, "12"), aph_str("a"));
    assert_ptr_equal(aph_get(o, aph_str("12")), aph_str("a"));
    o = aph_set(o, APH_ARRAY_OF(aph_int(1), aph_str("x")), aph_str("b"));
    assert_ptr_equal(aph_field(o, "[1,\"x\"]"), aph_str("b"));
    o = aph_set(o, APH_NIL, aph_str("c"));
    assert_ptr_equal(aph_field(o, "null"), aph_str("c"));
    assert_int_equal(aph_count(o), 3);
    assert_ptr_equal(aph_remove(aph_remove(aph_remove(o, aph_int(12)), APH_NIL), aph_str("[1,\"x\"]")), aph_object());
}

static void test_other_kinds_have_no_fields(void **unused)
{
    (void)unused;
    assert_ptr_equal(aph_field(APH_NIL, "a"), APH_NIL);
    assert_ptr_equal(aph_field(aph_str("a"), "a"), APH_NIL);
    assert_ptr_equal(aph_get(APH_ARRAY_OF(aph_int(1)), aph_int(0)), APH_NIL);
    assert_false(aph_has(aph_int(1), aph_str("a")));
    assert_true(aph_has(aph_record("a", APH_NIL), aph_str("a"))); /* present, and null */
}

static void test_records(void **unused)
{
    (void)unused;
    aph_value r = aph_record("b", aph_int(2), "a", aph_int(1), "none", APH_NIL);
    assert_int_equal(aph_count(r), 3);
    assert_ptr_equal(r, aph_put(aph_put(aph_put(aph_object(), "none", APH_NIL), "a", aph_int(1)), "b", aph_int(2)));
}

static aph_value counted_up(int n)
{
    aph_value o = aph_object();
    for (int i = 0; i < n; i++)
        o = aph_set(o, aph_int(i), aph_int(i));
    return o;
}

/* Returns the number of bytes that one update allocates: for a copied path, not a copied object. */
static size_t bytes_per_update(aph_value o)
{
    enum { UPDATES = 500 };
    size_t before = aph_heap_bytes(), n = aph_count(o);
    for (size_t i = 0; i < UPDATES; i++)
        aph_set(o, aph_int((int64_t)(i * 7919 % n)), aph_str("something new"));
    return (aph_heap_bytes() - before) / UPDATES;
}

static void test_hundred_thousand_keys(void **unused)
{
    (void)unused;
    enum { N = 100000, REMOVED = 10000 };
    aph_value small = counted_up(1000), large = counted_up(N), key, item, last = APH_NIL;
    /* log2 of the sizes is 10 and 17. A treap is up to about three times as deep, and a node has about 64 bytes. */
    assert_true(bytes_per_update(large) < 3 * bytes_per_update(small));
    assert_true(bytes_per_update(large) < 100 * 64);

    assert_int_equal(aph_count(large), N);
    for (size_t i = 0; i < N; i += 97) {
        assert_true(aph_pair_at(large, i, &key, &item));
        assert_ptr_equal(aph_get(large, key), item);
        if (i)
            assert_true(aph_compare(last, key) < 0);
        last = key;
    }
    aph_value fewer = large;
    for (int i = 0; i < REMOVED; i++)
        fewer = aph_remove(fewer, aph_int(i * 31 % N)); /* 31 and N are coprime */
    assert_int_equal(aph_count(fewer), N - REMOVED);
    for (int i = 0; i < N; i++)
        assert_int_equal(aph_has(fewer, aph_int(i * 31 % N)), i >= REMOVED);
    for (int i = REMOVED; i-- > 0;)
        fewer = aph_set(fewer, aph_int(i * 31 % N), aph_int(i * 31 % N));
    assert_ptr_equal(fewer, large);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_against_reference, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_keys_that_are_not_strings, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_other_kinds_have_no_fields, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_records, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_hundred_thousand_keys, fresh_heap, fresh_heap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

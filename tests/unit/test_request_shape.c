/* SPDX-License-Identifier: Apache-2.0
 *
 * test_request_shape.c - shapes: each form draws its values, unused alternatives first; errors have positions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include "generate/generator_api.h"
#include "generate/request_shape.h"

static int fresh_heap(void **unused)
{
    (void)unused;
    aph_heap_close();
    return 0;
}

static aph_value up(aph_value v)
{
    return v;
}

static const aph_function functions[] = {{"up", up}, {0}};

typedef struct bench {
    aphi_labelled *seen;
    aphi_knowledge known;
    aph_gen gen;
    aphi_request_shape *shape;
} bench;

static void bench_open(bench *b, const char *text)
{
    char error[300];
    *b = (bench){.seen = aphi_labelled_open(16), .gen = {.choice = aphi_choice_seed(1), .known = &b->known}};
    b->known.seen = b->seen;
    b->shape = aphi_request_shape_open(text, functions, 1, error, sizeof error);
    if (!b->shape)
        fail_msg("%s", error);
}

static void bench_close(bench *b)
{
    aphi_request_shape_close(b->shape);
    aphi_labelled_close(b->seen);
    aphi_weights_deinit(&b->gen.weights);
}

static aph_value drawn(bench *b)
{
    aphi_weights_begin(&b->gen.weights);
    aph_value v = aphi_request_shape_draw(b->shape, &b->gen);
    aphi_weights_use(&b->gen.weights);
    return v;
}

static void test_literals(void **unused)
{
    (void)unused;
    bench b;
    bench_open(&b, APH_SHAPE([{"f": "get", "list": [1, {"a": null}], "odd": {"just": {"int": true}}}]));
    aph_value v = drawn(&b);
    aph_collect();
    assert_ptr_equal(v, drawn(&b));
    assert_ptr_equal(aph_field(v, "f"), aph_str("get"));
    assert_ptr_equal(aph_field(aph_field(v, "odd"), "int"), aph_bool(true));
    assert_true(aph_has(aph_at(aph_field(v, "list"), 1), aph_str("a")));
    bench_close(&b);
}

static void test_new_alternatives_first(void **unused)
{
    (void)unused;
    bench b;
    bench_open(&b, APH_SHAPE([{"weight": 1000, "of": 0}, 1, 2, {"one of": [3, {"weight": 50, "of": 4}]}]));
    unsigned times[5] = {0};
    for (int i = 0; i < 4; i++)
        times[aph_int_of(drawn(&b))]++;
    assert_int_equal(times[0] + times[1] + times[2], 3);
    assert_int_equal(times[3] + times[4], 1);
    for (int i = 0; i < 10000; i++)
        times[aph_int_of(drawn(&b))]++;
    assert_true(times[0] > 9000 && times[1] && times[2] && times[3] && times[4]);
    bench_close(&b);
}

static void test_values(void **unused)
{
    (void)unused;
    bench b;
    bench_open(&b, APH_SHAPE([{"i": {"int": [-2, 2]}, "all": {"int": [-9223372036854775807, 9223372036854775807]},
                               "s": {"string": [0, 3]}, "t": {"string": 9}, "maybe": {"optional": {"int": [1, 1]}},
                               "items": [0, {"optional": 1}]}]));
    unsigned of_int[5] = {0}, of_length[4] = {0}, of_maybe[2] = {0}, of_items[3] = {0};
    for (int i = 0; i < 2000; i++) {
        aph_value v = drawn(&b);
        of_int[aph_int_of(aph_field(v, "i")) + 2]++;
        of_length[aph_count(aph_field(v, "s"))]++;
        of_maybe[aph_has(v, aph_str("maybe"))]++;
        of_items[aph_count(aph_field(v, "items"))]++;
        assert_int_equal(aph_count(aph_field(v, "t")), 9);
        assert_true(aph_is_int(aph_field(v, "all")));
    }
    for (int i = 0; i < 5; i++)
        assert_true(of_int[i] > 100);
    for (int i = 0; i < 4; i++)
        assert_true(of_length[i] > 100);
    assert_true(of_maybe[0] > 500 && of_maybe[1] > 500);
    assert_true(of_items[0] == 0 && of_items[1] > 500 && of_items[2] > 500);
    bench_close(&b);
}

static int by_content(const void *a, const void *b)
{
    return aph_compare(*(const aph_value *)a, *(const aph_value *)b);
}

/* Draws all strings once each; successive strings differ in every letter. */
static void test_fresh(void **unused)
{
    (void)unused;
    enum { ALL = 62 * 62 };
    bench b;
    bench_open(&b, APH_SHAPE([[{"fresh": "int"}, {"fresh": "string", "length": 2}, {"fresh": "string"}],
                               [{"fresh": "int"}, {"fresh": "string", "length": 2}, {"fresh": "string"}]]));
    static aph_value strings[ALL];
    size_t alike = 0;
    for (int i = 0; i < ALL; i++) {
        aph_value v = drawn(&b);
        assert_ptr_equal(aph_at(v, 0), aph_int(i + 1)); /* for any form that drew the previous value */
        assert_int_equal(aph_count(aph_at(v, 2)), 4);
        strings[i] = aph_at(v, 1);
        size_t n;
        if (i)
            alike += *aph_bytes_of(&strings[i], &n) == *aph_bytes_of(&strings[i - 1], &n);
    }
    assert_int_equal(alike, 0);
    qsort(strings, ALL, sizeof *strings, by_content);
    for (int i = 1; i < ALL; i++)
        assert_ptr_not_equal(strings[i], strings[i - 1]);
    bench_close(&b);
}

static void test_holes(void **unused)
{
    (void)unused;
    bench b;
    bench_open(&b, APH_SHAPE([{"tag": {"seen": ["tag"], "function": "up"}, "key": {"sent": ["key"], "else": "a"}}]));
    assert_ptr_equal(drawn(&b), aph_record("key", aph_str("a")));
    aphi_labelled_add(b.seen, 1, aph_record("key", aph_str("b"), "tag", aph_int(0)));
    assert_ptr_equal(drawn(&b), aph_record("key", aph_hole(1, APH_ARRAY_OF(aph_str("key")), "id")));
    aphi_labelled_add(b.seen, 2, aph_record("tag", aph_int(7)));
    aphi_labelled_add(b.seen, 4, aph_record("tag", aph_int(8)));
    unsigned of_2 = 0, of_4 = 0;
    for (int i = 0; i < 1000; i++) {
        aph_value hole = aph_field(drawn(&b), "tag"), parts = aph_field(hole, "$");
        assert_true(aphi_expression_is_hole(hole));
        assert_ptr_equal(aph_at(parts, 2), aph_str("up"));
        of_2 += aph_at(parts, 0) == aph_int(2);
        of_4 += aph_at(parts, 0) == aph_int(4);
    }
    assert_int_equal(of_2 + of_4, 1000);
    assert_true(of_2 > 100 && of_4 > 100);
    bench_close(&b);
}

/* Every second response has an empty string, as after a logout. They are drawn sometimes, and if there is no other. */
static void test_empty_strings_are_rare(void **unused)
{
    (void)unused;
    bench b;
    bench_open(&b, APH_SHAPE([{"a": {"seen": ["s"]}, "b": {"sent": ["s"]}}]));
    aphi_labelled_add(b.seen, 2, aph_record("s", aph_str("")));
    aphi_labelled_add(b.seen, 1, aph_record("s", aph_str("")));
    for (int i = 0; i < 100; i++)
        assert_ptr_equal(aph_field(drawn(&b), "a"), aph_hole(2, APH_ARRAY_OF(aph_str("s")), "id"));
    for (int64_t label = 3; label <= 12; label++)
        aphi_labelled_add(b.seen, label, aph_record("s", aph_str(label / 2 % 2 ? "" : "token")));
    unsigned seen = 0, sent = 0;
    for (int i = 0; i < 1000; i++) {
        aph_value v = drawn(&b);
        seen += aph_int_of(aph_at(aph_field(aph_field(v, "a"), "$"), 0)) / 2 % 2 == 1;
        sent += aph_int_of(aph_at(aph_field(aph_field(v, "b"), "$"), 0)) / 2 % 2 == 1;
    }
    assert_true(seen > 10 && seen < 200);
    assert_true(sent > 250);
    bench_close(&b);
}

static void test_wishes(void **unused)
{
    (void)unused;
    bench b;
    bench_open(&b, APH_SHAPE([{"f": "get", "key": {"one of": ["a", "b", "c", "d", "e", "f", "g", "h"]}}]));
    for (int i = 0; i < 8; i++)
        drawn(&b);
    b.gen.wish = aph_record("key", aph_str("e"));
    unsigned granted = 0;
    for (int i = 0; i < 1000; i++)
        granted += aph_str_is(aph_field(drawn(&b), "key"), "e");
    assert_true(granted > 600);
    bench_close(&b);
}

static void test_errors(void **unused)
{
    (void)unused;
    static const struct {
        const char *text, *what;
    } cases[] = {
        {"", "line 1, column 1"},
        {"[1,\n  {\"a\": }]", "line 2, column 9"},
        {"{}", "non-empty array"},
        {"[]", "non-empty array"},
        {"[null]", "cannot be sent"},
        {APH_SHAPE([{"f": "x"}, {"key": {"one of": []}}]), "at [1].key: "},
        {APH_SHAPE([{"key": {"one of": [1, {"a": {"int": [2, 1]}}]}}]), "at [0].key[1].a: \"int\" takes"},
        {APH_SHAPE([{"int": 5}]), "\"int\" takes"},
        {APH_SHAPE([{"int": [1, "a"]}]), "\"int\" takes"},
        {APH_SHAPE([{"string": -1}]), "\"string\" takes"},
        {APH_SHAPE([{"string": ["a"]}]), "one of"},
        {APH_SHAPE([{"fresh": "thing"}]), "fresh values must be"},
        {APH_SHAPE([{"fresh": "int", "length": 3}]), "fresh values must be"},
        {APH_SHAPE([{"fresh": "string", "length": 11}]), "from 1 to 10"},
        {APH_SHAPE([{"optional": 1}]), "can be optional"},
        {APH_SHAPE([{"seen": ["a"]}]), "\"else\""},
        {APH_SHAPE([{"a": {"seen": "a"}}]), "takes a path"},
        {APH_SHAPE([{"a": {"sent": [-1]}}]), "takes a path"},
        {APH_SHAPE([{"a": {"seen": [], "function": "down"}}]), "unknown function \"down\""},
        {APH_SHAPE([{"a": {"seen": [], "else": {"int": 1}}}]), "at [0].a.else: "},
        {APH_SHAPE([{"int": [1, 2], "x": 1}]), "cannot be combined"},
        {APH_SHAPE([{"int": [1, 2], "string": 1}]), "cannot be combined"},
        {APH_SHAPE([{"weight": 0, "of": 1}]), "{\"weight\": N"},
        {APH_SHAPE([{"weight": 1}]), "{\"weight\": N"},
        {APH_SHAPE([{"a": {"weight": 1, "of": 1}}]), "only alternatives"},
        {APH_SHAPE([{"a": {"$": [1, [], "id"]}}]), "write a hole as"},
        {APH_SHAPE([{"just": {"$": 1}}]), "is not a hole"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char error[300] = "";
        assert_null(aphi_request_shape_open(cases[i].text, functions, 1, error, sizeof error));
        if (!strstr(error, cases[i].what))
            fail_msg("case %zu: %s", i, error);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_literals, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_new_alternatives_first, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_values, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_fresh, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_holes, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_empty_strings_are_rare, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_wishes, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_errors, fresh_heap, fresh_heap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

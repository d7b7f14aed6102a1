/* SPDX-License-Identifier: Apache-2.0
 *
 * test_simplify.c - simpler forms of a value: the list of forms, and termination. */
#include "script/simplify.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include "base/random_choice.h"

static aph_value read_json(const char *text)
{
    aph_value v;
    aph_json_error error;
    if (!aph_json_read(text, strlen(text), &v, &error))
        fail_msg("%s: %s", text, error.message);
    return v;
}

/* Compares all forms with a JSON array. */
static void has_forms(const char *text, const char *forms)
{
    aph_value v = read_json(text), all = aph_array(0, NULL), form;
    for (size_t n = 0; aphi_simpler(v, n, &form); n++)
        all = aph_push(all, form);
    char *got = aph_json_text(all, NULL);
    assert_string_equal(got, forms);
    free(got);
}

static void test_forms(void **unused)
{
    (void)unused;
    has_forms("null", "[]");
    has_forms("0", "[]");
    has_forms("1", "[0]");
    has_forms("100", "[0,50,99]");
    has_forms("-7", "[0,7,-3,-6]");
    has_forms("-9223372036854775808", "[0,-4611686018427387904,-9223372036854775807]");
    has_forms("false", "[]");
    has_forms("true", "[false]");
    has_forms("\"\"", "[]");
    has_forms("\"a\"", "[\"\"]");
    has_forms("\"put\"", "[\"\",\"p\",\"pu\",\"aaa\"]");
    has_forms("\"path\"", "[\"\",\"pa\",\"pat\",\"aaaa\"]");
    has_forms("[1,[2]]", "[[[2]],[1],[1,[]],[0,[2]],[1,[0]],[1,[1]]]");
    has_forms("{\"a\":1,\"b\":true}", "[{\"b\":true},{\"a\":1},{\"a\":0,\"b\":true},{\"a\":1,\"b\":false}]");
    has_forms("{\"$\":[2,[\"tag\"],\"id\"]}", "[0,\"\"]");
    has_forms("{\"t\":{\"$\":[2,[\"tag\"],\"id\"]}}", "[{},{\"t\":0},{\"t\":\"\"}]");
}

static aph_value random_expression(aphi_choice *c, int depth)
{
    static const char *const texts[] = {"", "b", "key", "a longer string", "\"\\"};
    switch (aphi_choice_below(c, depth > 0 ? 7 : 4)) {
    case 0: return aph_int(aphi_choice_within(c, -1000, 1000));
    case 1: return aph_str(texts[aphi_choice_below(c, 5)]);
    case 2: return aph_bool(aphi_choice_chance(c, 1, 2));
    case 3: return read_json("{\"$\":[4,[\"tag\",0],\"id\"]}");
    case 4: return APH_ARRAY_OF(random_expression(c, depth - 1), random_expression(c, depth - 1));
    case 5: return aph_record("x", random_expression(c, depth - 1));
    default: return aph_record("x", random_expression(c, depth - 1), "y", random_expression(c, depth - 1));
    }
}

/* Every chain ends, and no form is the expression itself. */
static void test_chains_end(void **unused)
{
    (void)unused;
    aphi_choice c = aphi_choice_seed(1);
    for (int i = 0; i < 300; i++) {
        aph_value v = random_expression(&c, 3), form;
        int steps = 0;
        for (size_t count; steps < 5000; steps++) {
            for (count = 0; aphi_simpler(v, count, &form); count++)
                assert_ptr_not_equal(form, v);
            if (count == 0)
                break;
            /* Usually takes the smallest step, for long chains. */
            assert_true(aphi_simpler(v, aphi_choice_chance(&c, 1, 4) ? aphi_choice_below(&c, count) : count - 1, &v));
        }
        assert_true(steps < 5000);
        aph_collect();
    }
}

static int64_t nine_for_seven(const void *context, int64_t label)
{
    (void)context;
    return label == 7 ? 9 : label;
}

static void test_leaves_and_holes(void **unused)
{
    (void)unused;
    aph_value v =
        read_json("{\"a\":[1,\"k\",{\"$\":[4,[\"k\"],\"id\"]}],\"b\":\"k\",\"c\":{\"$\":[7,[],\"id\"]},\"d\":true}");
    aph_value leaf;
    const aph_value leaves[] = {aph_int(1), aph_str("k"), aph_str("k"), aph_bool(true)};
    for (size_t i = 0; i < 4; i++) {
        assert_true(aphi_leaf_at(v, i, &leaf));
        assert_ptr_equal(leaf, leaves[i]);
    }
    assert_false(aphi_leaf_at(v, 4, &leaf));
    assert_ptr_equal(
        aphi_replace_leaves(v, aph_str("k"), aph_str("z")),
        read_json("{\"a\":[1,\"z\",{\"$\":[4,[\"k\"],\"id\"]}],\"b\":\"z\",\"c\":{\"$\":[7,[],\"id\"]},\"d\":true}"));
    int64_t label;
    assert_true(aphi_hole_at(v, 0, &label));
    assert_int_equal(label, 4);
    assert_true(aphi_hole_at(v, 1, &label));
    assert_int_equal(label, 7);
    assert_false(aphi_hole_at(v, 2, &label));
    assert_ptr_equal(
        aphi_relabel(v, nine_for_seven, NULL),
        read_json("{\"a\":[1,\"k\",{\"$\":[4,[\"k\"],\"id\"]}],\"b\":\"k\",\"c\":{\"$\":[9,[],\"id\"]},\"d\":true}"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_chains_end),
        cmocka_unit_test(test_leaves_and_holes),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    aph_heap_close();
    return failed;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * test_taste.c - what led to a new branch is liked, what was only drawn does not count, and liking wears off. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include "harness/taste.h"

static int fresh_heap(void **unused)
{
    (void)unused;
    aph_heap_close();
    return 0;
}

static void use(aphi_taste *t, aphi_option *option)
{
    aphi_taste_begin(t);
    aphi_taste_draw(t, option);
    aphi_taste_use(t);
}

static void test_branches(void **unused)
{
    (void)unused;
    aphi_taste t = {0};
    aphi_option o[2] = {{.weight = 1}, {.weight = 1}};
    aphi_taste_learn(&t, APH_NIL);
    aphi_taste_learn(&t, aph_record("a", aph_int(0)));
    use(&t, &o[1]);
    aphi_taste_learn(&t, aph_record("a", aph_int(0), "b", aph_int(0)));
    assert_int_equal(o[1].liking, 0);
    aphi_taste_learn(&t, aph_record("a", aph_int(1), "b", aph_int(0)));
    uint32_t liked = o[1].liking;
    assert_true(liked > 0 && o[0].liking == 0);
    aphi_taste_learn(&t, aph_record("a", aph_int(9), "b", aph_int(0)));
    assert_int_equal(o[1].liking, liked);
    for (int i = 0; i < 200; i++)
        use(&t, &o[1]);
    assert_int_equal(o[1].liking, 0);
    for (int i = 0; i < 100; i++)
        aphi_taste_learn(&t, aph_set(t.branches, aph_strf("branch %d", i), aph_int(1)));
    assert_int_equal(o[1].liking, APHI_LIKING_MAX);
    aphi_taste_deinit(&t);
}

static void test_drawing_is_not_using(void **unused)
{
    (void)unused;
    aphi_taste t = {0};
    aphi_choice c = aphi_choice_seed(1);
    aphi_option o[3] = {{.weight = 1}, {.weight = 1}, {.weight = 1}};
    for (int i = 0; i < 100; i++) {
        aphi_taste_begin(&t);
        aphi_taste_pick(&t, o, 3, &c);
    }
    aphi_taste_begin(&t);
    aphi_taste_use(&t);
    assert_int_equal(o[0].uses + o[1].uses + o[2].uses, 0);
    for (int i = 0; i < 3; i++) {
        aphi_taste_pick(&t, o, 3, &c);
        aphi_taste_use(&t);
    }
    for (int i = 0; i < 3; i++)
        assert_int_equal(o[i].uses, 1);
    aphi_taste_deinit(&t);
}

static void test_liking_pulls(void **unused)
{
    (void)unused;
    aphi_taste t = {0};
    aphi_choice c = aphi_choice_seed(1);
    aphi_option o[2] = {{.weight = 1, .uses = 1}, {.weight = 1, .liking = 16 * 3, .uses = 1}};
    unsigned second = 0;
    for (int i = 0; i < 10000; i++) {
        aphi_taste_begin(&t);
        second += aphi_taste_pick(&t, o, 2, &c) == 1;
    }
    assert_in_range(second, 7700, 8300);
    aphi_taste_deinit(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_branches, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_drawing_is_not_using, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_liking_pulls, fresh_heap, fresh_heap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

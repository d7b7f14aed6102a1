/* SPDX-License-Identifier: Apache-2.0
 *
 * test_weights.c - options that led to a new branch get a bonus, which decays; unused draws do not count. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include "generate/weights.h"

static int fresh_heap(void **unused)
{
    (void)unused;
    aph_heap_close();
    return 0;
}

static void use(aphi_weights *t, aphi_weighted *option)
{
    aphi_weights_begin(t);
    aphi_weights_draw(t, option);
    aphi_weights_use(t);
}

static void test_branches(void **unused)
{
    (void)unused;
    aphi_weights t = {0};
    aphi_weighted o[2] = {{.weight = 1}, {.weight = 1}};
    aphi_weights_learn(&t, APH_NIL);
    aphi_weights_learn(&t, aph_record("a", aph_int(0)));
    use(&t, &o[1]);
    aphi_weights_learn(&t, aph_record("a", aph_int(0), "b", aph_int(0)));
    assert_int_equal(o[1].bonus, 0);
    aphi_weights_learn(&t, aph_record("a", aph_int(1), "b", aph_int(0)));
    uint32_t liked = o[1].bonus;
    assert_true(liked > 0 && o[0].bonus == 0);
    aphi_weights_learn(&t, aph_record("a", aph_int(9), "b", aph_int(0)));
    assert_int_equal(o[1].bonus, liked);
    for (int i = 0; i < 200; i++)
        use(&t, &o[1]);
    assert_int_equal(o[1].bonus, 0);
    for (int i = 0; i < 100; i++)
        aphi_weights_learn(&t, aph_set(t.branches, aph_strf("branch %d", i), aph_int(1)));
    assert_int_equal(o[1].bonus, APHI_WEIGHT_MAX);
    aphi_weights_deinit(&t);
}

static void test_unused_draws_do_not_count(void **unused)
{
    (void)unused;
    aphi_weights t = {0};
    aphi_choice c = aphi_choice_seed(1);
    aphi_weighted o[3] = {{.weight = 1}, {.weight = 1}, {.weight = 1}};
    for (int i = 0; i < 100; i++) {
        aphi_weights_begin(&t);
        aphi_weights_pick(&t, o, 3, &c);
    }
    aphi_weights_begin(&t);
    aphi_weights_use(&t);
    assert_int_equal(o[0].uses + o[1].uses + o[2].uses, 0);
    for (int i = 0; i < 3; i++) {
        aphi_weights_pick(&t, o, 3, &c);
        aphi_weights_use(&t);
    }
    for (int i = 0; i < 3; i++)
        assert_int_equal(o[i].uses, 1);
    aphi_weights_deinit(&t);
}

static void test_bonus_raises_frequency(void **unused)
{
    (void)unused;
    aphi_weights t = {0};
    aphi_choice c = aphi_choice_seed(1);
    aphi_weighted o[2] = {{.weight = 1, .uses = 1}, {.weight = 1, .bonus = 16 * 3, .uses = 1}};
    unsigned second = 0;
    for (int i = 0; i < 10000; i++) {
        aphi_weights_begin(&t);
        second += aphi_weights_pick(&t, o, 2, &c) == 1;
    }
    assert_in_range(second, 7700, 8300);
    aphi_weights_deinit(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_branches, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_unused_draws_do_not_count, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_bonus_raises_frequency, fresh_heap, fresh_heap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

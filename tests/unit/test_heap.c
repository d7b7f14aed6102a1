/* SPDX-License-Identifier: Apache-2.0
 *
 * test_heap.c - a collection frees unreachable values and keeps the others; memory of a long run is bounded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "random_value.h"

enum { ROOTS = 64 };

typedef struct held {
    aph_value v[ROOTS];
    unsigned marked;
} held;

static void mark_held(void *context)
{
    held *h = context;
    h->marked++;
    for (int i = 0; i < ROOTS; i++)
        aph_mark(h->v[i]);
}

static int fresh_heap(void **unused)
{
    (void)unused;
    aph_heap_close();
    return 0;
}

static void test_without_roots_all_is_freed(void **unused)
{
    (void)unused;
    aphi_choice c = aphi_choice_seed(7);
    assert_int_equal(aph_heap_bytes(), 0);
    for (int i = 0; i < 1000; i++)
        random_value(&c, 4);
    assert_true(aph_heap_bytes() > 10000);
    aph_collect();
    assert_int_equal(aph_heap_bytes(), 0);
    assert_int_equal(aph_heap_bytes_kept(), 0);
}

/* Rooted values survive unchanged: their text is the same, and rebuilding them gives the same word. */
static void test_rooted_values_survive(void **unused)
{
    (void)unused;
    aphi_choice c = aphi_choice_seed(8);
    held h = {0};
    char *texts[ROOTS];
    aph_root_add(mark_held, &h);
    for (int i = 0; i < ROOTS; i++) {
        h.v[i] = random_value(&c, 4);
        texts[i] = aph_json_text(h.v[i], NULL);
    }
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < 500; i++)
            random_value(&c, 3);
        aph_collect();
        for (int i = 0; i < ROOTS; i++) {
            char *text = aph_json_text(h.v[i], NULL);
            aph_value again;
            assert_string_equal(text, texts[i]);
            assert_true(aph_json_read(text, strlen(text), &again, NULL));
            assert_ptr_equal(again, h.v[i]);
            free(text);
        }
    }
    assert_int_equal(h.marked, 5);
    for (int i = 0; i < ROOTS; i++)
        free(texts[i]);
    aph_root_remove(mark_held, &h);
    aph_collect();
    assert_int_equal(h.marked, 5); /* a removed root is not called */
    assert_int_equal(aph_heap_bytes(), 0);
}

static void test_bytes_return_to_the_baseline(void **unused)
{
    (void)unused;
    held h = {{aph_array(0, NULL)}, 0};
    aph_root_add(mark_held, &h);
    for (int i = 0; i < 1000; i++)
        h.v[0] = aph_put(aph_object(), "before", h.v[0]);
    aph_collect();
    size_t baseline = aph_heap_bytes();
    assert_true(baseline > 0);
    assert_int_equal(aph_heap_bytes_kept(), baseline);
    for (int size = 1; size < 2000; size += 37) { /* small and large nodes */
        char *bytes = calloc(1, (size_t)size);
        aph_bytes(bytes, (size_t)size);
        free(bytes);
    }
    assert_true(aph_heap_bytes() > baseline);
    assert_int_equal(aph_heap_bytes_kept(), baseline);
    aph_collect();
    assert_int_equal(aph_heap_bytes(), baseline);
    aph_root_remove(mark_held, &h);
}

/* The state changes forever but has a bounded size. */
static void test_a_long_run_does_not_grow(void **unused)
{
    (void)unused;
    aphi_choice c = aphi_choice_seed(9);
    held h = {{aph_object()}, 0};
    size_t most = 0;
    aph_root_add(mark_held, &h);
    for (int i = 0; i < 200000; i++) {
        aph_value key = aph_int((int64_t)aphi_choice_below(&c, 100));
        h.v[0] = aph_set(h.v[0], key, aph_strf("value number %d", i));
        if (aph_heap_bytes() > 2 * aph_heap_bytes_kept() + 100000) {
            aph_collect();
            if (aph_heap_bytes_kept() > most)
                most = aph_heap_bytes_kept();
        }
    }
    assert_true(most > 0 && most < 100 * 400);
    assert_true(aph_heap_bytes() < 300000);
    assert_int_equal(aph_count(h.v[0]), 100);
    aph_root_remove(mark_held, &h);
}

/* Marking must not recurse. */
static void test_deep_values_are_marked(void **unused)
{
    (void)unused;
    held h = {{0}, 0};
    aph_root_add(mark_held, &h);
    for (int i = 0; i < 300000; i++)
        h.v[0] = APH_ARRAY_OF(h.v[0], aph_int(i));
    aph_collect();
    aph_value v = h.v[0];
    for (int i = 300000; i-- > 0; v = aph_at(v, 0))
        assert_ptr_equal(aph_at(v, 1), aph_int(i));
    assert_ptr_equal(v, APH_NIL);
    aph_root_remove(mark_held, &h);
}

static void test_roots_differ_by_context(void **unused)
{
    (void)unused;
    held a = {{aph_str("kept by the first")}, 0}, b = {{aph_str("kept by the second")}, 0};
    aph_root_add(mark_held, &a);
    aph_root_add(mark_held, &b);
    aph_root_remove(mark_held, &a);
    aph_collect();
    assert_int_equal(a.marked, 0);
    assert_int_equal(b.marked, 1);
    size_t one = aph_heap_bytes();
    assert_true(one > 0);
    assert_ptr_equal(aph_str("kept by the second"), b.v[0]);
    assert_int_equal(aph_heap_bytes(), one);
    aph_root_remove(mark_held, &b);
}

static void *run_in_thread(void *out)
{
    aphi_choice c = aphi_choice_seed(10);
    for (int i = 0; i < 100; i++)
        random_value(&c, 3);
    *(size_t *)out = aph_heap_bytes();
    aph_collect();
    aph_heap_close();
    return NULL;
}

static void test_each_thread_has_its_heap(void **unused)
{
    (void)unused;
    size_t theirs = 0, ours;
    pthread_t thread;
    aph_str("a string of ours");
    ours = aph_heap_bytes();
    assert_int_equal(pthread_create(&thread, NULL, run_in_thread, &theirs), 0);
    pthread_join(thread, NULL);
    assert_true(theirs > 0);
    assert_int_equal(aph_heap_bytes(), ours);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_without_roots_all_is_freed, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_rooted_values_survive, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_bytes_return_to_the_baseline, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_a_long_run_does_not_grow, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_deep_values_are_marked, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_roots_differ_by_context, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_each_thread_has_its_heap, fresh_heap, fresh_heap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

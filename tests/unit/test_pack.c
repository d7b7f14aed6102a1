/* SPDX-License-Identifier: Apache-2.0
 *
 * test_pack.c - packed values are restored in order, even after collections. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "random_value.h"
#include "value/pack.h"

static void values_are_restored(void **unused)
{
    (void)unused;
    enum { MANY = 5000 };
    aphi_choice c = aphi_choice_seed(1);
    aphi_buffer b = {0}, texts = {0};
    for (int i = 0; i < MANY; i++) {
        aph_value v = random_value(&c, 4);
        size_t n;
        char *text = aph_json_text(v, &n);
        aphi_buffer_add(&texts, text, n + 1);
        free(text);
        aphi_pack(&b, v);
    }
    aph_collect(); /* marks none of the values */
    const char *at = b.data, *expected = texts.data;
    for (int i = 0; i < MANY; i++, expected += strlen(expected) + 1) {
        char *text = aph_json_text(aphi_unpack(&at), NULL);
        assert_string_equal(text, expected);
        free(text);
    }
    assert_ptr_equal(at, b.data + b.n);
    aphi_buffer_free(&b);
    aphi_buffer_free(&texts);
}

static void many_keys_and_items(void **unused)
{
    (void)unused;
    aph_value object = aph_object(), array = aph_array(0, NULL);
    for (int i = 0; i < 100; i++) {
        object = aph_set(object, aph_strf("key %d", i), aph_int(i));
        array = aph_push(array, i % 2 ? aph_int(INT64_MIN + i) : APH_NIL);
    }
    aphi_buffer b = {0};
    aphi_pack(&b, object);
    aphi_pack(&b, array);
    aphi_pack(&b, aph_bytes("\0\xff", 2));
    const char *at = b.data;
    assert_ptr_equal(aphi_unpack(&at), object);
    assert_ptr_equal(aphi_unpack(&at), array);
    assert_ptr_equal(aphi_unpack(&at), aph_bytes("\0\xff", 2));
    aphi_buffer_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_restored),
        cmocka_unit_test(many_keys_and_items),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    aph_heap_close();
    return failed;
}

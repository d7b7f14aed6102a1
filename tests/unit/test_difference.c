/* SPDX-License-Identifier: Apache-2.0
 *
 * test_difference.c - the first difference of two long messages. */
#include "report/difference.h"

#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int drop_heap(void **unused)
{
    (void)unused;
    aph_heap_close();
    return 0;
}

static aph_value json(const char *text)
{
    aph_value v = APH_NIL;
    assert_true(aph_json_read(text, strlen(text), &v, NULL));
    return v;
}

static void differ(aph_value got, aph_value expected, const char *text)
{
    aphi_buffer out = {0};
    aphi_difference(&out, got, expected, NULL, 1000);
    assert_string_equal(out.n ? aphi_buffer_text(&out) : "", text);
    aphi_buffer_free(&out);
}

/* A string of n bytes, 0123456789 again and again, with another byte at `at`. */
static aph_value digits(size_t n, size_t at)
{
    char *text = aphi_alloc(n);
    for (size_t i = 0; i < n; i++)
        text[i] = (char)(i == at ? '!' : '0' + i % 10);
    aph_value v = aph_bytes(text, n);
    free(text);
    return v;
}

static aph_value with_body(aph_value body) { return aph_record("status", aph_int(200), "body", body); }

static void test_strings(void **unused)
{
    (void)unused;
    differ(with_body(digits(70000, 65535)), with_body(digits(70000, SIZE_MAX)),
           "first difference: body, byte 65535 (from 0): got \"…56789012345678901234!6789012345678901234…\", "
           "expected \"…5678901234567890123456789012345678901234…\"");
    differ(digits(500, SIZE_MAX), digits(490, SIZE_MAX),
           "first difference: the message, byte 490 (from 0): got \"…01234567890123456789" "0123456789\", "
           "expected \"…01234567890123456789\"");
    differ(with_body(digits(300, 3)), with_body(digits(300, SIZE_MAX)), ""); /* seen at once */
    differ(aph_str("ab"), aph_str("ac"), "");
}

static void test_members(void **unused)
{
    (void)unused;
    aph_value filler = digits(200, SIZE_MAX);
    differ(aph_record("a", filler, "json", json("{\"items\":[{\"n\":1},{\"n\":2}]}")),
           aph_record("a", filler, "json", json("{\"items\":[{\"n\":1},{\"n\":3}]}")),
           "first difference: json.items[1].n: got 2, expected 3");
    differ(aph_record("a", filler, "z", json("[1,2]")), aph_record("a", filler, "z", json("[1]")),
           "first difference: z[1]: got 2, expected nothing");
    differ(aph_record("a", filler), aph_record("a", filler, "z", json("null")),
           "first difference: z: got nothing, expected null");
    differ(aph_record("a", filler, "z", aph_int(1)), aph_record("a", filler, "z", aph_str("1")),
           "first difference: z: got 1, expected \"1\"");
    /* An unknown equals any value. */
    differ(aph_record("a", filler, "y", aph_int(1), "z", aph_int(1)),
           aph_record("a", filler, "y", json("{\"?\":0,\"sort\":\"int\"}"), "z", aph_int(2)),
           "first difference: z: got 1, expected 2");
    differ(aph_record("a", filler, "y", aph_int(1)), aph_record("a", filler, "y", aph_symbol(APH_INT, 0)), "");
}

static aph_value blank_words(aph_value message)
{
    (void)message;
    return APH_ARRAY_OF(aph_str("a message"));
}

/* Short messages that the model formats in the same way. */
static void test_words(void **unused)
{
    (void)unused;
    aphi_buffer out = {0};
    aphi_difference(&out, aph_int(1), aph_int(2), blank_words, 1000);
    assert_string_equal(aphi_buffer_text(&out), "first difference: the message: got 1, expected 2");
    out.n = 0;
    aphi_difference(&out, aph_int(1), aph_int(1), blank_words, 1000);
    assert_int_equal(out.n, 0);
    aphi_buffer_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_strings, drop_heap),
        cmocka_unit_test_teardown(test_members, drop_heap),
        cmocka_unit_test_teardown(test_words, drop_heap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

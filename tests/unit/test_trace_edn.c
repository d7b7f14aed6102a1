/* SPDX-License-Identifier: Apache-2.0
 *
 * test_trace_edn.c - the values of EDN forms.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "base/buffer.h"
#include "trace/edn.h"

/* Compares the form as JSON, or the fault. Skipping and building must end at the same position. */
static void check(const char *text, const char *expected)
{
    aphi_edn e = {0};
    aph_value v = APH_NIL;
    size_t n = strlen(text);
    aphi_cursor built = {.at = text, .end = text + n, .whole = true}, skipped = built;
    bool ok = aphi_edn_build(&e, &built, &v);
    char *read = ok ? aph_json_text(v, NULL) : strdup(aphi_trace_fault_name(built.fault));
    assert_string_equal(read, expected);
    free(read);
    if (ok) {
        assert_true(aphi_edn_skip(&skipped));
        assert_ptr_equal(skipped.at, built.at);
        assert_true(aphi_edn_blank(&built));
        assert_ptr_equal(built.at, text + n);
    }
    aphi_edn_deinit(&e);
}

static void atoms(void **state)
{
    (void)state;
    check("nil", "null");
    check("true", "true");
    check("false", "false");
    check("0", "0");
    check("-0", "0");
    check("+17", "17");
    check("42N", "42");
    check("9223372036854775807", "9223372036854775807");
    check("-9223372036854775808", "-9223372036854775808");
    check(":timed-out", "\"timed-out\"");
    check(":a/b", "\"a/b\"");
    check("foo.bar/baz", "\"foo.bar/baz\"");
    check("-", "\"-\"");
    check("\\a", "\"a\"");
    check("\\newline", "\"\\n\"");
    check("\\space", "\" \"");
    check("\\(", "\"(\"");
    check("\\\\", "\"\\\\\"");
}

static void strings(void **state)
{
    (void)state;
    check("\"\"", "\"\"");
    check("\"a longer string\"", "\"a longer string\"");
    check("\"tab\\tquote\\\"back\\\\slash\\n\"", "\"tab\\tquote\\\"back\\\\slash\\n\"");
    check("\"line\nbreak\"", "\"line\\nbreak\"");
    check("\"\\u00e9\\u20ac\\ud83d\\ude00\"", "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"");
    check("\"\\udcff\"", "\"\\udcff\"");
    check("\"\\ud83d\"", "MALFORMED");
    check("\"\\u00g0\"", "MALFORMED");
    check("\"\\ud83d\\u0041\"", "MALFORMED");
    check("\"\\x\"", "MALFORMED");
    check("\"open", "TRUNCATED");
    check("\"open\\", "TRUNCATED");
}

static void collections(void **state)
{
    (void)state;
    check("[]", "[]");
    check("[1, 2,,3]", "[1,2,3]");
    check("(1 (2 [3]))", "[1,[2,[3]]]");
    check("#{3 1 2}", "[1,2,3]");
    check("#{}", "[]");
    check("{}", "{}");
    check("{:a 1, \"b\" [2], 3 nil}", "{\"3\":null,\"a\":1,\"b\":[2]}");
    check("#inst \"2020-01-01\"", "\"2020-01-01\"");
    check("#a #b{:c 1}", "{\"c\":1}");
    check("[1 ;two\n #_3 #_ #_ 4 5 6]", "[1,6]");
    check("[#_x]", "[]");
    check("[:a[1]\"b\"]", "[\"a\",[1],\"b\"]");
}

static void broken_forms(void **state)
{
    (void)state;
    check("", "TRUNCATED");
    check("[1", "TRUNCATED");
    check("[1)", "MALFORMED");
    check("}", "MALFORMED");
    check("{:a}", "MALFORMED");
    check("{:a 1 :a 2}", "MALFORMED");
    check("{:a 1 \"a\" 2}", "MALFORMED");
    check(":", "MALFORMED");
    check("[: 1]", "MALFORMED");
    check("# 1", "MALFORMED");
    check("#", "TRUNCATED");
    check("#tag", "TRUNCATED");
    check("[#_]", "MALFORMED");
    check("\\", "TRUNCATED");
    check("01", "MALFORMED");
    check("0x1f", "MALFORMED");
    check("1.5", "FRACTION");
    check("-1e9", "FRACTION");
    check("3M", "FRACTION");
    check("22/7", "FRACTION");
    check("##NaN", "FRACTION");
    check("9223372036854775808", "RANGE");
    check("-99999999999999999999N", "RANGE");
}

static void nesting_is_bounded(void **state)
{
    (void)state;
    aphi_buffer b = {0};
    for (int i = 0; i < 256; i++)
        aphi_buffer_byte(&b, '[');
    for (int i = 0; i < 256; i++)
        aphi_buffer_byte(&b, ']');
    char *text = aphi_buffer_text(&b);
    check(text, text);
    aphi_buffer_free(&b);
    b = (aphi_buffer){0};
    aphi_buffer_byte(&b, '[');
    for (int i = 0; i < 100000; i++)
        aphi_buffer_str(&b, "#_");
    check(aphi_buffer_text(&b), "DEEP");
    aphi_buffer_free(&b);
    b = (aphi_buffer){0};
    for (int i = 0; i < 100000; i++)
        aphi_buffer_str(&b, "#a(");
    check(aphi_buffer_text(&b), "DEEP");
    aphi_buffer_free(&b);
}

static int close_heap(void **state)
{
    (void)state;
    aph_heap_close();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(atoms),
        cmocka_unit_test(strings),
        cmocka_unit_test(collections),
        cmocka_unit_test(broken_forms),
        cmocka_unit_test(nesting_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, close_heap);
}

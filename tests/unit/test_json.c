/* SPDX-License-Identifier: Apache-2.0
 *
 * test_json.c - values survive writing and reading; invalid JSON is rejected at the offending byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "base/buffer.h"
#include "random_value.h"
#include "value/heap.h"
#include "value/json_syntax.h"

static int fresh_heap(void **unused)
{
    (void)unused;
    aph_heap_close();
    return 0;
}

static aph_value read_n(const char *text, size_t n)
{
    aph_value v = aph_str("unset");
    aph_json_error error = {0};
    char *exact = malloc(n ? n : 1); /* a copy, so that sanitizers detect reads past the end */
    memcpy(exact, text, n);
    if (!aph_json_read(exact, n, &v, &error))
        fail_msg("%.*s: byte %zu: %s", (int)n, text, error.offset, error.message);
    free(exact);
    return v;
}

static aph_value read_text(const char *text)
{
    return read_n(text, strlen(text));
}

static void rejects_n(const char *text, size_t n, size_t offset, const char *part)
{
    aph_value v = APH_NIL;
    aph_json_error error = {.offset = SIZE_MAX};
    char *exact = malloc(n ? n : 1);
    memcpy(exact, text, n);
    bool ok = aph_json_read(exact, n, &v, &error);
    free(exact);
    if (ok)
        fail_msg("%.*s: was read", (int)n, text);
    if (error.offset != offset || !strstr(error.message, part))
        fail_msg("%.*s: expected byte %zu: %s; it says byte %zu: %s", (int)n, text, offset, part, error.offset,
                 error.message);
    assert_false(aph_json_read(text, n, &v, NULL)); /* the error is optional */
}

static void rejects(const char *text, size_t offset, const char *part)
{
    rejects_n(text, strlen(text), offset, part);
}

static void written_text(aph_value v, const char *expected)
{
    size_t n;
    char *text = aph_json_text(v, &n);
    assert_string_equal(text, expected);
    assert_int_equal(n, strlen(expected));
    free(text);
}

static void round_trip(aph_value v)
{
    size_t n;
    char *text = aph_json_text(v, &n);
    assert_ptr_equal(read_n(text, n), v);
    for (size_t i = 0; i < n; i++)
        assert_true((unsigned char)text[i] >= ' '); /* a value is one line, without NUL */
    free(text);
}

static void test_round_trips(void **unused)
{
    (void)unused;
    aphi_choice c = aphi_choice_seed(5);
    for (int i = 0; i < 5000; i++)
        round_trip(random_value(&c, 4));
}

static void test_random_bytes_round_trip(void **unused)
{
    (void)unused;
    aphi_choice c = aphi_choice_seed(6);
    char bytes[64];
    for (int i = 0; i < 20000; i++) {
        size_t n = aphi_choice_below(&c, sizeof bytes);
        for (size_t k = 0; k < n; k++)
            bytes[k] = (char)(aphi_choice_below(&c, 256) | (aphi_choice_chance(&c, 2, 3) ? 0x80 : 0));
        round_trip(aph_bytes(bytes, n));
    }
    for (int a = 0; a < 256; a++)
        for (int b = 0; b < 256; b++)
            round_trip(aph_bytes((char[]){(char)a, (char)b}, 2));
}

/* Invalid UTF-8: surrogates, overlong forms, beyond the last code point, truncated. */
static void test_invalid_utf8(void **unused)
{
    (void)unused;
    written_text(aph_bytes("\xff", 1), "\"\\udcff\"");
    written_text(aph_bytes("\x80", 1), "\"\\udc80\"");
    written_text(aph_bytes("\xed\xa0\x80", 3), "\"\\udced\\udca0\\udc80\"");
    written_text(aph_bytes("\xc0\x80", 2), "\"\\udcc0\\udc80\"");
    written_text(aph_bytes("\xf4\x90\x80\x80", 4), "\"\\udcf4\\udc90\\udc80\\udc80\"");
    written_text(aph_bytes("\xe2\x82", 2), "\"\\udce2\\udc82\"");
    written_text(aph_str("\u20ac \U0001f600"), "\"\u20ac \U0001f600\"");
}

static void test_escapes(void **unused)
{
    (void)unused;
    assert_ptr_equal(read_text("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""), aph_str("\"\\/\b\f\n\r\t"));
    written_text(aph_str("\"\\/\b\f\n\r\t"), "\"\\\"\\\\/\\b\\f\\n\\r\\t\"");
    assert_ptr_equal(read_text("\"\\u0041\\u00e9\\u20AC\""), aph_str("A\u00e9\u20ac"));
    assert_ptr_equal(read_text("\"\\u0000x\""), aph_bytes("\0x", 2));
    written_text(aph_bytes("\0\x1f\x7f", 3), "\"\\u0000\\u001f\x7f\"");
    assert_ptr_equal(read_text("\"\\ud83d\\ude00\""), aph_str("\U0001f600"));
    assert_ptr_equal(read_text("\"\\ud800\\udc80\""), aph_str("\U00010080")); /* a pair, not an escaped byte */
    assert_ptr_equal(read_text("\"\\udc80\\udcff\""), aph_bytes("\x80\xff", 2));
    rejects("\"\\x\"", 2, "escape");
    rejects("\"\\u12g4\"", 5, "hexadecimal");
    rejects("\"\\ud83d\"", 3, "surrogate");
    rejects("\"\\ud83d\\n\"", 3, "surrogate");
    rejects("\"\\ud83d\\u0041\"", 3, "surrogate");
    rejects("\"\\ude00\"", 3, "surrogate");
    rejects("\"\\udc00\"", 3, "surrogate");
    rejects("\"\\udc7f\"", 3, "surrogate");
}

static void test_integers(void **unused)
{
    (void)unused;
    assert_ptr_equal(read_text("9223372036854775807"), aph_int(INT64_MAX));
    assert_ptr_equal(read_text("-9223372036854775808"), aph_int(INT64_MIN));
    assert_ptr_equal(read_text("-0"), aph_int(0));
    written_text(aph_int(INT64_MIN), "-9223372036854775808");
    rejects("9223372036854775808", 0, "out of range");
    rejects("-9223372036854775809", 0, "out of range");
    rejects("[1, 18446744073709551616]", 4, "out of range");
    rejects("100000000000000000000000000", 0, "out of range");
    rejects("007", 0, "leading zero");
    rejects("[-01]", 1, "leading zero");
    rejects("1.5", 0, "not an integer");
    rejects("[12e-1]", 1, "not an integer");
    rejects("1e19", 0, "out of range");
    rejects("1e20", 0, "not an integer");
    rejects("-9223372036854775809.0", 0, "out of range");
    rejects("1e99999999999999999999999999", 0, "not an integer");
    rejects("1e-99999999999999999999999999", 0, "not an integer");
    rejects("1.", 2, "ends");
    rejects("[1.]", 3, "digit");
    rejects("[1e+]", 4, "digit");
    assert_ptr_equal(read_text("[1.0,-2.50e1,1e3,2E1,0.0,-0e5]"), read_text("[1,-25,1000,20,0,0]"));
    assert_ptr_equal(read_text("-9223372036854775808.000"), aph_int(INT64_MIN));
    assert_ptr_equal(read_text("922337203685477580700000000000000000000e-20"), aph_int(INT64_MAX));
    assert_ptr_equal(read_text("0e99999999999999999999999999"), aph_int(0));
    rejects("-", 1, "ends");
    rejects("[-]", 2, "digit");
    rejects("+1", 0, "expected a JSON value");
}

static void test_truncated_texts(void **unused)
{
    (void)unused;
    const char *whole = "{\"a\": [1, true, null, \"x\\u20acy\"], \"b\": {\"c\": false}}";
    size_t n = strlen(whole);
    read_n(whole, n);
    for (size_t i = 0; i < n; i++) {
        /* Truncated numbers and surrogates may give a different error. */
        aph_value v;
        aph_json_error error = {.offset = SIZE_MAX};
        char *exact = malloc(i ? i : 1);
        memcpy(exact, whole, i);
        assert_false(aph_json_read(exact, i, &v, &error));
        assert_int_equal(error.offset, i);
        assert_non_null(strstr(error.message, "ends"));
        free(exact);
    }
}

static void test_error_offsets(void **unused)
{
    (void)unused;
    rejects("", 0, "ends");
    rejects("   ", 3, "ends");
    rejects_n("[1,\0]", 5, 3, "NUL");
    rejects_n("\"a\0b\"", 5, 2, "NUL");
    rejects_n("1\0", 2, 1, "NUL");
    rejects("[1 2]", 3, "comma");
    rejects("[1,]", 3, "expected a JSON value");
    rejects("{\"a\" 1}", 5, "colon");
    rejects("{\"a\":1,}", 7, "key");
    rejects("{a:1}", 1, "key");
    rejects("{\"a\":1 \"b\":2}", 7, "comma");
    rejects("nul!", 0, "null");
    rejects("True", 0, "expected a JSON value");
    rejects("1 2", 2, "after the value");
    rejects("{} x", 3, "after the value");
    rejects("'a'", 0, "expected a JSON value");
    rejects("\"a\nb\"", 2, "control");
    rejects("NaN", 0, "expected a JSON value");
}

static void test_depth(void **unused)
{
    (void)unused;
    char text[2000];
    size_t depth = 256;
    char deeper[2100];
    memset(deeper, '[', 1024);
    memset(deeper + 1024, ']', 1024);
    read_n(deeper, 2048);
    memset(deeper, '[', 1025);
    memset(deeper + 1025, ']', 1025);
    rejects_n(deeper, 2050, 1024, "1024 levels");
    memset(text, '[', depth);
    memset(text + depth, ']', depth);
    aph_value v;
    aph_json_error error;
    bool beyond;
    assert_true(aphi_json_read_message(text, 2 * depth, &v, &error, &beyond));
    for (size_t i = 1; i < depth; i++)
        v = aph_at(v, 0);
    assert_ptr_equal(v, aph_array(0, NULL));
    memset(text, '[', depth + 1);
    memset(text + depth + 1, ']', depth + 1);
    assert_false(aphi_json_read_message(text, 2 * depth + 2, &v, &error, &beyond));
    assert_true(beyond && error.offset == depth && strstr(error.message, "256 levels"));
    memset(text, '[', sizeof text);
    assert_false(aphi_json_read_message(text, sizeof text, &v, &error, &beyond));
    assert_true(!beyond && error.offset == sizeof text && strstr(error.message, "ends"));
}

/* beyond: whether the text is JSON, but beyond our limits. */
static void limited(const char *text, bool beyond)
{
    aph_value v;
    aph_json_error error = {0};
    bool is_beyond;
    char *exact = malloc(strlen(text) + 1);
    memcpy(exact, text, strlen(text));
    if (aphi_json_read_message(exact, strlen(text), &v, &error, &is_beyond))
        fail_msg("%s: was read", text);
    if (is_beyond != beyond)
        fail_msg("%s: byte %zu: %s", text, error.offset, error.message);
    free(exact);
}

static void test_limits_are_told_from_errors(void **unused)
{
    (void)unused;
    static const char *const valid[] = {
        "1.5", "[{\"a\":[1,-0.5e-7,{}]},[]]", "18446744073709551616", " { \"a\" : 1e400 , \"b\" : [ ] } ",
        "\"\\ud800\"", "[\"\\ud800x\",true]", "{\"a\":1,\"a\":2}",
        "[1.5,null,false,\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00aF\"]"};
    static const char *const invalid[] = {
        "1.5x", "[1.5", "[1.5,]", "[1.5,01]", "[1.5,1.]", "[1.5,-]", "[1.5,tru]", "[1.5,\"\\x\"]", "[1.5,\"a\tb\"]",
        "[1.5}", "{\"a\":1.5,}",
        "{\"a\":1.5,b:1}", "{\"a\":1.5,\"b\" 1}", "[1.5 2]", "[1.5]]", "[1.5] 2", "{\"a\":1,\"a\":2",
        "[1.5,\"\\u12g4\"]", "[1.5,\"", "[1.5,{]}"};
    for (size_t i = 0; i < sizeof valid / sizeof *valid; i++)
        limited(valid[i], true);
    for (size_t i = 0; i < sizeof invalid / sizeof *invalid; i++)
        limited(invalid[i], false);
}

/* Reads the text with numbers as objects; writes the value, which is read again as the same. */
static void numbers(const char *text, const char *value, const char *written)
{
    aph_value v, again;
    aph_json_error error;
    bool beyond;
    size_t n;
    if (!aphi_json_read_with_numbers(text, strlen(text), &v, &error, &beyond))
        fail_msg("%s: %s", text, error.message);
    assert_ptr_equal(v, read_text(value));
    char *bytes = aphi_json_text_with_numbers(v, &n);
    assert_string_equal(bytes, written);
    assert_true(aphi_json_read_with_numbers(bytes, n, &again, &error, &beyond));
    assert_ptr_equal(again, v);
    free(bytes);
}

static void test_numbers(void **unused)
{
    (void)unused;
    numbers("[1.5,-0.25]", "[{\"number\":\"1.5\"},{\"number\":\"-0.25\"}]", "[1.5,-0.25]");
    numbers("[1.50,150e-2,0.00150E3]", "[{\"number\":\"1.5\"},{\"number\":\"1.5\"},{\"number\":\"1.5\"}]",
            "[1.5,1.5,1.5]");
    numbers("[1.0,1e3,-0.0,0e99]", "[1,1000,0,0]", "[1,1000,0,0]"); /* integers */
    numbers("[9223372036854775807,9223372036854775808]", "[9223372036854775807,{\"number\":\"9223372036854775808\"}]",
            "[9223372036854775807,9223372036854775808]");
    numbers("[-9223372036854775809,12e19,1e20,1e21,-2.5e21]",
            "[{\"number\":\"-9223372036854775809\"},{\"number\":\"120000000000000000000\"},"
            "{\"number\":\"100000000000000000000\"},{\"number\":\"1e21\"},{\"number\":\"-2.5e21\"}]",
            "[-9223372036854775809,120000000000000000000,100000000000000000000,1e21,-2.5e21]");
    numbers("[0.000001,0.0000001,12.5e-8]",
            "[{\"number\":\"0.000001\"},{\"number\":\"1e-7\"},{\"number\":\"1.25e-7\"}]", "[0.000001,1e-7,1.25e-7]");
    numbers("1e400", "{\"number\":\"1e400\"}", "1e400");
    numbers("1e99999999999999999999", "{\"number\":\"1e4611686018427387903\"}", "1e4611686018427387903");
    /* Objects that stand for no number. */
    numbers("{\"number\":\"1.50\"}", "{\"number\":\"1.50\"}", "{\"number\":\"1.50\"}");
    numbers("[{\"number\":\"7\"},{\"number\":7},{\"number\":\"\"},{\"number\":\"x\"}]",
            "[{\"number\":\"7\"},{\"number\":7},{\"number\":\"\"},{\"number\":\"x\"}]",
            "[{\"number\":\"7\"},{\"number\":7},{\"number\":\"\"},{\"number\":\"x\"}]");
    numbers("{\"number\":\"1.5\",\"a\":1}", "{\"a\":1,\"number\":\"1.5\"}", "{\"a\":1,\"number\":\"1.5\"}");
    numbers("{\"number\":1.5}", "{\"number\":{\"number\":\"1.5\"}}", "{\"number\":1.5}");
    numbers("{\"number\":\"1.5\"}", "{\"number\":\"1.5\"}", "1.5"); /* the same value as 1.5 */
    /* The object has a level of nesting. */
    char deep[600];
    aph_value v;
    aph_json_error error;
    bool beyond;
    for (size_t depth = 255; depth <= 256; depth++) {
        memset(deep, '[', depth);
        memcpy(deep + depth, "1.5", 3);
        memset(deep + depth + 3, ']', depth);
        assert_int_equal(aphi_json_read_with_numbers(deep, 2 * depth + 3, &v, &error, &beyond), depth == 255);
    }
    assert_true(beyond && strstr(error.message, "256 levels"));
}

/* A large object takes a node for each pair, and is the same as one made pair by pair; --memory stops reading. */
static void test_memory(void **unused)
{
    (void)unused;
    enum { KEYS = 20000 };
    aphi_buffer text = {0};
    aphi_buffer_byte(&text, '{');
    for (int i = 0; i < KEYS; i++)
        aphi_buffer_format(&text, "%s\"%u\":%d", i ? "," : "", (unsigned)i * 2654435761u, i);
    aphi_buffer_byte(&text, '}');
    aph_value v = read_n(text.data, text.n), same = aph_object();
    assert_true(aph_heap_bytes() < KEYS * 128);
    for (int i = KEYS - 1; i >= 0; i--)
        same = aph_set(same, aph_strf("%u", (unsigned)i * 2654435761u), aph_int(i));
    assert_ptr_equal(v, same);
    aph_json_error error;
    bool beyond;
    aph_collect();
    size_t before = aphi_heap_size();
    aphi_heap_limit = 1 << 20;
    assert_false(aphi_json_read_message(text.data, text.n, &v, &error, &beyond));
    assert_true(beyond && strstr(error.message, "--memory"));
    assert_true(aphi_heap_size() - before < 3 << 20);
    aphi_heap_limit = 0;
    aphi_buffer_free(&text);
}

static void test_objects(void **unused)
{
    (void)unused;
    assert_ptr_equal(read_text(" { \"b\" : 2 ,\t\"a\":1\r\n} "), aph_record("a", aph_int(1), "b", aph_int(2)));
    rejects("{\"b\":{\"a\":1,\"a\":2}}", 5, "twice"); /* JSON readers disagree about which value counts */
    written_text(aph_record("b", aph_int(2), "a", aph_array(0, NULL), "", aph_object()), "{\"\":{},\"a\":[],\"b\":2}");
    assert_ptr_equal(read_text("[]"), aph_array(0, NULL));
    assert_ptr_equal(read_text("{}"), aph_object());
    assert_ptr_equal(read_text("[[],{}]"), APH_ARRAY_OF(aph_array(0, NULL), aph_object()));
}

static void test_symbols_are_written(void **unused)
{
    (void)unused;
    aph_value x = aph_symbol(APH_INT, 3);
    written_text(x, "{\"?\":3,\"sort\":\"int\"}");
    written_text(aph_lt(x, aph_symbol(APH_INT, 4)), "{\"<\":[{\"?\":3,\"sort\":\"int\"},{\"?\":4,\"sort\":\"int\"}]}");
}

static void test_writing_to_a_file(void **unused)
{
    (void)unused;
    FILE *file = tmpfile();
    assert_non_null(file);
    aph_json_write(file, APH_ARRAY_OF(aph_int(1), aph_bytes("\0", 1)));
    rewind(file);
    char text[32] = "";
    size_t n = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    assert_int_equal(n, strlen("[1,\"\\u0000\"]"));
    assert_string_equal(text, "[1,\"\\u0000\"]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_round_trips, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_random_bytes_round_trip, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_invalid_utf8, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_escapes, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_integers, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_truncated_texts, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_error_offsets, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_depth, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_limits_are_told_from_errors, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_memory, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_numbers, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_objects, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_symbols_are_written, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_writing_to_a_file, fresh_heap, fresh_heap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

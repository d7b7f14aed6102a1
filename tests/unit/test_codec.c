/* SPDX-License-Identifier: Apache-2.0
 *
 * test_codec.c - codecs: accepted and rejected bytes, whole and byte by byte; the limit; encoding and decoding. */
#include "codec/codec_internal.h"

#include "base/clock.h"

#include "codec_cases.h"

static const aph_codec fixed3 = APH_CODEC_FIXED(3), prefixed1 = APH_CODEC_PREFIXED(1);
static const aph_codec prefixed4 = APH_CODEC_PREFIXED(4), prefixed8 = APH_CODEC_PREFIXED(8);

static void test_json(void **unused)
{
    (void)unused;
    expect(&aph_codec_json, "{\"f\":\"get\"}\n5\r\n null \n", "[{\"f\":\"get\"},5,null]");
    expect(NULL, "[1]\n", "[[1]]"); /* the default codec */
    expect(&aph_codec_json, "", "[]");
    expect(&aph_codec_json, "1\n2", "[1,\"!3 the input ends in the middle of a message, after 1 bytes\"]");
    expect(&aph_codec_json, "1\n[2 3]\n", "[1,\"!5 not JSON: expected a comma or ] after an item\"]");
    expect(&aph_codec_json, "\n", "[\"!0 not JSON: the text ends in the middle of a value\"]");
    expect(&aph_codec_json, "1.5\n", "[\"!0 a number that is not an integer of 64 bits\"]");
    expect_bytes(&aph_codec_json, "1\n2", 3, false, "[1]");
    expect_encoded(NULL, aph_record("a", aph_str("x\n\xff")), "{\"a\":\"x\\n\\udcff\"}\n", 18);
    expect_encoded(NULL, APH_NIL, "null\n", 5);
    expect_refused(NULL, aph_symbol(APH_INT, 3));
    expect_refused(NULL, APH_ARRAY_OF(aph_record("a", aph_symbol(APH_INT, 3))));
    expect_refused(NULL, APH_ARRAY_OF(aph_div(aph_int(1), aph_int(0))));
}

static void test_lines(void **unused)
{
    (void)unused;
    expect(&aph_codec_lines, "abc\n\r\nd\r\r\n", "[\"abc\",\"\",\"d\\r\"]");
    expect(&aph_codec_lines, "abc\nd",
           "[\"abc\",\"!5 the input ends in the middle of a message, after 1 bytes\"]");
    expect_bytes(&aph_codec_lines, "a\0b\n", 4, true, "[\"a\\u0000b\"]");
    expect_encoded(&aph_codec_lines, aph_str("one two"), "one two\n", 8);
    expect_encoded(&aph_codec_lines, aph_str(""), "\n", 1);
    expect_refused(&aph_codec_lines, aph_str("a\nb"));
    expect_refused(&aph_codec_lines, aph_str("a\r")); /* would be decoded as "a" */
    expect_refused(&aph_codec_lines, aph_int(1));
}

static void test_fixed(void **unused)
{
    (void)unused;
    expect(&fixed3, "abcdef", "[\"abc\",\"def\"]");
    expect(&fixed3, "abcd", "[\"abc\",\"!4 the input ends in the middle of a message, after 1 bytes\"]");
    expect_encoded(&fixed3, aph_str("xyz"), "xyz", 3);
    expect_refused(&fixed3, aph_str("xy"));
    expect_refused(&fixed3, aph_str("wxyz"));
    expect_refused(&fixed3, aph_int(123));
}

static void test_prefixed(void **unused)
{
    (void)unused;
    expect_bytes(&prefixed1, "\3abc\0\1d", 7, true, "[\"abc\",\"\",\"d\"]");
    expect_bytes(&prefixed4, "\0\0\0\2abc", 7, false, "[\"ab\"]");
    expect_bytes(&prefixed4, "\0\0\0\2a", 5, true,
                 "[\"!5 the input ends in the middle of a message, after 5 bytes\"]");
    expect_bytes(&prefixed4, "\1\0\0\0", 4, false,
                 "[\"!0 a length of 16777216 (1 in the other byte order), but a message is limited to 16777216 "
                 "bytes\"]");
    expect_bytes(&prefixed8, "\xff\xff\xff\xff\xff\xff\xff\xff", 8, false,
                 "[\"!0 a length of 18446744073709551615, but a message is limited to 16777216 bytes\"]");
    expect_encoded(&prefixed4, aph_str("hello"), "\0\0\0\5hello", 9);
    expect_encoded(&prefixed8, aph_str(""), "\0\0\0\0\0\0\0\0", 8);
    char long_one[256] = {0};
    expect_refused(&prefixed1, aph_bytes(long_one, 256));
    size_t n;
    char *most = encoded(&prefixed1, aph_bytes(long_one, 255), &n);
    assert_int_equal(n, 256);
    free(most);
}

static void test_variants(void **unused)
{
    (void)unused;
    static const aph_codec little = APH_CODEC_PREFIXED_LITTLE(2), json = APH_CODEC_PREFIXED_JSON(1);
    static const aph_codec json_little = APH_CODEC_PREFIXED_JSON_LITTLE(4);
    expect_bytes(&little, "\3\0abc\0\0", 7, true, "[\"abc\",\"\"]");
    expect_encoded(&little, aph_str("hi"), "\2\0hi", 4);
    expect_bytes(&json, "\3[1]\4null", 9, true, "[[1],null]");
    expect_bytes(&json, "\1[", 2, false, "[\"!2 not JSON: the text ends in the middle of a value\"]");
    expect_bytes(&json, "\0", 1, false, "[\"!1 not JSON: the text ends in the middle of a value\"]");
    expect_encoded(&json, aph_record("a", aph_int(1)), "\7{\"a\":1}", 8);
    expect_encoded(&json_little, aph_int(12), "\2\0\0\00012", 6);
    expect_refused(&json, aph_symbol(APH_INT, 0));
    expect_refused(&json, aph_bytes((char[256]){0}, 256));
    expect(&aph_codec_crlf, "abc\r\n\r\n", "[\"abc\",\"\"]");
    expect(&aph_codec_crlf, "a\r\nb\n", "[\"a\",\"!4 an LF without a CR before it\"]");
    expect(&aph_codec_crlf, "a\rb\r\n", "[\"!1 a CR without an LF after it\"]");
    expect(&aph_codec_crlf, "a\rb\n", "[\"!1 a CR without an LF after it\"]");
    expect_encoded(&aph_codec_crlf, aph_str("hi"), "hi\r\n", 4);
    expect_refused(&aph_codec_crlf, aph_str("a\r"));
    expect_refused(&aph_codec_crlf, aph_str("a\n"));
    expect_refused(&aph_codec_crlf, aph_int(1));
}

/* Nesting that could not be read back. */
static void test_depth(void **unused)
{
    (void)unused;
    aph_value deep = aph_int(1);
    for (int i = 0; i < 256; i++)
        deep = APH_ARRAY_OF(deep);
    size_t n;
    char *bytes = encoded(NULL, deep, &n);
    assert_non_null(bytes);
    free(bytes);
    char why[200];
    assert_true(aph_reads_back(NULL, APH_TO_SERVER, APH_NIL, deep, why, sizeof why));
    expect_refused(NULL, APH_ARRAY_OF(deep));
    aph_value wide = aph_object();
    for (int i = 0; i < 5000; i++) /* a tree of nodes, but one level */
        wide = aph_set(wide, aph_strf("%d", i), aph_int(i));
    bytes = encoded(NULL, wide, &n);
    assert_non_null(bytes);
    free(bytes);
}

/* The limit is that of the protocol if the model has one, and else that of Antiphon. */
static void test_long_prefix(void **unused)
{
    (void)unused;
    static const aph_codec limited = APH_CODEC_PREFIXED(4, .limit = 65536), plain = APH_CODEC_PREFIXED(4);
    static const aph_codec little = APH_CODEC_PREFIXED_LITTLE(2, .limit = 10);
    static const aph_codec byte = APH_CODEC_PREFIXED(1, .limit = 10);
    aph_wire w = {.side = APH_FROM_SERVER, .bytes = (const unsigned char *)"\4\0\0\0", .count = 4};
    assert_int_equal(aph_decode(&limited, &w), APH_MALFORMED);
    assert_false(w.beyond);
    assert_string_equal(w.why, "a length of 67108864 (4 in the other byte order), but a message is limited to 65536 "
                               "bytes");
    assert_int_equal(aph_decode(&plain, &w), APH_MALFORMED);
    assert_true(w.beyond);
    expect_bytes(&little, "\0\3abc", 5, true,
                 "[\"!0 a length of 768 (3 in the other byte order), but a message is limited to 10 bytes\"]");
    expect_bytes(&byte, "\12", 1, true, "[\"!0 a length of 10, but a message is limited to 10 bytes\"]");
}

static void test_numbers(void **unused)
{
    (void)unused;
    static const aph_codec lines = APH_CODEC_JSON(.numbers = true), plain = APH_CODEC_JSON(.limit = 8);
    static const aph_codec prefixed = APH_CODEC_PREFIXED_JSON(1, .limit = 4, .numbers = true);
    aph_value half = aph_record("number", aph_str("0.5"));
    expect(&lines, "[1.50]\n7\n", "[[{\"number\":\"1.5\"}],7]");
    expect_encoded(&lines, APH_ARRAY_OF(half), "[0.5]\n", 6);
    expect_encoded(&lines, aph_record("number", aph_str("half")), "{\"number\":\"half\"}\n", 18);
    expect_encoded(&prefixed, half, "\0030.5", 4);
    expect_bytes(&prefixed, "\0042.25", 5, true, "[\"!0 a length of 4, but a message is limited to 4 bytes\"]");
    expect(&plain, "1.5\n", "[\"!0 a number that is not an integer of 64 bits\"]");
    expect_encoded(NULL, half, "{\"number\":\"0.5\"}\n", 17);
}

static void test_reasons(void **unused)
{
    (void)unused;
    aph_codec short_lines = aph_codec_lines;
    short_lines.limit = 3;
    static const aph_codec fixed = APH_CODEC_FIXED(3), prefixed = APH_CODEC_PREFIXED(1);
    expect_reason(NULL, APH_ARRAY_OF(aph_symbol(APH_INT, 3)),
                  "must be nested at most 256 levels deep, without symbols and signals");
    expect_reason(&aph_codec_lines, aph_object(), "must be a string, not an object");
    expect_reason(&aph_codec_lines, aph_str("a\r"), "a line must not contain \\n or end in \\r");
    expect_reason(&aph_codec_crlf, aph_str("\r"), "a line must not contain \\n or \\r");
    expect_reason(&short_lines, aph_str("abcd"), "has 5 bytes, but a message is limited to 3");
    expect_reason(&fixed, aph_str("ab"), "must have 3 bytes, not 2");
    expect_reason(&prefixed, aph_bytes((char[256]){0}, 256), "the length 256 does not fit in 1 bytes");
}

static bool encode_without_reason(const aph_codec *codec, aph_side side, aph_value message, aph_sink *out)
{
    (void)codec, (void)side, (void)message, (void)out;
    return false;
}

/* Reads each line as an x. */
static aph_decoded decode_x(const aph_codec *codec, aph_wire *w)
{
    aph_decoded result = aph_codec_lines.decode(codec, w);
    w->message = aph_str("x");
    return result;
}

static void test_reads_back(void **unused)
{
    (void)unused;
    char why[200] = "";
    aph_codec mute = {.name = "mute", .decode = aph_codec_lines.decode, .encode = encode_without_reason};
    aph_codec x = {.name = "x", .decode = decode_x, .encode = aph_codec_lines.encode};
    assert_true(aph_reads_back(NULL, APH_FROM_SERVER, APH_NIL, aph_int(1), why, sizeof why));
    assert_true(aph_reads_back(&x, APH_FROM_SERVER, APH_NIL, aph_str("x"), why, sizeof why));
    assert_string_equal(why, "");
    assert_false(aph_reads_back(&x, APH_FROM_SERVER, APH_NIL, aph_str("y"), why, sizeof why));
    assert_string_equal(why, "reads it as \"x\"");
    assert_false(aph_reads_back(&mute, APH_FROM_SERVER, APH_NIL, aph_str("y"), why, sizeof why));
    assert_string_equal(why, "cannot encode it");
    assert_false(aph_reads_back(&x, APH_FROM_SERVER, APH_NIL, aph_int(1), why, sizeof why));
    assert_string_equal(why, "cannot encode it: must be a string, not an integer");
}

static void test_limit(void **unused)
{
    (void)unused;
    aph_codec lines = aph_codec_lines, prefixed = prefixed1;
    lines.limit = 4; /* including the line end */
    prefixed.limit = 4;
    expect(&lines, "abc\nabc\n", "[\"abc\",\"abc\"]");
    expect(&lines, "abcd\nabc\n", "[\"!4 a message of more than 4 bytes\"]");
    expect(&lines, "abcd", "[\"!4 a message of more than 4 bytes\"]");
    expect_bytes(&prefixed, "\3abc\4", 5, false, "[\"abc\",\"!4 a length of 4, but a message is limited to 4 bytes\"]");
    expect_refused(&lines, aph_str("abcd"));
    expect_encoded(&lines, aph_str("abc"), "abc\n", 4);
    /* A message without an end is rejected at the tester's limit of 16 MB. */
    size_t much = (size_t)16 << 20;
    unsigned char *bytes = calloc(1, much);
    memset(bytes, 'x', much);
    aph_wire w = {.bytes = bytes, .count = much - 1};
    assert_int_equal(aph_decode(NULL, &w), APH_MORE);
    assert_false(w.beyond);
    w.count = much;
    assert_int_equal(aph_decode(NULL, &w), APH_MALFORMED);
    assert_true(w.beyond); /* exceeding the tester's limit is not the sender's error; exceeding the codec's is */
    lines.limit = much;
    assert_int_equal(aph_decode(&lines, &w), APH_MALFORMED);
    assert_false(w.beyond);
    free(bytes);
}

/* Decodes a message of one megabyte byte by byte; quadratic work would take minutes. */
static void test_linear(void **unused)
{
    (void)unused;
    size_t n = 1 << 20;
    unsigned char *bytes = malloc(n);
    memset(bytes, 'x', n);
    bytes[n - 1] = '\n';
    int64_t began = aphi_clock_ns();
    aph_wire w = {.bytes = bytes};
    for (w.count = 1; w.count < n; w.count++)
        assert_int_equal(aph_decode(&aph_codec_lines, &w), APH_MORE);
    assert_int_equal(aph_decode(&aph_codec_lines, &w), APH_DECODED);
    assert_true(aphi_clock_ns() - began < 60000000000);
    assert_int_equal(w.scanned, 0);
    free(bytes);
}

static void test_datagrams(void **unused)
{
    (void)unused;
    aph_wire w = {.bytes = (const unsigned char *)"[1]\n2\n", .count = 4};
    assert_int_equal(aphi_decode_datagram(NULL, &w), APH_DECODED);
    w.count = 6;
    assert_int_equal(aphi_decode_datagram(NULL, &w), APH_MALFORMED);
    assert_int_equal(w.at, 4);
    assert_string_equal(w.why, "2 bytes follow the message");
    w.count = 3; /* without the line end */
    assert_int_equal(aphi_decode_datagram(NULL, &w), APH_DECODED);
    assert_ptr_equal(w.message, APH_ARRAY_OF(aph_int(1)));
    assert_int_equal(w.used, 3);
    w.count = 2;
    assert_int_equal(aphi_decode_datagram(NULL, &w), APH_MALFORMED);
    assert_int_equal(w.at, 2);
    w.count = 0;
    assert_int_equal(aphi_decode_datagram(NULL, &w), APH_MALFORMED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_json, drop_heap),     cmocka_unit_test_teardown(test_lines, drop_heap),
        cmocka_unit_test_teardown(test_fixed, drop_heap),    cmocka_unit_test_teardown(test_prefixed, drop_heap),
        cmocka_unit_test_teardown(test_limit, drop_heap),    cmocka_unit_test_teardown(test_linear, drop_heap),
        cmocka_unit_test_teardown(test_datagrams, drop_heap), cmocka_unit_test_teardown(test_variants, drop_heap),
        cmocka_unit_test_teardown(test_depth, drop_heap),    cmocka_unit_test_teardown(test_reasons, drop_heap),
        cmocka_unit_test_teardown(test_long_prefix, drop_heap),
        cmocka_unit_test_teardown(test_reads_back, drop_heap), cmocka_unit_test_teardown(test_numbers, drop_heap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

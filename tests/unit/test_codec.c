/* SPDX-License-Identifier: Apache-2.0
 *
 * test_codec.c - codecs: accepted and rejected bytes, whole and byte by byte; the limit; encoding and decoding. */
#include "codec/codec_internal.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

static const aph_codec fixed3 = APH_CODEC_FIXED(3), prefixed1 = APH_CODEC_PREFIXED(1);
static const aph_codec prefixed4 = APH_CODEC_PREFIXED(4), prefixed8 = APH_CODEC_PREFIXED(8);

static int drop_heap(void **unused)
{
    (void)unused;
    aph_heap_close();
    return 0;
}

/* Places the bytes at the end of a page, so that a read past the end crashes. */
typedef struct edge {
    unsigned char *pages, *bytes;
    size_t size;
} edge;

static edge edge_make(const void *bytes, size_t n)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), size = (n / page + 2) * page;
    edge e = {.size = size};
    e.pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(e.pages != MAP_FAILED);
    assert_int_equal(mprotect(e.pages + size - page, page, PROT_NONE), 0);
    e.bytes = e.pages + size - page - n;
    if (n)
        memcpy(e.bytes, bytes, n);
    return e;
}

static void edge_free(edge *e)
{
    munmap(e->pages, e->size);
}

/* Returns all messages as a JSON array; an error is "!AT WHY". `chunk` bytes arrive at a time. */
static char *decode_all(const aph_codec *codec, const void *bytes, size_t n, bool ended, size_t chunk)
{
    aph_value all = aph_array(0, NULL);
    size_t start = 0, arrived = 0;
    aph_wire w = {.side = APH_TO_SERVER};
    aph_decoded result;
    for (;;) {
        edge e = edge_make((const char *)bytes + start, arrived - start);
        w.bytes = e.bytes;
        w.count = arrived - start;
        w.ended = ended && arrived == n;
        result = aph_decode(codec, &w);
        edge_free(&e);
        if (result == APH_DECODED) {
            all = aph_push(all, w.message);
            start += w.used;
        } else if (result == APH_MALFORMED) {
            all = aph_push(all, aph_strf("!%zu %s", start + w.at, w.why));
            break;
        } else if (arrived == n) {
            break;
        } else {
            arrived = n - arrived < chunk ? n : arrived + chunk;
        }
    }
    return aph_json_text(all, NULL);
}

static void expect_bytes(const aph_codec *codec, const void *bytes, size_t n, bool ended, const char *expected)
{
    static const size_t chunks[] = {SIZE_MAX, 1, 2, 3, 7};
    for (size_t i = 0; i < sizeof chunks / sizeof *chunks; i++) {
        char *got = decode_all(codec, bytes, n, ended, chunks[i]);
        assert_string_equal(got, expected);
        free(got);
    }
}

static void expect(const aph_codec *codec, const char *text, const char *expected)
{
    expect_bytes(codec, text, strlen(text), true, expected);
}

/* Returns the encoded message, or NULL if it cannot be encoded. */
static char *encoded(const aph_codec *codec, aph_value message, size_t *n)
{
    aphi_buffer out = {0};
    aphi_buffer_str(&out, "before");
    bool ok = aphi_encode_at(codec, NULL, APH_FROM_SERVER, message, &out);
    assert_memory_equal(out.data, "before", 6);
    if (!ok)
        assert_int_equal(out.n, 6);
    *n = out.n - 6;
    char *copy = NULL;
    if (ok) {
        copy = malloc(*n + 1);
        memcpy(copy, out.data + 6, *n);
        copy[*n] = '\0';
    }
    aphi_buffer_free(&out);
    return copy;
}

static void expect_encoded(const aph_codec *codec, aph_value message, const void *expected, size_t expected_n)
{
    size_t n;
    char *bytes = encoded(codec, message, &n);
    assert_non_null(bytes);
    assert_int_equal(n, expected_n);
    assert_memory_equal(bytes, expected, n);
    aph_wire w = {.bytes = (const unsigned char *)bytes, .count = n};
    assert_int_equal(aph_decode(codec, &w), APH_DECODED);
    assert_int_equal(w.used, n);
    assert_ptr_equal(w.message, message);
    free(bytes);
}

static void expect_refused(const aph_codec *codec, aph_value message)
{
    size_t n;
    assert_null(encoded(codec, message, &n));
}

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
                 "[\"!0 a length of 16777216, but a message is limited to 16777216 bytes\"]");
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
        cmocka_unit_test_teardown(test_datagrams, drop_heap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

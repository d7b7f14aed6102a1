/* SPDX-License-Identifier: Apache-2.0
 *
 * test_resp.c - aph_codec_resp: the shape of each message, in both directions; rejected bytes and values; limits. */
#include <antiphon/resp.h>

#include "codec_cases.h"
#include "report/message_text.h"

static const aph_codec *const resp = &aph_codec_resp;

static void test_responses(void **unused)
{
    (void)unused;
    decoded_side = APH_FROM_SERVER;
    expect(resp, "+OK\r\n-ERR no\r\n:-12\r\n:+3\r\n$2\r\nhi\r\n$0\r\n\r\n$-1\r\n*0\r\n*-1\r\n+\r\n",
           "[{\"simple\":\"OK\"},{\"error\":\"ERR no\"},-12,3,\"hi\","
           "\"\",null,[],{\"null\":\"array\"},{\"simple\":\"\"}]");
    expect(resp, "*3\r\n*2\r\n:1\r\n*0\r\n$-1\r\n*-1\r\n", "[[[1,[]],null,{\"null\":\"array\"}]]");
    expect(resp, ":-007\r\n$02\r\nhi\r\n*01\r\n:0\r\n", "[-7,\"hi\",[0]]"); /* one or more digits, as specified */
    expect(resp, "$4\r\na\r\nb\r\n", "[\"a\\r\\nb\"]");
    expect(resp, ":9223372036854775807\r\n:-9223372036854775808\r\n", "[9223372036854775807,-9223372036854775808]");
    expect_encoded(resp, aph_resp_ok(), "+OK\r\n", 5);
    expect_encoded(resp, aph_resp_error("ERR no"), "-ERR no\r\n", 9);
    expect_encoded(resp, aph_int(-5), ":-5\r\n", 5);
    expect_encoded(resp, aph_str("a\r\n"), "$3\r\na\r\n\r\n", 9);
    expect_encoded(resp, APH_NIL, "$-1\r\n", 5);
    expect_encoded(resp, aph_resp_null_array(), "*-1\r\n", 5);
    expect_encoded(resp, APH_ARRAY_OF(aph_int(1), aph_array(0, NULL), APH_NIL), "*3\r\n:1\r\n*0\r\n$-1\r\n", 17);
}

static void test_malformed(void **unused)
{
    (void)unused;
    decoded_side = APH_FROM_SERVER;
    expect(resp, "hello\r\n", "[\"!0 expected one of + - : $ *, the types of RESP2\"]");
    expect(resp, "_\r\n", "[\"!0 expected one of + - : $ *, the types of RESP2\"]");
    expect(resp, "+a\nb\r\n", "[\"!2 an LF without a CR before it\"]");
    expect(resp, "+a\rb\r\n", "[\"!3 a CR without an LF after it\"]");
    expect(resp, ":\r\n", "[\"!1 expected a digit\"]");
    expect(resp, ":1x\r\n", "[\"!2 expected a digit or CRLF\"]");
    expect(resp, ":9223372036854775808\r\n", "[\"!1 a number of more than 64 bits\"]");
    expect(resp, "$2\r\nabc\r\n", "[\"!6 expected CRLF after 2 bytes\"]");
    expect(resp, "$-2\r\n", "[\"!1 a negative length other than -1\"]");
    expect(resp, "$+2\r\nab\r\n", "[\"!1 expected a digit\"]");
    expect(resp, "*2\r\n:1\r\n!", "[\"!8 expected one of + - : $ *, the types of RESP2\"]");
    expect(resp, "$16777216\r\n", "[\"!1 a length of 16777216, but a message is limited to 16777216 bytes\"]");
    expect(resp, "*6000000\r\n", "[\"!1 a length of 6000000, but a message is limited to 16777216 bytes\"]");
    expect(resp, "*2\r\n:1\r\n", "[\"!8 the input ends in the middle of a message, after 8 bytes\"]");
}

static void test_requests(void **unused)
{
    (void)unused;
    decoded_side = APH_TO_SERVER;
    expect(resp, "*2\r\n$3\r\nGET\r\n$1\r\nk\r\nPING\r\n  set  a b \n",
           "[[\"GET\",\"k\"],[\"PING\"],[\"set\",\"a\",\"b\"]]");
    expect(resp, "*0\r\n", "[\"!1 a request without strings\"]");
    expect(resp, "*-1\r\n", "[\"!1 a request without strings\"]");
    expect(resp, "*1\r\n:1\r\n", "[\"!4 a request must consist of bulk strings\"]");
    expect(resp, "*1\r\n$-1\r\n", "[\"!4 a request must consist of bulk strings\"]");
    expect(resp, "*1\r\n*1\r\n$1\r\na\r\n", "[\"!4 a request must consist of bulk strings\"]");
    expect(resp, "\r\n", "[\"!0 a request without words\"]");
    expect(resp, "set \"a\"\r\n", "[\"!4 invalid byte 34 in an inline request\"]");
    expect(resp, "a\rb\r\n", "[\"!1 invalid byte 13 in an inline request\"]");
    expect_encoded(resp, APH_ARRAY_OF(aph_str("GET"), aph_str("")), "*2\r\n$3\r\nGET\r\n$0\r\n\r\n", 19);
}

static void test_refused(void **unused)
{
    (void)unused;
    decoded_side = APH_TO_SERVER;
    expect_refused(resp, APH_NIL);
    expect_refused(resp, aph_str("GET"));
    expect_refused(resp, aph_array(0, NULL));
    expect_refused(resp, APH_ARRAY_OF(aph_str("GET"), aph_int(1)));
    expect_refused(resp, APH_ARRAY_OF(aph_symbol(APH_STR, 0)));
    decoded_side = APH_FROM_SERVER;
    expect_refused(resp, aph_bool(true));
    expect_refused(resp, aph_object());
    expect_refused(resp, aph_record("ok", aph_str("OK")));
    expect_refused(resp, aph_record("simple", aph_str("a\r")));
    expect_refused(resp, aph_record("error", aph_int(1)));
    expect_refused(resp, aph_record("null", aph_str("string")));
    expect_refused(resp, aph_record("simple", aph_str("a"), "error", aph_str("b")));
    expect_refused(resp, APH_ARRAY_OF(aph_symbol(APH_INT, 0)));
    expect_refused(resp, aph_symbol(APH_STR, 0));
}

/* As deep as a value may be, and one level deeper. */
static void test_depth(void **unused)
{
    (void)unused;
    decoded_side = APH_FROM_SERVER;
    aph_value deep = aph_resp_ok();
    for (int i = 0; i < 255; i++)
        deep = APH_ARRAY_OF(deep);
    size_t n;
    char *bytes = encoded(resp, deep, &n), *deeper = malloc(n + 5);
    assert_non_null(bytes);
    aph_wire w = {.side = APH_FROM_SERVER, .bytes = (const unsigned char *)bytes, .count = n};
    assert_int_equal(aph_decode(resp, &w), APH_DECODED);
    assert_ptr_equal(w.message, deep);
    expect_refused(resp, APH_ARRAY_OF(deep));
    memcpy(deeper, "*1\r\n", 4);
    memcpy(deeper + 4, bytes, n);
    w = (aph_wire){.side = APH_FROM_SERVER, .bytes = (const unsigned char *)deeper, .count = n + 4};
    assert_int_equal(aph_decode(resp, &w), APH_MALFORMED);
    assert_true(w.beyond);
    assert_string_equal(w.why, "arrays nested more than 255 levels deep");
    free(bytes);
    free(deeper);
}

static void test_commands(void **unused)
{
    (void)unused;
    assert_true(aph_resp_is(APH_ARRAY_OF(aph_str("sEt"), aph_str("k")), "SET"));
    assert_false(aph_resp_is(APH_ARRAY_OF(aph_str("SETNX")), "SET"));
    assert_false(aph_resp_is(APH_ARRAY_OF(aph_int(1)), "SET"));
    assert_false(aph_resp_is(APH_NIL, "SET"));
}

static void shown(aph_value message, const char *text)
{
    aphi_buffer out = {0};
    aphi_message_words(&out, message, aph_resp_words, APHI_MESSAGE_WHOLE);
    assert_string_equal(aphi_buffer_text(&out), text);
    aphi_buffer_free(&out);
}

static void test_words(void **unused)
{
    (void)unused;
    shown(aph_record("simple", aph_str("PONG")), "PONG");
    shown(aph_int(17), "17");
    shown(aph_str("17"), "\"17\"");
    shown(aph_str("a\r\n"), "\"a\\r\\n\"");
    shown(aph_str(""), "\"\"");
    shown(APH_NIL, "(nil)");
    shown(aph_resp_null_array(), "(nil array)");
    shown(aph_resp_error("ERR no"), "(error) ERR no");
    shown(APH_ARRAY_OF(aph_str("GET"), aph_str("k")), "[\"GET\",\"k\"]");
    shown(APH_ARRAY_OF(aph_int(1), APH_NIL, APH_ARRAY_OF(aph_resp_ok()), aph_array(0, NULL)), "[1,(nil),[OK],[]]");
    aph_value unknown = aph_record("?", aph_int(3), "sort", aph_str("string")); /* as in evidence */
    shown(unknown, "?3");
    shown(aph_record("simple", unknown), "?3");
    shown(aph_record("ok", aph_int(1)), "{\"ok\":1}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_responses, drop_heap), cmocka_unit_test_teardown(test_malformed, drop_heap),
        cmocka_unit_test_teardown(test_requests, drop_heap),  cmocka_unit_test_teardown(test_refused, drop_heap),
        cmocka_unit_test_teardown(test_depth, drop_heap),     cmocka_unit_test_teardown(test_commands, drop_heap),
        cmocka_unit_test_teardown(test_words, drop_heap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

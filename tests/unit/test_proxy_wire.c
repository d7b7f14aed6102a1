/* SPDX-License-Identifier: Apache-2.0
 *
 * test_proxy_wire.c - messages through a proxy: kept, dropped and other fields; printing; responses of the origin
 * server in the proxy model. */
#include "models/http/proxy.h"

#include "codec/codec_internal.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const char here[] = "127.0.0.1:4711";
static const char *const origins[] = {here, "127.0.0.1:4712", "127.0.0.1:4713", NULL};

static int drop_heap(void **unused)
{
    (void)unused;
    aph_heap_close();
    return 0;
}

static aph_value value_of(const char *json)
{
    aph_value v;
    aph_json_error error;
    if (!aph_json_read(json, strlen(json), &v, &error))
        fail_msg("%s: %s", json, error.message);
    return v;
}

static aph_decoded decode(aph_side side, const char *bytes, aph_wire *w)
{
    *w = (aph_wire){.side = side, .bytes = (const unsigned char *)bytes, .count = strlen(bytes), .ended = true,
                    .here = here, .origins = origins, .asked = aph_record("method", aph_str("GET"))};
    return aph_decode(&aphi_proxy_wire, w);
}

static void reads(aph_side side, const char *bytes, const char *json)
{
    aph_wire w;
    if (decode(side, bytes, &w) != APH_DECODED)
        fail_msg("%s: %s", bytes, w.why);
    if (w.message != value_of(json))
        fail_msg("%s\n%s\nnot %s", bytes, aph_json_text(w.message, NULL), json);
}

static void prints(aph_side side, const char *json, const char *bytes)
{
    aphi_buffer out = {0};
    assert_true(aphi_encode_at(&aphi_proxy_wire, origins, side, value_of(json), &out));
    assert_string_equal(aphi_buffer_text(&out), bytes);
    aphi_buffer_free(&out);
}

static void refuses(aph_side side, const char *json)
{
    aphi_buffer out = {0};
    if (aphi_encode_at(&aphi_proxy_wire, origins, side, value_of(json), &out))
        fail_msg("%s is printed", json);
    assert_int_equal(out.n, 0);
    aphi_buffer_free(&out);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static void test_requests(void **unused)
{
    (void)unused;
    reads(APH_TO_SERVER, "GET http://127.0.0.1:4711/a?b HTTP/1.1\r\nHost: 127.0.0.1:4711\r\nX-Mark: 7\r\n\r\n",
          "{\"method\":\"GET\",\"to\":\"here\",\"target\":\"/a?b\",\"host\":\"here\",\"fields\":{\"x-mark\":\"7\"},"
          "\"via\":[],\"more\":\"\",\"body\":\"\"}");
    reads(APH_TO_SERVER, "OPTIONS HTTP://h HTTP/1.1\r\nHost: i\r\nMax-Forwards: 12\r\n\r\n",
          "{\"method\":\"OPTIONS\",\"to\":\"h\",\"target\":\"\",\"host\":\"i\",\"fields\":{},\"max-forwards\":12,"
          "\"via\":[],\"more\":\"\",\"body\":\"\"}");
    /* Fields named by Connection are dropped, ignoring case; unknown fields are joined in "more". */
    reads(APH_TO_SERVER,
          "PUT / HTTP/1.1\r\nHost: h\r\nconnection: X-HOP ,, te\r\nX-Hop: 1\r\nTE: trailers\r\nB: 1\r\n"
          "Keep-Alive: 5\r\na: 2\r\nb: 3\r\nContent-Length: 2\r\n\r\nhi",
          "{\"method\":\"PUT\",\"target\":\"/\",\"host\":\"h\",\"fields\":{},\"via\":[],\"more\":\"a: 2\\nb: 1, 3\\n\","
          "\"body\":\"hi\"}");
    /* Other fields are kept. */
    reads(APH_TO_SERVER, "GET / HTTP/1.1\r\nHost: h\r\nX-Hop: 1\r\nTE: trailers\r\nMax-Forwards: x\r\n\r\n",
          "{\"method\":\"GET\",\"target\":\"/\",\"host\":\"h\",\"fields\":{\"te\":\"trailers\",\"x-hop\":\"1\","
          "\"max-forwards\":\"x\"},\"via\":[],\"more\":\"\",\"body\":\"\"}");
}

/* Messages name the origin servers, whose ports may be others in the next run. */
static void test_origins(void **unused)
{
    (void)unused;
    static const char request[] = "GET http://127.0.0.1:4713/a HTTP/1.1\r\nhost: 127.0.0.1:4712\r\n\r\n";
    static const char value[] = "{\"method\":\"GET\",\"to\":\"here-2\",\"target\":\"/a\",\"host\":\"here-1\","
                                "\"fields\":{},\"via\":[],\"more\":\"\",\"body\":\"\"}";
    reads(APH_TO_SERVER, request, value);
    prints(APH_TO_SERVER, value, request);
    for (size_t i = 0; i < APHI_PROXY_ORIGINS; i++)
        assert_int_equal(aphi_proxy_origin_named(aphi_http_origin_name(i)), i);
    assert_int_equal(aphi_proxy_origin_named(aph_str("here-3")), -1);
    assert_int_equal(aphi_proxy_origin_named(APH_NIL), -1);
    /* Without addresses, the names are hosts like any other. */
    aph_value bytes;
    assert_true(aph_encode(&aphi_proxy_wire, APH_TO_SERVER, value_of(value), &bytes));
    assert_non_null(strstr(aph_bytes_of(&bytes, &(size_t){0}), "http://here-2/a"));
}

/* A date that the tester does not send is a text in "more", in both directions. */
static void test_dates(void **unused)
{
    (void)unused;
    static const char request[] = "GET / HTTP/1.1\r\nhost: h\r\nlast-modified: Thu, 01 Jan 1970 00:00:09 GMT\r\n\r\n";
    static const char value[] = "{\"method\":\"GET\",\"target\":\"/\",\"host\":\"h\",\"fields\":{},\"via\":[],"
                                "\"more\":\"last-modified: Thu, 01 Jan 1970 00:00:09 GMT\\n\",\"body\":\"\"}";
    reads(APH_TO_SERVER, request, value);
    prints(APH_TO_SERVER, value, request);
    reads(APH_TO_SERVER, "GET / HTTP/1.1\r\nHost: h\r\nLast-Modified: soon\r\nX-Mark: 1\r\nIf-Modified-Since: "
                         "Thu, 01 Jan 1970 00:00:09 GMT\r\n\r\n",
          "{\"method\":\"GET\",\"target\":\"/\",\"host\":\"h\",\"fields\":{\"x-mark\":\"1\",\"if-modified-since\":9},"
          "\"via\":[],\"more\":\"last-modified: soon\\n\",\"body\":\"\"}");
}

/* The memory for a list is proportional to its length. */
static void test_long_lists(void **unused)
{
    (void)unused;
    enum { MEMBERS = 12000 };
    aphi_buffer text = {0};
    aph_wire w;
    aphi_buffer_format(&text, "HTTP/1.1 200 OK\r\nVia: ");
    for (int i = 0; i < MEMBERS; i++)
        aphi_buffer_format(&text, "1 p,");
    for (int i = 0; i < 2000; i++)
        aphi_buffer_format(&text, "\r\nx:%d", i % 10);
    aphi_buffer_format(&text, "\r\nContent-Length: 0\r\n\r\n");
    size_t before = aph_heap_bytes();
    assert_int_equal(decode(APH_FROM_SERVER, aphi_buffer_text(&text), &w), APH_DECODED);
    assert_int_equal(aph_count(aph_field(w.message, "via")), MEMBERS);
    assert_int_equal(aph_count(aph_field(w.message, "more")), 2000 * 5);
    assert_in_range(aph_heap_bytes() - before, 0, 4 << 20);
    aphi_buffer_free(&text);
}

static void test_via(void **unused)
{
    (void)unused;
    reads(APH_TO_SERVER,
          "GET / HTTP/1.1\r\nHost: h\r\nVia: 1.0 fred, ,HTTP/1.1 p:80 (a, b (c), \\) d)\r\nvia: x/2 q\r\n\r\n",
          "{\"method\":\"GET\",\"target\":\"/\",\"host\":\"h\",\"fields\":{},\"via\":[{\"protocol\":\"1.0\","
          "\"by\":\"fred\"},{\"protocol\":\"1.1\",\"by\":\"p:80 (a, b (c), \\\\) d)\"},"
          "{\"protocol\":\"x/2\",\"by\":\"q\"}],\"more\":\"\",\"body\":\"\"}");
    static const char *const wrong[] = {"1.1", "HTTP/HTTP/1.1 p", "HTTP/ p", "/1.1 p", "1.1\"x p"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char request[100];
        aph_wire w;
        snprintf(request, sizeof request, "GET / HTTP/1.1\r\nHost: h\r\nVia: %s\r\n\r\n", wrong[i]);
        assert_int_equal(decode(APH_TO_SERVER, request, &w), APH_MALFORMED);
        assert_non_null(strstr(w.why, "RFC 9110 7.6.3"));
    }
}

static void test_answers(void **unused)
{
    (void)unused;
    reads(APH_FROM_SERVER,
          "HTTP/1.1 103 x\r\nX-Answer: 0\r\n\r\nHTTP/1.1 200 OK\r\nServer: s\r\nETag: \"x\"\r\nX-Answer: 1\r\n"
          "Last-Modified: Thu, 01 Jan 1970 00:00:09 GMT\r\nConnection: x-hop\r\nX-Hop: 1\r\nx-answer: 2\r\n"
          "Via: 1.1 p\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
          "{\"status\":200,\"fields\":{\"etag\":\"\\\"x\\\"\",\"last-modified\":9,\"x-answer\":\"1, 2\"},\"date\":-1,"
          "\"via\":[{\"protocol\":\"1.1\",\"by\":\"p\"}],\"more\":\"server: s\\n\",\"body\":\"hi\"}");
    /* A response without Via is the proxy's own, and all of its fields are in "more". */
    reads(APH_FROM_SERVER, "HTTP/1.1 502 x\r\nContent-Type: a/b\r\nVia: \r\nContent-Length: 0\r\n\r\n",
          "{\"status\":502,\"fields\":{},\"date\":-1,\"via\":[],\"more\":\"content-type: a/b\\n\",\"body\":\"\"}");
    aph_wire w;
    assert_int_equal(decode(APH_FROM_SERVER, "HTTP/1.1 204 x\r\nConnection: close\r\n\r\n", &w), APH_DECODED);
    assert_true(w.last);
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static void test_printing(void **unused)
{
    (void)unused;
    prints(APH_TO_SERVER,
           "{\"method\":\"POST\",\"to\":\"here\",\"target\":\"/a\",\"host\":\"other\",\"fields\":{\"x-mark\":\"7\"},"
           "\"hop\":{\"x-hop\":\"1\",\"te\":\"trailers\"},\"via\":[{\"protocol\":\"1.0\",\"by\":\"fred\"}],"
           "\"body\":\"eight  8\",\"chunked\":true}",
           "POST http://127.0.0.1:4711/a HTTP/1.1\r\nhost: other\r\nte: trailers\r\nvia: 1.0 fred\r\nx-hop: 1\r\n"
           "x-mark: 7\r\nConnection: te, x-hop\r\nTransfer-Encoding: chunked\r\n\r\n7\r\neight  \r\n1\r\n8\r\n"
           "0\r\n\r\n");
    prints(APH_TO_SERVER, "{\"method\":\"GET\",\"target\":\"/\",\"host\":\"here\"}",
           "GET / HTTP/1.1\r\nhost: 127.0.0.1:4711\r\n\r\n");
    prints(APH_FROM_SERVER, "{\"status\":204,\"chunked\":true,\"hop\":{\"x-hop\":\"1\"}}",
           "HTTP/1.1 204 \r\nx-hop: 1\r\nConnection: x-hop\r\n\r\n");
    refuses(APH_TO_SERVER, "{\"method\":\"GET\",\"target\":\"/\"}");
    refuses(APH_TO_SERVER, "{\"method\":\"GET\",\"target\":\"/\",\"host\":\"h\",\"via\":[{\"by\":\"p\"}]}");
    refuses(APH_TO_SERVER, "{\"method\":\"GET\",\"target\":\"/\",\"host\":\"h\",\"more\":\"x\"}");
    refuses(APH_TO_SERVER, "{\"method\":\"GET\",\"target\":\"/\",\"host\":\"h\",\"hop\":[]}");
    refuses(APH_FROM_SERVER, "{\"status\":200,\"fields\":{\"a\":1}}");
    refuses(APH_FROM_SERVER, "false");
}

/* Every response of the origin server can be encoded, except false; the letters change it. */
static void test_origin_server(void **unused)
{
    (void)unused;
    aph_value plain = aphi_proxy_respond(value_of("{\"method\":\"GET\",\"target\":\"/\"}"), 7);
    for (const char *letter = "cdehklnrtvwx"; *letter; letter++) {
        aph_value request = aph_record("method", aph_str("GET"), "target", aph_strf("/%c?z", *letter)), bytes;
        aph_value answer = aphi_proxy_respond(request, 7);
        assert_true(aph_encode(&aphi_proxy_wire, APH_FROM_SERVER, answer, &bytes));
        assert_ptr_not_equal(answer, plain);
        answer = aphi_proxy_respond(aph_put(request, "method", aph_str("HEAD")), 7);
        assert_true(aph_str_is(aph_field(answer, "body"), "") && !aph_field(answer, "chunked"));
    }
    assert_ptr_equal(aphi_proxy_respond(value_of("{\"method\":\"GET\",\"target\":\"/z\"}"), 7), aph_bool(false));
    assert_ptr_not_equal(aphi_proxy_respond(value_of("{\"method\":\"GET\",\"target\":\"/\"}"), 8), plain);
    for (int64_t i = 0; i < APHI_PROXY_ORIGINS; i++) /* the same path has other contents at another origin */
        assert_int_equal(aphi_proxy_respond_at(i, value_of("{\"method\":\"GET\",\"target\":\"/\"}"), 7) == plain, !i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests), cmocka_unit_test(test_via),           cmocka_unit_test(test_answers),
        cmocka_unit_test(test_printing), cmocka_unit_test(test_origin_server), cmocka_unit_test(test_dates),
        cmocka_unit_test(test_long_lists), cmocka_unit_test(test_origins),
    };
    return cmocka_run_group_tests_name("proxy wire", tests, NULL, drop_heap);
}

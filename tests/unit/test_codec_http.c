/* SPDX-License-Identifier: Apache-2.0
 *
 * test_codec_http.c - aph_codec_http: the shape of each message, in both directions; rejected bytes and values;
 * helpers. */
#include <antiphon/http.h>

#include "codec_cases.h"

static const char *const only_location[] = {"location", NULL};
static const aph_codec some_headers = APH_CODEC_HTTP(only_location);

static aph_value json_of(const char *text)
{
    aph_value v;
    aph_json_error error;
    assert_true(aph_json_read(text, strlen(text), &v, &error));
    return v;
}

static void begin(aph_side side, const char *method)
{
    decoded_side = side;
    decoded_request = method ? aph_record("method", aph_str(method)) : APH_NIL;
}

/* The bytes become the message, and the message becomes bytes that are read as the same message. */
static void same(const aph_codec *codec, const char *bytes, const char *message)
{
    size_t n;
    char *list = malloc(strlen(message) + 3);
    sprintf(list, "[%s]", message);
    expect(codec, bytes, list);
    char *again = encoded(codec, json_of(message), &n);
    assert_non_null(again);
    expect_bytes(codec, again, n, false, list);
    free(list);
    free(again);
}

static void written(const char *message, const char *bytes)
{
    size_t n;
    char *got = encoded(&aph_codec_http, json_of(message), &n);
    assert_non_null(got);
    assert_string_equal(got, bytes);
    free(got);
}

static void refused(const char *message) { expect_refused(&aph_codec_http, json_of(message)); }

static void test_requests(void **unused)
{
    (void)unused;
    begin(APH_TO_SERVER, NULL);
    same(&aph_codec_http, "GET / HTTP/1.1\r\nHost: antiphon\r\n\r\n", "{\"method\":\"GET\",\"path\":[]}");
    same(&aph_codec_http, "GET /items/%31%2F7/?b=2&a=x+y&b=%26 HTTP/1.1\r\nHost: h\r\n\r\n",
         "{\"headers\":{\"host\":\"h\"},\"method\":\"GET\",\"path\":[\"items\",\"1/7\",\"\"],"
         "\"query\":{\"a\":\"x y\",\"b\":[\"2\",\"&\"]}}");
    same(&aph_codec_http, "GET //x?& HTTP/1.1\r\nHost: antiphon\r\n\r\n", "{\"method\":\"GET\",\"path\":[\"\",\"x\"]}");
    same(&aph_codec_http, "OPTIONS * HTTP/1.1\r\nHost: antiphon\r\n\r\n", "{\"method\":\"OPTIONS\",\"target\":\"*\"}");
    same(&aph_codec_http, "GET http://h/a HTTP/1.1\r\nHost: antiphon\r\n\r\n",
         "{\"method\":\"GET\",\"target\":\"http://h/a\"}");
    same(&aph_codec_http,
    "GET /a HTTP/1.1\r\nHost: antiphon\r\nCookie: s=x=1; t=\"q\"; s=\r\nAccept: a\r\nAccept: b\r\n\r\n",
         "{\"cookies\":{\"s\":[\"x=1\",\"\"],\"t\":\"\\\"q\\\"\"},\"headers\":{\"accept\":\"a, b\"},\"method\":\"GET\","
         "\"path\":[\"a\"]}");
    same(&aph_codec_http,
         "POST /a HTTP/1.1\r\nHost: antiphon\r\nContent-Type: application/x-www-form-urlencoded\r\n"
         "Content-Length: 11\r\n\r\nuser=a+b&x=",
         "{\"form\":{\"user\":\"a b\",\"x\":\"\"},\"method\":\"POST\",\"path\":[\"a\"]}");
    same(&aph_codec_http,
         "PUT /a HTTP/1.1\r\nHost: antiphon\r\nTransfer-Encoding: chunked\r\nContent-Type: text/plain\r\n\r\n"
         "3\r\nabc\r\n2;x=1\r\nde\r\n0\r\nT: u\r\n\r\n",
         "{\"body\":\"abcde\",\"headers\":{\"content-type\":\"text/plain\"},\"method\":\"PUT\",\"path\":[\"a\"]}");
}

static void test_responses(void **unused)
{
    (void)unused;
    begin(APH_FROM_SERVER, "GET");
    same(&aph_codec_http,
         "HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nServer: x\r\nContent-Length: 2\r\n"
         "ETag: \"a\"\r\n\r\nhi",
         "{\"body\":\"hi\",\"headers\":{\"etag\":\"\\\"a\\\"\"},\"status\":200}");
    same(&aph_codec_http,
         "HTTP/1.1 201 \r\nContent-Type: Application/JSON; charset=utf-8\r\nContent-Length: 8\r\n"
         "Location: /items/7?x=1\r\n\r\n"
         "{\"id\":7}",
         "{\"headers\":{\"location\":{\"path\":[\"items\",\"7\"],\"query\":{\"x\":\"1\"}}},\"json\":{\"id\":7},"
         "\"status\":201}");
    same(&aph_codec_http, "HTTP/1.1 200 \r\nContent-Type: application/problem+json\r\nContent-Length: 4\r\n\r\nnull",
         "{\"headers\":{\"content-type\":\"application/problem+json\"},\"json\":null,\"status\":200}");
    same(&aph_codec_http,
         "HTTP/1.1 200 \r\nContent-Length: 0\r\nSet-Cookie: s=x7; Path=/; HttpOnly; Max-Age=60;"
         " Expires=Sun, 06 Nov 1994 08:49:37 GMT\r\nSet-Cookie: t=\r\n\r\n",
         "{\"cookies\":{\"s\":\"x7\",\"t\":\"\"},\"headers\":{\"set-cookie\":{\"s\":{\"expires\":784111777,"
         "\"httponly\":true,\"max-age\":60,\"path\":\"/\"}}},\"status\":200}");
    same(&aph_codec_http,
         "HTTP/1.1 200 \r\nContent-Length: 0\r\nSet-Cookie: s=; expires=Thu, 01-Jan-1970 00:00:00 GMT\r\n"
         "Set-Cookie: t=; expires=never\r\n\r\n",
         "{\"cookies\":{\"s\":\"\",\"t\":\"\"},\"headers\":{\"set-cookie\":{\"s\":{\"expires\":0},"
         "\"t\":{\"expires\":\"never\"}}},\"status\":200}");
    same(&aph_codec_http,
         "HTTP/1.1 200 \r\nContent-Length: 0\r\nSet-Cookie: s=1\r\nSet-Cookie: s=2; secure; max-age=007\r\n\r\n",
         "{\"cookies\":{\"s\":[\"1\",\"2\"]},\"headers\":{\"set-cookie\":{\"s\":[{},{\"max-age\":\"007\","
         "\"secure\":true}]}},\"status\":200}");
    same(&aph_codec_http, "HTTP/1.1 302 \r\nContent-Length: 0\r\nLocation: http://h:1/a\r\n\r\n",
         "{\"headers\":{\"location\":{\"origin\":\"http://h:1\",\"path\":[\"a\"]}},\"status\":302}");
    same(&aph_codec_http, "HTTP/1.1 302 \r\nContent-Length: 0\r\nLocation: ../a#b\r\n\r\n",
         "{\"headers\":{\"location\":\"../a#b\"},\"status\":302}");
    same(&aph_codec_http, "HTTP/1.1 103 \r\nLink: x\r\n\r\nHTTP/1.1 204 \r\n\r\n", "{\"status\":204}");
    same(&some_headers,
         "HTTP/1.1 200 \r\nContent-Type: text/html\r\nX-A: b\r\nSet-Cookie: s=1; Path=/\r\nContent-Length: 1\r\n\r\nx",
         "{\"body\":\"x\",\"cookies\":{\"s\":\"1\"},\"status\":200}");
    expect(&aph_codec_http, "HTTP/1.1 200 \r\nContent-Length: 1\r\n\r\naHTTP/1.1 304 \r\nETag: \"a\"\r\n\r\n",
           "[{\"body\":\"a\",\"status\":200},{\"headers\":{\"etag\":\"\\\"a\\\"\"},\"status\":304}]");
    expect(&aph_codec_http, "HTTP/1.1 200 \r\n\r\nto the end", "[{\"body\":\"to the end\",\"status\":200}]");
    begin(APH_FROM_SERVER, "HEAD");
    same(&aph_codec_http, "HTTP/1.1 200 \r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n",
         "{\"headers\":{\"content-type\":\"application/json\"},\"status\":200}");
}

/* The last message of a connection. */
static void test_last(void **unused)
{
    (void)unused;
    static const char *const heads[] = {"HTTP/1.1 204 \r\nConnection: close\r\n\r\n", "HTTP/1.0 204 \r\n\r\n",
                                        "HTTP/1.1 204 \r\n\r\n"};
    for (size_t i = 0; i < 3; i++) {
        aph_wire w = {.side = APH_FROM_SERVER, .bytes = (const unsigned char *)heads[i], .count = strlen(heads[i])};
        assert_int_equal(aph_decode(&aph_codec_http, &w), APH_DECODED);
        assert_int_equal(w.last, i < 2);
        assert_ptr_equal(w.message, aph_record("status", aph_int(204)));
    }
}

static void test_malformed(void **unused)
{
    (void)unused;
    begin(APH_TO_SERVER, NULL);
    expect(&aph_codec_http, "GET /%zz HTTP/1.1\r\n", "[\"!5 RFC 9112 3.2: invalid target for GET\"]");
    expect(&aph_codec_http, "GET / HTTP/1.1\r\nHost: h\r\nCookie: a\r\n\r\n",
           "[\"!33 RFC 6265 4.2.1: Cookie is not a list of names and values\"]");
    expect(&aph_codec_http, "GET / HTTP/1.1\r\nHost: h\r\nCookie: a=1\r\nCookie: b=2\r\n\r\n",
           "[\"!46 RFC 6265 5.4: more than one Cookie\"]");
    expect(&aph_codec_http,
           "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nContent-Type: application/x-www-form-urlencoded\r\n\r\n"
           "a=%",
           "[\"!98 a percent sign in a form without two hexadecimal digits\"]");
    begin(APH_FROM_SERVER, "GET");
    expect(&aph_codec_http, "HTTP/1.1 200 \r\nDate: today\r\nContent-Length: 0\r\n\r\n",
           "[\"!21 RFC 9110 5.6.7: the value of date is not an HTTP date\"]");
    expect(&aph_codec_http, "HTTP/1.1 200 \r\nSet-Cookie: a\r\nContent-Length: 0\r\n\r\n",
           "[\"!27 RFC 6265 4.1.1: Set-Cookie does not begin with a name and an equals sign\"]");
    expect(&aph_codec_http, "HTTP/1.1 200 \r\nSet-Cookie: a=1; b c=2\r\nContent-Length: 0\r\n\r\n",
           "[\"!27 RFC 6265 4.1.1: invalid attribute in Set-Cookie\"]");
    expect(&aph_codec_http, "HTTP/1.1 200 \r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n[}",
           "[\"!69 the body is not JSON: expected a JSON value\"]");
    expect(&aph_codec_http, "HTTP/1.1 200 \r\nContent-Type: application/json\r\nContent-Length: 3\r\n\r\n1.5",
           "[\"!68 a number that is not an integer of 64 bits\"]");
    expect(&aph_codec_http, "HTTP/1.1 200 \r\nContent-Length: 5\r\n\r\nabc",
           "[\"!39 RFC 9112 8: the connection ends in the middle of a body, before the end given by its "
           "Content-Length\"]");
}

static void test_written(void **unused)
{
    (void)unused;
    begin(APH_TO_SERVER, NULL);
    written("{\"method\":\"DELETE\",\"path\":[\"items\",7],\"cookies\":{\"s\":\"x\"}}",
            "DELETE /items/7 HTTP/1.1\r\nHost: antiphon\r\nCookie: s=x\r\n\r\n");
    written("{\"method\":\"POST\",\"path\":[\"a b\"],\"query\":{\"n\":3},\"headers\":{\"x-a\":null,\"x-b\":1},"
            "\"cookies\":{\"s\":null}}",
            "POST /a%20b?n=3 HTTP/1.1\r\nHost: antiphon\r\nx-b: 1\r\nContent-Length: 0\r\n\r\n");
    written("{\"method\":\"PUT\",\"path\":[\"a\"],\"headers\":{\"content-type\":\"application/json\"},\"json\":[1]}",
            "PUT /a HTTP/1.1\r\nHost: antiphon\r\ncontent-type: application/json\r\nContent-Length: 3\r\n\r\n[1]");
    begin(APH_FROM_SERVER, NULL);
    written("{\"status\":200,\"json\":{\"id\":\"7\"},\"cookies\":{\"s\":\"x\"}}",
            "HTTP/1.1 200 \r\nSet-Cookie: s=x\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n"
            "{\"id\":\"7\"}");
    written("{\"status\":204}", "HTTP/1.1 204 \r\n\r\n");
    written("{\"status\":404,\"headers\":{}}", "HTTP/1.1 404 \r\nContent-Length: 0\r\n\r\n");
}

static void test_refused(void **unused)
{
    (void)unused;
    static const char *const requests[] = {
        "null", "[]", "\"GET\"", "{}", "{\"method\":\"GET\"}", "{\"path\":[]}", "{\"method\":\"G T\",\"path\":[]}",
        "{\"method\":1,\"path\":[]}", "{\"method\":\"GET\",\"path\":\"/a\"}", "{\"method\":\"GET\",\"path\":[\"\"]}",
        "{\"method\":\"GET\",\"path\":[null]}", "{\"method\":\"GET\",\"path\":[[]]}",
        "{\"method\":\"GET\",\"path\":[],\"target\":\"*\"}", "{\"method\":\"GET\",\"target\":\"/a\"}",
        "{\"method\":\"GET\",\"target\":\"\"}", "{\"method\":\"GET\",\"target\":\"*\"}",
        "{\"method\":\"GET\",\"path\":[],\"status\":200}", "{\"method\":\"GET\",\"path\":[],\"query\":\"a=1\"}",
        "{\"method\":\"GET\",\"path\":[],\"query\":{\"a\":[\"1\"]}}",
        "{\"method\":\"GET\",\"path\":[],\"query\":{\"a\":true}}",
        "{\"method\":\"GET\",\"path\":[],\"headers\":[]}", "{\"method\":\"GET\",\"path\":[],\"headers\":{\"A\":\"b\"}}",
        "{\"method\":\"GET\",\"path\":[],\"headers\":{\"a\":\"b\\r\\nc: d\"}}",
        "{\"method\":\"GET\",\"path\":[],\"headers\":{\"a\":\" b\"}}",
        "{\"method\":\"GET\",\"path\":[],\"headers\":{\"content-length\":\"1\"}}",
        "{\"method\":\"GET\",\"path\":[],\"headers\":{\"cookie\":\"a=1\"}}",
        "{\"method\":\"GET\",\"path\":[],\"headers\":{\"host\":\"a b\"}}",
        "{\"method\":\"GET\",\"path\":[],\"cookies\":{\"a\":\"b;c\"}}",
        "{\"method\":\"GET\",\"path\":[],\"cookies\":{\"a=\":\"b\"}}",
        "{\"method\":\"GET\",\"path\":[],\"body\":1}", "{\"method\":\"GET\",\"path\":[],\"body\":\"a\",\"json\":1}",
        "{\"method\":\"GET\",\"path\":[],\"form\":[]}",
        "{\"method\":\"GET\",\"path\":[],\"body\":\"1\",\"headers\":{\"content-type\":\"application/json\"}}",
        "{\"method\":\"GET\",\"path\":[],\"json\":1,\"headers\":{\"content-type\":\"text/plain\"}}",
        "{\"method\":\"GET\",\"path\":[],\"form\":{\"a\":\"1\"},\"headers\":{\"content-type\":\"application/json\"}}",
    };
    static const char *const responses[] = {
        "null", "{}", "{\"status\":\"200\"}", "{\"status\":99}", "{\"status\":100}", "{\"status\":600}",
        "{\"status\":204,\"body\":\"a\"}", "{\"status\":304,\"json\":1}", "{\"status\":200,\"form\":{\"a\":\"1\"}}",
        "{\"status\":200,\"path\":[]}", "{\"status\":200,\"headers\":{\"a\":1}}",
        "{\"status\":200,\"headers\":{\"date\":\"a\"}}",
        "{\"status\":200,\"json\":1,\"headers\":{\"content-type\":\"application/json\"}}",
        "{\"status\":200,\"cookies\":{\"a\":1}}", "{\"status\":200,\"cookies\":[]}",
        "{\"status\":200,\"headers\":{\"set-cookie\":{\"a\":{\"path\":\"/\"}}}}",
        "{\"status\":200,\"cookies\":{\"a\":\"1\"},\"headers\":{\"set-cookie\":{\"a\":{}}}}",
        "{\"status\":200,\"cookies\":{\"a\":\"1\"},\"headers\":{\"set-cookie\":{\"a\":{\"max-age\":\"60\"}}}}",
        ("{\"status\":200,\"cookies\":{\"a\":\"1\"},\"headers\":{\"set-cookie\":{\"a\":{\"expires\":"
         "\"1 Jan 1970 00:00:00\"}}}}"),
        "{\"status\":200,\"cookies\":{\"a\":\"1\"},\"headers\":{\"set-cookie\":{\"a\":{\"Path\":\"/\"}}}}",
        "{\"status\":200,\"cookies\":{\"a\":\"1\"},\"headers\":{\"set-cookie\":{\"a\":{\"secure\":false}}}}",
        "{\"status\":200,\"cookies\":{\"a\":\"1\"},\"headers\":{\"set-cookie\":\"a=1\"}}",
        "{\"status\":200,\"headers\":{\"location\":\"/a\"}}",
        "{\"status\":200,\"headers\":{\"location\":{\"path\":[3]}}}",
    };
    begin(APH_TO_SERVER, NULL);
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++)
        refused(requests[i]);
    expect_refused(&aph_codec_http, aph_record("method", aph_str("GET"), "path", APH_ARRAY_OF(aph_symbol(APH_STR, 0))));
    begin(APH_FROM_SERVER, NULL);
    for (size_t i = 0; i < sizeof responses / sizeof *responses; i++)
        refused(responses[i]);
    expect_refused(&aph_codec_http, aph_http_response(200, APH_ARRAY_OF(aph_symbol(APH_INT, 0))));
    expect_refused(&some_headers, aph_record("status", aph_int(200), "headers", aph_record("etag", aph_str("a"))));
    aph_value deep = aph_int(1);
    for (int i = 0; i < 255; i++)
        deep = APH_ARRAY_OF(deep);
    size_t n;
    char *bytes = encoded(&aph_codec_http, aph_http_response(200, deep), &n);
    assert_non_null(bytes);
    free(bytes);
    expect_refused(&aph_codec_http, aph_http_response(200, APH_ARRAY_OF(deep)));
}

static void test_numbers(void **unused)
{
    (void)unused;
    static const aph_codec numbers = APH_CODEC_HTTP(only_location, .numbers = true);
    begin(APH_FROM_SERVER, "GET");
    same(&numbers,
         "HTTP/1.1 200 \r\nContent-Type: application/json\r\nContent-Length: 14\r\n\r\n{\"price\":1.50}",
         "{\"json\":{\"price\":{\"number\":\"1.5\"}},\"status\":200}");
    size_t n;
    char *bytes = encoded(&numbers, json_of("{\"json\":{\"price\":{\"number\":\"1.5\"}},\"status\":200}"), &n);
    assert_non_null(strstr(bytes, "\r\n\r\n{\"price\":1.5}"));
    free(bytes);
}

static void test_reasons(void **unused)
{
    (void)unused;
    static const struct {
        aph_side side;
        const char *message, *reason;
    } cases[] = {
        {APH_FROM_SERVER, "[]", "must be an object, not an array"},
        {APH_FROM_SERVER, "{\"status\":200,\"heders\":{}}", "heders: a response has no such member"},
        {APH_FROM_SERVER, "{\"status\":\"200\"}", "status: must be an integer from 200 to 599, or 101"},
        {APH_FROM_SERVER, "{\"status\":200,\"headers\":{\"ETag\":\"a\"}}",
         "headers.ETag: a name must be in lower case"},
        {APH_FROM_SERVER, "{\"status\":200,\"headers\":{\"date\":\"a\"}}",
         "headers.date: the codec does not read this header into messages; remove it"},
        {APH_FROM_SERVER, "{\"status\":200,\"headers\":{\"location\":\"/there\"}}",
         "headers.location: this string is read as {\"path\":[\"there\"]}; use that"},
        {APH_FROM_SERVER, "{\"status\":204,\"json\":1}", "json: a response with the status 204 has no body"},
        {APH_FROM_SERVER, "{\"status\":200,\"json\":1,\"body\":\"\"}",
         "body: a message has only one of json, form and body"},
        {APH_FROM_SERVER, "{\"status\":200,\"cookies\":{\"a\":\"1\",\"b\":\"1;2\"}}",
         "cookies.b: the name must be a token, and the value a string without ; or blanks at its ends"},
        {APH_FROM_SERVER, "{\"status\":200,\"headers\":{\"set-cookie\":{\"a\":{\"path\":\"/\"}}}}",
         "headers.set-cookie: must map names of cookies in this message to objects of attributes"},
        {APH_TO_SERVER, "{\"method\":\"GET\",\"path\":\"/a\"}", "path: must be an array of strings, not a string"},
        {APH_TO_SERVER, "{\"method\":\"GET\",\"path\":[\"\"]}", "path: [\"\"] would be read as [], the path /"},
        {APH_TO_SERVER, "{\"method\":\"GET\",\"path\":[],\"query\":{\"a\":\"1\",\"b\":[\"1\"]}}",
         "query.b: must be a string, or an array of two or more strings"},
        {APH_TO_SERVER, "{\"method\":\"GET\",\"path\":[],\"form\":[]}", "form: must be an object, not an array"},
        {APH_TO_SERVER, "{\"method\":\"GET\",\"path\":[],\"headers\":{\"cookie\":\"a=b\"}}",
         "headers.cookie: cookies are in the member cookies"},
        {APH_TO_SERVER, "{\"method\":\"GET\",\"target\":\"*\"}", "target: invalid for GET"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin(cases[i].side, NULL);
        expect_reason(&aph_codec_http, json_of(cases[i].message), cases[i].reason);
    }
    begin(APH_FROM_SERVER, NULL);
    expect_reason(&some_headers, json_of("{\"status\":200,\"headers\":{\"etag\":\"a\"}}"),
                  "headers.etag: not among the names that the codec keeps");
}

/* ---- origins ----------------------------------------------------------------------------------------------------- */

static const char *const addresses[] = {"127.0.0.1:4711", "127.0.0.1:4712", NULL};

static aph_value read_at_origin(const aph_codec *codec, aph_side side, const char *bytes)
{
    aph_wire w = {.side = side, .bytes = (const unsigned char *)bytes, .count = strlen(bytes), .here = addresses[0],
                  .origins = addresses};
    assert_int_equal(aph_decode(codec, &w), APH_DECODED);
    assert_int_equal(w.used, w.count);
    return w.message;
}

/* The bytes become the message, which has no address, and the message becomes the bytes. */
static void same_at_origin(aph_side side, const char *bytes, const char *message)
{
    aphi_buffer out = {0};
    assert_ptr_equal(read_at_origin(&aph_codec_http, side, bytes), json_of(message));
    assert_true(aphi_encode_at(&aph_codec_http, addresses, side, json_of(message), &out));
    assert_string_equal(aphi_buffer_text(&out), bytes);
    aphi_buffer_free(&out);
}

static void test_origins(void **unused)
{
    (void)unused;
    same_at_origin(APH_TO_SERVER, "GET / HTTP/1.1\r\nhost: 127.0.0.1:4711\r\n\r\n",
                   "{\"headers\":{\"host\":\"here\"},\"method\":\"GET\",\"path\":[]}");
    same_at_origin(APH_TO_SERVER, "GET http://127.0.0.1:4712/a HTTP/1.1\r\nhost: 127.0.0.1:4712\r\n\r\n",
                   "{\"headers\":{\"host\":\"here-1\"},\"method\":\"GET\",\"target\":\"http://here-1/a\"}");
    same_at_origin(APH_TO_SERVER, "CONNECT 127.0.0.1:4712 HTTP/1.1\r\nhost: 127.0.0.1:4713\r\n\r\n",
                   "{\"headers\":{\"host\":\"127.0.0.1:4713\"},\"method\":\"CONNECT\",\"target\":\"here-1\"}");
    same_at_origin(APH_FROM_SERVER,
                   "HTTP/1.1 302 \r\nlocation: http://127.0.0.1:4711/b?c=1\r\nContent-Length: 0\r\n\r\n",
                   "{\"headers\":{\"location\":{\"origin\":\"http://here\",\"path\":[\"b\"],"
                   "\"query\":{\"c\":\"1\"}}},\"status\":302}");
    same_at_origin(APH_FROM_SERVER,
                   "HTTP/1.1 302 \r\nlocation: http://127.0.0.1:4711#x\r\nContent-Length: 0\r\n\r\n",
                   "{\"headers\":{\"location\":\"http://here#x\"},\"status\":302}");
    assert_ptr_equal(read_at_origin(&aph_codec_http, APH_TO_SERVER,
                                    "GET / HTTP/1.1\r\nHost: localhost:4712\r\n\r\n"),
                     json_of("{\"headers\":{\"host\":\"here-1\"},\"method\":\"GET\",\"path\":[]}"));
    assert_ptr_equal(read_at_origin(&aph_codec_http, APH_TO_SERVER,
                                    "GET / HTTP/1.1\r\nHost: localhost:47120\r\n\r\n"),
                     json_of("{\"headers\":{\"host\":\"localhost:47120\"},\"method\":\"GET\",\"path\":[]}"));
    assert_ptr_equal(aph_http_origin(0), aph_str("here"));
    assert_ptr_equal(aph_http_origin(15), aph_str("here-15"));
    assert_ptr_equal(aph_http_origin(16), APH_NIL);
    assert_ptr_equal(aph_http_origin(-1), APH_NIL);
}

/* Only the named headers of requests are read. Any header can be sent. */
static void test_kept(void **unused)
{
    (void)unused;
    static const char *const accept[] = {"accept", NULL};
    static const aph_http_kept some = {.of_responses = only_location, .of_requests = accept};
    static const aph_http_kept some_of_requests = {.of_requests = accept};
    static const aph_codec both = APH_CODEC_HTTP_KEPT(&some), all_of_responses = APH_CODEC_HTTP_KEPT(&some_of_requests);
    static const char request[] = "GET / HTTP/1.1\r\nHost: 127.0.0.1:4711\r\nAccept: a\r\nX-By: b\r\nCookie: c=1\r\n"
                                  "Content-Type: text/plain\r\nContent-Length: 1\r\n\r\nx";
    static const char response[] = "HTTP/1.1 200 \r\nX-A: b\r\nLocation: /a\r\nContent-Length: 0\r\n\r\n";
    assert_ptr_equal(read_at_origin(&both, APH_TO_SERVER, request),
                     json_of("{\"body\":\"x\",\"cookies\":{\"c\":\"1\"},\"headers\":{\"accept\":\"a\"},"
                             "\"method\":\"GET\",\"path\":[]}"));
    assert_ptr_equal(read_at_origin(&both, APH_FROM_SERVER, response),
                     json_of("{\"headers\":{\"location\":{\"path\":[\"a\"]}},\"status\":200}"));
    assert_ptr_equal(read_at_origin(&all_of_responses, APH_FROM_SERVER, response),
                     json_of("{\"headers\":{\"location\":{\"path\":[\"a\"]},\"x-a\":\"b\"},\"status\":200}"));
    size_t n;
    begin(APH_TO_SERVER, NULL);
    char *bytes = encoded(&both, json_of("{\"headers\":{\"x-by\":\"b\"},\"method\":\"GET\",\"path\":[]}"), &n);
    assert_string_equal(bytes, "GET / HTTP/1.1\r\nHost: antiphon\r\nx-by: b\r\n\r\n");
    free(bytes);
}

/* JSON that is valid, but nested more deeply than a message can be. */
static void test_depth(void **unused)
{
    (void)unused;
    static const char head[] = "HTTP/1.1 200 \r\nContent-Type: application/json\r\nContent-Length: 512\r\n\r\n";
    char text[sizeof head + 512];
    memcpy(text, head, sizeof head - 1);
    memset(text + sizeof head - 1, '[', 256);
    memset(text + sizeof head - 1 + 256, ']', 256);
    aph_wire w = {.side = APH_FROM_SERVER, .bytes = (const unsigned char *)text, .count = sizeof head - 1 + 512};
    assert_int_equal(aph_decode(&aph_codec_http, &w), APH_MALFORMED);
    assert_true(w.beyond);
    assert_string_equal(w.why, "JSON of more than 255 levels");
}

/* A name that occurs a million times takes no quadratic work, which would take minutes. */
static void test_many_names(void **unused)
{
    (void)unused;
    enum { NAMES = 1 << 20 };
    begin(APH_TO_SERVER, NULL);
    char *text = malloc(2 * NAMES);
    for (size_t i = 0; i < NAMES; i++)
        memcpy(text + 2 * i, "a&", 2);
    aph_value query;
    assert_true(aph_http_query_read(aph_bytes(text, 2 * NAMES - 1), &query));
    assert_int_equal(aph_count(aph_field(query, "a")), NAMES);
    free(text);
}

static void test_helpers(void **unused)
{
    (void)unused;
    aph_value q = json_of("{\"method\":\"PUT\",\"path\":[\"a\",\"x\",\"b\",7],\"cookies\":{\"s\":\"1\"}}"), parts[2];
    assert_true(aph_http_route(q, "PUT /a/{}/b/{}", parts));
    assert_ptr_equal(parts[0], aph_str("x"));
    assert_ptr_equal(parts[1], aph_str("7"));
    assert_true(aph_http_route(q, "PUT /a/x/b/7", NULL));
    static const char *const others[] = {"GET /a/{}/b/{}", "PUT /a/{}/b", "PUT /a/{}/b/{}/c", "PUT /a/{}/c/{}",
    "PUT /", "PUT"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(aph_http_route(q, others[i], parts));
    assert_true(aph_http_route(json_of("{\"method\":\"GET\",\"path\":[]}"), "GET /", NULL));
    assert_false(aph_http_route(json_of("{\"method\":\"GET\",\"target\":\"*\"}"), "GET /", NULL));
    assert_false(aph_http_route(APH_NIL, "GET /", NULL));
    aph_value slash = json_of("{\"method\":\"GET\",\"path\":[\"a\",\"\"]}");
    assert_true(aph_http_route(slash, "GET /a/{}", parts));
    assert_ptr_equal(parts[0], aph_str(""));
    assert_false(aph_http_route(slash, "GET /a", NULL));
    assert_true(aph_http_route(slash, "GET /a/", NULL));
    assert_false(aph_http_route(json_of("{\"method\":\"GET\",\"path\":[\"a\"]}"), "GET /a/", NULL));
    assert_ptr_equal(aph_http_cookie(q, "s"), aph_str("1"));
    assert_ptr_equal(aph_http_cookie(q, "t"), APH_NIL);
    assert_ptr_equal(aph_http_response(204, APH_NIL), json_of("{\"status\":204}"));
    assert_ptr_equal(aph_http_number(aph_str("9223372036854775807")), aph_int(INT64_MAX));
    assert_ptr_equal(aph_http_number(aph_str("-9223372036854775808")), aph_int(INT64_MIN));
    assert_ptr_equal(aph_http_number(aph_int(5)), aph_int(5));
    static const char *const texts[] = {"", "-", "-0", "007", "9223372036854775808", "1x", "+1", " 1"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_ptr_equal(aph_http_number(aph_str(texts[i])), APH_NIL);
    assert_ptr_equal(aph_http_number(aph_bool(true)), APH_NIL);
    aph_value v;
    assert_true(aph_http_path_read(aph_str("/a/%62"), &v));
    assert_ptr_equal(v, json_of("[\"a\",\"b\"]"));
    assert_false(aph_http_path_read(aph_str("a"), &v));
    assert_false(aph_http_path_read(aph_int(1), &v));
    assert_true(aph_http_query_read(aph_str(""), &v));
    assert_ptr_equal(v, aph_object());
    assert_false(aph_http_query_read(aph_str("a=%4"), &v));
    char *words = aph_json_text(aph_http_words(q), NULL);
    assert_string_equal(words, "[\"PUT /a/x/b/7\",\" \",\"s=\",\"1\"]");
    free(words);
    words = aph_json_text(aph_http_words(json_of("{\"status\":201,\"json\":{\"id\":7}}")), NULL);
    assert_string_equal(words, "[201,\" \",{\"id\":7}]");
    free(words);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_requests, drop_heap),  cmocka_unit_test_teardown(test_responses, drop_heap),
        cmocka_unit_test_teardown(test_last, drop_heap),      cmocka_unit_test_teardown(test_malformed, drop_heap),
        cmocka_unit_test_teardown(test_written, drop_heap),   cmocka_unit_test_teardown(test_refused, drop_heap),
        cmocka_unit_test_teardown(test_helpers, drop_heap),   cmocka_unit_test_teardown(test_many_names, drop_heap),
        cmocka_unit_test_teardown(test_depth, drop_heap),     cmocka_unit_test_teardown(test_reasons, drop_heap),
        cmocka_unit_test_teardown(test_numbers, drop_heap),
        cmocka_unit_test_teardown(test_origins, drop_heap),   cmocka_unit_test_teardown(test_kept, drop_heap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

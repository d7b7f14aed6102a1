/* SPDX-License-Identifier: Apache-2.0
 *
 * test_http_words.c - HTTP messages as readable text: requests, responses, unknowns, long and hostile content; also
 * messages through a proxy. */
#include "models/http/http-model.h"
#include "models/http/proxy.h"
#include "report/message_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void text_of(const aph_model *model, const char *message, const char *expected)
{
    aphi_buffer out = {0};
    aph_value v;
    assert_true(aph_json_read(message, strlen(message), &v, NULL));
    aphi_message_words(&out, v, model->words, APHI_MESSAGE_WHOLE);
    assert_string_equal(aphi_buffer_text(&out), expected);
    aphi_buffer_free(&out);
}

static void said(const char *message, const char *expected) { text_of(&aph_model_http, message, expected); }
static void passed(const char *message, const char *expected) { text_of(&aph_model_http_proxy, message, expected); }

static void requests(void **unused)
{
    (void)unused;
    said("{\"method\":\"GET\",\"target\":\"/a\"}", "GET /a");
    said("{\"method\":\"PUT\",\"target\":\"/a\",\"body\":\"\"}", "PUT /a  \"\"");
    said("{\"method\":\"PUT\",\"target\":\"/a\",\"body\":\"abc\",\"if-none-match\":[{\"opaque\":\"x\",\"weak\":true},"
         "{\"opaque\":\"y\",\"weak\":false}]}", "PUT /a  If-None-Match: W/\"x\", \"y\"  \"abc\"");
    said("{\"method\":\"DELETE\",\"target\":\"/a\",\"if-match\":\"*\"}", "DELETE /a  If-Match: *");
    said("{\"method\":\"GET\",\"target\":\"/a\",\"range\":[0,3],\"if-range\":784111777}",
         "GET /a  Range: bytes=0-3  If-Range: 06 Nov 1994 08:49:37");
}

static void responses(void **unused)
{
    (void)unused;
    said("{\"status\":204,\"body\":\"\"}", "204");
    said("{\"status\":200,\"body\":\"\",\"tag\":{\"opaque\":\"5-1a\",\"weak\":false},\"modified\":784111777}",
         "200  ETag: \"5-1a\"  Last-Modified: 06 Nov 1994 08:49:37  \"\"");
    said("{\"status\":206,\"body\":\"ab\",\"range\":\"bytes 0-1/3\"}", "206  Content-Range: bytes 0-1/3  \"ab\"");
    said("{\"status\":404,\"body\":\"0123456789012345678901234567890123456789\"}", "404  (40 bytes)");
    said("{\"status\":200,\"body\":\"0123456789012345678901234567890123456789\"}",
         "200  \"01234567890123456789…\" (40 bytes)");
}

static void unknowns(void **unused)
{
    (void)unused;
    said("{\"status\":412,\"body\":{\"?\":0,\"sort\":\"string\"}}", "412  body ?0");
    said("{\"status\":{\"?\":1,\"sort\":\"int\"},\"tag\":{\"opaque\":{\"?\":2,\"sort\":\"string\"},\"weak\":true},"
         "\"modified\":{\"?\":3,\"sort\":\"int\"}}", "?1  ETag: W/\"?2\"  Last-Modified: ?3");
}

static void others_are_json(void **unused)
{
    (void)unused;
    said("7", "7");
    said("[1,2]", "[1,2]");
    said("{\"a\":1}", "{\"a\":1}");
    said("{\"method\":7,\"target\":\"/\"}", "{\"method\":7,\"target\":\"/\"}");
}

static void hostile_content(void **unused)
{
    (void)unused;
    said("{\"status\":200,\"body\":\"\\u001b[2J\\n\\u202e\",\"tag\":{\"opaque\":\"\\u0007\",\"weak\":false}}",
         "200  ETag: \"\\u0007\"  \"\\u001b[2J\\n\\u202e\"");
    said("{\"status\":200,\"tag\":7,\"modified\":[],\"range\":{},\"body\":[]}",
         "200  ETag: 01 Jan 1970 00:00:07  Last-Modified:   Content-Range: {}  body []");
    said("{\"status\":200,\"modified\":999999999999999}", "200  Last-Modified: 999999999999999");
}

/* Requests to a proxy, and the proxy's requests upstream. */
static void requests_through_a_proxy(void **unused)
{
    (void)unused;
    passed("{\"method\":\"GET\",\"to\":\"here\",\"target\":\"/a?b\",\"host\":\"here\","
           "\"fields\":{\"x-mark\":\"7\"}}",
           "GET http://here/a?b  x-mark: 7");
    passed("{\"method\":\"OPTIONS\",\"to\":\"here\",\"target\":\"\",\"host\":\"other.example\",\"fields\":{},"
           "\"max-forwards\":2}", "OPTIONS http://here  Host: other.example  Max-Forwards: 2");
    passed("{\"method\":\"PUT\",\"to\":\"here\",\"target\":\"/\",\"host\":\"here\",\"fields\":{},"
           "\"hop\":{\"te\":\"trailers\",\"x-hop\":\"asked\"},\"via\":[{\"protocol\":\"1.0\",\"by\":\"fred\"}],"
           "\"body\":\"abc\",\"chunked\":true}",
           "PUT http://here/  te: trailers  x-hop: asked  Connection: te, x-hop  Via: 1.0 fred  \"abc\" in chunks");
    passed("{\"method\":\"GET\",\"target\":\"*\",\"host\":\"here\",\"fields\":{\"if-modified-since\":784111777},"
           "\"body\":\"\","
           "\"via\":[{\"protocol\":\"1.0\",\"by\":\"fred\"},{\"protocol\":\"1.1\",\"by\":\"p\"}],"
           "\"more\":\"a: b\\nc: d\\n\"}",
           "GET *  Host: here  if-modified-since: 06 Nov 1994 08:49:37  Via: 1.0 fred, 1.1 p  a: b  c: d");
}

static void responses_through_a_proxy(void **unused)
{
    (void)unused;
    passed("{\"status\":204,\"fields\":{},\"body\":\"\"}", "204");
    passed("{\"status\":404,\"fields\":{\"etag\":\"\\\"5\\\"\"},\"via\":[],\"date\":-1,\"more\":\"\",\"body\":"
           "\"0123456789012345678901234567890123456789\"}", "404  etag: \"5\"  \"01234567890123456789…\" (40 bytes)");
    passed("{\"status\":200,\"fields\":{},\"date\":784111777,\"more\":\"a: b\",\"body\":\"abc\"}",
           "200  Date: 06 Nov 1994 08:49:37  a: b  \"abc\"");
    passed("{\"status\":200,\"fields\":{},\"via\":[{\"protocol\":\"1.1\",\"by\":{\"?\":0,\"sort\":\"string\"}}],"
           "\"date\":{\"?\":1,\"sort\":\"int\"},\"more\":{\"?\":2,\"sort\":\"string\"},"
           "\"body\":{\"?\":3,\"sort\":\"string\"}}",
           "200  Via: 1.1 ?0  Date: ?1  fields ?2  body ?3");
    passed("false", "closes the connection");
}

static void hostile_content_through_a_proxy(void **unused)
{
    (void)unused;
    passed("7", "7");
    passed("{\"a\":1}", "{\"a\":1}");
    passed("{\"status\":200,\"fields\":[],\"hop\":7,\"via\":{},\"more\":\"\\u001b[2J\\r\",\"body\":[]}",
           "200  \\u001b[2J\\r  body []");
    passed("{\"status\":200,\"via\":[7,{}]}", "200  Via: null null, null null");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(requests), cmocka_unit_test(responses),
                                       cmocka_unit_test(unknowns), cmocka_unit_test(others_are_json),
                                       cmocka_unit_test(hostile_content), cmocka_unit_test(requests_through_a_proxy),
                                       cmocka_unit_test(responses_through_a_proxy),
                                       cmocka_unit_test(hostile_content_through_a_proxy)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

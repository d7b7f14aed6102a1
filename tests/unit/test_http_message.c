/* SPDX-License-Identifier: Apache-2.0
 *
 * test_http_message.c - HTTP/1.1 messages: valid and invalid examples for each rule, whole and byte by byte; limits;
 * printing. */
#include "models/http/http-message.h"

#include "base/random_choice.h"
#include "base/clock.h"
#include "codec/codec_internal.h"
#include "codec/http_frame.h"
#include "random_value.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

static int drop_heap(void **unused)
{
    (void)unused;
    aph_heap_close();
    return 0;
}

/* ---- reading, at the edge of a page ------------------------------------------------------------------------------ */

typedef struct input {
    aph_side side;
    const char *bytes;
    size_t n;
    bool ended;
    const char *method; /* method of the request */
} input;

/* Returns all messages as an array; an error is "!AT WHY", an exceeded limit "?AT WHY". `chunk` bytes arrive at a time,
 * and the byte after the last one is not readable. */
static aph_value decode_all(const input *in, size_t chunk)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), size = (in->n / page + 2) * page;
    unsigned char *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(pages != MAP_FAILED);
    assert_int_equal(mprotect(pages + size - page, page, PROT_NONE), 0);
    unsigned char *end = pages + size - page;
    aph_value all = aph_array(0, NULL);
    size_t start = 0, arrived = 0;
    aph_wire w = {.side = in->side,
                  .asked = in->method ? aph_record("method", aph_str(in->method)) : APH_NIL};
    for (;;) {
        w.count = arrived - start;
        w.bytes = end - w.count;
        if (w.count)
            memcpy(end - w.count, in->bytes + start, w.count);
        w.ended = in->ended && arrived == in->n;
        aph_decoded result = aph_decode(&aphi_http_codec, &w);
        if (result == APH_MALFORMED) {
            all = aph_push(all, aph_strf("%c%zu %s", w.beyond ? '?' : '!', start + w.at, w.why));
            break;
        }
        if (result == APH_DECODED) {
            all = aph_push(all, w.message);
            start += w.used;
        } else if (arrived == in->n) {
            break;
        } else {
            arrived = in->n - arrived < chunk ? in->n : arrived + chunk;
        }
    }
    munmap(pages, size);
    return all;
}

static void expect_input(const input *in, const char *expected)
{
    for (size_t chunk = in->n ? in->n : 1; chunk; chunk = chunk > 7 ? 7 : chunk - 1) {
        char *text = aph_json_text(decode_all(in, chunk), NULL);
        if (strcmp(text, expected) != 0)
            fail_msg("%zu bytes at a time of\n%s\nexpected %s\nread     %s", chunk, in->bytes, expected, text);
        free(text);
    }
}

static void expect_answer(const char *method, const char *bytes, bool ended, const char *expected)
{
    expect_input(&(input){APH_FROM_SERVER, bytes, strlen(bytes), ended, method}, expected);
}

static void expect_request(const char *bytes, const char *expected)
{
    expect_input(&(input){APH_TO_SERVER, bytes, strlen(bytes), false, NULL}, expected);
}

static void expect_response(const char *bytes, const char *expected)
{
    expect_answer("GET", bytes, false, expected);
}

/* ---- responses --------------------------------------------------------------------------------------------------- */

#define OK "HTTP/1.1 200 OK\r\n"
#define EMPTY "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n"
#define PLAIN "{\"body\":\"\",\"date\":-1,\"fields\":{},\"more\":\"\",\"status\":200}"
#define PLAIN_BODY(body) "{\"body\":\"" body "\",\"date\":-1,\"fields\":{},\"more\":\"\",\"status\":200}"

static void fields_of_a_response_have_their_places(void **unused)
{
    (void)unused;
    expect_response(OK "Date: Tue, 14 Nov 2023 22:13:21 GMT\r\nServer: x y\r\nETag: W/\"x\"\r\n"
                       "Last-Modified: Tue, 14 Nov 2023 22:13:20 GMT\r\nContent-Length: 3\r\nKeep-Alive: timeout=5\r\n"
                       "Connection: Keep-Alive\r\nX-Empty:\r\nserver:\tagain \t\r\nTrailer: a\r\nVia: 1.1 a\r\n"
                       "VIA: 1.0 b\r\n"
                       "Content-Range: bytes 0-2/5\r\nLocation: /\r\n\r\nabc",
                    "[{\"body\":\"abc\",\"date\":1700000001,\"fields\":{\"content-range\":\"bytes 0-2/5\","
                    "\"etag\":\"W/\\\"x\\\"\",\"last-modified\":1700000000,\"via\":\"1.1 a, 1.0 b\"},"
                    "\"more\":\"server: x y\\nx-empty: \\nserver: again\\nlocation: /\\n\",\"status\":200}]");
    expect_response(EMPTY "etag:\r\netag:\r\n\r\n",
                    "[{\"body\":\"\",\"date\":-1,\"fields\":{\"etag\":\",\"},\"more\":\"\",\"status\":200}]");
}

static void tolerated_deviations(void **unused)
{
    (void)unused;
    expect_response("HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n", "[" PLAIN "]");
    expect_response("HTTP/1.1 200 \xc3\xa9 \t\r\nContent-Length: 0\r\n\r\n", "[" PLAIN "]");
    expect_response("HTTP/1.1 200 OK\nContent-Length: 1\n\nx", "[" PLAIN_BODY("x") "]");
    expect_response("HTTP/1.1 200 OK\r\nContent-Length: 1\n\r\nx" EMPTY "\n", "[" PLAIN_BODY("x") "," PLAIN "]");
    expect_response("HTTP/1.9 200 OK\r\nContent-Length: 0\r\n\r\n", "[" PLAIN "]");
    expect_response(EMPTY "Content-Length: 0\r\n\r\n", "[" PLAIN "]");
    expect_response(OK "Content-Length: 1, 1 ,01\r\nContent-Length: 1\r\n\r\nx", "[" PLAIN_BODY("x") "]");
    expect_response(OK "Content-Length: 00000000000000000000000000001\r\n\r\nx", "[" PLAIN_BODY("x") "]");
    expect_response(EMPTY "Date: Tuesday, 14-Nov-23 22:13:21 GMT\r\nLast-Modified: Tue Nov 14 22:13:20 2023\r\n\r\n",
                    "[{\"body\":\"\",\"date\":1700000001,\"fields\":{\"last-modified\":1700000000},\"more\":\"\","
                    "\"status\":200}]");
    expect_request("\r\n\n\r\nGET / HTTP/1.1\r\nHost:\r\n\r\n\r\nGET /b HTTP/1.1\nHost: h\n\n",
                   "[{\"fields\":{\"host\":\"\"},\"method\":\"GET\",\"target\":\"/\"},"
                   "{\"fields\":{\"host\":\"h\"},\"method\":\"GET\",\"target\":\"/b\"}]");
}

static void folded_lines_of_responses_are_one(void **unused)
{
    (void)unused;
    expect_response(OK "Via: 1.1 a, \r\n \t 1.0 b\r\n\t\r\n c\nX:\r\n y\r\nContent-Length:\r\n 1\r\n\r\nz",
                    "[{\"body\":\"z\",\"date\":-1,\"fields\":{\"via\":\"1.1 a, 1.0 b c\"},\"more\":\"x: y\\n\","
                    "\"status\":200}]");
    expect_response(OK "Content-Length: 1\r\n 2\r\n\r\n",
                    "[\"!33 RFC 9110 8.6: a Content-Length must have only digits\"]");
    expect_response(OK " X: y\r\n\r\n", "[\"!17 RFC 9112 2.2: a blank before the first field\"]");
    expect_request("GET / HTTP/1.1\r\nHost: h\r\n x\r\n\r\n", "[\"!25 RFC 9112 5.2: a folded line in a request\"]");
    expect_request("GET / HTTP/1.1\r\n Host: h\r\n\r\n", "[\"!16 RFC 9112 2.2: a blank before the first field\"]");
}

static void status_lines_are_strict(void **unused)
{
    (void)unused;
    static const struct {
        const char *line, *said;
    } wrong[] = {
        {"{}", "!0 RFC 9112 2.3: expected HTTP/1.1"},
        {"HTT", "!3 RFC 9112 2.3: expected HTTP/1.1"},
        {"http/1.1 200 OK", "!0 RFC 9112 2.3: expected HTTP/1.1"},
        {"HTTP/2.0 200 OK", "!5 RFC 9112 2.3: HTTP major version 2 instead of 1"},
        {"HTTP/1.x 200 OK", "!7 RFC 9112 2.3: expected HTTP/1.1"},
        {"HTTP/1.", "!7 RFC 9112 2.3: expected HTTP/1.1"},
        {"HTTP/1.1", "!8 RFC 9112 4: expected a space after the version"},
        {"HTTP/1.10 200 OK", "!8 RFC 9112 4: expected a space after the version"},
        {"HTTP/1.1  200 OK", "!9 RFC 9112 4: a status must have three digits"},
        {"HTTP/1.1 20", "!11 RFC 9112 4: a status must have three digits"},
        {"HTTP/1.1 099 OK", "!9 RFC 9110 15: a status must be a number from 100 to 599"},
        {"HTTP/1.1 600 OK", "!9 RFC 9110 15: a status must be a number from 100 to 599"},
        {"HTTP/1.1 200", "!12 RFC 9112 4: expected a space after the status, even without a reason"},
        {"HTTP/1.1 2000 OK", "!12 RFC 9112 4: expected a space after the status, even without a reason"},
        {"HTTP/1.1 200 O\x01K", "!14 RFC 9112 4: invalid byte 1 in a reason phrase"},
        {"HTTP/1.1 200 O\rK", "!14 RFC 9112 4: invalid byte 13 in a reason phrase"},
        {"", "!0 RFC 9112 4: empty line instead of a status line"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char bytes[128], expected[160];
        snprintf(bytes, sizeof bytes, "%s\r\nContent-Length: 0\r\n\r\n", wrong[i].line);
        snprintf(expected, sizeof expected, "[\"%s\"]", wrong[i].said);
        expect_response(bytes, expected);
    }
    /* The error is reported before the line is complete. */
    expect_response("SSH-2.0", "[\"!0 RFC 9112 2.3: expected HTTP/1.1\"]");
    expect_response("HTTQ", "[\"!3 RFC 9112 2.3: expected HTTP/1.1\"]");
}

static void fields_are_strict(void **unused)
{
    (void)unused;
    expect_response(OK "A : b\r\n\r\n", "[\"!18 RFC 9112 5.1: blank between a field name and the colon\"]");
    expect_response(OK "A b\r\n\r\n", "[\"!18 RFC 9112 5.1: blank between a field name and the colon\"]");
    expect_response(OK "A\r\n\r\n", "[\"!18 RFC 9112 5: expected a field name (a token) and a colon\"]");
    expect_response(OK ": b\r\n\r\n", "[\"!17 RFC 9112 5: expected a field name (a token) and a colon\"]");
    expect_response(OK "A(: b\r\n\r\n", "[\"!18 RFC 9112 5: expected a field name (a token) and a colon\"]");
    expect_response(OK "\xc3\xa9: b\r\n\r\n",
                    "[\"!17 RFC 9112 5: expected a field name (a token) and a colon\"]");
    expect_response(OK "A: b\rc\r\n\r\n", "[\"!21 RFC 9112 2.2: a CR without LF in a field's value\"]");
    expect_response(OK "A: b\r\r\n\r\n", "[\"!21 RFC 9112 2.2: a CR without LF in a field's value\"]");
    expect_response(OK "A: \x7f\r\n\r\n", "[\"!20 RFC 9110 5.5: invalid byte 127 in a field's value\"]");
    expect_input(&(input){APH_FROM_SERVER, OK "A: b\0c\r\n\r\n", 17 + 10, false, NULL},
                 "[\"!21 RFC 9110 5.5: invalid byte 0 in a field's value\"]");
    expect_response(EMPTY "Date: yesterday\r\n\r\n",
                    "[\"!42 RFC 9110 5.6.7: the value of date is not an HTTP date\"]");
    expect_response(EMPTY "Last-Modified:\r\n\r\n",
                    "[\"!50 RFC 9110 5.6.7: the value of last-modified is not an HTTP date\"]");
    expect_response(EMPTY "Date: Tue, 14 Nov 2023 22:13:21 GMT\r\nDate: Tue, 14 Nov 2023 22:13:21 GMT\r\n\r\n",
                    "[\"!42 RFC 9110 5.6.7: the value of date is not an HTTP date\"]");
}

static void informational_responses_are_skipped(void **unused)
{
    (void)unused;
    expect_response("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 \r\nLink: x\r\n\r\n" EMPTY "\r\n" EMPTY "\r\n",
                    "[" PLAIN "," PLAIN "]");
    expect_response("HTTP/1.1 101 \r\nUpgrade: x\r\n\r\n",
                    "[{\"body\":\"\",\"date\":-1,\"fields\":{},\"more\":\"upgrade: x\\n\",\"status\":101}]");
    expect_response("HTTP/1.1 100 \r\n\r\n", "[]");
    expect_answer("GET", "HTTP/1.1 100 \r\n\r\n", true,
                  "[\"!17 RFC 9112 8: the connection ends in the middle of a start line or of the fields\"]");
    expect_response("HTTP/1.1 100 \r\n\r\n\r\n",
                    "[\"!17 RFC 9112 4: empty line instead of a status line\"]");
}

static void some_responses_have_no_body(void **unused)
{
    (void)unused;
#define OTHER(status) "{\"body\":\"\",\"date\":-1,\"fields\":{},\"more\":\"\",\"status\":" status "}"
    expect_answer("HEAD", OK "Content-Length: 5\r\n\r\n" OK "Transfer-Encoding: chunked\r\n\r\n" OK "\r\n", false,
                  "[" PLAIN "," PLAIN "," PLAIN "]");
    expect_answer("HEAD", OK "Content-Length: 99999999999999999999999999\r\n\r\n", false, "[" PLAIN "]");
    expect_answer("CONNECT", OK "Content-Length: 5\r\n\r\n", false, "[" PLAIN "]");
    expect_answer("CONNECT", "HTTP/1.1 404 \r\nContent-Length: 1\r\n\r\nx", false,
                  "[{\"body\":\"x\",\"date\":-1,\"fields\":{},\"more\":\"\",\"status\":404}]");
    expect_response("HTTP/1.1 204 \r\n\r\nHTTP/1.1 304 \r\nContent-Length: 7\r\n\r\n" EMPTY "\r\n",
                    "[" OTHER("204") "," OTHER("304") "," PLAIN "]");
    expect_response("HTTP/1.1 204 \r\nContent-Length: 0\r\n\r\n",
                    "[\"!31 RFC 9110 8.6: Content-Length in a 204 response\"]");
    expect_response("HTTP/1.1 204 \r\nTransfer-Encoding: chunked\r\n\r\n",
                    "[\"!34 RFC 9112 6.1: Transfer-Encoding in a 204 response\"]");
}

static void a_length_is_strict(void **unused)
{
    (void)unused;
    static const struct {
        const char *value, *said;
    } wrong[] = {
        {"-1", "!33 RFC 9110 8.6: a Content-Length must have only digits"},
        {"+1", "!33 RFC 9110 8.6: a Content-Length must have only digits"},
        {"0x1", "!33 RFC 9110 8.6: a Content-Length must have only digits"},
        {"1 1", "!33 RFC 9110 8.6: a Content-Length must have only digits"},
        {"1.", "!33 RFC 9110 8.6: a Content-Length must have only digits"},
        {"1,", "!33 RFC 9110 8.6: a Content-Length must have at least one digit"},
        {"1, 2", "!33 RFC 9112 6.3: two different Content-Length values"},
        {"1\r\nContent-Length: 11", "!52 RFC 9112 6.3: two different Content-Length values"},
        {"18446744073709551617, 1", "!33 RFC 9112 6.3: two different Content-Length values"},
        {"18446744073709551617", "?33 the Content-Length announces a message of more than 16777216 bytes"},
        {"16777216", "?33 the Content-Length announces a message of more than 16777216 bytes"},
        {"1\r\nTransfer-Encoding: chunked", "!33 RFC 9112 6.3: Transfer-Encoding and Content-Length together"},
        {"1\r\nTransfer-Encoding: identity",
         "!55 RFC 9112 6.1: a transfer coding other than chunked, which was not requested"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char bytes[128], expected[160];
        snprintf(bytes, sizeof bytes, OK "Content-Length: %s\r\n\r\nx", wrong[i].value);
        snprintf(expected, sizeof expected, "[\"%s\"]", wrong[i].said);
        expect_response(bytes, expected);
    }
    expect_response(OK "Content-Length:\r\n\r\n",
                    "[\"!32 RFC 9110 8.6: a Content-Length must have at least one digit\"]");
    expect_answer("GET", OK "Content-Length: 3\r\n\r\nab", true,
                  "[\"!40 RFC 9112 8: the connection ends in the middle of a body, before the end given by its "
                  "Content-Length\"]");
}

/* ---- chunks ------------------------------------------------------------------------------------------------------ */

#define CHUNKED OK "Transfer-Encoding: chunked\r\n\r\n" /* 47 bytes */

static void chunks_are_put_together(void **unused)
{
    (void)unused;
    expect_response(CHUNKED "0\r\n\r\n" CHUNKED "3\r\nabc\r\n00\r\n\r\n", "[" PLAIN "," PLAIN_BODY("abc") "]");
    expect_response(CHUNKED "1\r\na\r\nA\r\n0123456789\r\n0b\r\n0123\r\n6789a\r\n0000000000000000000000000001\r\n"
                            "0\r\n0\r\n\r\n",
                    "[" PLAIN_BODY("a01234567890123\\r\\n6789a0") "]");
    expect_response(CHUNKED "1;a\r\nx\r\n1 ; a = \"b;c\" ;d\r\ny\r\n0;e\r\n\r\n", "[" PLAIN_BODY("xy") "]");
    expect_response(CHUNKED "1\r\nx\r\n0\r\nA: b\r\nc:\n d\r\n\r\n" EMPTY "\r\n", "[" PLAIN_BODY("x") "," PLAIN "]");
    expect_response(OK "Transfer-Encoding: , CHUNKED ,\r\n\r\n0\r\n\r\n", "[" PLAIN "]");
    expect_request("PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nT: u\r\n\r\n",
                   "[{\"body\":\"x\",\"fields\":{\"host\":\"h\"},\"method\":\"PUT\",\"target\":\"/\"}]");
}

static void chunks_are_strict(void **unused)
{
    (void)unused;
    static const struct {
        const char *body, *said;
    } wrong[] = {
        {"\r\n", "!47 RFC 9112 7.1: expected a chunk size in hexadecimal digits"},
        {"\n1\r\nx\r\n0\r\n\r\n", "!47 RFC 9112 7.1: expected a chunk size in hexadecimal digits"},
        {"g\r\n", "!47 RFC 9112 7.1: expected a chunk size in hexadecimal digits"},
        {"-1\r\n", "!47 RFC 9112 7.1: expected a chunk size in hexadecimal digits"},
        {" 1\r\nx", "!47 RFC 9112 7.1: expected a chunk size in hexadecimal digits"},
        {"0x1\r\n", "!48 RFC 9112 7.1: expected CRLF or a semicolon after a chunk size"},
        {"1 x\r\n", "!49 RFC 9112 7.1: expected CRLF or a semicolon after a chunk size"},
        {"1\nx\r\n", "!48 RFC 9112 7.1: expected CRLF or a semicolon after a chunk size"},
        {"1;a\nx\r\n", "!50 RFC 9112 7.1: expected CRLF or a semicolon after a chunk size"},
        {"1 \r\nx\r\n", "!49 RFC 9112 7.1: blanks after a chunk size without an extension"},
        {"1\rx", "!49 RFC 9112 7.1: expected CRLF after a chunk size"},
        {"1\r\nxy", "!51 RFC 9112 7.1: expected CRLF after a chunk"},
        {"1\r\nx\n", "!51 RFC 9112 7.1: expected CRLF after a chunk"},
        {"1\r\nx\r\n\r\n", "!53 RFC 9112 7.1: expected a chunk size in hexadecimal digits"},
        {"fffffffffffffffff\r\n", "?47 a chunk size announces a message of more than 16777216 bytes"},
        {"10000000000000001\r\nx", "?47 a chunk size announces a message of more than 16777216 bytes"},
        {"1\r\nx\r\n1000000\r\n", "?53 a chunk size announces a message of more than 16777216 bytes"},
        {"0\r\nA\r\n\r\n", "!51 RFC 9112 5: expected a field name (a token) and a colon"},
        {"0\r\n a: b\r\n\r\n", "!50 RFC 9112 2.2: a blank before the first field"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char bytes[128], expected[160];
        snprintf(bytes, sizeof bytes, CHUNKED "%s", wrong[i].body);
        snprintf(expected, sizeof expected, "[\"%s\"]", wrong[i].said);
        expect_response(bytes, expected);
    }
    static const char *const ends[] = {"", "1", "1;", "1\r", "1\r\n", "1\r\nx", "1\r\nx\r", "1\r\nx\r\n", "0\r\n",
                                       "0\r\na: b\r\n"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        char bytes[128];
        snprintf(bytes, sizeof bytes, CHUNKED "%s", ends[i]);
        char *text = aph_json_text(decode_all(&(input){APH_FROM_SERVER, bytes, strlen(bytes), true, NULL}, 1), NULL);
        assert_non_null(strstr(text, "RFC 9112 8: the connection ends in the middle of"));
        assert_int_equal(strtoul(text + 3, NULL, 10), strlen(bytes));
        free(text);
    }
}

static void other_codings_are_wrong(void **unused)
{
    (void)unused;
    expect_response(OK "Transfer-Encoding: gzip, chunked\r\n\r\n",
                    "[\"!36 RFC 9112 6.1: a transfer coding other than chunked, which was not requested\"]");
    expect_response(OK "Transfer-Encoding: chunked;a=b\r\n\r\n",
                    "[\"!36 RFC 9112 6.1: a transfer coding other than chunked, which was not requested\"]");
    expect_response(OK "Transfer-Encoding: chunkee\r\n\r\n",
                    "[\"!36 RFC 9112 6.1: a transfer coding other than chunked, which was not requested\"]");
    expect_response(OK "Transfer-Encoding: chunked, chunked\r\n\r\n", "[\"!36 RFC 9112 6.1: chunked more than once\"]");
    expect_response(CHUNKED, "[]");
    expect_response(OK "Transfer-Encoding: ,\r\n\r\n", "[\"!36 RFC 9112 6.1: empty Transfer-Encoding\"]");
    expect_response("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
                    "[\"!36 RFC 9112 6.1: Transfer-Encoding in an HTTP/1.0 message\"]");
}

/* ---- the end of the connection ----------------------------------------------------------------------------------- */

static void the_end_may_end_a_body(void **unused)
{
    (void)unused;
    expect_answer("GET", OK "\r\nabc" OK, true, "[" PLAIN_BODY("abcHTTP/1.1 200 OK\\r\\n") "]");
    expect_answer("GET", OK "\r\n", true, "[" PLAIN "]");
    expect_answer("GET", OK "\r\nabc", false, "[]");
    expect_answer("GET", "HTTP/1.0 200 OK\r\n\r\nabc", true,
                  "[{\"body\":\"abc\",\"close\":true,\"date\":-1,\"fields\":{},\"more\":\"\",\"status\":200}]");
}

static void close_is_reported(void **unused)
{
    (void)unused;
#define CLOSED "{\"body\":\"\",\"close\":true,\"date\":-1,\"fields\":{},\"more\":\"\",\"status\":200}"
    expect_response(EMPTY "Connection: close\r\n\r\n", "[" CLOSED "]");
    expect_response(EMPTY "Connection: foo , Close\r\n\r\n", "[" CLOSED "]");
    expect_response(EMPTY "Connection: foo\r\nConnection: close\r\n\r\n", "[" CLOSED "]");
    expect_response(EMPTY "Connection: closed\r\n\r\n", "[" PLAIN "]");
    expect_response(EMPTY "Connection: clone\r\n\r\n", "[" PLAIN "]");
    expect_response("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", "[" CLOSED "]");
    expect_response("HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: Keep-Alive\r\n\r\n", "[" PLAIN "]");
    expect_request("GET / HTTP/1.1\r\nConnection: close\r\nHost: h\r\n\r\n",
                   "[{\"close\":true,\"fields\":{\"host\":\"h\"},\"method\":\"GET\",\"target\":\"/\"}]");
    expect_request("GET / HTTP/1.0\r\n\r\n",
                   "[{\"close\":true,\"fields\":{\"host\":\"\"},\"method\":\"GET\",\"target\":\"/\"}]");
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

static void requests_are_read(void **unused)
{
    (void)unused;
    expect_request("PUT /a?b=%20 HTTP/1.1\r\nHost: h:80\r\nIf-Match: \"x\"\r\nIF-MATCH: \"y\"\r\nContent-Length: 2\r\n"
                   "If-Modified-Since: Tue, 14 Nov 2023 22:13:20 GMT\r\nIf-Unmodified-Since: never\r\n"
                   "TE: trailers\r\nDate: Tue, 14 Nov 2023 22:13:20 GMT\r\n\r\nxy",
                   "[{\"body\":\"xy\",\"fields\":{\"date\":\"Tue, 14 Nov 2023 22:13:20 GMT\","
                   "\"host\":\"h:80\",\"if-match\":\"\\\"x\\\", \\\"y\\\"\","
                   "\"if-modified-since\":1700000000,\"if-unmodified-since\":\"never\",\"te\":\"trailers\"},"
                   "\"method\":\"PUT\",\"target\":\"/a?b=%20\"}]");
    expect_request("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n",
                   "[{\"body\":\"\",\"fields\":{\"host\":\"h\"},\"method\":\"POST\",\"target\":\"/\"},"
                   "{\"fields\":{\"host\":\"h\"},\"method\":\"GET\",\"target\":\"/\"}]");
}

static void targets_are_strict(void **unused)
{
    (void)unused;
    static const struct {
        const char *line;
        int wrong; /* index of the first wrong byte; -1 if none */
    } lines[] = {
        {"GET /", -1}, {"GET /a/b;c=d,e:@!$&'()*+~_-.?q?/", -1}, {"GET /%aF%00", -1}, {"GET http://h:80/a?b", -1},
        {"GET http://[::1]/a", -1}, {"GET http://h", -1}, {"OPTIONS *", -1}, {"CONNECT h:80", -1},
        {"CONNECT [::1]:80", -1},
        {"G!#$%&'*+-.^_`|~9 /", -1}, {"GET //", -1},
        {"GET *", 4}, {"GET h:", 5}, {"GET a", 4}, {"GET 1:a", 4}, {"GET a:\"b", 6},
        {"GET /a#b", 6}, {"GET /%a", 5}, {"GET /%ag", 5},
        {"GET /\"", 5}, {"GET /[", 5}, {"GET /\xc3\xa9", 5}, {"GET h_p://a", 5}, {"CONNECT /", 8}, {"CONNECT h", 8},
        {"CONNECT :80", 8}, {"CONNECT h:", 8}, {"CONNECT h:80x", 12}, {"CONNECT [::1]", 8}, {"CONNECT *", 8},
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char bytes[128];
        snprintf(bytes, sizeof bytes, "%s HTTP/1.1\r\nHost: h\r\n\r\n", lines[i].line);
        char *text = aph_json_text(decode_all(&(input){APH_TO_SERVER, bytes, strlen(bytes), false, NULL}, 1), NULL);
        int wrong = text[2] == '!' ? atoi(text + 3) : -1;
        if (wrong != lines[i].wrong)
            fail_msg("%s: %s", lines[i].line, text);
        free(text);
    }
}

static void request_lines_are_strict(void **unused)
{
    (void)unused;
    static const struct {
        const char *line, *said;
    } wrong[] = {
        {"GET", "!3 RFC 9112 3.1: expected a method and a space"},
        {" GET /", "!0 RFC 9112 3.1: expected a method and a space"},
        {"GE(T /", "!2 RFC 9112 3.1: expected a method and a space"},
        {"GET  / HTTP/1.1", "!4 RFC 9112 3.2: invalid target for GET"},
        {"GET\t/ HTTP/1.1", "!3 RFC 9112 3.1: expected a method and a space"},
        {"GET /", "!5 RFC 9112 3: expected a space and the version after the target"},
        {"GET / ", "!6 RFC 9112 2.3: expected HTTP/1.1"},
        {"GET /  HTTP/1.1", "!6 RFC 9112 2.3: expected HTTP/1.1"},
        {"GET / HTTP/1.1 ", "!14 RFC 9112 3: expected the end of the line after the version"},
        {"GET / HTTP/1.11", "!14 RFC 9112 3: expected the end of the line after the version"},
        {"GET / HTTP/3.0", "!11 RFC 9112 2.3: HTTP major version 3 instead of 1"},
        {"GET / HTTP/1", "!12 RFC 9112 2.3: expected HTTP/1.1"},
        {"\n\n\n\n\n\n\n\n\nGET / HTTP/1.1", "!8 RFC 9112 2.2: too many empty lines before a request"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char bytes[128], expected[160];
        snprintf(bytes, sizeof bytes, "%s\r\nHost: h\r\n\r\n", wrong[i].line);
        snprintf(expected, sizeof expected, "[\"%s\"]", wrong[i].said);
        expect_request(bytes, expected);
    }
}

static void a_request_has_one_host(void **unused)
{
    (void)unused;
    expect_request("GET / HTTP/1.1\r\n\r\n", "[\"!17 RFC 9112 3.2: an HTTP/1.1 request without Host\"]");
    expect_request("GET / HTTP/1.1\r\nHost: h\r\nHost: h\r\n\r\n", "[\"!31 RFC 9112 3.2: more than one Host\"]");
    expect_request("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", "[\"!23 RFC 9112 3.2: Host is not a host and port\"]");
    expect_request("GET / HTTP/1.1\r\nHost: a:8x\r\n\r\n", "[\"!25 RFC 9112 3.2: Host is not a host and port\"]");
    expect_request("GET / HTTP/1.1\r\nHost: [::1\r\n\r\n", "[\"!25 RFC 9112 3.2: Host is not a host and port\"]");
    expect_request("GET / HTTP/1.1\r\nHost: [::1]:\r\n\r\n",
                   "[{\"fields\":{\"host\":\"[::1]:\"},\"method\":\"GET\",\"target\":\"/\"}]");
}

/* ---- prefixes and limits ----------------------------------------------------------------------------------------- */

static void every_prefix_is_a_beginning(void **unused)
{
    (void)unused;
    static const input whole[] = {
        {APH_FROM_SERVER, "HTTP/1.1 100 \r\n\r\n" OK "A: b\r\n c\r\nTransfer-Encoding: chunked\r\n\r\n"
                          "a;x=\"y\"\r\n\n\r\n3\r\nab\r\n\r\nb\r\n0123456789\n\r\n0\r\nT: u\r\n v\r\n\r\n", 0, false,
                          "GET"},
        {APH_FROM_SERVER, OK "Date: Tue, 14 Nov 2023 22:13:21 GMT\r\nContent-Length: 5\r\n\r\n\r\n\r\n1", 0, false,
         "GET"},
        {APH_TO_SERVER, "\r\nPUT /a HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc", 0, false, NULL},
        {APH_TO_SERVER, "PUT /a HTTP/1.1\nHost: h\nTransfer-Encoding: chunked\n\n3\r\nabc\r\n0\r\n\n", 0, false, NULL},
    };
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
        input in = whole[i];
        size_t n = strlen(in.bytes);
        for (in.n = 0; in.n <= n; in.n++) {
            for (size_t chunk = 1; chunk <= in.n + 1; chunk += in.n ? in.n : 1) {
                aph_value all = decode_all(&in, chunk);
                assert_int_equal(aph_count(all), in.n == n);
                if (in.n == n)
                    assert_int_equal(aph_kind_of(aph_at(all, 0)), APH_OBJECT);
            }
            in.ended = true; /* a truncated message is an error at its end */
            aph_value cut = aph_at(decode_all(&in, 3), 0);
            if (in.n > 0 && in.n < n)
                assert_memory_equal(aph_bytes_of(&cut, &(size_t){0}), "!", 1);
            in.ended = false;
        }
    }
}

/* Decodes `head`, `count` copies of `again`, and `tail`, in pieces. */
static aph_value decode_long(aph_side side, const char *head, const char *again, size_t count, const char *tail,
                             size_t chunk)
{
    aphi_buffer b = {0};
    aphi_buffer_str(&b, head);
    for (size_t i = 0; i < count; i++)
        aphi_buffer_str(&b, again);
    aphi_buffer_str(&b, tail);
    aph_wire w = {.side = side, .bytes = (const unsigned char *)b.data};
    aph_decoded result = APH_MORE;
    while (result == APH_MORE && w.count < b.n) {
        w.count = b.n - w.count < chunk ? b.n : w.count + chunk;
        result = aph_decode(&aphi_http_codec, &w);
    }
    aph_value said = result == APH_DECODED ? w.message : aph_strf("%c%zu %s", w.beyond ? '?' : '!', w.at,
                                                                  result == APH_MORE ? "" : w.why);
    aphi_buffer_free(&b);
    return said;
}

static void expect_long(const char *head, const char *again, size_t count, const char *tail, const char *expected)
{
    for (size_t chunk = 1; chunk < (size_t)64 << 20; chunk *= 401) {
        aph_value said = decode_long(APH_FROM_SERVER, head, again, count, tail, chunk);
        if (!expected)
            assert_int_equal(aph_kind_of(said), APH_OBJECT);
        else if (!aph_str_is(said, expected))
            fail_msg("%s", aph_json_text(said, NULL));
    }
}

static void heads_have_a_limit(void **unused)
{
    (void)unused;
    static const char said[] = "?65536 a head of more than 65536 bytes";
    expect_long(EMPTY, "A: b\r\n", 10916, "\r\n", NULL);          /* 36 + 65496 + 2 = 65534 */
    expect_long(EMPTY "A: 1", "1", 65536 - 44, "\r\n\r\n", NULL); /* exactly 65536 */
    expect_long(EMPTY "A: 1", "1", 65537 - 44, "\r\n\r\n", said);
    expect_long(EMPTY, "A: b\r\n", 10917, "\r\n", said);
    expect_long(OK, "A: b\r\n", 1000000, "", said);
    expect_long(OK "A:", "a", 1000000, "", said);
    expect_long("HTTP/1.1 200 ", "a", 1000000, "", said);
    expect_long("", "HTTP/1.1 100 \r\n\r\n", 100000, "", said);
}

static void bodies_have_a_limit(void **unused)
{
    (void)unused;
    enum { LIMIT = 16 << 20 };
    static const char beyond[] = "?16777216 a message of more than 16777216 bytes";
    char head[128], size[64];
    int n = snprintf(head, sizeof head, OK "Content-Length: %d\r\n\r\n", LIMIT - 45);
    assert_int_equal(n, 45);
    aph_value most = decode_long(APH_FROM_SERVER, head, "0123456789abcdef", LIMIT / 16, "", 1 << 16);
    assert_int_equal(aph_count(aph_field(most, "body")), LIMIT - 45);
    snprintf(head, sizeof head, OK "Content-Length: %d\r\n\r\n", LIMIT - 44);
    assert_true(aph_str_is(decode_long(APH_FROM_SERVER, head, "", 0, "", 7),
                           "?33 the Content-Length announces a message of more than 16777216 bytes"));
    assert_true(aph_str_is(decode_long(APH_FROM_SERVER, OK "\r\n", "0123456789abcdef", LIMIT / 16, "", 1 << 16),
                           beyond));
    assert_true(aph_str_is(decode_long(APH_FROM_SERVER, CHUNKED, "1\r\na\r\n", LIMIT / 6 + 1, "", 1 << 16), beyond));
    snprintf(size, sizeof size, CHUNKED "%x\r\n", LIMIT - 47 - 8 + 1);
    assert_true(aph_str_is(decode_long(APH_FROM_SERVER, size, "", 0, "", 1),
                           "?47 a chunk size announces a message of more than 16777216 bytes"));
    expect_long(CHUNKED "1;", "a", 1 << 20, "",
                "?4143 a line with a chunk size of more than 4096 bytes");
    expect_long(CHUNKED, "0", 1 << 20, "", "?4143 a line with a chunk size of more than 4096 bytes");
    expect_long(CHUNKED "0\r\n", "a: b\r\n", 1 << 20, "", "?16434 trailers of more than 16384 bytes");
}

static void a_body_to_the_end_stays_below_the_limit(void **unused)
{
    (void)unused;
    enum { LIMIT = 16 << 20 };
    char *bytes = calloc(LIMIT, 1);
    memcpy(bytes, OK "\r\n", 19);
    aph_wire w = {.side = APH_FROM_SERVER, .bytes = (unsigned char *)bytes, .count = LIMIT - 1, .ended = true};
    assert_int_equal(aph_decode(&aphi_http_codec, &w), APH_DECODED);
    assert_int_equal(aph_count(aph_field(w.message, "body")), LIMIT - 1 - 19);
    w = (aph_wire){.side = APH_FROM_SERVER, .bytes = (unsigned char *)bytes, .count = LIMIT, .ended = true};
    assert_int_equal(aph_decode(&aphi_http_codec, &w), APH_MALFORMED);
    assert_true(w.beyond);
    assert_string_equal(w.why, "a message of more than 16777216 bytes");
    free(bytes);
}

/* Byte-by-byte input is linear: a quadratic decoder would take minutes. */
static void byte_by_byte_is_linear(void **unused)
{
    (void)unused;
    int64_t began = aphi_clock_ns();
    aph_value m = decode_long(APH_FROM_SERVER, CHUNKED, "5\r\n\n\n\n\n\n\r\n", 100000, "0\r\n\r\n", 1);
    assert_int_equal(aph_count(aph_field(m, "body")), 500000);
    m = decode_long(APH_FROM_SERVER, OK "Content-Length: 1000000\r\n\r\n", "a", 1000000, "", 1);
    assert_int_equal(aph_count(aph_field(m, "body")), 1000000);
    m = decode_long(APH_TO_SERVER, "GET / HTTP/1.1\r\nHost: h\r\n", "a:b\r\n", 13000, "\r\n", 1);
    assert_int_equal(aph_count(aph_field(aph_field(m, "fields"), "a")), 3 * 13000 - 2);
    assert_true(aphi_clock_ns() - began < 100 * (int64_t)1000000000);
}

/* ---- printing ---------------------------------------------------------------------------------------------------- */

static aph_value value_of(const char *json)
{
    aph_value v;
    aph_json_error error;
    if (!aph_json_read(json, strlen(json), &v, &error))
        fail_msg("%s: %s", json, error.message);
    return v;
}

static void expect_printed(aph_side side, const char *json, const char *expected)
{
    aph_value bytes;
    bool printed = aph_encode(&aphi_http_codec, side, value_of(json), &bytes);
    if (printed != (expected != NULL))
        fail_msg("%s was %s", json, printed ? "printed" : "refused");
    if (printed && expected && !aph_str_is(bytes, expected))
        fail_msg("%s\n%s", json, aph_json_text(bytes, NULL));
}

static void requests_are_printed(void **unused)
{
    (void)unused;
    expect_printed(APH_TO_SERVER, "{\"method\":\"GET\",\"target\":\"/\"}", "GET / HTTP/1.1\r\nHost: antiphon\r\n\r\n");
    expect_printed(APH_TO_SERVER,
                   "{\"method\":\"PUT\",\"target\":\"/a\",\"fields\":{\"host\":\"h\",\"if-match\":\"\\\"x\\\"\","
                   "\"if-modified-since\":784111777,\"if-unmodified-since\":\"x\"},\"body\":\"a\\r\\n\","
                   "\"close\":true}",
                   "PUT /a HTTP/1.1\r\nhost: h\r\nif-match: \"x\"\r\n"
                   "if-modified-since: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
                   "if-unmodified-since: x\r\nContent-Length: 3\r\nConnection: close\r\n\r\na\r\n");
}

static void responses_are_printed(void **unused)
{
    (void)unused;
    expect_printed(APH_FROM_SERVER, "{\"status\":200}", "HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n");
    expect_printed(APH_FROM_SERVER, "{\"status\":204,\"body\":\"\"}", "HTTP/1.1 204 \r\n\r\n");
    expect_printed(APH_FROM_SERVER,
                   "{\"status\":412,\"fields\":{\"etag\":\"W/\\\"x\\\"\",\"last-modified\":784111777},"
                   "\"date\":784111778,"
                   "\"more\":\"server: x\\na: \\n\",\"body\":\"no\",\"close\":true}",
                   "HTTP/1.1 412 \r\ndate: Sun, 06 Nov 1994 08:49:38 GMT\r\netag: W/\"x\"\r\n"
                   "last-modified: Sun, 06 Nov 1994 08:49:37 GMT\r\nserver: x\r\na: \r\nContent-Length: 2\r\n"
                   "Connection: close\r\n\r\nno");
}

static void invalid_values_are_rejected(void **unused)
{
    (void)unused;
    static const char *const requests[] = {
        "null", "[]", "{}", "\"GET\"", "{\"method\":\"GET\"}", "{\"method\":\"\",\"target\":\"/\"}",
        "{\"method\":\"G T\",\"target\":\"/\"}", "{\"method\":\"GET\",\"target\":\"\"}",
        "{\"method\":\"GET\",\"target\":\"/ \"}",
        "{\"method\":\"GET\",\"target\":\"/\\r\\n\"}", "{\"method\":\"GET\",\"target\":\"*\"}",
        "{\"method\":\"GET\",\"target\":\"/\",\"body\":1}", "{\"method\":\"GET\",\"target\":\"/\",\"close\":false}",
        "{\"method\":\"GET\",\"target\":\"/\",\"more\":\"\"}", "{\"method\":\"GET\",\"target\":\"/\",\"fields\":[]}",
        "{\"method\":\"GET\",\"target\":\"/\",\"fields\":{\"A\":\"b\"}}",
        "{\"method\":\"GET\",\"target\":\"/\",\"fields\":{\"\":\"b\"}}",
        "{\"method\":\"GET\",\"target\":\"/\",\"fields\":{\"a \":\"b\"}}",
        "{\"method\":\"GET\",\"target\":\"/\",\"fields\":{\"a\":\" b\"}}",
        "{\"method\":\"GET\",\"target\":\"/\",\"fields\":{\"a\":\"b\\t\"}}",
        "{\"method\":\"GET\",\"target\":\"/\",\"fields\":{\"a\":1}}",
        "{\"method\":\"GET\",\"target\":\"/\",\"fields\":{\"a\":\"b\\r\\nc: d\"}}",
        "{\"method\":\"GET\",\"target\":\"/\",\"fields\":{\"a\":\"b\\u0000c\"}}",
        "{\"method\":\"GET\",\"target\":\"/\",\"fields\":{\"content-length\":\"1\"}}",
        "{\"method\":\"GET\",\"target\":\"/\",\"fields\":{\"transfer-encoding\":\"chunked\"}}",
        "{\"method\":\"GET\",\"target\":\"/\",\"fields\":{\"connection\":\"close\"}}",
        "{\"method\":\"GET\",\"target\":\"/\",\"fields\":{\"host\":\"a b\"}}",
        "{\"method\":\"GET\",\"target\":\"/\",\"fields\":{\"if-modified-since\":1000000000000}}",
        "{\"method\":\"GET\",\"target\":\"/\",\"fields\":{\"if-modified-since\":\"Sun, 06 Nov 1994 08:49:37 GMT\"}}",
    };
    static const char *const responses[] = {
        "null", "{}", "{\"status\":\"200\"}", "{\"status\":100}", "{\"status\":199}", "{\"status\":600}",
        "{\"status\":4294967496}",
        "{\"status\":204,\"body\":\"x\"}", "{\"status\":304,\"body\":\"x\"}", "{\"status\":200,\"body\":null,\"x\":1}",
        "{\"status\":200,\"date\":\"now\"}", "{\"status\":200,\"date\":1000000000000}", "{\"status\":200,\"close\":1}",
        "{\"status\":200,\"fields\":{\"server\":\"x\"}}", "{\"status\":200,\"fields\":{\"last-modified\":\"x\"}}",
        "{\"status\":200,\"more\":1}", "{\"status\":200,\"more\":\"a: b\"}", "{\"status\":200,\"more\":\"a:b\\n\"}",
        "{\"status\":200,\"more\":\"a\\nb: c\\n\"}", "{\"status\":200,\"more\":\"a: b \\n\"}",
        "{\"status\":200,\"more\":\"A: b\\n\"}",
        "{\"status\":200,\"more\":\"a: b\\r\\n\"}", "{\"status\":200,\"more\":\"\\n\"}",
        "{\"status\":200,\"more\":\"etag: b\\n\"}",
        "{\"status\":200,\"more\":\"date: b\\n\"}", "{\"status\":200,\"more\":\"content-length: 1\\n\"}",
        "{\"status\":200,\"more\":\"keep-alive: b\\n\"}",
    };
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++)
        expect_printed(APH_TO_SERVER, requests[i], NULL);
    for (size_t i = 0; i < sizeof responses / sizeof *responses; i++)
        expect_printed(APH_FROM_SERVER, responses[i], NULL);
    aph_value unknown = aph_record("status", aph_symbol(APH_INT, 1)), bytes;
    assert_false(aph_encode(&aphi_http_codec, APH_FROM_SERVER, unknown, &bytes));
}

static void long_heads_are_not_printed(void **unused)
{
    (void)unused;
    char *text = malloc(65536);
    memset(text, 'a', 65536);
    static const size_t around = 65536 - sizeof "GET / HTTP/1.1\r\nHost: antiphon\r\na: \r\n\r\n" + 1;
    for (size_t more = 0; more < 2; more++) {
        aph_value fields = aph_record("a", aph_bytes(text, around + more)), bytes;
        aph_value m = aph_record("method", aph_str("GET"), "target", aph_str("/"), "fields", fields);
        assert_int_equal(aph_encode(&aphi_http_codec, APH_TO_SERVER, m, &bytes), more == 0);
    }
    free(text);
}

static void many_fields_are_printed(void **unused)
{
    (void)unused;
    aph_value fields = aph_record("host", aph_str("h")), bytes;
    for (int i = 0; i < 3000; i++)
        fields = aph_set(fields, aph_strf("x-%d", i), aph_strf("value %d", i));
    aph_value m = aph_record("method", aph_str("GET"), "target", aph_str("/"), "fields", fields);
    assert_true(aph_encode(&aphi_http_codec, APH_TO_SERVER, m, &bytes));
    aph_wire w = {.side = APH_TO_SERVER};
    w.bytes = (const unsigned char *)aph_bytes_of(&bytes, &w.count);
    assert_int_equal(aph_decode(&aphi_http_codec, &w), APH_DECODED);
    assert_ptr_equal(w.message, m);
}

/* ---- print, then read -------------------------------------------------------------------------------------------- */

static aph_value random_text(aphi_choice *c, const char *alphabet, size_t most)
{
    char text[64];
    size_t n = aphi_choice_below(c, most + 1);
    for (size_t i = 0; i < n; i++)
        text[i] = alphabet[aphi_choice_below(c, strlen(alphabet))];
    aphi_span s = aphi_trim((aphi_span){text, n});
    return aph_bytes(s.text, s.n);
}

static aph_value random_field(aphi_choice *c)
{
    return random_text(c, "ab\"\\,;: \t/W*-\xc3\xa9" "9", 20);
}

static aph_value random_second(aphi_choice *c)
{
    return aph_int((int64_t)aphi_choice_below(c, 253402300800));
}

static aph_value random_request(aphi_choice *c)
{
    static const char *const methods[] = {"GET", "HEAD", "PUT", "POST", "DELETE", "PATCH"};
    static const char *const dates[] = {"last-modified", "if-modified-since", "if-unmodified-since"};
    aph_value fields = aph_record("host", random_text(c, "ab.1", 5));
    for (uint64_t n = aphi_choice_below(c, 20); n; n--)
        fields = aph_set(fields, aph_concat(aph_str("x-"), random_text(c, "ab-_9", 4)), random_field(c));
    if (aphi_choice_chance(c, 1, 3))
        fields = aph_set(fields, aph_str(dates[aphi_choice_below(c, 3)]),
                         aphi_choice_chance(c, 1, 2) ? random_second(c) : random_field(c));
    aph_value m = aph_record("method", aph_str(methods[aphi_choice_below(c, 6)]), "target",
                             aph_concat(aph_str("/"), random_text(c, "ab/?=&.", 8)), "fields", fields);
    if (aphi_choice_chance(c, 1, 2))
        m = aph_put(m, "body", random_bytes(c, 60));
    return aphi_choice_chance(c, 1, 4) ? aph_put(m, "close", aph_bool(true)) : m;
}

static aph_value random_response(aphi_choice *c)
{
    static const int codes[] = {101, 200, 201, 204, 206, 304, 404, 412, 500, 599};
    int status = codes[aphi_choice_below(c, sizeof codes / sizeof *codes)];
    aph_value fields = aph_object(), more = aph_str("");
    if (aphi_choice_chance(c, 1, 2))
        fields = aph_put(fields, "etag", random_field(c));
    if (aphi_choice_chance(c, 1, 2))
        fields = aph_put(fields, "last-modified", random_second(c));
    if (aphi_choice_chance(c, 1, 4))
        fields = aph_put(fields, "via", random_field(c));
    for (uint64_t n = aphi_choice_below(c, 6); n; n--) {
        aph_value name = aph_concat(aph_str("x-"), random_text(c, "ab-_9", 4));
        more = aph_concat(aph_concat(aph_concat(more, name), aph_concat(aph_str(": "), random_field(c))),
                          aph_str("\n"));
    }
    bool empty = status == 101 || status == 204 || status == 304;
    aph_value m = aph_record("status", aph_int(status), "fields", fields, "date",
                             aphi_choice_chance(c, 1, 4) ? aph_int(-1) : random_second(c), "more", more, "body",
                             empty ? aph_str("") : random_bytes(c, 60));
    return aphi_choice_chance(c, 1, 4) ? aph_put(m, "close", aph_bool(true)) : m;
}

static void printed_messages_decode_to_the_same(void **unused)
{
    (void)unused;
    aphi_choice c = aphi_choice_seed(4);
    for (int i = 0; i < 20000; i++) {
        aph_side side = i % 2 ? APH_TO_SERVER : APH_FROM_SERVER;
        aph_value m = i % 2 ? random_request(&c) : random_response(&c), bytes;
        if (!aph_encode(&aphi_http_codec, side, m, &bytes))
            fail_msg("not printed: %s", aph_json_text(m, NULL));
        aph_wire w = {.side = side};
        w.bytes = (const unsigned char *)aph_bytes_of(&bytes, &w.count);
        size_t step = 1 + aphi_choice_below(&c, w.count), all = w.count;
        aph_decoded result = APH_MORE;
        for (w.count = 0; result == APH_MORE && w.count < all;) {
            w.count = all - w.count < step ? all : w.count + step;
            result = aph_decode(&aphi_http_codec, &w);
        }
        if (result != APH_DECODED || w.message != m || w.used != all)
            fail_msg("printed %s\nread %s %s", aph_json_text(m, NULL),
                     result == APH_DECODED ? aph_json_text(w.message, NULL) : w.why, aph_json_text(bytes, NULL));
        if (i % 1000 == 0)
            aph_collect();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_of_a_response_have_their_places),
        cmocka_unit_test(tolerated_deviations),
        cmocka_unit_test(folded_lines_of_responses_are_one),
        cmocka_unit_test(status_lines_are_strict),
        cmocka_unit_test(fields_are_strict),
        cmocka_unit_test(informational_responses_are_skipped),
        cmocka_unit_test(some_responses_have_no_body),
        cmocka_unit_test(a_length_is_strict),
        cmocka_unit_test(chunks_are_put_together),
        cmocka_unit_test(chunks_are_strict),
        cmocka_unit_test(other_codings_are_wrong),
        cmocka_unit_test(the_end_may_end_a_body),
        cmocka_unit_test(close_is_reported),
        cmocka_unit_test(requests_are_read),
        cmocka_unit_test(targets_are_strict),
        cmocka_unit_test(request_lines_are_strict),
        cmocka_unit_test(a_request_has_one_host),
        cmocka_unit_test(every_prefix_is_a_beginning),
        cmocka_unit_test(heads_have_a_limit),
        cmocka_unit_test(bodies_have_a_limit),
        cmocka_unit_test(a_body_to_the_end_stays_below_the_limit),
        cmocka_unit_test(byte_by_byte_is_linear),
        cmocka_unit_test(requests_are_printed),
        cmocka_unit_test(responses_are_printed),
        cmocka_unit_test(invalid_values_are_rejected),
        cmocka_unit_test(long_heads_are_not_printed),
        cmocka_unit_test(many_fields_are_printed),
        cmocka_unit_test(printed_messages_decode_to_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, drop_heap);
}

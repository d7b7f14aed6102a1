/* SPDX-License-Identifier: Apache-2.0
 *
 * test_http_model.c - histories that RFC 9110 allows or forbids: the order of conditions, optional fields, refusals.
 * Each is checked with and without lookahead. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include "models/models.h"
#include "small_history.h"

/* In the histories below, ' stands for ". */
#define GET "1>{'method':'GET','target':'/a'} "
#define GET_IF(conditions) "1>{'method':'GET','target':'/a'," conditions "} "
#define HEAD_IF(conditions) "1>{'method':'HEAD','target':'/a'," conditions "} "
#define PUT(body) "1>{'method':'PUT','target':'/a','body':'" body "'} "
#define PUT_IF(body, conditions) "1>{'method':'PUT','target':'/a','body':'" body "'," conditions "} "
#define POST "1>{'method':'POST','target':'/a','body':'p'} "
#define DELETE "1>{'method':'DELETE','target':'/a'} "
#define DELETE_IF(conditions) "1>{'method':'DELETE','target':'/a'," conditions "} "
#define SAYS(status) "1<{'status':" #status ",'body':''} "
#define SAYS_MORE(status, more) "1<{'status':" #status ",'body':''," more "} "
#define TAG(opaque) "'tag':{'opaque':'" opaque "','weak':false}"
#define WEAK(opaque) "'tag':{'opaque':'" opaque "','weak':true}"
#define SHOWS(body, opaque, time) "1<{'status':200,'body':'" body "'," TAG(opaque) ",'modified':" #time "} "
#define THERE GET SHOWS("abcdef", "x", 1000)
#define MATCH(opaque) "'if-match':['" opaque "']"
#define NONE_MATCH(opaque) "'if-none-match':['" opaque "']"
#define UNMODIFIED(time) "'if-unmodified-since':" #time
#define MODIFIED(time) "'if-modified-since':" #time
#define NOT_MODIFIED SAYS_MORE(304, TAG("x"))

/* Checks the verdict with and without lookahead, and with and without the model's promises. */
static void verdict_of(const char *text, const char *waiver, aph_verdict expected)
{
    aph_model model = aph_model_http;
    char json[2048];
    assert_true(strlen(text) < sizeof json);
    strcpy(json, text);
    for (char *quote = json; (quote = strchr(quote, '\''));)
        *quote = '"';
    for (size_t i = 0; waiver && model.waivers[i].name; i++)
        model.waived |= (uint64_t)!strcmp(model.waivers[i].name, waiver) << i;
    assert_true(!waiver || model.waived);
    small_history h = small_read(json);
    for (int mode = 0; mode < 4; mode++) {
        aph_oracle *o = small_open(&model, &(aph_oracle_options){.environment = "tcp", .ignore_promises = mode & 2});
        small_feed_all(o, &h, mode & 1);
        if (o->verdict != expected)
            fail_msg("%s (%s%s): %s, not %s", text, mode & 1 ? "foreseen" : "open", mode & 2 ? ", distrust" : "",
                     aph_verdict_name(o->verdict), aph_verdict_name(expected));
        aph_oracle_close(o);
    }
}

static void may(const char *text) { verdict_of(text, NULL, APH_PASS); }
static void must_not(const char *text) { verdict_of(text, NULL, APH_FAIL); }

/* The history is forbidden without the waiver and allowed with it. */
static void waived(const char *waiver, const char *text)
{
    must_not(text);
    verdict_of(text, waiver, APH_PASS);
}

/* ---- conditions -------------------------------------------------------------------------------------------------- */

/* 13.2.2, 13.1.4: If-Unmodified-Since is ignored with If-Match. */
static void if_match_comes_first(void **unused)
{
    (void)unused;
    may(THERE GET_IF(MATCH("x") "," UNMODIFIED(1)) SHOWS("abcdef", "x", 1000));
    waived("if-unmodified-since-beside-if-match", THERE GET_IF(MATCH("x") "," UNMODIFIED(1)) SAYS(412));
    may(THERE PUT_IF("b", MATCH("x") "," UNMODIFIED(1)) SAYS(204));
    waived("if-unmodified-since-beside-if-match", THERE PUT_IF("b", MATCH("x") "," UNMODIFIED(1)) SAYS(412));
    may(THERE GET_IF(MATCH("y") "," UNMODIFIED(1000)) SAYS(412));
    must_not(THERE GET_IF(MATCH("y") "," UNMODIFIED(1000)) SHOWS("abcdef", "x", 1000));
    must_not(THERE PUT_IF("b", MATCH("y") "," UNMODIFIED(1000)) SAYS(204));
}

/* 13.1.3: If-Modified-Since is ignored with If-None-Match. */
static void if_none_match_comes_before_dates(void **unused)
{
    (void)unused;
    may(THERE GET_IF(NONE_MATCH("x") "," MODIFIED(1)) NOT_MODIFIED);
    waived("if-modified-since-beside-if-none-match",
           THERE GET_IF(NONE_MATCH("x") "," MODIFIED(1)) SHOWS("abcdef", "x", 1000));
    may(THERE GET_IF(NONE_MATCH("y") "," MODIFIED(1000)) SHOWS("abcdef", "x", 1000));
    must_not(THERE GET_IF(NONE_MATCH("y") "," MODIFIED(1000)) NOT_MODIFIED);
    may(THERE GET_IF(MODIFIED(1000)) SHOWS("abcdef", "x", 1000)); /* without If-None-Match, 304 is only recommended */
    may(THERE GET_IF(MODIFIED(1000)) NOT_MODIFIED);
    must_not(THERE GET_IF(MODIFIED(999)) NOT_MODIFIED);
    may(THERE PUT_IF("b", MODIFIED(1000)) SAYS(204)); /* If-Modified-Since applies to GET and HEAD only */
    must_not(THERE PUT_IF("b", MODIFIED(1000)) SAYS(412));
}

/* 13.2.2: 412 has precedence over 304. */
static void first_412_then_304(void **unused)
{
    (void)unused;
    may(THERE GET_IF(MATCH("y") "," NONE_MATCH("x")) SAYS(412));
    must_not(THERE GET_IF(MATCH("y") "," NONE_MATCH("x")) NOT_MODIFIED);
    may(THERE GET_IF(MATCH("x") "," NONE_MATCH("x")) NOT_MODIFIED);
    must_not(THERE GET_IF(MATCH("x") "," NONE_MATCH("x")) SAYS(412));
    may(THERE GET_IF(UNMODIFIED(1) "," NONE_MATCH("x")) SAYS(412));
    must_not(THERE GET_IF(UNMODIFIED(1) "," NONE_MATCH("x")) NOT_MODIFIED);
    waived("if-none-match-beside-others",
           THERE GET_IF(UNMODIFIED(1000) "," NONE_MATCH("x")) SHOWS("abcdef", "x", 1000));
    may(THERE PUT_IF("b", MATCH("x") "," NONE_MATCH("y")) SAYS(204));
    may(THERE PUT_IF("b", MATCH("x") "," NONE_MATCH("x")) SAYS(412));
    must_not(THERE PUT_IF("b", MATCH("x") "," NONE_MATCH("x")) SAYS(204));
    must_not(THERE DELETE_IF(UNMODIFIED(1) "," NONE_MATCH("y")) SAYS(204));
}

/* 13.2.2: a range is evaluated last. */
static void ranges_come_last(void **unused)
{
    (void)unused;
    may(THERE GET_IF(NONE_MATCH("x") ",'range':[0,1],'if-range':'y'") NOT_MODIFIED);
    waived("if-none-match-beside-others",
           THERE GET_IF(NONE_MATCH("x") ",'range':[0,1],'if-range':'y'") SHOWS("abcdef", "x", 1000));
    must_not(THERE GET_IF(MATCH("y") ",'range':[9,9]") SAYS(416));
    waived("if-unmodified-since-range-ignored",
           THERE GET_IF(UNMODIFIED(1) ",'range':[9,9]") SAYS_MORE(416, "'range':'bytes\\u0020*/6'"));
    waived("if-none-match-strong",
           THERE GET_IF("'if-none-match':[{'opaque':'x','weak':true}],'range':[9,9]") SAYS(416));
}

static void other_deviations(void **unused)
{
    (void)unused;
    waived("if-match-beside-star", DELETE SAYS(404) PUT_IF("b", MATCH("x") ",'if-none-match':'*'") SAYS(201));
    waived("epoch-is-no-date", THERE GET_IF(UNMODIFIED(0)) SHOWS("abcdef", "x", 1000));
    waived("last-modified-ahead", GET "1<{'status':200,'body':'a','modified':1000,'date':999} ");
}

/* 13.1.1, 13.1.4: a write that is already applied may succeed, but not if If-None-Match is false. */
static void writes_already_applied(void **unused)
{
    (void)unused;
    may(THERE PUT_IF("abcdef", MATCH("y")) SAYS(204));
    may(THERE PUT_IF("abcdef", UNMODIFIED(1)) SAYS(200));
    may(THERE PUT_IF("abcdef", MATCH("y")) SAYS(204) GET SHOWS("abcdef", "x", 1000));
    must_not(THERE PUT_IF("abcdef", MATCH("y")) SAYS(204) GET SHOWS("abcdef", "z", 1000)); /* no write was done */
    must_not(THERE PUT_IF("other", MATCH("y")) SAYS(204));
    must_not(THERE PUT_IF("abcdef", NONE_MATCH("x")) SAYS(204));
    may(DELETE SAYS(204) DELETE_IF(MATCH("y")) SAYS(204));
    may(DELETE SAYS(204) DELETE_IF(MATCH("y")) SAYS(412));
    must_not(THERE DELETE_IF(MATCH("y")) SAYS(204));
}

/* ---- optional and required fields -------------------------------------------------------------------------------- */

/* 9.3.2 */
static void head_may_omit_fields(void **unused)
{
    (void)unused;
    may(THERE HEAD_IF("'range':[0,1]") SAYS(200));
    may(THERE HEAD_IF(NONE_MATCH("x")) SAYS(304));
    must_not(THERE HEAD_IF(NONE_MATCH("y")) SAYS_MORE(200, TAG("z")));
    must_not(THERE GET "1<{'status':200,'body':'abcdef'} ");
    must_not(THERE GET_IF(NONE_MATCH("x")) SAYS(304));
}

/* 15.3.7, 14.4 */
static void parts(void **unused)
{
    (void)unused;
#define PART(body, range) \
    "1<{'status':206,'body':'" body "','range':'bytes\\u0020" range "'," TAG("x") ",'modified':1000} "
#define ASK GET_IF("'range':[1,4]")
    may(THERE ASK PART("bcde", "1-4/6"));
    may(THERE ASK PART("bcde", "1-4/*"));
    may(THERE ASK PART("b", "1-1/6"));
    may(THERE ASK PART("cd", "2-3/*"));
    must_not(THERE ASK PART("bcd", "1-4/6"));
    must_not(THERE ASK PART("bcdef", "1-5/6"));
    must_not(THERE ASK PART("ab", "0-1/6"));
    must_not(THERE ASK PART("bx", "1-2/6"));
    must_not(THERE ASK PART("bcde", "1-4/7"));
    must_not(THERE ASK "1<{'status':206,'body':'bcde','range':'bytes\\u00201-4/6','modified':1000} ");
    must_not(THERE ASK "1<{'status':206,'body':'bcde','range':'bytes\\u00201-4/6'," TAG("x") "} ");
    may(THERE GET_IF("'range':[1,4],'if-range':'x'")
            "1<{'status':206,'body':'bcde','range':'bytes\\u00201-4/6'," TAG("x") "} ");
}

/* 9.3.5, 15.5.11 */
static void nothing_to_delete(void **unused)
{
    (void)unused;
    may(DELETE SAYS(204) DELETE SAYS(204) DELETE SAYS(404) GET SAYS(404));
    may(DELETE SAYS(410) GET SAYS(410) GET SAYS(404));
    may(DELETE SAYS(200) GET SAYS(404));
    may(THERE DELETE SAYS(202) GET SHOWS("abcdef", "x", 1000) GET SAYS(404));
    must_not(THERE DELETE SAYS(202) GET SAYS(404) GET SHOWS("abcdef", "x", 1000));
    must_not(THERE DELETE SAYS(204) GET SHOWS("abcdef", "x", 1000));
    must_not(THERE DELETE SAYS(410));
    must_not(THERE GET SAYS(410));
    must_not(DELETE SAYS(204) PUT("a") SAYS(204));
}

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

/* 9.1, 15.5.6, 15.6.2 */
static void methods_may_be_unsupported(void **unused)
{
    (void)unused;
    may(THERE PUT("b") SAYS_MORE(405, "'allow':true") GET SHOWS("abcdef", "x", 1000));
    waived("405-without-allow", THERE PUT("b") SAYS(405));
    waived("405-without-allow", THERE POST SAYS(405));
    may(THERE PUT("b") SAYS(501) DELETE SAYS(501) POST SAYS(501) GET SHOWS("abcdef", "x", 1000));
    may(THERE PUT("b") SAYS(413) DELETE SAYS(403) POST SAYS(303));
    may(THERE POST SAYS(302) POST SAYS(307) POST SAYS(308));
    must_not(THERE POST SAYS(304));
    must_not(THERE PUT("b") SAYS(501) GET "1<{'status':200,'body':'b'} ");
    must_not(THERE PUT("b") SAYS(412));
    must_not(THERE PUT("b") SAYS(303));
    must_not(THERE GET SAYS(501));
    must_not(THERE GET SAYS_MORE(405, "'allow':true"));
}

/* 15.6: the effect of a failed write is unknown; a read has no effect. */
static void failures_at_any_time(void **unused)
{
    (void)unused;
    may(GET SAYS(503) THERE GET SAYS(500) GET SAYS(429) GET SAYS(403) GET SHOWS("abcdef", "x", 1000));
    may(THERE GET SAYS(400) GET SAYS(401) GET SAYS(408) GET SAYS(421) GET SAYS(428) GET SAYS(431) GET SAYS(451)
            GET SAYS(502) GET SAYS(504) DELETE SAYS(409) PUT("b") SAYS(428) GET SHOWS("abcdef", "x", 1000));
    may(THERE GET SAYS(402) GET SAYS(406) GET SAYS(414) GET SAYS(499) GET SAYS(599) PUT("b") SAYS(422) DELETE SAYS(423)
            GET SHOWS("abcdef", "x", 1000));
    may(THERE PUT("b") SAYS(508) GET "1<{'status':200,'body':'b'} ");
    must_not(THERE PUT("b") SAYS(422) GET "1<{'status':200,'body':'b'} ");
    must_not(THERE GET SAYS(407));
    must_not(THERE GET SAYS(600));
    may(THERE PUT("b") SAYS(503) GET SHOWS("abcdef", "x", 1000));
    may(THERE PUT("b") SAYS(500) GET "1<{'status':200,'body':'b'} ");
    may(THERE DELETE SAYS(500) GET SAYS(404));
    must_not(THERE PUT("b") SAYS(429) GET "1<{'status':200,'body':'b'} ");
    must_not(THERE GET SAYS(503) GET "1<{'status':200,'body':'b'} ");
    must_not(THERE GET SAYS(404));
    must_not(THERE GET SAYS(412));
}

/* ---- tags -------------------------------------------------------------------------------------------------------- */

/* 8.8.1: a strong tag identifies one content forever. */
static void strong_tags_identify_one_content(void **unused)
{
    (void)unused;
    must_not(THERE PUT("b") SAYS(204) GET SHOWS("b", "x", 1001));
    must_not(THERE PUT("b") SAYS(204) GET SHOWS("b", "y", 1001) PUT("cc") SAYS(204) GET SHOWS("cc", "x", 1002));
    must_not(THERE DELETE SAYS(204) PUT("b") SAYS(201) GET SHOWS("b", "x", 1001));
    must_not(THERE POST SAYS(200) PUT("b") SAYS(204) GET SHOWS("b", "x", 1001));
    may(THERE PUT("b") SAYS(204) GET SHOWS("b", "y", 1001) PUT("abcdef") SAYS(204) GET SHOWS("abcdef", "x", 1002));
    may(THERE PUT("fedcba") SAYS(204) GET SHOWS("fedcba", "x", 1000)); /* the date does not change within a second */
    /* The model remembers three replaced contents, even those that were never returned. */
    must_not(THERE PUT("a") SAYS(204) PUT("b") SAYS(204) PUT("c") SAYS(204) GET SHOWS("c", "x", 1002));
    may(THERE PUT("a") SAYS(204) PUT("b") SAYS(204) PUT("c") SAYS(204) PUT("d") SAYS(204) GET SHOWS("d", "x", 1002));
    may(THERE PUT("b") SAYS(204) GET "1<{'status':200,'body':'b'," WEAK("x") "} ");
}

/* A response with content may be in flight while other requests are applied. */
static void content_in_flight(void **unused)
{
    (void)unused;
    may(GET PUT("fedcba") SHOWS("abcdef", "x", 1000) SAYS(204) GET SHOWS("fedcba", "x", 1000));
    must_not(GET PUT("b") SHOWS("abcdef", "x", 1000) SAYS(204) GET GET SHOWS("b", "y", 1000) SHOWS("c", "y", 1000));
}

/* 8.8.3: an invalid tag is reported with the clause and its position. */
static void invalid_tags(void **unused)
{
    (void)unused;
    static const char *const wrong[] = {"x", "\"x", "w/\"x\"", "\"x y\"", "\"x\", \"y\""};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char bytes[100];
        int n = snprintf(bytes, sizeof bytes, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nETag: %s\r\n\r\n", wrong[i]);
        aph_wire w = {.side = APH_FROM_SERVER, .bytes = (const unsigned char *)bytes, .count = (size_t)n};
        assert_int_equal(aph_decode(aph_model_http.codec, &w), APH_MALFORMED);
        assert_string_equal(w.why, "RFC 9110 8.8.3: invalid value of etag");
        assert_int_equal(w.at, strstr(bytes, "ETag: ") + 6 - bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(if_match_comes_first),
        cmocka_unit_test(if_none_match_comes_before_dates),
        cmocka_unit_test(first_412_then_304),
        cmocka_unit_test(ranges_come_last),
        cmocka_unit_test(other_deviations),
        cmocka_unit_test(writes_already_applied),
        cmocka_unit_test(head_may_omit_fields),
        cmocka_unit_test(parts),
        cmocka_unit_test(nothing_to_delete),
        cmocka_unit_test(methods_may_be_unsupported),
        cmocka_unit_test(failures_at_any_time),
        cmocka_unit_test(strong_tags_identify_one_content),
        cmocka_unit_test(content_in_flight),
        cmocka_unit_test(invalid_tags),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

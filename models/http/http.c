/* SPDX-License-Identifier: Apache-2.0
 *
 * http.c - an HTTP/1.1 server of resources that are read, written and deleted: RFC 9110 with conditional requests.
 *
 *     {"method": "GET", "target": "/a"}                 {"status": 200, "tag": TAG, "modified": TIME, "body": "..."}
 *     {"method": "PUT", "target": "/a", "body": "..."}  {"status": 201, "body": ""}
 *
 * A request may have conditions: "if-match" and "if-none-match", an array of TAGs or "*"; "if-modified-since" and
 * "if-unmodified-since", a TIME; "if-range", a TAG or a TIME, with "range", [FIRST, LAST]. TAG is {"opaque": STRING,
 * "weak": BOOL}, or in a request a STRING, which is short for a strong one; TIME is in seconds. What is on the wire
 * besides is wire.c's affair: "chunked" and "expect" say how a request is sent.
 *
 * Idea:       All that the server may choose is a choice: which validators it has, whether it shows them, which of the
 *             statuses that fit. What the answer will have is foretold as soon as it is certain, so that no time is
 *             lost on choices that it does not show.
 * State:      resource.c has what is there, conditions.c what conditions say of it.
 * Read next:  resource.c, conditions.c, wire.c, requests.c, docs/http.md */
#include "http.h"
#include "resource.h"
#include "syntax.h"

enum { SPAN_MAX = 8 }; /* bytes of a range of which every part is looked at */

/* ---- answers ----------------------------------------------------------------------------------------------------- */

typedef struct said {
    aph_value status, body, tag, modified, range, allow, date; /* APH_NIL: it has no such field */
} said;

static aph_value message_of(const said *s)
{
    const struct field {
        const char *name;
        aph_value v;
    } fields[] = {{"allow", s->allow},   {"body", s->body},     {"date", s->date}, {"modified", s->modified},
                  {"range", s->range},   {"status", s->status}, {"tag", s->tag}};
    const void *pairs[2 * sizeof fields / sizeof *fields];
    size_t n = 0;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (fields[i].v) {
            pairs[n++] = fields[i].name;
            pairs[n++] = fields[i].v;
        }
    return aph_record_(pairs, n);
}

static aph_value any_body(aph *m) { return aph_choose_shown(m, APH_STR, "body", "any body"); }

static said answer(aph *m, int status, aph_value body)
{
    aph_foretell(m, "status", aph_int(status));
    return (said){.status = aph_int(status), .body = body ? body : any_body(m)};
}

/* One of these statuses, which need not be told apart. */
static said answer_within(aph *m, int first, int last, const char *name, aph_value body)
{
    aph_value status = aph_choose_within_shown(m, first, last, "status", name);
    return (said){.status = status, .body = body ? body : any_body(m)};
}

static aph_value no_body(aph_value request) { return aphi_http_is_method(request, "HEAD") ? aph_str("") : APH_NIL; }

/* What a request that failed is told is for people. */
static said answer_failed(aph *m, aph_value request, int status) { return answer(m, status, no_body(request)); }

static said with_range(aph *m, said s, aph_value range)
{
    aph_foretell(m, "range", range);
    s.range = range;
    return s;
}

static said with_tag(aph *m, said s, aphi_http_resource *r)
{
    s.tag = aphi_http_show_tag(m, r);
    return s;
}

static said with_date(aph *m, said s, aphi_http_resource *r)
{
    s.modified = aphi_http_modified(m, r, true);
    return s;
}

/* Where a server may show them, and need not. That there are none to be shown is as good as not to show them. */
static said perhaps_with_date(aph *m, said s, aphi_http_resource *r)
{
    if (r->modified == aphi_http_none() ||
        aph_either_foretold(m, "modified", APH_VALUES(APH_NIL, APH_SOME), "no date is shown there",
                            "the date is shown there") == 0) {
        aph_foretell(m, "modified", APH_NIL);
        return s;
    }
    s = with_date(m, s, r);
    if (!s.modified)
        aph_never(m);
    return s;
}

static said perhaps_with_tag(aph *m, said s, aphi_http_resource *r)
{
    if (r->tag == aphi_http_none() ||
        aph_either_foretold(m, "tag", APH_VALUES(APH_NIL, APH_SOME), "no tag is shown there",
                            "the tag is shown there") == 0) {
        aph_foretell(m, "tag", APH_NIL);
        return s;
    }
    s = with_tag(m, s, r);
    if (!s.tag)
        aph_never(m);
    return s;
}

static said perhaps_with_validators(aph *m, said s, aphi_http_resource *r)
{
    return perhaps_with_date(m, perhaps_with_tag(m, s, r), r);
}

/* ---- ranges ------------------------------------------------------------------------------------------------------ */

/* A range that is asked for may be given, if the client has the rest of this very version. */
static bool gives_range(aph *m, aph_value request, aphi_http_resource *r)
{
    if (!aph_field(request, "range"))
        return false;
    aph_clause(m, "RFC 9110 14.2");
    if (!aphi_http_is_method(request, "GET") && !aph_waive(m, "head-range"))
        return false;
    if (!aphi_http_may_give_part(m, request, r))
        return false;
    aph_clause(m, "RFC 9110 14.2");
    return aph_either(m, "the range is given", "the range is ignored") == 0;
}

/* A part has the tag, and unless the client is known to have them, all other fields that the whole would have. */
static said with_fields_of_part(aph *m, aph_value request, said s, aphi_http_resource *r)
{
    s = with_tag(m, s, r);
    aph_clause(m, "RFC 9110 15.3.7");
    return aph_field(request, "if-range") ? perhaps_with_date(m, s, r) : with_date(m, s, r);
}

static said answer_no_range(aph *m, aph_value request, aph_value length)
{
    aph_clause(m, "RFC 9110 15.5.17");
    said failed = answer_failed(m, request, 416);
    int untold = aph_either_foretold(m, "range", APH_VALUES(length, APH_NIL), "416 tells the length", "416 does not");
    return with_range(m, failed, untold ? APH_NIL : length);
}

static said any_part(aph *m, aph_value request)
{
    return with_range(m, answer(m, 206, no_body(request)), aph_choose_shown(m, APH_STR, "range", "any range"));
}

/* Of something that is not known, any part. */
static said answer_some_range(aph *m, aph_value request, aphi_http_resource *r)
{
    if (aph_either(m, "a part", "no part") == 1)
        return answer_no_range(m, request, aph_choose(m, APH_STR, "any range"));
    return with_fields_of_part(m, request, any_part(m, request), r);
}

typedef struct span {
    int64_t first, last;
} span;

static aph_value name_of(span s, size_t length, bool told)
{
    return told ? aph_strf("bytes %lld-%lld/%zu", (long long)s.first, (long long)s.last, length)
                : aph_strf("bytes %lld-%lld/*", (long long)s.first, (long long)s.last);
}

static said answer_part(aph *m, aph_value request, aph_value body, span s, aph_value range)
{
    size_t length = aphi_http_is_method(request, "HEAD") ? 0 : (size_t)(s.last - s.first + 1);
    return with_range(m, answer(m, 206, aph_substr(body, (size_t)s.first, length)), range);
}

static said part_of(aph *m, aph_value request, aph_value body, span s)
{
    size_t n = aph_count(body);
    aph_value range[] = {name_of(s, n, true), name_of(s, n, false)};
    aph_clause(m, "RFC 9110 14.4");
    int untold = aph_either_foretold(m, "range", range, "206 tells the whole length",
                                     "206 does not tell the whole length");
    return answer_part(m, request, body, s, range[untold]);
}

/* A server may give less than was asked for. How much is chosen byte by byte; of a long range it is left open, unless
 * the choice is made for good. */
static said less_of(aph *m, aph_value request, aph_value body, span s)
{
    if (s.last - s.first < SPAN_MAX) {
        while (s.first < s.last && aph_either(m, "it begins there", "it begins later") == 1)
            s.first++;
        while (s.first < s.last && aph_either(m, "it ends there", "it ends sooner") == 1)
            s.last--;
        return part_of(m, request, body, s);
    }
    aph_value from = aph_choose_within(m, s.first, s.last, "where the part begins");
    if (!aph_is_int(from))
        return any_part(m, request);
    s.first = aph_int_of(from);
    return part_of(m, request, body, s);
}

static said answer_range(aph *m, aph_value request, aphi_http_resource *r)
{
    aph_value range = aph_field(request, "range"), body = r->body;
    if (!aphi_http_is_seen(r))
        return answer_some_range(m, request, r);
    int64_t first = aph_int_of(aph_at(range, 0)), last = aph_int_of(aph_at(range, 1)), n = (int64_t)aph_count(body);
    if (first >= n)
        return answer_no_range(m, request, aph_strf("bytes */%lld", (long long)n));
    span asked = {first, last < n ? last : n - 1};
    aph_value all[] = {name_of(asked, (size_t)n, true), name_of(asked, (size_t)n, false), APH_ELSE};
    aph_foretell(m, "status", aph_int(206));
    aph_clause(m, "RFC 9110 15.3.7");
    int how = aph_either_foretold(m, "range", all, "all of the range is given",
                                  "all of the range is given, of an untold length", "less than the range is given");
    said s = how == 2 ? less_of(m, request, body, asked) : answer_part(m, request, body, asked, all[how]);
    return with_fields_of_part(m, request, s, r);
}

/* ---- GET and HEAD ------------------------------------------------------------------------------------------------ */

static said answer_nothing(aph *m, aph_value request)
{
    aph_clause(m, "RFC 9110 15.5.5");
    int gone = aph_either_foretold(m, "status", APH_VALUES(aph_int(404), aph_int(410)), "404 for nothing",
                                   "410 for nothing");
    return answer_failed(m, request, gone ? 410 : 404);
}

/* HEAD may leave out what is found out while content is made. */
static said with_tag_unless_head(aph *m, aph_value request, said s, aphi_http_resource *r)
{
    aph_clause(m, "RFC 9110 9.3.2");
    return aphi_http_is_method(request, "HEAD") ? perhaps_with_tag(m, s, r) : with_tag(m, s, r);
}

static said read(aph *m, aph_value request, aphi_http_resource *r)
{
    if (!r->body)
        return answer_nothing(m, request);
    switch (aphi_http_judge(m, request, r)) {
    case APHI_HTTP_FAILS: return answer_failed(m, request, 412);
    case APHI_HTTP_KNOWN:
        aph_foretell(m, "status", aph_int(304));
        aph_clause(m, "RFC 9110 15.4.5");
        return perhaps_with_date(m, with_tag_unless_head(m, request, answer(m, 304, aph_str("")), r), r);
    default: break;
    }
    if (gives_range(m, request, r))
        return answer_range(m, request, r);
    if (aphi_http_is_method(request, "HEAD"))
        return perhaps_with_validators(m, answer(m, 200, aph_str("")), r);
    aph_foretell(m, "status", aph_int(200));
    aph_either(m, "content is read");
    said s = with_date(m, with_tag(m, answer(m, 200, r->body), r), r);
    r->unseen = APH_NIL;
    return s;
}

/* ---- PUT and DELETE ---------------------------------------------------------------------------------------------- */

/* Is a write of which a condition failed told that all is well, since it is already as it should be? Not if it was
 * If-None-Match. */
static bool is_applied(aph *m, aphi_http_outcome outcome, const aphi_http_resource *r, aph_value body)
{
    if (outcome != APHI_HTTP_FAILS || !r->body != !body)
        return false;
    aph_clause(m, "RFC 9110 13.1.1");
    if (aph_either_foretold(m, "status", APH_VALUES(aph_int(412), APH_ANY), "412 for what failed",
                            "success for what is already so") == 0)
        return false;
    if (body && !aph_decide(m, aph_eq(r->body, body), "what is written is already there"))
        aph_never(m);
    return true;
}

static said answer_replaced(aph *m, aphi_http_resource *r)
{
    aph_clause(m, "RFC 9110 9.3.4");
    int some = aph_either_foretold(m, "status", APH_VALUES(aph_int(204), aph_int(200)), "204 for what was replaced",
                                   "200 for what was replaced");
    said s = some ? answer(m, 200, APH_NIL) : answer(m, 204, aph_str(""));
    return perhaps_with_validators(m, s, r);
}

static said write(aph *m, aph_value request, aphi_http_resource *r)
{
    aph_value body = aph_field(request, "body");
    bool was_there = r->body;
    aphi_http_outcome outcome = aphi_http_judge(m, request, r);
    if (outcome != APHI_HTTP_HOLDS)
        return is_applied(m, outcome, r, body) ? answer_replaced(m, r) : answer_failed(m, request, 412);
    aphi_http_replace(r, body);
    if (was_there)
        return answer_replaced(m, r);
    aph_clause(m, "RFC 9110 9.3.4");
    return perhaps_with_validators(m, answer(m, 201, APH_NIL), r);
}

/* 202: it is going to be done. */
static said answer_deleted(aph *m, aphi_http_resource *r)
{
    aph_clause(m, "RFC 9110 9.3.5");
    int how = aph_either_foretold(m, "status", APH_VALUES(aph_int(204), aph_int(200), aph_int(202)),
                                  "204 for what was deleted", "200 for what was deleted",
                                  "202 for what will be deleted");
    said s = how == 0 ? answer(m, 204, aph_str("")) : answer(m, how == 1 ? 200 : 202, APH_NIL);
    if (how != 2)
        aphi_http_replace(r, APH_NIL);
    else if (r->body)
        r->leaving = aph_bool(true);
    return s;
}

/* Conditions are not looked at where the answer would be no success (13.2.1); and to be rid of nothing can be one. */
static said delete(aph *m, aph_value request, aphi_http_resource *r)
{
    aph_clause(m, "RFC 9110 13.2.1");
    if (!r->body && aph_either(m, "DELETE of nothing fails", "DELETE of nothing is a success") == 0)
        return answer_nothing(m, request);
    aphi_http_outcome outcome = aphi_http_judge(m, request, r);
    if (outcome != APHI_HTTP_HOLDS && !is_applied(m, outcome, r, APH_NIL))
        return answer_failed(m, request, 412);
    return answer_deleted(m, r);
}

/* ---- POST -------------------------------------------------------------------------------------------------------- */

/* What POST does is the server's own affair: nothing, or anything to this resource. Conditions are ignored where it has
 * nothing to do with what is there (13.2.1), and whether it has, nobody can tell. */
static said post(aph *m, bool *forgotten)
{
    aph_clause(m, "RFC 9110 9.3.3");
    int how = aph_either_foretold(m, "status", APH_VALUES(APH_WITHIN(406, 499), APH_WITHIN(200, 299),
                                                          APH_WITHIN(300, 303), APH_WITHIN(400, 404),
                                                          APH_WITHIN(305, 399)),
                                  "POST is refused", "POST is done", "POST refers to another resource",
                                  "POST is not understood", "POST is to be sent elsewhere");
    if (how == 0) /* that the method is not allowed is said elsewhere */
        return answer_within(m, 406, 499, "refusal", APH_NIL);
    if (how == 3)
        return answer_within(m, 400, 404, "refusal", APH_NIL);
    *forgotten = true;
    if (how == 2)
        return answer_within(m, 300, 303, "reference", APH_NIL);
    if (how == 4)
        return answer_within(m, 305, 399, "reference", APH_NIL);
    aphi_http_resource shown = {0};
    return perhaps_with_validators(m, answer_within(m, 200, 299, "success", APH_NIL), &shown);
}

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

/* In place of a status: one of those that say nothing of the resource, and that need not be told apart. The others of
 * their class are told apart, or mean something. */
enum { REFUSALS_MAX = 18, OTHER_4XX = -4, OTHER_5XX = -5, FIRST_4XX = 417, FIRST_5XX = 505 };

/* Statuses as what alternatives foretell. */
static const aph_value *foretold(size_t n, const int *statuses, aph_value values[REFUSALS_MAX])
{
    for (size_t i = 0; i < n; i++)
        values[i] = statuses[i] == OTHER_4XX   ? APH_WITHIN(FIRST_4XX, 499)
                    : statuses[i] == OTHER_5XX ? APH_WITHIN(FIRST_5XX, 599)
                                               : aph_int(statuses[i]);
    return values;
}

/* One of the statuses, each with its name. */
#define EITHER_STATUS(m, statuses, ...) \
    (statuses)[aph_either_foretold( \
        m, "status", foretold(sizeof(statuses) / sizeof *(statuses), statuses, (aph_value[REFUSALS_MAX]){0}), \
        __VA_ARGS__)]

/* Most requests are not refused: that is asked first, so that the many ways to do it are not looked at. */
#define IS_REFUSED(m, first, last, ...) \
    (aph_either_foretold(m, "status", APH_VALUES(APH_ANY, APH_WITHIN(first, last)), __VA_ARGS__) == 1)

/* Whatever is asked. */
static int error_at_any_time(aph *m)
{
    static const int statuses[REFUSALS_MAX] = {500, 503, 429, 403, 400, 401, 408, 421, 428,
                                               431, 451, 502, 504, 402, 406, 414, OTHER_4XX, OTHER_5XX};
    if (!IS_REFUSED(m, 400, 599, "the request is dealt with", "the request is not dealt with"))
        return 0;
    return EITHER_STATUS(m, statuses, "500: the server failed", "503: the server is busy", "429: too many requests",
                         "403: it is forbidden", "400: it is taken for a mistake", "401: who is it?",
                         "408: it came too slowly", "421: it is for another server", "428: it needs a condition",
                         "431: its fields are too large", "451: the law forbids it", "502: another server failed",
                         "504: another server was slow", "402: it is to be paid for",
                         "406: it is not to be had like that", "414: its target is too long",
                         "another 4xx: it is not done", "another 5xx: the server failed");
}

/* Every server has GET and HEAD, and no other method (9.1); and it need not take every content. */
static int refusal_of_write(aph *m, aph_value request)
{
    static const int unknown[] = {405, 501, 409}, untaken[] = {405, 501, 409, 411, 413, 415, 417, 507};
    bool put = aphi_http_is_method(request, "PUT");
    if (put ? !IS_REFUSED(m, 405, 507, "the content is taken", "the content is not taken")
            : !IS_REFUSED(m, 405, 501, "the method is there", "the method is refused"))
        return 0;
    if (!put)
        return EITHER_STATUS(m, unknown, "405: the method is not allowed", "501: the method is not there",
                             "409: it is in conflict");
    return EITHER_STATUS(m, untaken, "405: PUT is not allowed", "501: PUT is not there",
                         "409: the content is in conflict", "411: the content has no length",
                         "413: the content is too large", "415: the content is of no type for it",
                         "417: it is not for those who wait", "507: there is no room for the content");
}

/* 0 if it is dealt with. */
static int refusal(aph *m, aph_value request)
{
    int status = error_at_any_time(m);
    if (!status && !aphi_http_only_reads(request))
        status = refusal_of_write(m, request);
    if (status > 0)
        aph_foretell(m, "status", aph_int(status));
    return status;
}

/* ---- the step ---------------------------------------------------------------------------------------------------- */

static const char *kind(aph_value request)
{
    return aphi_http_is_method(request, "GET")      ? "GET"
           : aphi_http_is_method(request, "PUT")    ? "PUT"
           : aphi_http_is_method(request, "HEAD")   ? "HEAD"
           : aphi_http_is_method(request, "DELETE") ? "DELETE"
           : aphi_http_is_method(request, "POST")   ? "POST" : "other";
}

/* One segment, of letters, digits and "-._~": what else a server makes of a path (a collection, a program) is not
 * described here. */
static bool is_resource(aph_value target)
{
    size_t n;
    const char *at = aph_is_str(target) ? aph_bytes_of(&target, &n) : "";
    if (*at != '/' || n < 2 || at[1] == '.')
        return false;
    for (size_t i = 1; i < n; i++) {
        unsigned char c = (unsigned char)at[i];
        if (!aphi_is_alpha(c) && !aphi_is_digit(c) && c != '-' && c != '.' && c != '_' && c != '~')
            return false;
    }
    return true;
}

static bool is_time(aph_value v)
{
    return aph_is_int(v) && aph_int_of(v) >= 0 && aph_int_of(v) <= APH_HTTP_TIME_MAX;
}

static bool is_tag(aph_value v)
{
    return aph_is_str(v) || (aph_kind_of(v) == APH_OBJECT && aph_is_str(aph_field(v, "opaque")));
}

static bool is_tags(aph_value v)
{
    bool fits = aph_kind_of(v) == APH_ARRAY && aph_count(v);
    for (size_t i = 0; fits && i < aph_count(v); i++)
        fits = is_tag(aph_at(v, i));
    return fits || aph_str_is(v, "*");
}

static bool is_range(aph_value v)
{
    if (aph_kind_of(v) != APH_ARRAY || aph_count(v) != 2 || !aph_is_int(aph_at(v, 0)) || !aph_is_int(aph_at(v, 1)))
        return false;
    return aph_int_of(aph_at(v, 0)) >= 0 && aph_int_of(aph_at(v, 0)) <= aph_int_of(aph_at(v, 1));
}

static void check_conditions(aph *m, aph_value request)
{
    aph_value match = aph_field(request, "if-match"), none = aph_field(request, "if-none-match");
    aph_value since = aph_field(request, "if-modified-since"), until = aph_field(request, "if-unmodified-since");
    aph_value range = aph_field(request, "range"), if_range = aph_field(request, "if-range");
    if ((match && !is_tags(match)) || (none && !is_tags(none)))
        aph_unknown_request(m, "\"if-match\" and \"if-none-match\" are \"*\" or arrays of tags");
    if ((since && !is_time(since)) || (until && !is_time(until)))
        aph_unknown_request(m, "\"if-modified-since\" and \"if-unmodified-since\" are seconds since 1970");
    if (range && !is_range(range))
        aph_unknown_request(m, "\"range\" is [FIRST, LAST], in bytes from 0");
    if (if_range && !is_tag(if_range) && !is_time(if_range))
        aph_unknown_request(m, "\"if-range\" is a tag, or seconds since 1970");
}

static void check_request(aph *m, aph_value request)
{
    bool writes = aphi_http_is_method(request, "PUT") || aphi_http_is_method(request, "POST");
    if (!is_resource(aph_field(request, "target")))
        aph_unknown_request(m, "a request needs a \"target\" such as \"/a\", one segment of plain characters");
    if (!strcmp(kind(request), "other"))
        aph_unknown_request(m, "this model knows the methods GET, HEAD, PUT, POST and DELETE");
    if (writes && !aph_is_str(aph_field(request, "body")))
        aph_unknown_request(m, "PUT and POST need a \"body\", a string");
    if (aph_count(request) > (writes ? 3 : 2))
        check_conditions(m, request);
}

/* An answer with "date" is older than what it tells of. */
static said dated(aph *m, said s)
{
    if (!s.modified || !aph_waive_foretold(m, "last-modified-ahead", "date", APH_NIL, APH_SOME))
        aph_foretell(m, "date", APH_NIL);
    else
        s.date = aph_choose_within_shown(m, 0, APH_HTTP_TIME_MAX, "date", "the date of the answer");
    return s;
}

/* What a write has done of which the server said that it failed itself, nobody knows. */
static said refuse(aph *m, aph_value request, int status, aph_value *state)
{
    bool failed = status == OTHER_5XX || (status >= 500 && status != 501);
    if (failed && !aphi_http_only_reads(request))
        *state = aphi_http_forget(*state, aph_field(request, "target"));
    said s = status == OTHER_4XX   ? answer_within(m, FIRST_4XX, 499, "another status", no_body(request))
             : status == OTHER_5XX ? answer_within(m, FIRST_5XX, 599, "another status", no_body(request))
                                   : answer_failed(m, request, status);
    aph_clause(m, "RFC 9110 15.5.6");
    bool allow = status == 405 && !aph_waive_foretold(m, "405-without-allow", "allow", APH_SOME, APH_NIL);
    if (!allow)
        aph_clause(m, "RFC 9110 15");
    s.allow = allow ? aph_bool(true) : APH_NIL;
    aph_foretell(m, "allow", s.allow);
    return s;
}

static said deal_with(aph *m, aph_value request, aph_value *state)
{
    aph_value target = aph_field(request, "target");
    bool forgotten = false;
    aphi_http_resource r = aphi_http_look(m, *state, target);
    said s = aphi_http_only_reads(request)              ? read(m, request, &r)
             : aphi_http_is_method(request, "PUT")    ? write(m, request, &r)
             : aphi_http_is_method(request, "DELETE") ? delete(m, request, &r)
                                                        : post(m, &forgotten);
    s = dated(m, s);
    *state = forgotten ? aphi_http_forget(*state, target) : aphi_http_keep(*state, target, &r);
    return s;
}

static aph_value serve(aph *m, aph_value request, aph_value *state)
{
    check_request(m, request);
    int refused = refusal(m, request);
    said s = refused ? refuse(m, request, refused, state) : deal_with(m, request, state);
    return message_of(&s);
}

static void step(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    aph_send(m, q.from, serve(m, q.message, state));
}

static aph_value part(aph_value request) { return aph_field(request, "target"); }

/* What they settle, which tag there is and whether it has turned strong, whoever comes later can settle, too. */
static bool reads(aph_value request, aph_value answer)
{
    aph_value status = aph_field(answer, "status");
    return aphi_http_only_reads(request) ||
           (aph_is_int(status) && aph_int_of(status) >= 400 && aph_int_of(status) < 500);
}

/* Nothing in the RFC says that a write is done in one moment. */
static bool alone(aph_value request) { return !aphi_http_only_reads(request); }

/* ---- mutants ----------------------------------------------------------------------------------------------------- */

static void serve_as(aph *m, aph_value *state, aph_request q, aph_value request)
{
    aph_send(m, q.from, serve(m, request, state));
}

static aph_value without(aph_value request, const char *name) { return aph_remove(request, aph_str(name)); }

static void step_ignores_if_match(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    serve_as(m, state, q, without(q.message, "if-match"));
}

static void step_ignores_if_none_match(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    serve_as(m, state, q, without(q.message, "if-none-match"));
}

static void step_loses_writes(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    aph_value before = *state;
    serve_as(m, state, q, q.message);
    if (aphi_http_is_method(q.message, "PUT"))
        *state = before;
}

static void step_keeps_deleted(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    aph_value before = *state;
    serve_as(m, state, q, q.message);
    if (aphi_http_is_method(q.message, "DELETE"))
        *state = before;
}

static void step_adds_a_byte(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    aph_value message = serve(m, q.message, state), body = aph_field(message, "body");
    if (aphi_http_is_method(q.message, "GET") && aph_field(message, "status") == aph_int(200))
        message = aph_put(message, "body", aph_concat(body, aph_str("!")));
    aph_send(m, q.from, message);
}

#define MUTANT(name_, step_, summary_) \
    &(const aph_model){.version = APH_MODEL_VERSION, .rpc = true, .name = (name_), .step = (step_), \
                       .summary = (summary_), .codec = &aphi_http_wire}

static const aph_model *const mutants[] = {
    MUTANT("ignores-if-match", step_ignores_if_match, "If-Match is not looked at"),
    MUTANT("ignores-if-none-match", step_ignores_if_none_match, "If-None-Match is not looked at"),
    MUTANT("loses-writes", step_loses_writes, "PUT stores nothing"),
    MUTANT("keeps-deleted", step_keeps_deleted, "DELETE deletes nothing"),
    MUTANT("adds-a-byte", step_adds_a_byte, "GET answers a byte too many"),
    NULL,
};

/* ---- the model --------------------------------------------------------------------------------------------------- */

static const aph_waiver waivers[] = {
    APH_WAIVER("if-none-match-strong",
               "PUT, DELETE and requests with Range compare the tags of If-None-Match strongly (RFC 9110 13.1.2)"),
    APH_WAIVER("weak-tag-ends-list", "lists compared strongly are read up to their first weak tag (RFC 9110 13.1.1)"),
    APH_WAIVER("conditional-writes-ignored", "PUT and DELETE are done whatever their conditions say (RFC 9110 13.2.1)"),
    APH_WAIVER("head-range", "HEAD with Range is answered 206, as if it were GET (RFC 9110 14.2)"),
    APH_WAIVER("if-unmodified-since-now", "PUT and DELETE take the date of their resource for now (RFC 9110 13.1.4)"),
    APH_WAIVER("if-match-read-ignored", "GET and HEAD are done whatever If-Match says (RFC 9110 13.1.1)"),
    APH_WAIVER("if-unmodified-since-read-ignored",
               "GET and HEAD are done whatever If-Unmodified-Since says (RFC 9110 13.1.4)"),
    APH_WAIVER("if-unmodified-since-range-ignored",
               "GET and HEAD with Range are done whatever If-Unmodified-Since says (RFC 9110 13.1.4)"),
    APH_WAIVER("if-unmodified-since-beside-if-match",
               "If-Unmodified-Since counts although there is If-Match (RFC 9110 13.1.4)"),
    APH_WAIVER("if-modified-since-beside-if-none-match",
               "If-Modified-Since counts although there is If-None-Match (RFC 9110 13.1.3)"),
    APH_WAIVER("if-match-beside-star",
               "PUT where nothing is, with If-None-Match: *, is done whatever If-Match says (RFC 9110 13.1.1)"),
    APH_WAIVER("epoch-is-no-date", "the first second of 1970 is taken for no date (RFC 9110 13.1.4)"),
    APH_WAIVER("405-without-allow", "405 does not tell which methods are allowed (RFC 9110 15.5.6)"),
    APH_WAIVER("last-modified-ahead", "Last-Modified is later than Date (RFC 9110 8.8.2.1)"),
    APH_WAIVER("if-none-match-beside-others",
               "GET and HEAD are done although If-None-Match matches, if If-Unmodified-Since or If-Range is there, too "
               "(RFC 9110 13.1.2)"),
    {0},
};

/* Of a server that refuses everything nothing was tested. */
static const char *const floors[] = {"GET", "HEAD", "PUT", "POST", "DELETE", "content is read", NULL};

const aph_model aph_model_http = {
    .version = APH_MODEL_VERSION,
    .name = "http",
    .summary = "an HTTP/1.1 server of resources, with conditional requests (RFC 9110)",
    .step = step,
    .rpc = true,
    .part = part,
    .reads = reads,
    .alone = alone,
    .kind = kind,
    .words = aphi_http_words,
    .codec = &aphi_http_wire,
    .generate = aphi_http_generate,
    .functions = aphi_http_functions,
    .floors = floors,
    .waivers = waivers,
    .mutants = mutants,
    .closes = APH_CLOSES_SETTLED,
    .begins_anywhere = true,
};

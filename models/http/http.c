/* SPDX-License-Identifier: Apache-2.0
 *
 * http.c - an HTTP/1.1 server of resources that are read, written and deleted: RFC 9110 with conditional requests.
 *
 *     {"method": "GET", "target": "/a"}                 {"status": 200, "tag": TAG, "modified": TIME, "body": "..."}
 *     {"method": "PUT", "target": "/a", "body": "..."}  {"status": 201, "body": ""}
 *
 * A request may have conditions: "if-match" and "if-none-match", an array of TAGs or "*"; "if-modified-since" and
 * "if-unmodified-since", a TIME; "if-range", a TAG or a TIME, with "range", [FIRST, LAST]. TAG is {"opaque": STRING,
 * "weak": BOOL}, or in a request a STRING for a strong tag; TIME is in seconds. wire.c handles everything else on the
 * wire: "chunked" and "expect" control how a request is sent.
 *
 * Idea:       Everything left to the server is a choice: its validators, whether it sends them, and which of the
 *             possible statuses it uses. Each field of the response is foretold as soon as it is certain, so that the
 *             oracle drops choices that the response contradicts.
 * State:      resource.c stores resources; conditions.c evaluates conditions on them.
 * Read next:  resource.c, conditions.c, wire.c, requests.c, docs/http.md */
#include "http-model.h"
#include "resource.h"
#include "codec/http_syntax.h"

enum { SPAN_MAX = 8 }; /* longest range of which every part is tried */

/* ---- responses --------------------------------------------------------------------------------------------------- */

typedef struct response {
    aph_value status, body, tag, modified, range, allow, date; /* APH_NIL: absent */
} response;

static aph_value message_of(const response *s)
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

static response respond(aph *m, int status, aph_value body)
{
    aph_foretell(m, "status", aph_int(status));
    return (response){.status = aph_int(status), .body = body ? body : any_body(m)};
}

/* Responds with any status in the range, as one symbolic choice. */
static response respond_within(aph *m, int first, int last, const char *name, aph_value body)
{
    aph_value status = aph_choose_within_shown(m, first, last, "status", name);
    return (response){.status = status, .body = body ? body : any_body(m)};
}

static aph_value no_body(aph_value request) { return aphi_http_is_method(request, "HEAD") ? aph_str("") : APH_NIL; }

/* An error response may have any body. */
static response respond_error(aph *m, aph_value request, int status) { return respond(m, status, no_body(request)); }

static response with_range(aph *m, response s, aph_value range)
{
    aph_foretell(m, "range", range);
    s.range = range;
    return s;
}

static response with_tag(aph *m, response s, aphi_http_resource *r)
{
    s.tag = aphi_http_show_tag(m, r);
    return s;
}

static response with_date(aph *m, response s, aphi_http_resource *r)
{
    s.modified = aphi_http_modified(m, r, true);
    return s;
}

/* For a response that may or may not contain the validators. A missing validator is equivalent to one that is not
 * sent. */
static response maybe_with_date(aph *m, response s, aphi_http_resource *r)
{
    if (r->modified == aphi_http_none() ||
        aph_either_foretold(m, "modified", APH_VALUES(APH_NIL, APH_SOME), "without Last-Modified",
                            "with Last-Modified") == 0) {
        aph_foretell(m, "modified", APH_NIL);
        return s;
    }
    s = with_date(m, s, r);
    if (!s.modified)
        aph_never(m);
    return s;
}

static response maybe_with_tag(aph *m, response s, aphi_http_resource *r)
{
    if (r->tag == aphi_http_none() ||
        aph_either_foretold(m, "tag", APH_VALUES(APH_NIL, APH_SOME), "without ETag",
                            "with ETag") == 0) {
        aph_foretell(m, "tag", APH_NIL);
        return s;
    }
    s = with_tag(m, s, r);
    if (!s.tag)
        aph_never(m);
    return s;
}

static response maybe_with_validators(aph *m, response s, aphi_http_resource *r)
{
    return maybe_with_date(m, maybe_with_tag(m, s, r), r);
}

/* ---- ranges ------------------------------------------------------------------------------------------------------ */

/* The server may honour Range, unless If-Range is present and does not match. */
static bool honors_range(aph *m, aph_value request, aphi_http_resource *r)
{
    if (!aph_field(request, "range"))
        return false;
    aph_clause(m, "RFC 9110 14.2");
    if (!aphi_http_is_method(request, "GET") && !aph_waive(m, "head-range"))
        return false;
    if (!aphi_http_may_give_part(m, request, r))
        return false;
    aph_clause(m, "RFC 9110 14.2");
    return aph_either(m, "Range is honoured", "Range is ignored") == 0;
}

/* A 206 has the tag and, unless the request has If-Range, the other fields of a 200. */
static response with_fields_of_part(aph *m, aph_value request, response s, aphi_http_resource *r)
{
    s = with_tag(m, s, r);
    aph_clause(m, "RFC 9110 15.3.7");
    return aph_field(request, "if-range") ? maybe_with_date(m, s, r) : with_date(m, s, r);
}

static response respond_416(aph *m, aph_value request, aph_value length)
{
    aph_clause(m, "RFC 9110 15.5.17");
    response failed = respond_error(m, request, 416);
    int omitted = aph_either_foretold(m, "range", APH_VALUES(length, APH_NIL), "416 with length", "416 without length");
    return with_range(m, failed, omitted ? APH_NIL : length);
}

static response any_part(aph *m, aph_value request)
{
    return with_range(m, respond(m, 206, no_body(request)), aph_choose_shown(m, APH_STR, "range", "any range"));
}

/* Responds with any part, because the content is unknown. */
static response respond_any_part(aph *m, aph_value request, aphi_http_resource *r)
{
    if (aph_either(m, "a part", "no part") == 1)
        return respond_416(m, request, aph_choose(m, APH_STR, "any range"));
    return with_fields_of_part(m, request, any_part(m, request), r);
}

typedef struct span {
    int64_t first, last;
} span;

static aph_value range_text(span s, size_t length, bool with_length)
{
    return with_length ? aph_strf("bytes %lld-%lld/%zu", (long long)s.first, (long long)s.last, length)
                : aph_strf("bytes %lld-%lld/*", (long long)s.first, (long long)s.last);
}

static response respond_part(aph *m, aph_value request, aph_value body, span s, aph_value range)
{
    size_t length = aphi_http_is_method(request, "HEAD") ? 0 : (size_t)(s.last - s.first + 1);
    return with_range(m, respond(m, 206, aph_substr(body, (size_t)s.first, length)), range);
}

static response respond_206(aph *m, aph_value request, aph_value body, span s)
{
    size_t n = aph_count(body);
    aph_value range[] = {range_text(s, n, true), range_text(s, n, false)};
    aph_clause(m, "RFC 9110 14.4");
    int omitted = aph_either_foretold(m, "range", range, "206 with complete length",
                                     "206 without complete length");
    return respond_part(m, request, body, s, range[omitted]);
}

/* A server may send a part of the range. Its bounds are chosen byte by byte; for a long range they stay symbolic,
 * unless the choice must be concrete. */
static response respond_subrange(aph *m, aph_value request, aph_value body, span s)
{
    if (s.last - s.first < SPAN_MAX) {
        while (s.first < s.last && aph_either(m, "the part begins here", "the part begins later") == 1)
            s.first++;
        while (s.first < s.last && aph_either(m, "the part ends here", "the part ends earlier") == 1)
            s.last--;
        return respond_206(m, request, body, s);
    }
    aph_value from = aph_choose_within(m, s.first, s.last, "start of the part");
    if (!aph_is_int(from))
        return any_part(m, request);
    s.first = aph_int_of(from);
    return respond_206(m, request, body, s);
}

static response respond_range(aph *m, aph_value request, aphi_http_resource *r)
{
    aph_value range = aph_field(request, "range"), body = r->body;
    if (!aphi_http_is_seen(r))
        return respond_any_part(m, request, r);
    int64_t first = aph_int_of(aph_at(range, 0)), last = aph_int_of(aph_at(range, 1)), n = (int64_t)aph_count(body);
    if (first >= n)
        return respond_416(m, request, aph_strf("bytes */%lld", (long long)n));
    span requested = {first, last < n ? last : n - 1};
    aph_value all[] = {range_text(requested, (size_t)n, true), range_text(requested, (size_t)n, false), APH_ELSE};
    aph_foretell(m, "status", aph_int(206));
    aph_clause(m, "RFC 9110 15.3.7");
    int how = aph_either_foretold(m, "range", all, "whole range",
                                  "whole range, without complete length", "part of the range");
    response s = how == 2 ? respond_subrange(m, request, body, requested)
                          : respond_part(m, request, body, requested, all[how]);
    return with_fields_of_part(m, request, s, r);
}

/* ---- GET and HEAD ------------------------------------------------------------------------------------------------ */

static response respond_missing(aph *m, aph_value request)
{
    aph_clause(m, "RFC 9110 15.5.5");
    int gone = aph_either_foretold(m, "status", APH_VALUES(aph_int(404), aph_int(410)), "404 for a missing resource",
                                   "410 for a missing resource");
    return respond_error(m, request, gone ? 410 : 404);
}

/* HEAD may omit fields that are only known once the content is generated. */
static response with_tag_unless_head(aph *m, aph_value request, response s, aphi_http_resource *r)
{
    aph_clause(m, "RFC 9110 9.3.2");
    return aphi_http_is_method(request, "HEAD") ? maybe_with_tag(m, s, r) : with_tag(m, s, r);
}

static response serve_read(aph *m, aph_value request, aphi_http_resource *r)
{
    if (!r->body)
        return respond_missing(m, request);
    switch (aphi_http_evaluate(m, request, r)) {
    case APHI_HTTP_FAILS: return respond_error(m, request, 412);
    case APHI_HTTP_KNOWN:
        aph_foretell(m, "status", aph_int(304));
        aph_clause(m, "RFC 9110 15.4.5");
        return maybe_with_date(m, with_tag_unless_head(m, request, respond(m, 304, aph_str("")), r), r);
    default: break;
    }
    if (honors_range(m, request, r))
        return respond_range(m, request, r);
    if (aphi_http_is_method(request, "HEAD"))
        return maybe_with_validators(m, respond(m, 200, aph_str("")), r);
    aph_foretell(m, "status", aph_int(200));
    aph_either(m, "content is read");
    response s = with_date(m, with_tag(m, respond(m, 200, r->body), r), r);
    r->unseen = APH_NIL;
    return s;
}

/* ---- PUT and DELETE ---------------------------------------------------------------------------------------------- */

/* Returns true if a failed condition is answered with success because the write is already applied; not possible for
 * If-None-Match. */
static bool is_already_applied(aph *m, aphi_http_outcome outcome, const aphi_http_resource *r, aph_value body)
{
    if (outcome != APHI_HTTP_FAILS || !r->body != !body)
        return false;
    aph_clause(m, "RFC 9110 13.1.1");
    if (aph_either_foretold(m, "status", APH_VALUES(aph_int(412), APH_ANY), "412 for a failed condition",
                            "success for a write already applied") == 0)
        return false;
    if (body && !aph_decide(m, aph_eq(r->body, body), "content already stored"))
        aph_never(m);
    return true;
}

static response respond_replaced(aph *m, aphi_http_resource *r)
{
    aph_clause(m, "RFC 9110 9.3.4");
    int some = aph_either_foretold(m, "status", APH_VALUES(aph_int(204), aph_int(200)), "204 for a replacement",
                                   "200 for a replacement");
    response s = some ? respond(m, 200, APH_NIL) : respond(m, 204, aph_str(""));
    return maybe_with_validators(m, s, r);
}

static response serve_write(aph *m, aph_value request, aphi_http_resource *r)
{
    aph_value body = aph_field(request, "body");
    bool was_there = r->body;
    aphi_http_outcome outcome = aphi_http_evaluate(m, request, r);
    if (outcome != APHI_HTTP_HOLDS)
        return is_already_applied(m, outcome, r, body) ? respond_replaced(m, r) : respond_error(m, request, 412);
    aphi_http_replace(r, body);
    if (was_there)
        return respond_replaced(m, r);
    aph_clause(m, "RFC 9110 9.3.4");
    return maybe_with_validators(m, respond(m, 201, APH_NIL), r);
}

/* 202: the deletion happens later. */
static response respond_deleted(aph *m, aphi_http_resource *r)
{
    aph_clause(m, "RFC 9110 9.3.5");
    int how = aph_either_foretold(m, "status", APH_VALUES(aph_int(204), aph_int(200), aph_int(202)),
                                  "204 for a deletion", "200 for a deletion",
                                  "202 for a later deletion");
    response s = how == 0 ? respond(m, 204, aph_str("")) : respond(m, how == 1 ? 200 : 202, APH_NIL);
    if (how != 2)
        aphi_http_replace(r, APH_NIL);
    else if (r->body)
        r->leaving = aph_bool(true);
    return s;
}

/* Conditions are ignored if the response without them is not a success (13.2.1). Deleting a missing resource may be
 * one. */
static response serve_delete(aph *m, aph_value request, aphi_http_resource *r)
{
    aph_clause(m, "RFC 9110 13.2.1");
    if (!r->body && aph_either(m, "DELETE of a missing resource fails", "DELETE of a missing resource succeeds") == 0)
        return respond_missing(m, request);
    aphi_http_outcome outcome = aphi_http_evaluate(m, request, r);
    if (outcome != APHI_HTTP_HOLDS && !is_already_applied(m, outcome, r, APH_NIL))
        return respond_error(m, request, 412);
    return respond_deleted(m, r);
}

/* ---- POST -------------------------------------------------------------------------------------------------------- */

/* POST may change this resource in any way, or not at all. Conditions are ignored if it does not select or modify the
 * resource (13.2.1), which a client cannot observe. */
static response serve_post(aph *m, bool *forgotten)
{
    aph_clause(m, "RFC 9110 9.3.3");
    int how = aph_either_foretold(m, "status", APH_VALUES(APH_WITHIN(406, 499), APH_WITHIN(200, 299),
                                                          APH_WITHIN(300, 303), APH_WITHIN(400, 404),
                                                          APH_WITHIN(305, 399)),
                                  "POST is refused", "POST is done", "POST refers to another resource",
                                  "POST is not understood", "POST is redirected");
    if (how == 0) /* 405 is handled by refusal_of_write */
        return respond_within(m, 406, 499, "refusal", APH_NIL);
    if (how == 3)
        return respond_within(m, 400, 404, "refusal", APH_NIL);
    *forgotten = true;
    if (how == 2)
        return respond_within(m, 300, 303, "reference", APH_NIL);
    if (how == 4)
        return respond_within(m, 305, 399, "reference", APH_NIL);
    aphi_http_resource shown = {0};
    return maybe_with_validators(m, respond_within(m, 200, 299, "success", APH_NIL), &shown);
}

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

/* OTHER_4XX and OTHER_5XX: the other statuses of their class, which do not depend on the resource, as one choice. */
enum { REFUSALS_MAX = 18, OTHER_4XX = -4, OTHER_5XX = -5, FIRST_4XX = 417, FIRST_5XX = 505 };

/* Statuses as values for aph_either_foretold. */
static const aph_value *status_values(size_t n, const int *statuses, aph_value values[REFUSALS_MAX])
{
    for (size_t i = 0; i < n; i++)
        values[i] = statuses[i] == OTHER_4XX   ? APH_WITHIN(FIRST_4XX, 499)
                    : statuses[i] == OTHER_5XX ? APH_WITHIN(FIRST_5XX, 599)
                                               : aph_int(statuses[i]);
    return values;
}

/* Chooses one of the named statuses. */
#define EITHER_STATUS(m, statuses, ...) \
    (statuses)[aph_either_foretold( \
        m, "status", status_values(sizeof(statuses) / sizeof *(statuses), statuses, (aph_value[REFUSALS_MAX]){0}), \
        __VA_ARGS__)]

/* Most requests are not refused; deciding this first avoids trying all refusals. */
#define IS_REFUSED(m, first, last, ...) \
    (aph_either_foretold(m, "status", APH_VALUES(APH_ANY, APH_WITHIN(first, last)), __VA_ARGS__) == 1)

/* Errors that any request may get. */
static int common_error(aph *m)
{
    static const int statuses[REFUSALS_MAX] = {500, 503, 429, 403, 400, 401, 408, 421, 428,
                                               431, 451, 502, 504, 402, 406, 414, OTHER_4XX, OTHER_5XX};
    if (!IS_REFUSED(m, 400, 599, "the request is processed", "the request is refused"))
        return 0;
    return EITHER_STATUS(m, statuses, "500: internal error", "503: unavailable", "429: too many requests",
                         "403: forbidden", "400: bad request", "401: unauthorized",
                         "408: request timeout", "421: misdirected request", "428: precondition required",
                         "431: header fields too large", "451: unavailable for legal reasons", "502: bad gateway",
                         "504: gateway timeout", "402: payment required",
                         "406: not acceptable", "414: target too long",
                         "another 4xx", "another 5xx");
}

/* Only GET and HEAD are mandatory (9.1), and a server may reject content. */
static int refusal_of_write(aph *m, aph_value request)
{
    static const int unknown[] = {405, 501, 409}, rejected[] = {405, 501, 409, 411, 413, 415, 417, 507};
    bool put = aphi_http_is_method(request, "PUT");
    if (put ? !IS_REFUSED(m, 405, 507, "the content is accepted", "the content is rejected")
            : !IS_REFUSED(m, 405, 501, "the method is supported", "the method is refused"))
        return 0;
    if (!put)
        return EITHER_STATUS(m, unknown, "405: method not allowed", "501: method not implemented",
                             "409: conflict");
    return EITHER_STATUS(m, rejected, "405: PUT not allowed", "501: PUT not implemented",
                         "409: content conflict", "411: length required",
                         "413: content too large", "415: unsupported media type",
                         "417: expectation failed", "507: insufficient storage");
}

/* Returns the status, or 0 if the request is processed. */
static int refusal(aph *m, aph_value request)
{
    int status = common_error(m);
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

/* One segment of letters, digits and "-._~". Other paths (collections, programs) are not modelled. */
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
        aph_unknown_request(m, "\"if-match\" and \"if-none-match\" must be \"*\" or arrays of tags");
    if ((since && !is_time(since)) || (until && !is_time(until)))
        aph_unknown_request(m, "\"if-modified-since\" and \"if-unmodified-since\" must be seconds since 1970");
    if (range && !is_range(range))
        aph_unknown_request(m, "\"range\" must be [FIRST, LAST], in bytes from 0");
    if (if_range && !is_tag(if_range) && !is_time(if_range))
        aph_unknown_request(m, "\"if-range\" must be a tag, or seconds since 1970");
}

static void check_request(aph *m, aph_value request)
{
    bool writes = aphi_http_is_method(request, "PUT") || aphi_http_is_method(request, "POST");
    if (!is_resource(aph_field(request, "target")))
        aph_unknown_request(m, "a request needs a \"target\" such as \"/a\", one segment of plain characters");
    if (!strcmp(kind(request), "other"))
        aph_unknown_request(m, "unknown method; expected GET, HEAD, PUT, POST or DELETE");
    if (writes && !aph_is_str(aph_field(request, "body")))
        aph_unknown_request(m, "PUT and POST need a \"body\", a string");
    if (aph_count(request) > (writes ? 3 : 2))
        check_conditions(m, request);
}

/* "date" is present only if it is before "modified". */
static response with_response_date(aph *m, response s)
{
    if (!s.modified || !aph_waive_foretold(m, "last-modified-ahead", "date", APH_NIL, APH_SOME))
        aph_foretell(m, "date", APH_NIL);
    else
        s.date = aph_choose_within_shown(m, 0, APH_HTTP_TIME_MAX, "date", "date of the response");
    return s;
}

/* The effect of a write is unknown if the server reports an internal failure. */
static response refuse(aph *m, aph_value request, int status, aph_value *state)
{
    bool failed = status == OTHER_5XX || (status >= 500 && status != 501);
    if (failed && !aphi_http_only_reads(request))
        *state = aphi_http_forget(*state, aph_field(request, "target"));
    response s = status == OTHER_4XX   ? respond_within(m, FIRST_4XX, 499, "another status", no_body(request))
             : status == OTHER_5XX ? respond_within(m, FIRST_5XX, 599, "another status", no_body(request))
                                   : respond_error(m, request, status);
    aph_clause(m, "RFC 9110 15.5.6");
    bool allow = status == 405 && !aph_waive_foretold(m, "405-without-allow", "allow", APH_SOME, APH_NIL);
    if (!allow)
        aph_clause(m, "RFC 9110 15");
    s.allow = allow ? aph_bool(true) : APH_NIL;
    aph_foretell(m, "allow", s.allow);
    return s;
}

static response process(aph *m, aph_value request, aph_value *state)
{
    aph_value target = aph_field(request, "target");
    bool forgotten = false;
    aphi_http_resource r = aphi_http_look(m, *state, target);
    response s = aphi_http_only_reads(request)              ? serve_read(m, request, &r)
             : aphi_http_is_method(request, "PUT")    ? serve_write(m, request, &r)
             : aphi_http_is_method(request, "DELETE") ? serve_delete(m, request, &r)
                                                        : serve_post(m, &forgotten);
    s = with_response_date(m, s);
    *state = forgotten ? aphi_http_forget(*state, target) : aphi_http_keep(*state, target, &r);
    return s;
}

static aph_value serve(aph *m, aph_value request, aph_value *state)
{
    check_request(m, request);
    int refused = refusal(m, request);
    response s = refused ? refuse(m, request, refused, state) : process(m, request, state);
    return message_of(&s);
}

static void step(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    aph_send(m, q.from, serve(m, q.message, state));
}

static aph_value part(aph_value request) { return aph_field(request, "target"); }

/* Reads and failed writes may fix the tag, but a later request can fix it as well. */
static bool reads(aph_value request, aph_value answer)
{
    aph_value status = aph_field(answer, "status");
    return aphi_http_only_reads(request) ||
           (aph_is_int(status) && aph_int_of(status) >= 400 && aph_int_of(status) < 500);
}

/* The RFC does not require that a write is atomic. */
static bool alone(aph_value request) { return !aphi_http_only_reads(request); }

/* ---- mutants ----------------------------------------------------------------------------------------------------- */

static void serve_instead(aph *m, aph_value *state, aph_request q, aph_value request)
{
    aph_send(m, q.from, serve(m, request, state));
}

static aph_value without(aph_value request, const char *name) { return aph_remove(request, aph_str(name)); }

static void step_ignores_if_match(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    serve_instead(m, state, q, without(q.message, "if-match"));
}

static void step_ignores_if_none_match(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    serve_instead(m, state, q, without(q.message, "if-none-match"));
}

static void step_loses_writes(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    aph_value before = *state;
    serve_instead(m, state, q, q.message);
    if (aphi_http_is_method(q.message, "PUT"))
        *state = before;
}

static void step_keeps_deleted(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    aph_value before = *state;
    serve_instead(m, state, q, q.message);
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
    MUTANT("ignores-if-match", step_ignores_if_match, "ignores If-Match"),
    MUTANT("ignores-if-none-match", step_ignores_if_none_match, "ignores If-None-Match"),
    MUTANT("loses-writes", step_loses_writes, "PUT does not store"),
    MUTANT("keeps-deleted", step_keeps_deleted, "DELETE does not delete"),
    MUTANT("adds-a-byte", step_adds_a_byte, "GET returns an extra byte"),
    NULL,
};

/* ---- the model --------------------------------------------------------------------------------------------------- */

static const aph_waiver waivers[] = {
    APH_WAIVER("if-none-match-strong",
               "PUT, DELETE and requests with Range compare the tags of If-None-Match strongly (RFC 9110 13.1.2)"),
    APH_WAIVER("weak-tag-ends-list", "strong comparison stops at the first weak tag of a list (RFC 9110 13.1.1)"),
    APH_WAIVER("conditional-writes-ignored", "PUT and DELETE ignore conditions (RFC 9110 13.2.1)"),
    APH_WAIVER("head-range", "HEAD honours Range and returns 206 like GET (RFC 9110 14.2)"),
    APH_WAIVER("if-unmodified-since-now",
               "PUT and DELETE use the current time as the resource's modification date (RFC 9110 13.1.4)"),
    APH_WAIVER("if-match-read-ignored", "GET and HEAD ignore If-Match (RFC 9110 13.1.1)"),
    APH_WAIVER("if-unmodified-since-read-ignored",
               "GET and HEAD ignore If-Unmodified-Since (RFC 9110 13.1.4)"),
    APH_WAIVER("if-unmodified-since-range-ignored",
               "GET and HEAD with Range ignore If-Unmodified-Since (RFC 9110 13.1.4)"),
    APH_WAIVER("if-unmodified-since-beside-if-match",
               "If-Unmodified-Since is evaluated although If-Match is present (RFC 9110 13.1.4)"),
    APH_WAIVER("if-modified-since-beside-if-none-match",
               "If-Modified-Since is evaluated although If-None-Match is present (RFC 9110 13.1.3)"),
    APH_WAIVER("if-match-beside-star",
               "PUT of a new resource with If-None-Match: * ignores If-Match (RFC 9110 13.1.1)"),
    APH_WAIVER("epoch-is-no-date", "the first second of 1970 is treated as no date (RFC 9110 13.1.4)"),
    APH_WAIVER("405-without-allow", "405 without Allow (RFC 9110 15.5.6)"),
    APH_WAIVER("last-modified-ahead", "Last-Modified is later than Date (RFC 9110 8.8.2.1)"),
    APH_WAIVER("if-none-match-beside-others",
               "GET and HEAD ignore a matching If-None-Match if If-Unmodified-Since or If-Range is present "
               "(RFC 9110 13.1.2)"),
    {0},
};

/* A run in which the server refuses everything tests nothing. */
static const char *const floors[] = {"GET", "HEAD", "PUT", "POST", "DELETE", "content is read", NULL};

const aph_model aph_model_http = {
    .version = APH_MODEL_VERSION,
    .name = "http",
    .summary = "an HTTP/1.1 server for resources, with conditional requests (RFC 9110)",
    .step = step,
    .rpc = true,
    .ignores_connections = true,
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

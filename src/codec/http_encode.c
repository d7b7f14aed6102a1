/* SPDX-License-Identifier: Apache-2.0
 *
 * http_encode.c - aph_codec_http: values into HTTP/1.1 messages.
 *
 * Idea:       the head and the body are written into separate buffers, and each part is checked: a value that would not
 *             be read back is rejected. Only a valid message is passed on.
 * Lenient:    in requests, which the tester makes from shapes and holes, an integer may stand for its text in
 *             paths, queries, forms, cookies and headers, and a content type may be given that the codec writes anyway.
 *             In both directions, null and {} in "headers", "query", "form" and "cookies" stand for nothing.
 * Not done:   Date and Server; the Content-Length that a GET would have in a response to HEAD; chunks.
 * Read next:  http_decode.c */
#include "codec/http_message.h"

#include "codec/codec_internal.h"
#include "codec/http_cookies.h"
#include "codec/http_head.h"
#include "codec/http_origins.h"
#include "codec/http_text.h"
#include "codec/http_uri.h"

#include <antiphon/http.h>

#include <stdlib.h>

typedef struct printing {
    const aph_codec *codec;
    const aph_http_kept *kept;
    aph_side side;
    aph_value message;
    aph_sink *out; /* for reasons, and the addresses of origins */
    aphi_buffer head, body;
} printing;

/* Rejects the message, with the reason. */
#define refuse(p, ...) aph_sink_refuse((p)->out, __VA_ARGS__)

static void add_span(aphi_buffer *out, aphi_span s) { aphi_buffer_add(out, s.text, s.n); }

/* For %.*s: the length of a name in a reason, and its bytes. */
static int shown(aphi_span s) { return s.n < 60 ? (int)s.n : 60; }

static bool is_named(aph_value name, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (aph_str_is(name, names[i]))
            return true;
    return false;
}

/* Rejects a message that is not an object, or has other members than the n named ones. */
static bool require_members(const printing *p, const char *const *names, size_t n)
{
    aph_value name, item;
    if (aph_kind_of(p->message) != APH_OBJECT)
        return refuse(p, "must be an object, not %s", aphi_codec_kind(p->message));
    for (size_t i = 0; aph_pair_at(p->message, i, &name, &item); i++) {
        aphi_span text = aphi_span_of(&name);
        if (!is_named(name, names, n))
            return refuse(p, "%.*s: a %s has no such member", shown(text), text.text,
                          p->side == APH_TO_SERVER ? "request" : "response");
    }
    return true;
}

/* ---- objects of texts -------------------------------------------------------------------------------------------- */

typedef bool print_texts(aphi_buffer *out, aph_value object);

static bool print_query(aphi_buffer *out, aph_value query) { return aphi_http_query_print(out, query, true); }

static bool print_set_cookies(aphi_buffer *out, aph_value cookies)
{
    return aphi_http_set_cookie_print(out, cookies, APH_NIL);
}

/* Gives the reason why `print` rejects an object of texts: the entry that is wrong, if there is one. Returns false. */
static bool refuse_texts(const printing *p, const char *member, aph_value object, print_texts *print, const char *rule)
{
    aph_value name, item;
    if (object && aph_kind_of(object) != APH_OBJECT)
        return refuse(p, "%s: must be an object, not %s", member, aphi_codec_kind(object));
    for (size_t i = 0; aph_pair_at(object, i, &name, &item); i++) {
        aphi_buffer one = {0};
        bool valid = print(&one, aph_set(aph_object(), name, item));
        aphi_span text = aphi_span_of(&name);
        aphi_buffer_free(&one);
        if (!valid)
            return refuse(p, "%s.%.*s: %s", member, shown(text), text.text, rule);
    }
    return false;
}

static bool print_texts_of(const printing *p, aphi_buffer *out, const char *member, aph_value object,
                           print_texts *print, const char *rule)
{
    return print(out, object) || refuse_texts(p, member, object, print, rule);
}

/* ---- bodies ------------------------------------------------------------------------------------------------------ */

static const char rule_of_texts[] = "must be a string, or an array of two or more strings";

static bool print_json(printing *p)
{
    aph_value json = aph_field(p->message, "json");
    size_t n;
    if (!aphi_codec_require_data(p->out, "json: ", json, APHI_HTTP_JSON_DEPTH))
        return false;
    char *text = aphi_codec_json_text(p->codec, json, &n);
    aphi_buffer_add(&p->body, text, n);
    free(text);
    return true;
}

/* A text whose content type has values would be read as a value. */
static bool print_text(printing *p, aphi_http_content content)
{
    aph_value body = aph_field(p->message, "body");
    if (body == APH_NIL)
        return true;
    if (!aph_is_str(body))
        return refuse(p, "body: must be a string, not %s", aphi_codec_kind(body));
    if (aph_count(body) && content != APHI_HTTP_TEXT)
        return refuse(p, "body: a body of this content-type is in %s", content == APHI_HTTP_FORM ? "form" : "json");
    add_span(&p->body, aphi_span_of(&body));
    return true;
}

/* Prints the content type that the codec writes, or checks the one that is given. */
static bool print_content_type(printing *p, bool json, aph_value type, aphi_http_content content)
{
    if (type == APH_NIL)
        aphi_buffer_str(&p->head, json ? "Content-Type: application/json\r\n"
                                       : "Content-Type: application/x-www-form-urlencoded\r\n");
    else if (content == APHI_HTTP_TEXT || (content == APHI_HTTP_FORM) == json)
        return refuse(p, "headers.content-type: is not a type of %s", json ? "json" : "form");
    else if (content == APHI_HTTP_JSON && p->side == APH_FROM_SERVER)
        return refuse(p, "headers.content-type: the codec writes application/json itself; remove it");
    return true;
}

/* Prints the one body that the message has, and the content type that goes with it. */
static bool print_body(printing *p)
{
    aph_value m = p->message, form = aph_field(m, "form"), type = aph_field(aph_field(m, "headers"), "content-type");
    bool json = aph_has(m, aph_str("json"));
    aphi_http_content content = aph_is_str(type) ? aphi_http_content_of(p->side, aphi_span_of(&type)) : APHI_HTTP_TEXT;
    if (json + aph_has(m, aph_str("form")) + aph_has(m, aph_str("body")) > 1)
        return refuse(p, "%s: a message has only one of json, form and body",
                      aph_has(m, aph_str("body")) ? "body" : "form");
    if (!json && (form == APH_NIL || form == aph_object()))
        return print_text(p, content);
    if (!print_content_type(p, json, type, content))
        return false;
    return json ? print_json(p) : print_texts_of(p, &p->body, "form", form, print_query, rule_of_texts);
}

/* ---- fields ------------------------------------------------------------------------------------------------------ */

/* Shows how the codec would read a reference that it cannot print. */
static bool refuse_reference(const printing *p, aphi_span key, aph_value reference)
{
    if (!aph_is_str(reference))
        return refuse(p, "headers.%.*s: must be {\"path\": ...}, with \"query\" and \"origin\" if present, or a string",
                      shown(key), key.text);
    char *text = aph_json_text(aphi_http_reference_parse(aphi_span_of(&reference)), NULL);
    refuse(p, "headers.%.*s: this string is read as %s; use that", shown(key), key.text, text);
    free(text);
    return false;
}

static bool print_reference(printing *p, aphi_span key, aph_value reference)
{
    aphi_buffer text = {0};
    bool valid = aphi_http_reference_print(&text, reference) || refuse_reference(p, key, reference);
    if (valid) {
        aph_value printed = aphi_http_uri_text(p->out, (aphi_span){text.data ? text.data : "", text.n});
        valid = aphi_http_is_value(aphi_span_of(&printed)) ||
                refuse(p, "headers.%.*s: has blanks at its ends, or control characters", shown(key), key.text);
        add_span(&p->head, aphi_span_of(&printed));
    }
    aphi_buffer_str(&p->head, "\r\n");
    aphi_buffer_free(&text);
    return valid;
}

static bool check_name(const printing *p, aphi_span key)
{
    if (aphi_http_is_method(key) && !aphi_http_is_name(key))
        return refuse(p, "headers.%.*s: a name must be in lower case", shown(key), key.text);
    if (!aphi_http_is_name(key))
        return refuse(p, "headers.%.*s: not the name of a header", shown(key), key.text);
    if (p->side == APH_TO_SERVER && aphi_span_is(key, "cookie"))
        return refuse(p, "headers.cookie: cookies are in the member cookies");
    if (aphi_http_is_apart(p->side, key))
        return refuse(p, "headers.%.*s: the codec does not read this header into messages; remove it", shown(key),
                      key.text);
    return p->side == APH_TO_SERVER || aphi_http_is_seen(p->kept, p->side, key) ||
           refuse(p, "headers.%.*s: not among the names that the codec keeps", shown(key), key.text);
}

static bool print_value(printing *p, aphi_span key, aph_value item)
{
    char digits[APHI_DECIMAL_MAX];
    bool request = p->side == APH_TO_SERVER, host = request && aphi_span_is(key, "host");
    aphi_span value;
    if (host)
        item = aphi_http_host_text(p->out, item);
    if (!aphi_http_scalar(&item, request, digits, &value))
        return refuse(p, "headers.%.*s: must be a string, not %s", shown(key), key.text, aphi_codec_kind(item));
    if (!aphi_http_is_value(value))
        return refuse(p, "headers.%.*s: has blanks at its ends, or control characters", shown(key), key.text);
    if (host && aphi_http_host(value) != value.n)
        return refuse(p, "headers.host: must be a host, with an optional port");
    add_span(&p->head, value);
    aphi_buffer_str(&p->head, "\r\n");
    return true;
}

static bool print_header(printing *p, aph_value name, aph_value item)
{
    bool request = p->side == APH_TO_SERVER;
    aphi_span key = aphi_span_of(&name);
    if (!check_name(p, key))
        return false;
    if (item == APH_NIL || (!request && aphi_span_is(key, "set-cookie"))) /* printed with its cookie */
        return true;
    add_span(&p->head, key);
    aphi_buffer_str(&p->head, ": ");
    return !request && aphi_http_is_reference(key) ? print_reference(p, key, item) : print_value(p, key, item);
}

static bool print_cookies(printing *p, aph_value attributes)
{
    static const char rule[] = "the name must be a token, and the value a string without ; or blanks at its ends";
    aph_value cookies = aph_field(p->message, "cookies");
    if (p->side == APH_TO_SERVER)
        return print_texts_of(p, &p->head, "cookies", cookies, aphi_http_cookie_print, rule);
    if (aphi_http_set_cookie_print(&p->head, cookies, attributes))
        return true;
    refuse_texts(p, "cookies", cookies, print_set_cookies, rule);
    /* only if there is no other reason */
    return refuse(p, "headers.set-cookie: must map names of cookies in this message to objects of attributes");
}

static bool print_headers(printing *p)
{
    aph_value headers = aph_field(p->message, "headers"), name, item;
    if (headers != APH_NIL && aph_kind_of(headers) != APH_OBJECT)
        return refuse(p, "headers: must be an object, not %s", aphi_codec_kind(headers));
    for (size_t i = 0; aph_pair_at(headers, i, &name, &item); i++)
        if (!print_header(p, name, item))
            return false;
    return print_cookies(p, aph_field(headers, "set-cookie"));
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

static bool print_path(printing *p)
{
    aph_value path = aph_field(p->message, "path"), query = aph_field(p->message, "query");
    if (aph_kind_of(path) != APH_ARRAY)
        return refuse(p, "path: must be an array of strings, not %s", aphi_codec_kind(path));
    if (!aphi_http_path_print(&p->head, path, true))
        return aph_count(path) == 1 && aph_str_is(aph_at(path, 0), "")
                   ? refuse(p, "path: [\"\"] would be read as [], the path /")
                   : refuse(p, "path: each part must be a string");
    if (aph_count(query))
        aphi_buffer_byte(&p->head, '?');
    return print_texts_of(p, &p->head, "query", query, print_query, rule_of_texts);
}

static bool print_other_target(printing *p, aphi_span method)
{
    aph_value target = aph_field(p->message, "target");
    if (aph_has(p->message, aph_str("path")) || aph_field(p->message, "query"))
        return refuse(p, "target: excludes path and query");
    if (!aph_is_str(target) || !aph_count(target) || *aphi_span_of(&target).text == '/')
        return refuse(p, "target: must be a string that does not begin with a slash; use path and query");
    target = aphi_span_is(method, "CONNECT") ? aphi_http_host_text(p->out, target)
                                             : aphi_http_uri_text(p->out, aphi_span_of(&target));
    add_span(&p->head, aphi_span_of(&target));
    return true;
}

/* The path with the query, or a target in another form. */
static bool print_target(printing *p, aphi_span method)
{
    size_t from = p->head.n;
    bool other = aph_field(p->message, "target") != APH_NIL;
    if (!(other ? print_other_target(p, method) : print_path(p)))
        return false;
    aphi_span printed = {p->head.data + from, p->head.n - from};
    return (printed.n && aphi_http_target(method, printed) == printed.n) ||
           refuse(p, "%s: invalid for %.*s", other ? "target" : "path", shown(method), method.text);
}

/* RFC 9110 8.6: a method that defines a meaning for content has a length even if there is none. */
static bool expects_length(aph_value method)
{
    return aph_str_is(method, "POST") || aph_str_is(method, "PUT") || aph_str_is(method, "PATCH");
}

static bool print_request(printing *p, bool *length)
{
    static const char *const names[] = {"method", "path", "query", "target", "headers", "cookies", "json", "form",
                                        "body"};
    aph_value method = aph_field(p->message, "method");
    if (!require_members(p, names, sizeof names / sizeof *names))
        return false;
    if (!aph_is_str(method) || !aphi_http_is_method(aphi_span_of(&method)))
        return refuse(p, "method: must be a string such as GET");
    add_span(&p->head, aphi_span_of(&method));
    aphi_buffer_byte(&p->head, ' ');
    if (!print_target(p, aphi_span_of(&method)))
        return false;
    aphi_buffer_str(&p->head, " HTTP/1.1\r\n");
    if (!aph_field(aph_field(p->message, "headers"), "host"))
        aphi_buffer_str(&p->head, "Host: " APHI_HTTP_HOST "\r\n");
    bool valid = print_headers(p) && print_body(p);
    *length = p->body.n || expects_length(method);
    return valid;
}

static bool print_response(printing *p, bool *length)
{
    static const char *const names[] = {"status", "headers", "cookies", "json", "body"};
    aph_value status = aph_field(p->message, "status");
    int64_t code = aph_is_int(status) ? aph_int_of(status) : 0;
    if (!require_members(p, names, sizeof names / sizeof *names))
        return false;
    if (code != 101 && (code < 200 || code > 599))
        return refuse(p, "status: must be an integer from 200 to 599, or 101");
    aphi_buffer_format(&p->head, "HTTP/1.1 %d \r\n", (int)code);
    *length = code != 101 && code != 204 && code != 304;
    if (!print_headers(p) || !print_body(p))
        return false;
    return *length || !p->body.n || refuse(p, "%s: a response with the status %d has no body",
                                           aph_has(p->message, aph_str("json")) ? "json" : "body", (int)code);
}

static bool encode(const aph_codec *codec, const aph_http_kept *kept, aph_side side, aph_value message, aph_sink *out)
{
    printing p = {.codec = codec, .kept = kept, .side = side, .message = message, .out = out};
    bool length = false, valid = side == APH_TO_SERVER ? print_request(&p, &length) : print_response(&p, &length);
    if (valid && length)
        aphi_buffer_format(&p.head, "Content-Length: %zu\r\n", p.body.n);
    aphi_buffer_str(&p.head, "\r\n");
    if (valid && p.head.n > APHI_HTTP_HEAD_MAX)
        valid = refuse(&p, "the head has more than %d bytes", APHI_HTTP_HEAD_MAX);
    if (valid) {
        aph_sink_put(out, p.head.data, p.head.n);
        if (p.body.n)
            aph_sink_put(out, p.body.data, p.body.n);
    }
    aphi_buffer_free(&p.head);
    aphi_buffer_free(&p.body);
    return valid;
}

bool aph_encode_http(const aph_codec *codec, aph_side side, aph_value message, aph_sink *out)
{
    return encode(codec, &(aph_http_kept){.of_responses = codec->data}, side, message, out);
}

bool aph_encode_http_kept(const aph_codec *codec, aph_side side, aph_value message, aph_sink *out)
{
    return encode(codec, codec->data, side, message, out);
}

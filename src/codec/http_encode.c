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
#include "codec/http_text.h"
#include "codec/http_uri.h"

#include <antiphon/http.h>

#include <stdlib.h>

typedef struct printing {
    const aph_codec *codec;
    aph_side side;
    aph_value message;
    aphi_buffer head, body;
} printing;

static void add_span(aphi_buffer *out, aphi_span s) { aphi_buffer_add(out, s.text, s.n); }

/* Returns true if the object has no other members than the n named ones. */
static bool has_only(aph_value message, const char *const *names, size_t n)
{
    size_t known = 0;
    for (size_t i = 0; i < n; i++)
        known += aph_has(message, aph_str(names[i]));
    return aph_kind_of(message) == APH_OBJECT && known == aph_count(message);
}

/* ---- bodies ------------------------------------------------------------------------------------------------------ */

static bool print_json(printing *p)
{
    aph_value json = aph_field(p->message, "json");
    size_t n;
    if (!aphi_codec_is_data(json, APHI_HTTP_JSON_DEPTH))
        return false;
    char *text = aph_json_text(json, &n);
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
    if (!aph_is_str(body) || (aph_count(body) && content != APHI_HTTP_TEXT))
        return false;
    add_span(&p->body, aphi_span_of(&body));
    return true;
}

/* Prints the one body that the message has, and the content type that goes with it. */
static bool print_body(printing *p)
{
    aph_value m = p->message, form = aph_field(m, "form"), type = aph_field(aph_field(m, "headers"), "content-type");
    bool json = aph_has(m, aph_str("json"));
    aphi_http_content content = aph_is_str(type) ? aphi_http_content_of(p->side, aphi_span_of(&type)) : APHI_HTTP_TEXT;
    if (json + aph_has(m, aph_str("form")) + aph_has(m, aph_str("body")) > 1)
        return false;
    if (!json && !aph_count(form))
        return (form == APH_NIL || form == aph_object()) && print_text(p, content);
    if (type == APH_NIL)
        aphi_buffer_str(&p->head, json ? "Content-Type: application/json\r\n"
                                       : "Content-Type: application/x-www-form-urlencoded\r\n");
    else if (content == APHI_HTTP_TEXT || (content == APHI_HTTP_FORM) == json ||
             (content == APHI_HTTP_JSON && p->side == APH_FROM_SERVER))
        return false;
    return json ? print_json(p) : aphi_http_query_print(&p->body, form, true);
}

/* ---- fields ------------------------------------------------------------------------------------------------------ */

static bool print_reference(printing *p, aph_value reference)
{
    size_t from = p->head.n;
    if (!aphi_http_reference_print(&p->head, reference))
        return false;
    bool valid = aphi_http_is_value((aphi_span){p->head.data + from, p->head.n - from});
    aphi_buffer_str(&p->head, "\r\n");
    return valid;
}

static bool print_header(printing *p, aph_value name, aph_value item)
{
    char digits[APHI_DECIMAL_MAX];
    bool request = p->side == APH_TO_SERVER;
    aphi_span key = aphi_span_of(&name), value;
    if (!aphi_http_is_name(key) || aphi_http_is_apart(p->side, key) || !aphi_http_is_seen(p->codec, p->side, key))
        return false;
    if (item == APH_NIL || (!request && aphi_span_is(key, "set-cookie"))) /* printed with its cookie */
        return true;
    add_span(&p->head, key);
    aphi_buffer_str(&p->head, ": ");
    if (!request && aphi_http_is_reference(key))
        return print_reference(p, item);
    if (!aphi_http_scalar(&item, request, digits, &value) || !aphi_http_is_value(value) ||
        (request && aphi_span_is(key, "host") && aphi_http_host(value) != value.n))
        return false;
    add_span(&p->head, value);
    aphi_buffer_str(&p->head, "\r\n");
    return true;
}

static bool print_headers(printing *p)
{
    aph_value headers = aph_field(p->message, "headers"), cookies = aph_field(p->message, "cookies"), name, item;
    if (headers != APH_NIL && aph_kind_of(headers) != APH_OBJECT)
        return false;
    for (size_t i = 0; aph_pair_at(headers, i, &name, &item); i++)
        if (!print_header(p, name, item))
            return false;
    if (p->side == APH_TO_SERVER)
        return aphi_http_cookie_print(&p->head, cookies);
    return aphi_http_set_cookie_print(&p->head, cookies, aph_field(headers, "set-cookie"));
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

/* The path with the query, or a target in another form. */
static bool print_target(printing *p, aphi_span method)
{
    aph_value m = p->message, target = aph_field(m, "target"), query = aph_field(m, "query");
    size_t from = p->head.n;
    if (target) {
        if (!aph_is_str(target) || !aph_count(target) || aph_has(m, aph_str("path")) || query ||
            *aphi_span_of(&target).text == '/')
            return false;
        add_span(&p->head, aphi_span_of(&target));
    } else {
        if (!aphi_http_path_print(&p->head, aph_field(m, "path"), true))
            return false;
        if (aph_count(query))
            aphi_buffer_byte(&p->head, '?');
        if (!aphi_http_query_print(&p->head, query, true))
            return false;
    }
    aphi_span printed = {p->head.data + from, p->head.n - from};
    return printed.n && aphi_http_target(method, printed) == printed.n;
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
    if (!has_only(p->message, names, sizeof names / sizeof *names) || !aph_is_str(method) ||
        !aphi_http_is_method(aphi_span_of(&method)))
        return false;
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
    if (!has_only(p->message, names, sizeof names / sizeof *names) || (code != 101 && (code < 200 || code > 599)))
        return false;
    aphi_buffer_format(&p->head, "HTTP/1.1 %d \r\n", (int)code);
    *length = code != 101 && code != 204 && code != 304;
    return print_headers(p) && print_body(p) && (*length || !p->body.n);
}

bool aph_encode_http(const aph_codec *codec, aph_side side, aph_value message, aph_sink *out)
{
    printing p = {.codec = codec, .side = side, .message = message};
    bool length, valid = side == APH_TO_SERVER ? print_request(&p, &length) : print_response(&p, &length);
    if (valid && length)
        aphi_buffer_format(&p.head, "Content-Length: %zu\r\n", p.body.n);
    aphi_buffer_str(&p.head, "\r\n");
    valid = valid && p.head.n <= APHI_HTTP_HEAD_MAX;
    if (valid) {
        aph_sink_put(out, p.head.data, p.head.n);
        if (p.body.n)
            aph_sink_put(out, p.body.data, p.body.n);
    }
    aphi_buffer_free(&p.head);
    aphi_buffer_free(&p.body);
    return valid;
}

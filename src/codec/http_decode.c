/* SPDX-License-Identifier: Apache-2.0
 *
 * http_decode.c - aph_codec_http: HTTP/1.1 messages into values.
 *
 * Idea:       http_head.c checks the lines as they arrive, http_frame.c finds the end, and then the value is built at
 *             once. Fields that frame the message are checked and dropped; cookies, references and bodies of JSON
 *             become values, so that a model can put symbols into them.
 * Invariants: 1. a decoded value can be encoded, to bytes that decode to the same value
 *             2. the result, including the error, does not depend on the segmentation of the input
 * Cost:       linear in the message, plus one pass over the head for each part of the body
 * Read next:  http_encode.c, docs/writing-models.md, tests/unit/test_codec_http.c */
#include "codec/http_message.h"

#include "codec/codec_internal.h"
#include "codec/http_cookies.h"
#include "codec/http_dates.h"
#include "codec/http_fields.h"
#include "codec/http_frame.h"
#include "codec/http_origins.h"
#include "codec/http_text.h"
#include "codec/http_uri.h"
#include "value/json_syntax.h"

#include <antiphon/http.h>

#include <stdlib.h>
#include <time.h>

enum { LIMIT = 16 << 20 };

/* ---- kinds of fields --------------------------------------------------------------------------------------------- */

static bool is_among(aphi_span name, const char *const *names)
{
    for (; *names; names++)
        if (aphi_span_is(name, *names))
            return true;
    return false;
}

bool aphi_http_is_apart(aph_side side, aphi_span name)
{
    static const char *const both[] = {"content-length", "transfer-encoding", "connection", "keep-alive", "trailer",
                                       NULL};
    static const char *const of_responses[] = {"date", "server", NULL};
    if (is_among(name, both))
        return true;
    return side == APH_TO_SERVER ? aphi_span_is(name, "cookie") : is_among(name, of_responses);
}

bool aphi_http_is_seen(const aph_http_kept *kept, aph_side side, aphi_span name)
{
    const char *const *names = side == APH_TO_SERVER ? kept->of_requests : kept->of_responses;
    return !names || is_among(name, names);
}

bool aphi_http_is_reference(aphi_span name)
{
    return aphi_span_is(name, "location") || aphi_span_is(name, "content-location");
}

static bool same_text(aphi_span s, const char *lower)
{
    size_t i = 0;
    while (i < s.n && lower[i] && aphi_lower(s.text[i]) == lower[i])
        i++;
    return i == s.n && !lower[i];
}

aphi_http_content aphi_http_content_of(aph_side side, aphi_span type)
{
    static const char suffix[] = "+json";
    const char *end = type.n ? memchr(type.text, ';', type.n) : NULL;
    type = aphi_trim((aphi_span){type.text, end ? (size_t)(end - type.text) : type.n});
    if (same_text(type, "application/json"))
        return APHI_HTTP_JSON;
    if (type.n > 5 && same_text((aphi_span){type.text + type.n - 5, 5}, suffix))
        return APHI_HTTP_LIKE_JSON;
    bool form = side == APH_TO_SERVER && same_text(type, "application/x-www-form-urlencoded");
    return form ? APHI_HTTP_FORM : APHI_HTTP_TEXT;
}

/* ---- fields ------------------------------------------------------------------------------------------------------ */

typedef struct reading {
    aph_wire *wire;
    const aph_codec *codec;
    const aph_http_kept *kept;
    const aphi_http_head *head;
    aph_value message, headers;
    aphi_http_content content;
} reading;

static aph_decoded check_date(reading *r, aphi_http_group g)
{
    aphi_span s = g.lines[0]->value;
    return g.count == 1 && aphi_http_date_read(s.text, s.n, (int64_t)time(NULL), &(int64_t){0})
               ? APH_DECODED
               : aphi_http_wrong(r->wire, g.lines[0]->at, "RFC 9110 5.6.7: the value of date is not an HTTP date");
}

static aph_decoded read_cookies(reading *r, aphi_http_group g)
{
    static const aphi_span name = {"set-cookie", 10};
    aph_value cookies, attributes = APH_NIL;
    aph_decoded result = r->wire->side == APH_TO_SERVER
                             ? aphi_http_cookie_read(r->wire, g, &cookies)
                             : aphi_http_set_cookie_read(r->wire, g, &cookies, &attributes);
    if (cookies)
        r->message = aph_put(r->message, "cookies", cookies);
    if (attributes && aphi_http_is_seen(r->kept, r->wire->side, name))
        r->headers = aph_put(r->headers, "set-cookie", attributes);
    return result;
}

static aph_value read_reference(const reading *r, aph_value text)
{
    text = aphi_http_uri_read(r->wire, aphi_span_of(&text));
    return aphi_http_reference_parse(aphi_span_of(&text));
}

static aph_decoded read_group(reading *r, aphi_http_group g)
{
    aphi_span name = g.lines[0]->name;
    bool response = r->wire->side == APH_FROM_SERVER;
    if (aphi_span_is(name, response ? "set-cookie" : "cookie"))
        return read_cookies(r, g);
    if (response && aphi_span_is(name, "date"))
        return check_date(r, g);
    if (aphi_http_is_apart(r->wire->side, name) || !aphi_http_is_seen(r->kept, r->wire->side, name))
        return APH_DECODED;
    aph_value value = aphi_http_join(g);
    if (!response && aphi_span_is(name, "host") && aph_str_is(value, APHI_HTTP_HOST))
        return APH_DECODED;
    if (!response && aphi_span_is(name, "host"))
        value = aphi_http_local_host_read(r->wire, aphi_span_of(&value));
    if (response && aphi_http_is_reference(name))
        value = read_reference(r, value);
    r->headers = aph_set(r->headers, aph_bytes(name.text, name.n), value);
    return APH_DECODED;
}

static void read_content_type(reading *r, aphi_http_group g)
{
    if (!aphi_span_is(g.lines[0]->name, "content-type"))
        return;
    aph_value type = aphi_http_join(g);
    r->content = aphi_http_content_of(r->wire->side, aphi_span_of(&type));
}

static aph_decoded read_fields(reading *r)
{
    const aphi_http_head *h = r->head;
    const aphi_http_line **lines = aphi_http_allocate((h->count + 1) * sizeof *lines);
    for (size_t i = 0; i < h->count; i++)
        lines[i] = &h->lines[i];
    qsort(lines, h->count, sizeof *lines, aphi_http_by_name);
    aph_decoded result = APH_DECODED;
    for (size_t i = 0; i < h->count && result == APH_DECODED;) {
        aphi_http_group g = aphi_http_group_at(lines + i, h->count - i);
        read_content_type(r, g);
        result = read_group(r, g);
        i += g.count;
    }
    free(lines);
    return result;
}

/* ---- bodies ------------------------------------------------------------------------------------------------------ */

/* Reports an error in the body. Its offset on the wire is not known if the body came in chunks. */
static aph_decoded wrong_body(reading *r, const aphi_http_framing *f, size_t at, const char *what, const char *why)
{
    return aphi_http_wrong(r->wire, r->head->end + (f->frame == APHI_HTTP_CHUNKED ? 0 : at), "%s%s", what, why);
}

static aph_decoded read_json(reading *r, const aphi_http_framing *f, aphi_span body, aph_value *json)
{
    aph_json_error error;
    if (aphi_codec_read_json(r->codec, body.text, body.n, json, &error, &r->wire->beyond)) {
        if (aphi_codec_is_data(*json, APHI_HTTP_JSON_DEPTH))
            return APH_DECODED;
        r->wire->beyond = true;
        return aphi_http_wrong(r->wire, r->head->end, "JSON of more than %d levels", APHI_HTTP_JSON_DEPTH);
    }
    return wrong_body(r, f, error.offset, r->wire->beyond ? "" : "the body is not JSON: ", error.message);
}

static aph_decoded read_form(reading *r, const aphi_http_framing *f, aphi_span body, aph_value *form)
{
    size_t at;
    if (aphi_http_query_parse(body, form, &at))
        return APH_DECODED;
    return wrong_body(r, f, at, "a percent sign in a form without two hexadecimal digits", "");
}

/* Adds the body. The content type that the codec writes for it is not a header. */
static aph_decoded read_body(reading *r, const aphi_http_framing *f)
{
    aph_value text = aphi_http_body_read(r->wire, r->head, f), value = text;
    aph_decoded result = APH_DECODED;
    const char *name = "body";
    if (aph_count(text) == 0)
        return APH_DECODED;
    if (r->content == APHI_HTTP_JSON || r->content == APHI_HTTP_LIKE_JSON) {
        result = read_json(r, f, aphi_span_of(&text), &value);
        name = "json";
    } else if (r->content == APHI_HTTP_FORM) {
        result = read_form(r, f, aphi_span_of(&text), &value);
        name = "form";
    }
    if (result == APH_DECODED && (value || r->content != APHI_HTTP_FORM))
        r->message = aph_put(r->message, name, value);
    if (r->content == APHI_HTTP_JSON || r->content == APHI_HTTP_FORM)
        r->headers = aph_remove(r->headers, aph_str("content-type"));
    return result;
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

static aph_value read_start(const reading *r)
{
    const aphi_http_head *h = r->head;
    if (r->wire->side == APH_FROM_SERVER)
        return aph_record("status", aph_int(h->status));
    aph_value method = aph_bytes(h->method.text, h->method.n);
    aph_value place = aphi_http_origin_form_parse(h->target);
    if (place)
        return aph_put(place, "method", method);
    bool connect = aphi_span_is(h->method, "CONNECT");
    return aph_record("method", method, "target", connect ? aphi_http_local_host_read(r->wire, h->target)
                                                          : aphi_http_uri_read(r->wire, h->target));
}

static aph_decoded read_message(reading *r, size_t limit)
{
    aphi_http_framing f;
    aph_decoded result = aphi_http_frame_of(r->wire, r->head, limit, &f);
    if (result == APH_DECODED)
        result = aphi_http_body_check(r->wire, r->head, limit, &f);
    if (result != APH_DECODED)
        return result;
    r->message = read_start(r);
    r->headers = aph_object();
    result = read_fields(r);
    if (result == APH_DECODED)
        result = read_body(r, &f);
    if (aph_count(r->headers))
        r->message = aph_put(r->message, "headers", r->headers);
    r->wire->message = r->message;
    r->wire->last = f.close;
    return result;
}

static aph_decoded decode(const aph_codec *codec, const aph_http_kept *kept, aph_wire *w)
{
    if (w->scanned % 2 == 0) {
        aph_decoded result = aphi_http_head_check(w);
        if (result != APH_DECODED)
            return result;
    }
    aphi_http_head head;
    aphi_http_head_read(w, &head);
    reading r = {.wire = w, .codec = codec, .kept = kept, .head = &head};
    aph_decoded result = read_message(&r, codec->limit ? codec->limit : LIMIT);
    aphi_http_head_free(&head);
    return result;
}

aph_decoded aph_decode_http(const aph_codec *codec, aph_wire *w)
{
    return decode(codec, &(aph_http_kept){.of_responses = codec->data}, w);
}

aph_decoded aph_decode_http_kept(const aph_codec *codec, aph_wire *w) { return decode(codec, codec->data, w); }

const aph_codec aph_codec_http = {.name = "http", .decode = aph_decode_http, .encode = aph_encode_http};

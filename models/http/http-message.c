/* SPDX-License-Identifier: Apache-2.0
 *
 * http-message.c - decoding of HTTP/1.1 messages into values.
 *
 * Idea:       http_head.c checks the lines as they arrive, http_frame.c finds the end, and then the value is built at
 *             once. The only state between calls is w->scanned: even until the head is complete, odd afterwards.
 * Invariants: 1. printing a decoded value gives bytes that decode to the same value
 *             2. the result, including the error, does not depend on the segmentation of the input
 * Cost:       linear in the message, plus one pass over the head for each part of the body. Fields with the same name
 *             are joined at once, without intermediate strings.
 * Read next:  docs/http.md, ../../src/codec/http_head.c, http_frame.c, printer.c, tests/unit/test_http_message.c */
#include "http-message.h"

#include "codec/http_dates.h"
#include "codec/http_fields.h"
#include "codec/http_frame.h"

#include <stdlib.h>
#include <time.h>

enum { LIMIT = 16 << 20 };

static bool is_among(aphi_span name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (aphi_span_is(name, names[i]))
            return true;
    return false;
}
#define IS_AMONG(name, names) is_among(name, names, sizeof(names) / sizeof *(names))

bool aphi_http_is_framing(aph_side side, aphi_span name)
{
    static const char *const both[] = {"content-length", "transfer-encoding", "connection"};
    static const char *const of_responses[] = {"keep-alive", "trailer"};
    return IS_AMONG(name, both) || (side == APH_FROM_SERVER && IS_AMONG(name, of_responses));
}

bool aphi_http_is_date(aphi_span name)
{
    static const char *const dates[] = {"last-modified", "if-modified-since", "if-unmodified-since"};
    return IS_AMONG(name, dates);
}

bool aphi_http_is_kept(aphi_span name)
{
    static const char *const kept[] = {"etag", "last-modified", "content-range", "via"};
    return IS_AMONG(name, kept);
}

/* ---- fields ------------------------------------------------------------------------------------------------------ */

static bool read_date(aph_value text, int64_t *seconds)
{
    size_t n;
    const char *bytes = aph_bytes_of(&text, &n);
    return aphi_http_date_read(bytes, n, (int64_t)time(NULL), seconds);
}

/* RFC 9110 13.1.3: a recipient ignores an invalid date, so in requests it stays a string. In a response it is an error.
 * */
static aph_decoded read_field(aph_wire *w, aphi_http_group g, aph_value *value)
{
    int64_t seconds;
    const aphi_http_line *first = g.lines[0];
    bool response = w->side == APH_FROM_SERVER;
    *value = aphi_http_join(g);
    if (!aphi_http_is_date(first->name) && !(response && aphi_span_is(first->name, "date")))
        return APH_DECODED;
    if (read_date(*value, &seconds))
        *value = aph_int(seconds);
    else if (response)
        return aphi_http_wrong(w, first->at, "RFC 9110 5.6.7: the value of %.*s is not an HTTP date",
                               (int)first->name.n, first->name.text);
    return APH_DECODED;
}

/* Returns the lines that become fields of the value, sorted by name. The caller frees the array. */
static const aphi_http_line **sorted(aph_side side, const aphi_http_head *h, size_t *count)
{
    const aphi_http_line **lines = aphi_http_allocate((h->count + 1) * sizeof *lines);
    *count = 0;
    for (size_t i = 0; i < h->count; i++) {
        aphi_span name = h->lines[i].name;
        if (side == APH_TO_SERVER ? !aphi_http_is_framing(side, name) : aphi_http_is_kept(name) ||
                                                                            aphi_span_is(name, "date"))
            lines[(*count)++] = &h->lines[i];
    }
    qsort(lines, *count, sizeof *lines, aphi_http_by_name);
    return lines;
}

/* In a response, sets *date to the Date, or -1. */
static aph_decoded read_fields(aph_wire *w, const aphi_http_head *h, aph_value *fields, aph_value *date)
{
    size_t count, n;
    const aphi_http_line **lines = sorted(w->side, h, &count);
    aph_decoded result = APH_DECODED;
    *fields = aph_object();
    *date = aph_int(-1);
    for (size_t i = 0; i < count && result == APH_DECODED; i += n) {
        aphi_span name = lines[i]->name;
        aphi_http_group g = aphi_http_group_at(lines + i, count - i);
        n = g.count;
        aph_value value;
        result = read_field(w, g, &value);
        if (w->side == APH_FROM_SERVER && aphi_span_is(name, "date"))
            *date = value;
        else
            *fields = aph_set(*fields, aph_bytes(name.text, name.n), value);
    }
    free(lines);
    return result;
}

/* Returns the other fields of a response, one line each. */
static aph_value read_more(const aphi_http_head *h)
{
    char little[1024], *text = little;
    size_t n = 0, size = 0;
    for (size_t i = 0; i < h->count; i++)
        size += h->lines[i].name.n + h->lines[i].value.n + 3;
    if (size > sizeof little)
        text = aphi_http_allocate(size);
    for (size_t i = 0; i < h->count; i++) {
        aphi_span name = h->lines[i].name, value = h->lines[i].value;
        if (aphi_http_is_framing(APH_FROM_SERVER, name) || aphi_http_is_kept(name) || aphi_span_is(name, "date"))
            continue;
        memcpy(text + n, name.text, name.n);
        n += name.n;
        text[n++] = ':';
        text[n++] = ' ';
        if (value.n)
            memcpy(text + n, value.text, value.n);
        n += value.n;
        text[n++] = '\n';
    }
    aph_value more = aph_bytes(text, n);
    if (text != little)
        free(text);
    return more;
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

static aph_decoded read_request(aph_wire *w, const aphi_http_head *h, const aphi_http_framing *f)
{
    aph_value fields, date;
    aph_decoded result = read_fields(w, h, &fields, &date);
    if (!aph_has(fields, aph_str("host"))) /* HTTP/1.0: printed as 1.1, which requires a Host */
        fields = aph_put(fields, "host", aph_str(""));
    w->message = aph_record("method", aph_bytes(h->method.text, h->method.n), "target",
                            aph_bytes(h->target.text, h->target.n), "fields", fields);
    if (f->frame != APHI_HTTP_NO_BODY)
        w->message = aph_put(w->message, "body", aphi_http_body_read(w, h, f));
    return result;
}

static aph_decoded read_response(aph_wire *w, const aphi_http_head *h, const aphi_http_framing *f)
{
    aph_value fields, date;
    aph_decoded result = read_fields(w, h, &fields, &date);
    if (result == APH_DECODED)
        w->message = aph_record("status", aph_int(h->status), "fields", fields, "date", date, "more", read_more(h),
                                "body", aphi_http_body_read(w, h, f));
    return result;
}

static aph_decoded decode_body(aph_wire *w, size_t limit, const aphi_http_head *h)
{
    aphi_http_framing f;
    aph_decoded result = aphi_http_frame_of(w, h, limit, &f);
    if (result == APH_DECODED)
        result = aphi_http_body_check(w, h, limit, &f);
    if (result == APH_DECODED)
        result = w->side == APH_TO_SERVER ? read_request(w, h, &f) : read_response(w, h, &f);
    if (result == APH_DECODED && f.close)
        w->message = aph_put(w->message, "close", aph_bool(true));
    return result;
}

static aph_decoded decode(const aph_codec *codec, aph_wire *w)
{
    if (w->scanned % 2 == 0) {
        aph_decoded result = aphi_http_head_check(w);
        if (result != APH_DECODED)
            return result;
    }
    aphi_http_head head;
    aphi_http_head_read(w, &head);
    aph_decoded result = decode_body(w, codec->limit ? codec->limit : LIMIT, &head);
    aphi_http_head_free(&head);
    return result;
}

const aph_codec aphi_http_codec = {.name = "http", .decode = decode, .encode = aphi_http_print};

/* SPDX-License-Identifier: Apache-2.0
 *
 * printer.c - encoding of values as HTTP/1.1 messages.
 *
 * Idea:       the head is written into a separate buffer, and each part is checked: a value that would not decode to
 *             itself is rejected. Only a valid head is written, followed by the body.
 * Not done:   chunks by default, since a value does not contain its framing; the Content-Length that a GET would have
 *             in a response to HEAD, since the printer does not know the request.
 * Read next:  http-message.c */
#include "http-message.h"

#include "codec/http_dates.h"
#include "codec/http_head.h"
#include "codec/http_text.h"

#include <time.h>

enum { CHUNK = 7 }; /* bytes of a short head */

/* ---- parts, checked ---------------------------------------------------------------------------------------------- */

static bool add_date(aphi_http_text *t, aphi_span name, aph_value seconds)
{
    char date[APHI_HTTP_DATE_SIZE + 1];
    if (!aph_is_int(seconds) || !aphi_http_date_write(aph_int_of(seconds), date))
        return false;
    aphi_http_text_add_line(t, name, (aphi_span){date, APHI_HTTP_DATE_SIZE}, "\r\n");
    return true;
}

static bool is_date(aphi_span s)
{
    return aphi_http_date_read(s.text, s.n, (int64_t)time(NULL), &(int64_t){0});
}

static bool add_field(aphi_http_text *t, aph_side side, aph_value key, aph_value item)
{
    aphi_span name, value;
    name.text = aph_bytes_of(&key, &name.n);
    bool date = aphi_http_is_date(name);
    if (!aphi_http_is_name(name) || aphi_http_is_framing(side, name) ||
        (side == APH_FROM_SERVER && !aphi_http_is_kept(name)))
        return false;
    if (date && (aph_is_int(item) || side == APH_FROM_SERVER))
        return add_date(t, name, item);
    if (!aph_is_str(item))
        return false;
    value.text = aph_bytes_of(&item, &value.n);
    if (!aphi_http_is_value(value) || (date && is_date(value)))
        return false;
    if (side == APH_TO_SERVER && aphi_span_is(name, "host") && aphi_http_host(value) != value.n)
        return false;
    aphi_http_text_add_line(t, name, value, "\r\n");
    return true;
}

static bool add_fields(aphi_http_text *t, aph_side side, aph_value fields)
{
    aph_value key, item;
    if (fields != APH_NIL && aph_kind_of(fields) != APH_OBJECT)
        return false;
    for (size_t i = 0; aph_pair_at(fields, i, &key, &item); i++)
        if (!add_field(t, side, key, item))
            return false;
    return true;
}

/* Adds the lines of "more", in the format of read_more in http-message.c. */
static bool add_more(aphi_http_text *t, aph_value more)
{
    aphi_span rest;
    if (!aph_is_str(more))
        return more == APH_NIL;
    rest.text = aph_bytes_of(&more, &rest.n);
    while (rest.n) {
        const char *end = memchr(rest.text, '\n', rest.n), *colon = memchr(rest.text, ':', rest.n);
        if (!end || !colon || end - colon < 2 || colon[1] != ' ')
            return false;
        aphi_span name = {rest.text, (size_t)(colon - rest.text)}, value = {colon + 2, (size_t)(end - colon) - 2};
        if (!aphi_http_is_name(name) || !aphi_http_is_value(value) || aphi_http_is_framing(APH_FROM_SERVER, name) ||
            aphi_http_is_kept(name) || aphi_span_is(name, "date"))
            return false;
        aphi_http_text_add_line(t, name, value, "\r\n");
        rest = (aphi_span){end + 1, rest.n - (size_t)(end + 1 - rest.text)};
    }
    return true;
}

/* Adds the framing field and the empty line. */
static bool add_end(aphi_http_text *t, aph_value message, bool length)
{
    char line[64];
    aph_value close = aph_field(message, "close");
    if (close != APH_NIL && !aph_truth(close))
        return false;
    if (length) {
        snprintf(line, sizeof line, "Content-Length: %zu\r\n", aph_count(aph_field(message, "body")));
        aphi_http_text_add_str(t, line);
    }
    if (close != APH_NIL)
        aphi_http_text_add_str(t, "Connection: close\r\n");
    aphi_http_text_add_str(t, "\r\n");
    return t->n <= APHI_HTTP_HEAD_MAX;
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

/* Returns true if the object has no other keys. */
static bool has_only(aph_value message, const char *const *keys, size_t count)
{
    size_t known = 0;
    for (size_t i = 0; i < count; i++)
        known += aph_has(message, aph_str(keys[i]));
    return aph_kind_of(message) == APH_OBJECT && known == aph_count(message);
}
#define HAS_ONLY(message, ...) \
    has_only(message, (const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static bool add_request(aphi_http_text *t, aph_value m)
{
    if (!HAS_ONLY(m, "method", "target", "fields", "body", "close"))
        return false;
    aph_value method = aph_field(m, "method"), target = aph_field(m, "target"), fields = aph_field(m, "fields");
    aph_value body = aph_field(m, "body");
    aphi_span verb, where;
    if (!aph_is_str(method) || !aph_is_str(target) || (body != APH_NIL && !aph_is_str(body)))
        return false;
    verb.text = aph_bytes_of(&method, &verb.n);
    where.text = aph_bytes_of(&target, &where.n);
    if (!aphi_http_is_method(verb) || where.n == 0 || aphi_http_target(verb, where) != where.n)
        return false;
    aphi_http_text_add(t, verb);
    aphi_http_text_add_str(t, " ");
    aphi_http_text_add(t, where);
    aphi_http_text_add_str(t, " HTTP/1.1\r\n");
    if (!aph_has(fields, aph_str("host")))
        aphi_http_text_add_str(t, "Host: antiphon\r\n");
    return add_fields(t, APH_TO_SERVER, fields) && add_end(t, m, body != APH_NIL);
}

static bool is_status(aph_value status)
{
    if (!aph_is_int(status))
        return false;
    int64_t code = aph_int_of(status);
    return code == 101 || (code >= 200 && code <= 599);
}

static bool add_response(aphi_http_text *t, aph_value m)
{
    char line[64];
    aph_value status = aph_field(m, "status"), date = aph_field(m, "date"), body = aph_field(m, "body");
    if (!HAS_ONLY(m, "status", "fields", "date", "more", "body", "close") || !is_status(status))
        return false;
    int code = (int)aph_int_of(status);
    bool empty = code == 101 || code == 204 || code == 304;
    if ((body != APH_NIL && !aph_is_str(body)) || (empty && aph_count(body)))
        return false;
    snprintf(line, sizeof line, "HTTP/1.1 %d \r\n", code);
    aphi_http_text_add_str(t, line);
    if (date != APH_NIL && date != aph_int(-1) && !add_date(t, (aphi_span){"date", 4}, date))
        return false;
    return add_fields(t, APH_FROM_SERVER, aph_field(m, "fields")) && add_more(t, aph_field(m, "more")) &&
           add_end(t, m, !empty);
}

bool aphi_http_print(const aph_codec *codec, aph_side side, aph_value message, aph_sink *out)
{
    (void)codec;
    aphi_http_text t;
    aphi_http_text_init(&t);
    bool right = side == APH_TO_SERVER ? add_request(&t, message) : add_response(&t, message);
    if (right) {
        size_t n = 0;
        aph_value body = aph_field(message, "body");
        aph_sink_put(out, t.data, t.n);
        if (body != APH_NIL) {
            const char *bytes = aph_bytes_of(&body, &n);
            aph_sink_put(out, bytes, n);
        }
    }
    aphi_http_text_free(&t);
    return right;
}

/* ---- chunks ------------------------------------------------------------------------------------------------------ */

bool aphi_http_has_length(aphi_span printed, size_t *n)
{
    static const char length[] = "Content-Length: ";
    const char *end = memmem(printed.text, printed.n, "\r\n\r\n", 4);
    const char *before = memrchr(printed.text, '\n', (size_t)(end - printed.text));
    const char *line = before ? before + 1 : printed.text;
    if (strncmp(line, length, sizeof length - 1) != 0)
        return false;
    *n = (size_t)(line - printed.text);
    return true;
}

void aphi_http_put_chunks(aph_sink *out, aphi_span body)
{
    static const char head[] = "Transfer-Encoding: chunked\r\n\r\n", last[] = "0\r\n\r\n";
    char line[32];
    aph_sink_put(out, head, sizeof head - 1);
    for (size_t n; body.n; body = (aphi_span){body.text + n, body.n - n}) {
        n = body.n < CHUNK || body.n > CHUNK * CHUNK ? body.n : CHUNK;
        aph_sink_put(out, line, (size_t)snprintf(line, sizeof line, "%zx\r\n", n));
        aph_sink_put(out, body.text, n);
        aph_sink_put(out, "\r\n", 2);
    }
    aph_sink_put(out, last, sizeof last - 1);
}

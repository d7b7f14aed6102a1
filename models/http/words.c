/* SPDX-License-Identifier: Apache-2.0
 *
 * words.c - messages of the HTTP models as readable text.
 *
 *     PUT /a  If-None-Match: W/"x"  "abc"
 *     200  ETag: "5-1a2b"  Last-Modified: 06 Nov 1994 08:49:37  "abc"
 *     412  (381 bytes)
 *
 * and through a proxy
 *
 *     PUT http://here/a  x-mark: 7  "abc"
 *     PUT /a  Host: here  x-mark: 7  Via: 1.1 p  "abc"
 *     204  etag: "5-1a2b"  Via: 1.1 p  server: q
 *
 * Idea:       the kind of a value determines its format: a tag has "opaque", a time is an integer, a list of integers
 *             is a range. A symbol is none of these; the caller formats it. Dates omit the day of the week and the
 *             zone. A long body is shown by its size; requested or stored content also by its beginning. Messages
 *             through a proxy have arbitrary fields, shown with their names in the message; fields known to the model
 *             are spelled as in RFC 9110. */
#include "http-model.h"

#include "codec/http_dates.h"
#include "proxy.h"

#include <stdio.h>

enum { BODY_SHOWN = 32, BODY_BEGINNING = 20, PIECES = 64, TAGS_SHOWN = 8 };

typedef struct words {
    aph_value pieces[PIECES];
    size_t n;
} words;

static void add_piece(words *s, aph_value piece)
{
    if (s->n < PIECES)
        s->pieces[s->n++] = piece;
}

static void add_text(words *s, const char *text) { add_piece(s, aph_str(text)); }

static void add_tag(words *s, aph_value tag)
{
    add_text(s, aph_truth(aph_field(tag, "weak")) ? "W/\"" : "\"");
    add_piece(s, aph_field(tag, "opaque"));
    add_text(s, "\"");
}

static void add_tags(words *s, aph_value tags)
{
    size_t n = aph_count(tags);
    for (size_t i = 0; i < n && i < TAGS_SHOWN; i++) {
        add_text(s, i ? ", " : "");
        add_tag(s, aph_at(tags, i));
    }
    if (n > TAGS_SHOWN)
        add_piece(s, aph_strf(", and %zu more", n - TAGS_SHOWN));
}

/* "Sun, 06 Nov 1994 08:49:37 GMT", without the day of the week and the zone. */
static void add_time(words *s, aph_value time)
{
    char date[APHI_HTTP_DATE_SIZE + 1];
    if (aphi_http_date_write(aph_int_of(time), date))
        add_piece(s, aph_bytes(date + 5, APHI_HTTP_DATE_SIZE - 9));
    else
        add_piece(s, time);
}

static void add_value(words *s, aph_value v)
{
    if (aph_is_int(v))
        add_time(s, v);
    else if (aph_kind_of(v) == APH_ARRAY && aph_is_int(aph_at(v, 0)) && aph_is_int(aph_at(v, 1)))
        add_piece(s, aph_strf("bytes=%lld-%lld", (long long)aph_int_of(aph_at(v, 0)),
                              (long long)aph_int_of(aph_at(v, 1))));
    else if (aph_kind_of(v) == APH_ARRAY)
        add_tags(s, v);
    else if (aph_kind_of(v) == APH_OBJECT && aph_field(v, "opaque"))
        add_tag(s, v);
    else
        add_piece(s, v);
}

static void add_field(words *s, aph_value message, const char *name, const char *field)
{
    aph_value v = aph_field(message, name);
    if (!v)
        return;
    add_piece(s, aph_strf("  %s: ", field));
    add_value(s, v);
}

static void add_body(words *s, aph_value body, bool is_content)
{
    if (!body)
        return;
    if (!aph_is_str(body)) {
        add_text(s, "  body ");
        add_piece(s, body);
        return;
    }
    size_t n = aph_count(body);
    if (n <= BODY_SHOWN || is_content) {
        add_text(s, n || is_content ? "  \"" : "");
        add_piece(s, n <= BODY_SHOWN ? body : aph_substr(body, 0, BODY_BEGINNING));
        add_text(s, n > BODY_SHOWN ? "…\"" : n || is_content ? "\"" : "");
    }
    if (n > BODY_SHOWN)
        add_piece(s, aph_strf("%s(%zu bytes)", is_content ? " " : "  ", n));
}

static void add_request(words *s, aph_value request)
{
    static const char *const fields[][2] = {
        {"if-match", "If-Match"},
        {"if-none-match", "If-None-Match"},
        {"if-modified-since", "If-Modified-Since"},
        {"if-unmodified-since", "If-Unmodified-Since"},
        {"range", "Range"},
        {"if-range", "If-Range"},
    };
    add_piece(s, aph_field(request, "method"));
    add_text(s, " ");
    add_piece(s, aph_field(request, "target"));
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        add_field(s, request, fields[i][0], fields[i][1]);
    if (aph_truth(aph_field(request, "expect")))
        add_text(s, "  Expect: 100-continue");
    add_body(s, aph_field(request, "body"), true);
    if (aph_truth(aph_field(request, "chunked")))
        add_text(s, " in chunks");
}

static void add_response(words *s, aph_value answer)
{
    aph_value status = aph_field(answer, "status");
    add_piece(s, status);
    add_field(s, answer, "tag", "ETag");
    add_field(s, answer, "modified", "Last-Modified");
    add_field(s, answer, "date", "Date");
    if (aph_field(answer, "date"))
        add_text(s, ", earlier (RFC 9110 8.8.2.1)");
    add_field(s, answer, "range", "Content-Range");
    if (aph_field(answer, "allow"))
        add_text(s, "  Allow");
    add_body(s, aph_field(answer, "body"), status == aph_int(200) || status == aph_int(206));
}

static bool is_request(aph_value message)
{
    return aph_is_str(aph_field(message, "method")) && aph_is_str(aph_field(message, "target"));
}

static aph_value array_of(const words *s) { return s->n ? aph_array(s->n, s->pieces) : APH_NIL; }

aph_value aphi_http_words(aph_value message)
{
    words s = {.n = 0};
    if (aph_kind_of(message) != APH_OBJECT)
        return APH_NIL;
    if (is_request(message))
        add_request(&s, message);
    else if (aph_field(message, "status"))
        add_response(&s, message);
    return array_of(&s);
}

/* ---- messages through a proxy ------------------------------------------------------------------------------------ */

static void add_fields(words *s, aph_value fields)
{
    aph_value name, value;
    for (size_t i = 0; aph_kind_of(fields) == APH_OBJECT && aph_pair_at(fields, i, &name, &value); i++) {
        add_text(s, "  ");
        add_piece(s, name);
        add_text(s, ": ");
        add_value(s, value);
    }
}

/* Adds hop-by-hop fields, and Connection, which names them. */
static void add_hop(words *s, aph_value hop)
{
    aph_value name, value;
    add_fields(s, hop);
    for (size_t i = 0; aph_kind_of(hop) == APH_OBJECT && aph_pair_at(hop, i, &name, &value); i++) {
        add_text(s, i ? ", " : "  Connection: ");
        add_piece(s, name);
    }
}

static void add_via(words *s, aph_value via)
{
    for (size_t i = 0; aph_kind_of(via) == APH_ARRAY && i < aph_count(via); i++) {
        add_text(s, i ? ", " : "  Via: ");
        add_piece(s, aph_field(aph_at(via, i), "protocol"));
        add_text(s, " ");
        add_piece(s, aph_field(aph_at(via, i), "by"));
    }
}

/* Adds the lines of other fields, in one line. */
static void add_more(words *s, aph_value more)
{
    size_t n, begin = 0;
    if (!more)
        return;
    if (!aph_is_str(more)) {
        add_text(s, "  fields ");
        add_piece(s, more);
        return;
    }
    const char *text = aph_bytes_of(&more, &n);
    for (size_t i = 0; i < n; i++)
        if (text[i] == '\n' || i + 1 == n) {
            add_text(s, "  ");
            add_piece(s, aph_substr(more, begin, i + (text[i] != '\n') - begin));
            begin = i + 1;
        }
}

/* Adds the members common to requests and responses. */
static void add_common(words *s, aph_value message)
{
    aph_value body = aph_field(message, "body");
    add_fields(s, aph_field(message, "fields"));
    add_hop(s, aph_field(message, "hop"));
    add_via(s, aph_field(message, "via"));
    if (aph_field(message, "date") != aph_int(-1))
        add_field(s, message, "date", "Date");
    add_more(s, aph_field(message, "more"));
    add_body(s, body, !aph_is_str(body) || aph_count(body));
    if (aph_truth(aph_field(message, "chunked")))
        add_text(s, " in chunks");
}

/* Host is omitted if it equals the target's host. */
static void add_proxy_request(words *s, aph_value request)
{
    aph_value to = aph_field(request, "to"), forwards = aph_field(request, "max-forwards");
    add_piece(s, aph_field(request, "method"));
    add_text(s, to ? " http://" : " ");
    if (to)
        add_piece(s, to);
    add_piece(s, aph_field(request, "target"));
    if (aph_field(request, "host") != to)
        add_field(s, request, "host", "Host");
    if (forwards) {
        add_text(s, "  Max-Forwards: ");
        add_piece(s, forwards);
    }
    add_common(s, request);
}

aph_value aphi_proxy_words(aph_value message)
{
    words s = {.n = 0};
    if (message == aph_bool(false))
        add_text(&s, "closes the connection");
    if (is_request(message)) {
        add_proxy_request(&s, message);
    } else if (aph_field(message, "status")) {
        add_piece(&s, aph_field(message, "status"));
        add_common(&s, message);
    }
    return array_of(&s);
}

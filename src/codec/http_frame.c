/* SPDX-License-Identifier: Apache-2.0
 *
 * http_frame.c - the end of a message: by length, by chunks, by the end of the connection, or no body.
 *
 * Idea:       the fields determine the framing (RFC 9112 6.3). Anything that two recipients could interpret differently
 *             is an error, since it enables request smuggling. Chunks are checked as they arrive, and joined when all
 *             are complete.
 * Invariants: 1. w->scanned is odd in this file; heads leave it even. The start s of a chunk is stored as the odd
 *                number of s - 1 and s. It can be recovered: a chunk begins with a digit, and the byte before it is LF
 *             2. lengths are not trusted: a length above the limit is rejected when it is announced
 * Cost:       each call reads the head, up to 64 KiB, and the line of the incomplete chunk again
 * Read next:  http_decode.c */
#include "codec/http_frame.h"

#include <stdlib.h>

/* ---- lists in fields --------------------------------------------------------------------------------------------- */

/* Gets the next element of a list, trimmed, and moves *rest past it. Returns false at the end. */
static bool next_element(aphi_span *rest, aphi_span *element)
{
    if (!rest->text)
        return false;
    const char *comma = rest->n ? memchr(rest->text, ',', rest->n) : NULL;
    size_t n = comma ? (size_t)(comma - rest->text) : rest->n;
    *element = aphi_trim((aphi_span){rest->text, n});
    *rest = comma ? (aphi_span){comma + 1, rest->n - n - 1} : (aphi_span){NULL, 0};
    return true;
}

static bool same_word(aphi_span a, const char *lower)
{
    if (a.n != strlen(lower))
        return false;
    for (size_t i = 0; i < a.n; i++)
        if (aphi_lower(a.text[i]) != lower[i])
            return false;
    return true;
}

/* ---- framing fields ---------------------------------------------------------------------------------------------- */

typedef struct framing_fields {
    const aphi_http_line *length, *coding, *host; /* the first of each */
    aphi_span digits;                             /* of the length, without leading zeros */
    unsigned chunked, hosts;
    bool close, keep_alive;
} framing_fields;

static void read_connection(framing_fields *s, aphi_span rest)
{
    aphi_span option;
    while (next_element(&rest, &option)) {
        s->close |= same_word(option, "close");
        s->keep_alive |= same_word(option, "keep-alive");
    }
}

/* RFC 9110 5.6.1: empty elements of a list are ignored. */
static aph_decoded read_coding(aph_wire *w, framing_fields *s, const aphi_http_line *l)
{
    aphi_span rest = l->value, coding;
    s->coding = s->coding ? s->coding : l;
    while (next_element(&rest, &coding)) {
        if (coding.n == 0)
            continue;
        if (!same_word(coding, "chunked"))
            return aphi_http_wrong(w, l->at,
                                   "RFC 9112 6.1: a transfer coding other than chunked, which was not requested");
        if (s->chunked++)
            return aphi_http_wrong(w, l->at, "RFC 9112 6.1: chunked more than once");
    }
    return APH_DECODED;
}

/* RFC 9110 8.6 allows a list of equal lengths. */
static aph_decoded read_length(aph_wire *w, framing_fields *s, const aphi_http_line *l)
{
    aphi_span rest = l->value, digits;
    while (next_element(&rest, &digits)) {
        for (size_t i = 0; i < digits.n; i++)
            if (!aphi_is_digit((unsigned char)digits.text[i]))
                return aphi_http_wrong(w, l->at, "RFC 9110 8.6: a Content-Length must have only digits");
        if (digits.n == 0)
            return aphi_http_wrong(w, l->at, "RFC 9110 8.6: a Content-Length must have at least one digit");
        while (digits.n > 1 && *digits.text == '0')
            digits = (aphi_span){digits.text + 1, digits.n - 1};
        if (s->length && (digits.n != s->digits.n || memcmp(digits.text, s->digits.text, digits.n) != 0))
            return aphi_http_wrong(w, l->at, "RFC 9112 6.3: two different Content-Length values");
        s->length = s->length ? s->length : l;
        s->digits = digits;
    }
    return APH_DECODED;
}

static aph_decoded read_host(aph_wire *w, framing_fields *s, const aphi_http_line *l)
{
    if (s->hosts++)
        return aphi_http_wrong(w, l->at, "RFC 9112 3.2: more than one Host");
    s->host = l;
    size_t right = aphi_http_host(l->value);
    return right == l->value.n ? APH_DECODED
                               : aphi_http_wrong(w, l->at + right, "RFC 9112 3.2: Host is not a host and port");
}

static aph_decoded read_framing_field(aph_wire *w, framing_fields *s, const aphi_http_line *l)
{
    if (aphi_span_is(l->name, "connection"))
        read_connection(s, l->value);
    if (aphi_span_is(l->name, "transfer-encoding"))
        return read_coding(w, s, l);
    if (aphi_span_is(l->name, "content-length"))
        return read_length(w, s, l);
    if (w->side == APH_TO_SERVER && aphi_span_is(l->name, "host"))
        return read_host(w, s, l);
    return APH_DECODED;
}

/* Checks combinations of fields. */
static aph_decoded check_framing_fields(aph_wire *w, const aphi_http_head *h, const framing_fields *s)
{
    if (s->coding && h->minor == 0)
        return aphi_http_wrong(w, s->coding->at, "RFC 9112 6.1: Transfer-Encoding in an HTTP/1.0 message");
    if (s->coding && s->length)
        return aphi_http_wrong(w, s->length->at, "RFC 9112 6.3: Transfer-Encoding and Content-Length together");
    if (s->coding && !s->chunked)
        return aphi_http_wrong(w, s->coding->at, "RFC 9112 6.1: empty Transfer-Encoding");
    if (w->side == APH_TO_SERVER && !s->host && h->minor > 0)
        return aphi_http_wrong(w, h->end - 1, "RFC 9112 3.2: an HTTP/1.1 request without Host");
    bool never = h->status == 204 || h->status == 101;
    if (never && s->coding)
        return aphi_http_wrong(w, s->coding->at, "RFC 9112 6.1: Transfer-Encoding in a %d response", h->status);
    if (never && s->length)
        return aphi_http_wrong(w, s->length->at, "RFC 9110 8.6: Content-Length in a %d response", h->status);
    return APH_DECODED;
}

/* ---- framing ----------------------------------------------------------------------------------------------------- */

/* RFC 9112 6.3, the first two rules: no body, regardless of the fields. */
static bool has_no_body(const aph_wire *w, const aphi_http_head *h)
{
    aph_value method = aph_field(w->asked, "method");
    return h->status == 101 || h->status == 204 || h->status == 304 || aph_str_is(method, "HEAD") ||
           (aph_str_is(method, "CONNECT") && h->status < 300);
}

static aph_decoded parse_length(aph_wire *w, const aphi_http_head *h, const framing_fields *s, size_t limit,
                                size_t *length)
{
    size_t most = limit - h->end, n = 0;
    for (size_t i = 0; i < s->digits.n && n <= most; i++)
        n = n * 10 + (size_t)(s->digits.text[i] - '0');
    if (n > most)
        return aphi_http_beyond(w, s->length->at, "the Content-Length announces a message", limit);
    *length = n;
    return APH_DECODED;
}

aph_decoded aphi_http_frame_of(aph_wire *w, const aphi_http_head *h, size_t limit, aphi_http_framing *f)
{
    framing_fields s = {0};
    aph_decoded result = APH_DECODED;
    for (size_t i = 0; i < h->count && result == APH_DECODED; i++)
        result = read_framing_field(w, &s, &h->lines[i]);
    if (result == APH_DECODED)
        result = check_framing_fields(w, h, &s);
    if (result != APH_DECODED)
        return result;
    bool response = w->side == APH_FROM_SERVER;
    *f = (aphi_http_framing){.close = s.close || (h->minor == 0 && !s.keep_alive)};
    if (response && has_no_body(w, h))
        f->frame = APHI_HTTP_NO_BODY;
    else if (s.coding)
        f->frame = APHI_HTTP_CHUNKED;
    else if (s.length)
        f->frame = APHI_HTTP_LENGTH;
    else
        f->frame = response ? APHI_HTTP_TO_THE_END : APHI_HTTP_NO_BODY;
    return f->frame == APHI_HTTP_LENGTH ? parse_length(w, h, &s, limit, &f->length) : APH_DECODED;
}

/* ---- chunks ------------------------------------------------------------------------------------------------------ */

/* Invariant 1. */
static size_t odd_of(size_t s)
{
    return (s - 1) | 1;
}

static size_t chunk_of(const aph_wire *w, const aphi_http_head *h)
{
    size_t odd = w->scanned;
    if (odd == odd_of(h->end)) /* the first chunk may be missing or wrong */
        return h->end;
    return w->bytes[odd] == '\n' ? odd + 1 : odd;
}

typedef struct chunk {
    size_t size, data; /* offset of its data */
} chunk;

static const char LINE[] = "a line with a chunk size";

/* Skips extensions (RFC 9112 7.1.1); moves *at to the end of the line. */
static aph_decoded skip_extensions(aph_wire *w, size_t start, size_t *at)
{
    bool blank = true;
    for (; *at < w->count && w->bytes[*at] != '\r'; ++*at) {
        unsigned char c = w->bytes[*at];
        if (*at - start >= APHI_HTTP_CHUNK_LINE_MAX)
            return aphi_http_beyond(w, *at, LINE, APHI_HTTP_CHUNK_LINE_MAX);
        if (!aphi_is_text(c) || (blank && !aphi_is_blank(c) && c != ';'))
            return aphi_http_wrong(w, *at, "RFC 9112 7.1: expected CRLF or a semicolon after a chunk size");
        blank = blank && aphi_is_blank(c);
    }
    if (*at < w->count && blank && aphi_is_blank(w->bytes[*at - 1]))
        return aphi_http_wrong(w, *at, "RFC 9112 7.1: blanks after a chunk size without an extension");
    return APH_DECODED;
}

static aph_decoded expect_crlf(aph_wire *w, size_t at, const char *where)
{
    for (size_t i = 0; i < 2; i++) {
        if (at + i == w->count)
            return aphi_http_more(w, "the middle of the chunks");
        if (w->bytes[at + i] != (unsigned char)"\r\n"[i])
            return aphi_http_wrong(w, at + i, "RFC 9112 7.1: expected CRLF %s", where);
    }
    return APH_DECODED;
}

/* Saturates above the limit. */
static aph_decoded read_size(aph_wire *w, size_t limit, size_t *at, size_t *size)
{
    size_t start = *at;
    int digit;
    for (*size = 0; *at < w->count && (digit = aphi_hex_of(w->bytes[*at])) >= 0; ++*at) {
        *size = *size > limit ? *size : *size * 16 + (size_t)digit;
        if (*at - start >= APHI_HTTP_CHUNK_LINE_MAX)
            return aphi_http_beyond(w, *at, LINE, APHI_HTTP_CHUNK_LINE_MAX);
    }
    if (*at < w->count && *at == start)
        return aphi_http_wrong(w, start, "RFC 9112 7.1: expected a chunk size in hexadecimal digits");
    return APH_DECODED;
}

static aph_decoded read_chunk(aph_wire *w, size_t at, size_t limit, chunk *c)
{
    size_t start = at;
    aph_decoded result = read_size(w, limit, &at, &c->size);
    if (result == APH_DECODED)
        result = skip_extensions(w, start, &at);
    if (result == APH_DECODED)
        result = expect_crlf(w, at, "after a chunk size");
    c->data = at + 2;
    if (result == APH_DECODED && c->size > limit - c->data)
        return aphi_http_beyond(w, start, "a chunk size announces a message", limit);
    if (result == APH_DECODED && c->size > w->count - c->data)
        return aphi_http_more(w, "the middle of a chunk");
    return result == APH_DECODED && c->size ? expect_crlf(w, c->data + c->size, "after a chunk") : result;
}

static aph_decoded check_chunks(aph_wire *w, const aphi_http_head *h, size_t limit)
{
    size_t at = chunk_of(w, h);
    chunk c;
    for (;;) {
        w->scanned = at < w->count && aphi_hex_of(w->bytes[at]) >= 0 ? odd_of(at) : w->scanned;
        aph_decoded result = read_chunk(w, at, limit, &c);
        if (result != APH_DECODED)
            return result;
        if (c.size == 0)
            return aphi_http_trailer_check(w, c.data, &w->used);
        at = c.data + c.size + 2;
    }
}

static aph_value join_chunks(const aph_wire *w, const aphi_http_head *h)
{
    aph_wire again = *w;
    char *body = aphi_http_allocate(w->used - h->end);
    size_t n = 0, at = h->end;
    chunk c;
    while (read_chunk(&again, at, w->count, &c) == APH_DECODED && c.size) {
        memcpy(body + n, w->bytes + c.data, c.size);
        n += c.size;
        at = c.data + c.size + 2;
    }
    aph_value joined = aph_bytes(body, n);
    free(body);
    return joined;
}

/* ---- bodies ------------------------------------------------------------------------------------------------------ */

/* Rejects a message at the limit without waiting for the end of the connection. */
static aph_decoded check_to_the_end(aph_wire *w, size_t limit)
{
    if (!w->ended)
        return APH_MORE;
    if (w->count >= limit)
        return aphi_http_beyond(w, limit, "a message", limit);
    w->used = w->count;
    return APH_DECODED;
}

aph_decoded aphi_http_body_check(aph_wire *w, const aphi_http_head *h, size_t limit, const aphi_http_framing *f)
{
    if (w->scanned % 2 == 0)
        w->scanned = odd_of(h->end);
    switch (f->frame) {
    case APHI_HTTP_CHUNKED: return check_chunks(w, h, limit);
    case APHI_HTTP_TO_THE_END: return check_to_the_end(w, limit);
    default: break;
    }
    if (w->count - h->end < f->length)
        return aphi_http_more(w, "the middle of a body, before the end given by its Content-Length");
    w->used = h->end + f->length;
    return APH_DECODED;
}

aph_value aphi_http_body_read(const aph_wire *w, const aphi_http_head *h, const aphi_http_framing *f)
{
    return f->frame == APHI_HTTP_CHUNKED ? join_chunks(w, h) : aph_bytes(w->bytes + h->end, w->used - h->end);
}

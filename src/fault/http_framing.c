/* SPDX-License-Identifier: Apache-2.0
 *
 * http_framing.c - the boundaries of HTTP/1.1 messages (RFC 9112, section 6).
 *
 * Idea:       `state` is the kind of the next element. Heads and lines are returned whole, bodies as they arrive.
 * Invariants: 1. the concatenated pieces are the stream
 *             2. heads, lines, and the concatenated data between them do not depend on the sizes of the reads
 *             3. a head or line beyond its limit is opaque: a caller with a buffer of that size never waits forever
 * Not done:   use of the codec of the HTTP model, which rejects malformed messages; a proxy must forward them. */
#include "fault/http_framing.h"

#include "base/buffer.h"

#include <string.h>
#include <strings.h>

enum { HEAD_MAX = 64 << 10, LINE_MAX_BYTES = 8 << 10 };

/* ---- pieces ------------------------------------------------------------------------------------------------------ */

static aphi_piece make_piece(aphi_piece_kind kind, size_t n) { return (aphi_piece){.kind = kind, .n = n}; }

static aphi_piece opaque_piece(aphi_http_framing *s, size_t n)
{
    s->state = APHI_FRAMING_OPAQUE;
    return make_piece(n ? APHI_PIECE_OPAQUE : APHI_PIECE_MORE, n);
}

/* Returns the end of the line that begins at `from`, or 0 if it has not arrived yet. */
static size_t line_size(const char *bytes, size_t from, size_t n)
{
    const char *end = memchr(bytes + from, '\n', n - from);
    return end ? (size_t)(end - bytes) + 1 : 0;
}

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

static bool is_empty_line(const char *line, size_t n) { return n == 1 || (n == 2 && line[0] == '\r'); }

/* Requests more bytes, unless the stream has ended or the limit is reached. */
static aphi_piece wait_for_more(aphi_http_framing *s, size_t n, size_t most, bool ended)
{
    if (ended || n >= most)
        return opaque_piece(s, n);
    return make_piece(APHI_PIECE_MORE, 0);
}

static aphi_piece next_head(aphi_http_framing *s, const char *bytes, size_t n, bool ended)
{
    size_t blank = 0;
    while (blank < n && (bytes[blank] == '\r' || bytes[blank] == '\n'))
        blank++;
    if (blank)
        return make_piece(APHI_PIECE_BLANK, blank);
    size_t line = s->scanned; /* the beginning of a line */
    for (size_t end; line < n && (end = line_size(bytes, line, n)); line = end) {
        if (end > HEAD_MAX)
            return opaque_piece(s, n);
        if (is_empty_line(bytes + line, end - line)) {
            s->scanned = 0;
            return make_piece(APHI_PIECE_HEAD, end);
        }
    }
    s->scanned = line;
    return wait_for_more(s, n, HEAD_MAX, ended);
}

/* Returns the size of a whole line; 0 if there is none, with the piece to return in *p. */
static size_t next_line(aphi_http_framing *s, const char *bytes, size_t n, bool ended, aphi_piece *p)
{
    size_t size = line_size(bytes, s->scanned, n);
    if (size > LINE_MAX_BYTES)
        *p = opaque_piece(s, n);
    else if (!size)
        *p = wait_for_more(s, n, LINE_MAX_BYTES, ended);
    s->scanned = size ? 0 : n;
    return size > LINE_MAX_BYTES ? 0 : size;
}

/* Parses the hexadecimal number at the start of the line. */
static bool parse_chunk_size(const char *line, size_t n, uint64_t *size)
{
    size_t i = 0;
    for (*size = 0; i < n && aphi_hex_digit(line[i]) >= 0; i++) {
        if (i >= 15)
            return false;
        *size = *size * 16 + (uint64_t)aphi_hex_digit(line[i]);
    }
    return i > 0 && i < n && (is_blank(line[i]) || line[i] == ';');
}

static aphi_piece next_chunk(aphi_http_framing *s, const char *bytes, size_t n, bool ended)
{
    aphi_piece p;
    size_t line = next_line(s, bytes, n, ended, &p);
    if (!line)
        return p;
    if (!parse_chunk_size(bytes, line, &s->left))
        return opaque_piece(s, n);
    s->state = s->left ? APHI_FRAMING_CHUNK_DATA : APHI_FRAMING_TRAILER;
    return (aphi_piece){.kind = s->left ? APHI_PIECE_CHUNK : APHI_PIECE_LAST, .n = line, .size = s->left};
}

static aphi_piece next_chunk_end(aphi_http_framing *s, const char *bytes, size_t n, bool ended)
{
    if (n && bytes[0] != '\n' && (bytes[0] != '\r' || (n > 1 && bytes[1] != '\n')))
        return opaque_piece(s, n);
    size_t end = line_size(bytes, 0, n);
    if (!end)
        return wait_for_more(s, n, 2, ended);
    s->state = APHI_FRAMING_CHUNK;
    return make_piece(APHI_PIECE_CHUNK_END, end);
}

static aphi_piece next_trailer(aphi_http_framing *s, const char *bytes, size_t n, bool ended)
{
    aphi_piece p;
    size_t line = next_line(s, bytes, n, ended, &p);
    if (!line)
        return p;
    if (is_empty_line(bytes, line))
        s->state = APHI_FRAMING_OVER;
    return make_piece(APHI_PIECE_TRAILER, line);
}

static aphi_piece next_data(aphi_http_framing *s, size_t n, aphi_http_framing_state then)
{
    if (n > s->left)
        n = (size_t)s->left;
    s->left -= n;
    if (!s->left)
        s->state = then;
    return make_piece(n ? APHI_PIECE_DATA : APHI_PIECE_MORE, n);
}

static aphi_piece end_message(aphi_http_framing *s)
{
    *s = (aphi_http_framing){0};
    return make_piece(APHI_PIECE_END, 0);
}

aphi_piece aphi_http_framing_next(aphi_http_framing *s, const char *bytes, size_t n, bool ended)
{
    if (s->state == APHI_FRAMING_OVER || (s->state == APHI_FRAMING_UNTIL_END && !n && ended))
        return end_message(s);
    if (!n)
        return make_piece(APHI_PIECE_MORE, 0);
    switch (s->state) {
    case APHI_FRAMING_HEAD: return next_head(s, bytes, n, ended);
    case APHI_FRAMING_LENGTH: return next_data(s, n, APHI_FRAMING_OVER);
    case APHI_FRAMING_CHUNK: return next_chunk(s, bytes, n, ended);
    case APHI_FRAMING_CHUNK_DATA: return next_data(s, n, APHI_FRAMING_CHUNK_END);
    case APHI_FRAMING_CHUNK_END: return next_chunk_end(s, bytes, n, ended);
    case APHI_FRAMING_TRAILER: return next_trailer(s, bytes, n, ended);
    case APHI_FRAMING_UNTIL_END: return make_piece(APHI_PIECE_DATA, n);
    case APHI_FRAMING_OVER:
    case APHI_FRAMING_OPAQUE: break;
    }
    return opaque_piece(s, n);
}

void aphi_http_framing_body(aphi_http_framing *s, const aphi_head *h)
{
    static const aphi_http_framing_state states[] = {APHI_FRAMING_OVER, APHI_FRAMING_LENGTH, APHI_FRAMING_CHUNK,
                                                 APHI_FRAMING_UNTIL_END};
    s->left = h->length;
    s->state = h->opaque ? APHI_FRAMING_OPAQUE : states[h->body];
    if (s->state == APHI_FRAMING_LENGTH && !s->left)
        s->state = APHI_FRAMING_OVER;
}

/* ---- heads ------------------------------------------------------------------------------------------------------- */

static bool equals_ignoring_case(const char *text, size_t n, const char *word)
{
    return n == strlen(word) && !strncasecmp(text, word, n);
}

bool aphi_field_is(const aphi_field *f, const char *name) { return equals_ignoring_case(f->name, f->name_n, name); }

bool aphi_method_is(const aphi_head *h, const char *method)
{
    return h->method_n == strlen(method) && !memcmp(h->method, method, h->method_n);
}

bool aphi_head_field(const aphi_head *h, size_t *at, aphi_field *f)
{
    size_t begin = *at, end = begin < h->n ? line_size(h->bytes, begin, h->n) : 0;
    if (!end || is_empty_line(h->bytes + begin, end - begin))
        return false;
    while (end < h->n && (h->bytes[end] == ' ' || h->bytes[end] == '\t'))
        end = line_size(h->bytes, end, h->n);
    const char *line = h->bytes + begin, *colon = memchr(line, ':', end - begin);
    const char *value = colon ? colon + 1 : h->bytes + end, *last = h->bytes + end;
    while (value < last && is_blank(*value))
        value++;
    while (last > value && is_blank(last[-1]))
        last--;
    *f = (aphi_field){.line = line, .line_n = end - begin, .name = line, .name_n = colon ? (size_t)(colon - line) : 0,
                      .value = value, .value_n = (size_t)(last - value)};
    *at = end;
    return true;
}

/* Returns true if the comma-separated list contains the word; with `last`, only its last element counts. */
static bool list_contains(const aphi_field *f, const char *word, bool last)
{
    const char *at = f->value, *end = f->value + f->value_n;
    bool contains = false;
    while (at < end) {
        const char *comma = memchr(at, ',', (size_t)(end - at)), *stop = comma ? comma : end, *trim = stop;
        while (at < stop && is_blank(*at))
            at++;
        while (trim > at && is_blank(trim[-1]))
            trim--;
        contains = equals_ignoring_case(at, (size_t)(trim - at), word) || (contains && !last);
        at = stop + 1;
    }
    return contains;
}

static bool parse_number(const aphi_field *f, uint64_t *number)
{
    *number = 0;
    for (size_t i = 0; i < f->value_n; i++) {
        if (f->value[i] < '0' || f->value[i] > '9' || i >= 18)
            return false;
        *number = *number * 10 + (uint64_t)(f->value[i] - '0');
    }
    return f->value_n > 0;
}

/* Parses the first line. */
static bool read_start_line(aphi_head *h, bool response)
{
    const char *end = h->bytes + h->start_n, *first = memchr(h->bytes, ' ', h->start_n);
    if (!first)
        return false;
    const char *second = first + 1;
    if (response) {
        for (; second < end && *second >= '0' && *second <= '9' && h->status < 1000; second++)
            h->status = h->status * 10 + *second - '0';
        return h->start_n > 5 && !memcmp(h->bytes, "HTTP/", 5) && h->status >= 100 && h->status <= 999;
    }
    while (second < end && !is_blank(*second))
        second++;
    h->method = h->bytes;
    h->method_n = (size_t)(first - h->bytes);
    h->target = first + 1;
    h->target_n = (size_t)(second - h->target);
    return h->target_n > 0;
}

static bool is_http_1_0(const aphi_head *h)
{
    const char *word = h->status ? h->bytes : h->target + h->target_n + 1;
    return h->bytes + h->start_n - word >= 8 && !memcmp(word, "HTTP/1.0", 8);
}

typedef struct framing {
    bool coded, chunked, sized, unclear;
    bool kept, closed; /* Connection: keep-alive, close */
} framing;

static void read_field(aphi_head *h, const aphi_field *f, framing *found)
{
    uint64_t length = 0;
    if (aphi_field_is(f, "transfer-encoding")) {
        found->coded = true;
        found->chunked = list_contains(f, "chunked", true);
    } else if (aphi_field_is(f, "content-length")) {
        bool number = parse_number(f, &length);
        found->unclear = found->unclear || !number || (found->sized && length != h->length);
        h->length = length;
        found->sized = true;
    } else if (aphi_field_is(f, "connection")) {
        found->closed = found->closed || list_contains(f, "close", false);
        found->kept = found->kept || list_contains(f, "keep-alive", false);
    } else if (aphi_field_is(f, "expect")) {
        h->expects = h->expects || list_contains(f, "100-continue", false);
    }
}

static bool has_no_body(const aphi_head *h, char method)
{
    return h->status && (h->status < 200 || h->status == 204 || h->status == 304 || method == 'H');
}

void aphi_head_read(aphi_head *h, const char *bytes, size_t n, bool response, char method)
{
    *h = (aphi_head){.bytes = bytes, .n = n, .start_n = line_size(bytes, 0, n)};
    framing found = {0};
    aphi_field f;
    if (!read_start_line(h, response)) {
        h->opaque = true;
        return;
    }
    for (size_t at = h->start_n; aphi_head_field(h, &at, &f);)
        read_field(h, &f, &found);
    h->closes = found.closed || (is_http_1_0(h) && !found.kept);
    bool connects = method == 'C' && h->status >= 200 && h->status < 300;
    if (h->status == 101 || connects)
        h->opaque = true;
    else if (has_no_body(h, method))
        h->body = APHI_BODY_NONE;
    else if (found.coded)
        h->body = found.chunked ? APHI_BODY_CHUNKED : APHI_BODY_UNTIL_END;
    else if (found.sized)
        h->body = APHI_BODY_LENGTH;
    else
        h->body = response ? APHI_BODY_UNTIL_END : APHI_BODY_NONE;
    h->opaque = h->opaque || (h->body == APHI_BODY_LENGTH && found.unclear) ||
                (!response && h->body == APHI_BODY_UNTIL_END);
}

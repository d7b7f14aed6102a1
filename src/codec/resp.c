/* SPDX-License-Identifier: Apache-2.0
 *
 * resp.c - RESP2, the protocol of Redis, as values; see antiphon/resp.h.
 *
 * Idea:       first the end of the message is found: a stack holds the number of missing items of each open array, and
 *             the contents of bulk strings are skipped. Then the value is built from bytes that are known to be right.
 * Invariants: 1. a decoded value can be encoded, to bytes that decode to the same value
 *             2. the result does not depend on the segmentation of the input
 *             3. lengths are not trusted: nothing is allocated before its bytes have arrived
 * Cost:       each call reads the headers of all items again, but not the contents of bulk strings
 * Not done:   RESP3; quotation marks in inline requests */
#include "codec/codec_internal.h"

#include "base/memory.h"

#include <antiphon/resp.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LIMIT = 16 << 20,
    DEPTH = 255,       /* of arrays; a simple string is an object, another level of the value */
    NUMBER_MAX = 32,   /* bytes of a line with a number */
    INLINE_MAX = 64 << 10,
    ITEM_MIN = 3,      /* bytes of the shortest item, an empty simple string */
};

__attribute__((format(printf, 3, 4))) static aph_decoded wrong(aph_wire *w, size_t at, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(w->why, sizeof w->why, format, args);
    va_end(args);
    w->at = at;
    return APH_MALFORMED;
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

typedef struct item {
    unsigned char type;
    size_t start, text, end; /* offsets: of the type, of the text after it, and of the CR after the text */
    size_t next;             /* after the item; for an array, after its header */
    int64_t number;          /* of an integer; the length of a string or array, or -1 */
} item;

/* Finds the CRLF after the text. */
static aph_decoded find_crlf(aph_wire *w, item *it)
{
    size_t from = it->text, left = w->count - from;
    const unsigned char *b = w->bytes, *cr = left ? memchr(b + from, '\r', left) : NULL;
    size_t end = cr ? (size_t)(cr - b) : w->count;
    const unsigned char *lf = end > from ? memchr(b + from, '\n', end - from) : NULL;
    if (lf)
        return wrong(w, (size_t)(lf - b), "an LF without a CR before it");
    if (end + 1 >= w->count)
        return APH_MORE;
    if (b[end + 1] != '\n')
        return wrong(w, end + 1, "a CR without an LF after it");
    it->end = end;
    it->next = end + 2;
    return APH_DECODED;
}

/* Reads the line of a number: an optional sign and digits. */
static aph_decoded read_number(aph_wire *w, item *it)
{
    size_t at = it->text;
    bool minus = at < w->count && w->bytes[at] == '-';
    it->number = 0;
    at += at < w->count && (minus || (it->type == ':' && w->bytes[at] == '+'));
    size_t digits = at;
    for (; at < w->count && w->bytes[at] >= '0' && w->bytes[at] <= '9'; at++) {
        int digit = w->bytes[at] - '0';
        if (__builtin_mul_overflow(it->number, 10, &it->number) ||
            __builtin_add_overflow(it->number, minus ? -digit : digit, &it->number) || at - it->text > NUMBER_MAX)
            return wrong(w, it->text, "a number of more than 64 bits");
    }
    if (at == w->count)
        return APH_MORE;
    if (at == digits || w->bytes[at] != '\r')
        return wrong(w, at, at == digits ? "expected a digit" : "expected a digit or CRLF");
    if (at + 1 == w->count)
        return APH_MORE;
    if (w->bytes[at + 1] != '\n')
        return wrong(w, at + 1, "a CR without an LF after it");
    it->end = at;
    it->next = at + 2;
    return APH_DECODED;
}

/* ---- items ------------------------------------------------------------------------------------------------------- */

static size_t limit_of(const aph_codec *codec) { return codec->limit ? codec->limit : LIMIT; }

/* Rejects a length for which the message would be too long. */
static aph_decoded check_length(const aph_codec *codec, aph_wire *w, const item *it, size_t unit)
{
    size_t limit = limit_of(codec);
    if (it->number < 0)
        return it->number == -1 ? APH_DECODED : wrong(w, it->text, "a negative length other than -1");
    if (it->next > limit || (uint64_t)it->number > (limit - it->next) / unit) {
        w->beyond = !codec->limit;
        return wrong(w, it->text, "a length of %lld, but a message is limited to %zu bytes", (long long)it->number,
                     limit);
    }
    return APH_DECODED;
}

static aph_decoded read_bulk(const aph_codec *codec, aph_wire *w, item *it)
{
    aph_decoded result = read_number(w, it);
    if (result == APH_DECODED)
        result = check_length(codec, w, it, 1);
    if (result != APH_DECODED || it->number < 0)
        return result;
    it->text = it->next;
    it->end = it->text + (size_t)it->number;
    it->next = it->end + 2;
    for (size_t i = 0; i < 2; i++) {
        if (it->end + i >= w->count)
            return APH_MORE;
        if (w->bytes[it->end + i] != (unsigned char)"\r\n"[i])
            return wrong(w, it->end + i, "expected CRLF after %lld bytes", (long long)it->number);
    }
    return APH_DECODED;
}

/* Reads the item at `at`: a whole string or integer, or the header of an array. */
static aph_decoded read_item(const aph_codec *codec, aph_wire *w, size_t at, item *it)
{
    if (at == w->count)
        return APH_MORE;
    *it = (item){.type = w->bytes[at], .start = at, .text = at + 1};
    aph_decoded result;
    switch (it->type) {
    case '+':
    case '-': return find_crlf(w, it);
    case ':': return read_number(w, it);
    case '$': return read_bulk(codec, w, it);
    case '*':
        result = read_number(w, it);
        return result == APH_DECODED ? check_length(codec, w, it, ITEM_MIN) : result;
    default: return wrong(w, at, "expected one of + - : $ *, the types of RESP2");
    }
}

/* Returns APH_DECODED and sets w->used if the whole message has arrived. */
static aph_decoded find_end(const aph_codec *codec, aph_wire *w)
{
    uint64_t missing[DEPTH + 1] = {1};
    size_t depth = 0, at = 0;
    item it = {0};
    for (;;) {
        while (missing[depth] == 0) {
            if (depth-- == 0) {
                w->used = at;
                return APH_DECODED;
            }
        }
        aph_decoded result = read_item(codec, w, at, &it);
        if (result != APH_DECODED)
            return result;
        missing[depth]--;
        at = it.next;
        if (it.type != '*' || it.number < 0)
            continue;
        if (depth == DEPTH) {
            w->beyond = true;
            return wrong(w, it.start, "arrays nested more than %d levels deep", DEPTH);
        }
        missing[++depth] = (uint64_t)it.number;
    }
}

/* ---- responses --------------------------------------------------------------------------------------------------- */

static aph_value build(const aph_codec *codec, aph_wire *w, size_t *at);

static aph_value build_array(const aph_codec *codec, aph_wire *w, size_t n, size_t *at)
{
    aph_value *items = aphi_alloc((n + 1) * sizeof *items);
    for (size_t i = 0; i < n; i++)
        items[i] = build(codec, w, at);
    aph_value array = aph_array(n, items);
    free(items);
    return array;
}

/* Builds the item at *at, which find_end has checked, and moves *at past it. */
static aph_value build(const aph_codec *codec, aph_wire *w, size_t *at)
{
    item it = {0};
    read_item(codec, w, *at, &it);
    *at = it.next;
    aph_value text = it.type == ':' || it.number < 0 ? APH_NIL : aph_bytes(w->bytes + it.text, it.end - it.text);
    switch (it.type) {
    case '+': return aph_record("simple", text);
    case '-': return aph_record("error", text);
    case ':': return aph_int(it.number);
    case '$': return text;
    default: return it.number < 0 ? aph_resp_null_array() : build_array(codec, w, (size_t)it.number, at);
    }
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

/* Checks the items of an array that has the form of a response: bulk strings, at least one. */
static aph_decoded check_request(const aph_codec *codec, aph_wire *w)
{
    item it = {0};
    read_item(codec, w, 0, &it);
    if (it.number < 1)
        return wrong(w, it.text, "a request without strings");
    for (size_t at = it.next; at < w->used; at = it.next) {
        read_item(codec, w, at, &it);
        if (it.type != '$' || it.number < 0)
            return wrong(w, at, "a request must consist of bulk strings");
    }
    return APH_DECODED;
}

static aph_decoded split_words(aph_wire *w, size_t n)
{
    aph_value *words = aphi_alloc((n / 2 + 1) * sizeof *words);
    size_t count = 0;
    for (size_t i = 0, end; i < n; i = end) {
        while (i < n && w->bytes[i] == ' ')
            i++;
        for (end = i; end < n && w->bytes[end] != ' '; end++)
            ;
        if (end > i)
            words[count++] = aph_bytes(w->bytes + i, end - i);
    }
    w->message = aph_array(count, words);
    free(words);
    return count ? APH_DECODED : wrong(w, 0, "a request without words");
}

/* Reads an inline request: a line of words. */
static aph_decoded decode_inline(aph_wire *w)
{
    size_t left = w->count < INLINE_MAX ? w->count : INLINE_MAX;
    const unsigned char *lf = memchr(w->bytes, '\n', left);
    size_t n = lf ? (size_t)(lf - w->bytes) : left, end = lf && n && w->bytes[n - 1] == '\r' ? n - 1 : n;
    for (size_t i = 0; i < end; i++) {
        unsigned char c = w->bytes[i];
        if ((c == '\r' && !lf && i + 1 == end) || (c >= ' ' && c != '"' && c != '\'' && c != 127))
            continue;
        return wrong(w, i, "invalid byte %d in an inline request", c);
    }
    if (!lf && left == INLINE_MAX)
        return wrong(w, left, "an inline request of more than %d bytes", INLINE_MAX);
    if (!lf)
        return APH_MORE;
    w->used = n + 1;
    return split_words(w, end);
}

/* ---- decoding ---------------------------------------------------------------------------------------------------- */

static aph_decoded decode(const aph_codec *codec, aph_wire *w)
{
    if (w->side == APH_TO_SERVER && w->bytes[0] != '*')
        return decode_inline(w);
    aph_decoded result = find_end(codec, w);
    if (result == APH_DECODED && w->side == APH_TO_SERVER)
        result = check_request(codec, w);
    if (result == APH_DECODED)
        w->message = build(codec, w, &(size_t){0});
    return result;
}

/* ---- encoding ---------------------------------------------------------------------------------------------------- */

static void put_header(aphi_buffer *out, char type, int64_t number)
{
    aphi_buffer_byte(out, type);
    aphi_buffer_int(out, number);
    aphi_buffer_str(out, "\r\n");
}

static void put_bulk(aphi_buffer *out, aph_value v)
{
    size_t n;
    const char *bytes = aph_bytes_of(&v, &n);
    put_header(out, '$', (int64_t)n);
    aphi_buffer_add(out, bytes, n);
    aphi_buffer_str(out, "\r\n");
}

/* The message being encoded: its bytes, and where reasons go. */
typedef struct printing {
    aphi_buffer bytes;
    aph_sink *out;
} printing;

static bool put_line(printing *p, char type, const char *member, aph_value v)
{
    size_t n;
    if (!aph_is_str(v))
        return aph_sink_refuse(p->out, "%s: must be a string, not %s", member, aphi_codec_kind(v));
    const char *bytes = aph_bytes_of(&v, &n);
    if (n && (memchr(bytes, '\r', n) || memchr(bytes, '\n', n)))
        return aph_sink_refuse(p->out, "%s: must not contain \\r or \\n", member);
    aphi_buffer_byte(&p->bytes, type);
    aphi_buffer_add(&p->bytes, bytes, n);
    aphi_buffer_str(&p->bytes, "\r\n");
    return true;
}

static bool put_object(printing *p, aph_value v)
{
    bool simple = aph_has(v, aph_str("simple"));
    if (v == aph_resp_null_array()) {
        put_header(&p->bytes, '*', -1);
        return true;
    }
    if (aph_count(v) != 1 || (!simple && !aph_has(v, aph_str("error"))))
        return aph_sink_refuse(p->out,
                               "an object must be {\"simple\": ...}, {\"error\": ...} or {\"null\": \"array\"}");
    return simple ? put_line(p, '+', "simple", aph_field(v, "simple"))
                  : put_line(p, '-', "error", aph_field(v, "error"));
}

static bool put_response(printing *p, aph_value v, unsigned levels)
{
    switch (aph_kind_of(v)) {
    case APH_NULL: put_header(&p->bytes, '$', -1); return true;
    case APH_INT: put_header(&p->bytes, ':', aph_int_of(v)); return true;
    case APH_STR: put_bulk(&p->bytes, v); return true;
    case APH_OBJECT: return put_object(p, v);
    case APH_ARRAY: break;
    default: return aph_sink_refuse(p->out, "%s is not a response", aphi_codec_kind(v));
    }
    if (!levels)
        return aph_sink_refuse(p->out, "arrays nested more than %d levels deep", DEPTH);
    put_header(&p->bytes, '*', (int64_t)aph_count(v));
    for (size_t i = 0; i < aph_count(v); i++)
        if (!put_response(p, aph_at(v, i), levels - 1))
            return false;
    return true;
}

static bool put_request(printing *p, aph_value v)
{
    if (aph_kind_of(v) != APH_ARRAY || aph_count(v) == 0)
        return aph_sink_refuse(p->out, "a request must be a non-empty array of strings");
    put_header(&p->bytes, '*', (int64_t)aph_count(v));
    for (size_t i = 0; i < aph_count(v); i++) {
        aph_value word = aph_at(v, i);
        if (!aph_is_str(word))
            return aph_sink_refuse(p->out, "item %zu: must be a string, not %s", i, aphi_codec_kind(word));
        put_bulk(&p->bytes, word);
    }
    return true;
}

static bool encode(const aph_codec *codec, aph_side side, aph_value message, aph_sink *out)
{
    (void)codec;
    printing p = {.out = out};
    bool valid = side == APH_TO_SERVER ? put_request(&p, message) : put_response(&p, message, DEPTH);
    if (valid)
        aph_sink_put(out, p.bytes.data, p.bytes.n);
    aphi_buffer_free(&p.bytes);
    return valid;
}

const aph_codec aph_codec_resp = {.name = "resp", .decode = decode, .encode = encode};

/* ---- for models -------------------------------------------------------------------------------------------------- */

aph_value aph_resp_ok(void) { return aph_record("simple", aph_str("OK")); }

aph_value aph_resp_error(const char *text) { return aph_record("error", aph_str(text)); }

aph_value aph_resp_null_array(void) { return aph_record("null", aph_str("array")); }

bool aph_resp_is(aph_value request, const char *command)
{
    aph_value word = aph_at(request, 0);
    size_t n;
    if (!aph_is_str(word) || aph_count(word) != strlen(command))
        return false;
    const char *bytes = aph_bytes_of(&word, &n);
    for (size_t i = 0; i < n; i++)
        if ((bytes[i] >= 'a' && bytes[i] <= 'z' ? bytes[i] - 32 : bytes[i]) != command[i])
            return false;
    return true;
}

/* ---- words ------------------------------------------------------------------------------------------------------- */

typedef struct pieces {
    aph_value *items;
    size_t count, capacity;
} pieces;

static void add_piece(pieces *p, aph_value piece) { APHI_PUSH(p->items, p->count, p->capacity, piece); }

static void add_words(pieces *p, aph_value v);

static void add_array(pieces *p, aph_value v)
{
    for (size_t i = 0; i < aph_count(v); i++) {
        add_piece(p, aph_str(i ? "," : "["));
        add_words(p, aph_at(v, i));
    }
    add_piece(p, aph_str(aph_count(v) ? "]" : "[]"));
}

/* Strings among the pieces are shown as they are, other values as JSON. */
static void add_words(pieces *p, aph_value v)
{
    aph_value simple = aph_field(v, "simple"), error = aph_field(v, "error");
    if (aph_is_str(v)) {
        add_piece(p, aph_str("\""));
        add_piece(p, v);
        add_piece(p, aph_str("\""));
    } else if (aph_kind_of(v) == APH_ARRAY) {
        add_array(p, v);
    } else if (v == APH_NIL || v == aph_resp_null_array()) {
        add_piece(p, aph_str(v ? "(nil array)" : "(nil)"));
    } else if (aph_count(v) == 1 && (simple || error)) {
        add_piece(p, aph_str(error ? "(error) " : ""));
        add_piece(p, error ? error : simple);
    } else {
        add_piece(p, v);
    }
}

aph_value aph_resp_words(aph_value message)
{
    pieces p = {0};
    add_words(&p, message);
    aph_value words = aph_array(p.count, p.items);
    free(p.items);
    return words;
}

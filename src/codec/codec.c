/* SPDX-License-Identifier: Apache-2.0
 *
 * codec.c - bytes to messages and back: lines, JSON lines, fixed size, length prefix.
 *
 * Idea:       a codec reads the received bytes and returns a message, "more", or "malformed". Its only state is
 *             `scanned`, the number of bytes without an end of a message, so that decoding is linear even if the bytes
 *             arrive one at a time.
 * Invariants: 1. a decoded message can be encoded, to bytes that decode to the same message
 *             2. the result does not depend on how the bytes were split, except that errors may be found earlier
 *             3. no message exceeds the limit: an endless message is rejected after 16 MiB
 * Not done:   rejecting invalid JSON before the end of its line; the reported position would be the same.
 * Read next:  docs/writing-models.md, tests/unit/test_codec.c, tests/fuzz/fuzz_codec.c */
#include "codec/codec_internal.h"

#include "base/memory.h"
#include "tree/model_calls.h"
#include "tree/step_guard.h"
#include "value/heap.h"
#include "value/json_syntax.h"

#include <antiphon/model.h>

#include <stdarg.h>
#include <stdlib.h>

enum { LIMIT = 16 << 20 };

static const aph_codec *codec_or_json(const aph_codec *codec) { return codec ? codec : &aph_codec_json; }

static size_t limit_of(const aph_codec *codec) { return codec->limit ? codec->limit : LIMIT; }

/* ---- decoding with limits ---------------------------------------------------------------------------------------- */

__attribute__((format(printf, 3, 4))) static aph_decoded malformed(aph_wire *w, size_t at, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(w->why, sizeof w->why, format, args);
    va_end(args);
    w->at = at;
    return APH_MALFORMED;
}

/* Aborts if the codec of a model breaks a promise, because no verdict would be reliable. A codec that has crashed keeps
 * none; that is reported as a fault of the model. */
static void require(bool promise, const aph_codec *codec, const char *problem)
{
    const char *message;
    if (promise || aphi_guard_call_fault(&message))
        return;
    fprintf(stderr, "antiphon: codec %s: %s\n", codec->name ? codec->name : "without a name", problem);
    abort();
}

/* Passes at most `limit` bytes to the codec, so that a message that is too long is rejected for its length, no matter
 * how many of its bytes have arrived. */
static aph_decoded decode_within(const aph_codec *codec, aph_wire *w, size_t limit)
{
    size_t count = w->count;
    bool ended = w->ended;
    if (count > limit) {
        w->count = limit;
        w->ended = false;
    }
    aph_decoded result = aphi_model_decode(codec, w);
    require(result != APH_DECODED || (w->used > 0 && w->used <= w->count), codec,
            "used must be from 1 to the number of bytes");
    require(result != APH_MALFORMED || w->at <= w->count, codec, "the position of the error is beyond the last byte");
    require(w->scanned <= w->count, codec, "scanned exceeds the number of bytes");
    w->count = count;
    w->ended = ended;
    return result;
}

/* Returns APH_MORE, unless the message is too long or cut off. */
static aph_decoded require_more(const aph_codec *codec, aph_wire *w, size_t limit)
{
    if (w->count >= limit) {
        w->beyond = !codec->limit;
        return malformed(w, limit, "a message of more than %zu bytes", limit);
    }
    if (w->ended && w->count)
        return malformed(w, w->count, "the input ends in the middle of a message, after %zu bytes", w->count);
    return APH_MORE;
}

aph_decoded aph_decode(const aph_codec *codec, aph_wire *w)
{
    codec = codec_or_json(codec);
    size_t limit = limit_of(codec);
    require(w->scanned <= w->count, codec, "scanned bytes were removed");
    w->beyond = false;
    aph_decoded result = w->count ? decode_within(codec, w, limit) : APH_MORE;
    if (result == APH_MORE)
        result = require_more(codec, w, limit);
    if (result != APH_MORE)
        w->scanned = 0;
    w->why[sizeof w->why - 1] = '\0';
    return result;
}

/* ---- encoding ---------------------------------------------------------------------------------------------------- */

void aph_sink_put(aph_sink *out, const void *bytes, size_t n) { aphi_buffer_add(out->out, bytes, n); }

const char *aph_sink_origin(const aph_sink *out, size_t origin)
{
    const char *const *at = out->origins;
    while (at && *at && origin > 0) {
        at++;
        origin--;
    }
    return at ? *at : NULL;
}

const char *aph_sink_here(const aph_sink *out) { return aph_sink_origin(out, 0); }

bool aph_sink_refuse(aph_sink *out, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (out->why && !*out->why)
        vsnprintf(out->why, APHI_ENCODE_WHY, format, args);
    va_end(args);
    return false;
}

const char *aphi_codec_kind(aph_value v)
{
    static const char *const kinds[] = {[APH_NULL] = "null",     [APH_BOOL] = "a boolean", [APH_INT] = "an integer",
                                        [APH_STR] = "a string",  [APH_ARRAY] = "an array", [APH_OBJECT] = "an object",
                                        [APH_SYMBOL] = "a symbol", [APH_TERM] = "a term",  [APH_SIGNAL] = "a signal"};
    return kinds[aph_kind_of(v)];
}

bool aphi_codec_require_data(aph_sink *out, const char *member, aph_value v, unsigned levels)
{
    return aphi_codec_is_data(v, levels) ||
           aph_sink_refuse(out, "%smust be nested at most %u levels deep, without symbols and signals", member, levels);
}

bool aphi_codec_require_string(aph_sink *out, aph_value v)
{
    return aph_is_str(v) || aph_sink_refuse(out, "must be a string, not %s", aphi_codec_kind(v));
}

bool aphi_codec_read_json(const aph_codec *codec, const char *text, size_t n, aph_value *v, aph_json_error *error,
                          bool *beyond)
{
    return codec->numbers ? aphi_json_read_with_numbers(text, n, v, error, beyond)
                          : aphi_json_read_message(text, n, v, error, beyond);
}

char *aphi_codec_json_text(const aph_codec *codec, aph_value v, size_t *n)
{
    return codec->numbers ? aphi_json_text_with_numbers(v, n) : aph_json_text(v, n);
}

bool aphi_encode_why(const aph_codec *codec, const char *const *origins, aph_side side, aph_value message,
                     aphi_buffer *out, char why[APHI_ENCODE_WHY])
{
    codec = codec_or_json(codec);
    size_t before = out->n, limit = limit_of(codec);
    aph_sink sink = {out, origins, why};
    if (why)
        *why = '\0';
    bool encoded = aphi_model_encode(codec, side, message, &sink);
    require(!encoded || out->n > before, codec, "a message must have at least one byte");
    if (encoded && out->n - before > limit)
        encoded = aph_sink_refuse(&sink, "has %zu bytes, but a message is limited to %zu", out->n - before, limit);
    if (!encoded)
        out->n = before;
    return encoded;
}

bool aphi_encode_at(const aph_codec *codec, const char *const *origins, aph_side side, aph_value message,
                    aphi_buffer *out)
{
    return aphi_encode_why(codec, origins, side, message, out, NULL);
}

bool aphi_encode_value(const aph_codec *codec, aph_side side, aph_value message, aph_value *bytes,
                       char why[APHI_ENCODE_WHY])
{
    aphi_buffer out = {0};
    bool encoded = aphi_encode_why(codec, NULL, side, message, &out, why);
    if (encoded)
        *bytes = aph_bytes(out.data, out.n);
    aphi_buffer_free(&out);
    return encoded;
}

bool aph_encode(const aph_codec *codec, aph_side side, aph_value message, aph_value *bytes)
{
    return aphi_encode_value(codec, side, message, bytes, NULL);
}

void aphi_encode_describe(char *text, size_t size, const char *why, aph_value message)
{
    char *json = aph_json_text(message, NULL);
    snprintf(text, size, "%.200s%s%s%s", json, strlen(json) > 200 ? "..." : "", *why ? ": " : "", why);
    free(json);
}

/* Decodes bytes that the codec wrote. Returns false, with the reason, if they are not this message. */
static bool reads_as(const aph_codec *codec, aph_wire w, aph_value message, char *why, size_t size)
{
    aph_decoded result = aph_decode(codec, &w);
    if (result == APH_DECODED && w.used == w.count && w.message == message)
        return true;
    if (result != APH_DECODED || w.used != w.count) {
        snprintf(why, size, "rejects its bytes: %s", result == APH_MALFORMED ? w.why : "they are not one message");
        return false;
    }
    char *text = aph_json_text(w.message, NULL);
    snprintf(why, size, "reads it as %s", text);
    free(text);
    return false;
}

bool aph_reads_back(const aph_codec *codec, aph_side side, aph_value request, aph_value message, char *why,
                    size_t size)
{
    /* Codecs that name origins need addresses. No server has these. */
    static const char *const origins[APH_ORIGINS_MAX + 1] = {
        "127.0.0.1:1",  "127.0.0.1:2",  "127.0.0.1:3",  "127.0.0.1:4",  "127.0.0.1:5",  "127.0.0.1:6",
        "127.0.0.1:7",  "127.0.0.1:8",  "127.0.0.1:9",  "127.0.0.1:10", "127.0.0.1:11", "127.0.0.1:12",
        "127.0.0.1:13", "127.0.0.1:14", "127.0.0.1:15", "127.0.0.1:16",
    };
    aphi_buffer bytes = {0};
    char reason[APHI_ENCODE_WHY];
    bool same = aphi_encode_why(codec, origins, side, message, &bytes, reason);
    if (same)
        same = reads_as(codec, (aph_wire){.side = side, .bytes = (const unsigned char *)bytes.data, .count = bytes.n,
                                          .ended = true, .asked = request, .here = origins[0], .origins = origins},
                        message, why, size);
    else
        snprintf(why, size, "cannot encode it%s%s", *reason ? ": " : "", reason);
    aphi_buffer_free(&bytes);
    return same;
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

/* Sets *n to the number of bytes before the next \n. */
static bool find_line(aph_wire *w, size_t *n)
{
    const unsigned char *end = memchr(w->bytes + w->scanned, '\n', w->count - w->scanned);
    w->scanned = w->count;
    if (end)
        *n = (size_t)(end - w->bytes);
    return end;
}

static aph_decoded decode_line(const aph_codec *codec, aph_wire *w)
{
    (void)codec;
    size_t n;
    if (!find_line(w, &n))
        return APH_MORE;
    w->used = n + 1;
    w->message = aph_bytes(w->bytes, n && w->bytes[n - 1] == '\r' ? n - 1 : n);
    return APH_DECODED;
}

static bool encode_line(const aph_codec *codec, aph_side side, aph_value message, aph_sink *out)
{
    (void)codec, (void)side;
    if (!aphi_codec_require_string(out, message))
        return false;
    size_t n;
    const char *bytes = aph_bytes_of(&message, &n);
    if (memchr(bytes, '\n', n) || (n && bytes[n - 1] == '\r'))
        return aph_sink_refuse(out, "a line must not contain \\n or end in \\r");
    aph_sink_put(out, bytes, n);
    aph_sink_put(out, "\n", 1);
    return true;
}

const aph_codec aph_codec_lines = {.name = "lines", .decode = decode_line, .encode = encode_line};

static aph_decoded decode_crlf(const aph_codec *codec, aph_wire *w)
{
    (void)codec;
    size_t n;
    if (!find_line(w, &n))
        return APH_MORE;
    const unsigned char *cr = memchr(w->bytes, '\r', n);
    if (!cr)
        return malformed(w, n, "an LF without a CR before it");
    if (cr != w->bytes + n - 1)
        return malformed(w, (size_t)(cr - w->bytes), "a CR without an LF after it");
    w->used = n + 1;
    w->message = aph_bytes(w->bytes, n - 1);
    return APH_DECODED;
}

static bool encode_crlf(const aph_codec *codec, aph_side side, aph_value message, aph_sink *out)
{
    (void)codec, (void)side;
    if (!aphi_codec_require_string(out, message))
        return false;
    size_t n;
    const char *bytes = aph_bytes_of(&message, &n);
    if (memchr(bytes, '\n', n) || memchr(bytes, '\r', n))
        return aph_sink_refuse(out, "a line must not contain \\n or \\r");
    aph_sink_put(out, bytes, n);
    aph_sink_put(out, "\r\n", 2);
    return true;
}

const aph_codec aph_codec_crlf = {.name = "crlf", .decode = decode_crlf, .encode = encode_crlf};

/* ---- JSON lines -------------------------------------------------------------------------------------------------- */

aph_decoded aph_decode_json(const aph_codec *codec, aph_wire *w)
{
    size_t n;
    aph_json_error error;
    if (!find_line(w, &n))
        return APH_MORE;
    if (!aphi_codec_read_json(codec, (const char *)w->bytes, n, &w->message, &error, &w->beyond))
        return malformed(w, error.offset, "%s%s", w->beyond ? "" : "not JSON: ", error.message);
    w->used = n + 1;
    return APH_DECODED;
}

/* Checks the content of a node. The smaller and larger parts of an object are on its own level. */
static bool is_node_of_data(aph_value v, unsigned levels)
{
    size_t n = aphi_slots_of(v), own = v->shape == APHI_BRANCH ? 2 : n;
    for (size_t i = 0; i < own; i++)
        if (!aphi_codec_is_data(v->slot[i].v, levels - 1))
            return false;
    for (size_t i = own; i < n; i++)
        if (!aphi_codec_is_data(v->slot[i].v, levels))
            return false;
    return true;
}

/* Terms without symbols (APH_WRONG) may be nested in other values. */
bool aphi_codec_is_data(aph_value v, unsigned levels)
{
    if (!aphi_is_node(v))
        return !aphi_is_signal(v);
    if (v->shape == APHI_BIG_INT || v->shape == APHI_LONG_STR)
        return true;
    return v->shape != APHI_SYM && v->shape != APHI_OPERATION && levels > 0 && is_node_of_data(v, levels);
}

bool aph_encode_json(const aph_codec *codec, aph_side side, aph_value message, aph_sink *out)
{
    (void)side;
    if (!aphi_codec_require_data(out, "", message, APHI_MESSAGE_DEPTH))
        return false;
    size_t n;
    char *text = aphi_codec_json_text(codec, message, &n);
    aph_sink_put(out, text, n);
    aph_sink_put(out, "\n", 1);
    free(text);
    return true;
}

const aph_codec aph_codec_json = {.name = "json", .decode = aph_decode_json, .encode = aph_encode_json};

/* ---- datagrams --------------------------------------------------------------------------------------------------- */

/* In a datagram without a newline, the line ends at the end of the datagram. */
static aph_decoded decode_without_newline(const aph_codec *codec, aph_wire *w)
{
    unsigned char *line = aphi_alloc(w->count + 1);
    aph_wire ended = *w;
    memcpy(line, w->bytes, w->count);
    line[w->count] = '\n';
    ended.bytes = line;
    ended.count++;
    aph_decoded result = aph_decode(codec, &ended);
    ended.bytes = w->bytes;
    ended.count = ended.used = w->count;
    ended.at = ended.at < w->count ? ended.at : w->count;
    *w = ended;
    free(line);
    return result;
}

aph_decoded aphi_decode_datagram(const aph_codec *codec, aph_wire *w)
{
    codec = codec_or_json(codec);
    bool lines = codec->decode == aph_decode_json || codec->decode == decode_line;
    w->ended = true;
    w->scanned = 0;
    if (lines && w->count && !memchr(w->bytes, '\n', w->count))
        return decode_without_newline(codec, w);
    switch (aph_decode(codec, w)) {
    case APH_DECODED:
        return w->used == w->count ? APH_DECODED
                                   : malformed(w, w->used, "%zu bytes follow the message", w->count - w->used);
    case APH_MORE: return malformed(w, 0, "an empty datagram");
    default: return APH_MALFORMED;
    }
}

/* ---- fixed size -------------------------------------------------------------------------------------------------- */

aph_decoded aph_decode_fixed(const aph_codec *codec, aph_wire *w)
{
    require(codec->size > 0, codec, "size must be at least 1");
    if (w->count < codec->size)
        return APH_MORE;
    w->used = codec->size;
    w->message = aph_bytes(w->bytes, codec->size);
    return APH_DECODED;
}

bool aph_encode_fixed(const aph_codec *codec, aph_side side, aph_value message, aph_sink *out)
{
    (void)side;
    if (!aphi_codec_require_string(out, message))
        return false;
    if (aph_count(message) != codec->size)
        return aph_sink_refuse(out, "must have %zu bytes, not %zu", codec->size, aph_count(message));
    aph_sink_put(out, aph_bytes_of(&message, &(size_t){0}), codec->size);
    return true;
}

/* ---- length prefix ----------------------------------------------------------------------------------------------- */

enum { PREFIX_MAX = 8 };

static void require_prefix(const aph_codec *codec)
{
    require(codec->size > 0 && codec->size <= PREFIX_MAX, codec, "size, the length's byte count, must be from 1 to 8");
}

static uint64_t read_length(const aph_codec *codec, const unsigned char *bytes, bool little)
{
    uint64_t length = 0;
    for (size_t i = 0; i < codec->size; i++)
        length = length << 8 | bytes[little ? codec->size - 1 - i : i];
    return length;
}

/* A length that is too long may be that of a short message with its bytes in the other order. */
static aph_decoded refuse_length(const aph_codec *codec, aph_wire *w, bool little, uint64_t length, size_t limit)
{
    uint64_t other = read_length(codec, w->bytes, !little);
    char hint[64] = "";
    if (codec->size <= limit && other <= limit - codec->size)
        snprintf(hint, sizeof hint, " (%llu in the other byte order)", (unsigned long long)other);
    w->beyond = !codec->limit;
    return malformed(w, 0, "a length of %llu%s, but a message is limited to %zu bytes", (unsigned long long)length,
                     hint, limit);
}

/* Finds the end of the message. Returns APH_DECODED and sets w->used if it is complete. */
static aph_decoded find_end(const aph_codec *codec, aph_wire *w, bool little)
{
    require_prefix(codec);
    if (w->count < codec->size)
        return APH_MORE;
    size_t limit = limit_of(codec);
    uint64_t length = read_length(codec, w->bytes, little);
    if (codec->size > limit || length > limit - codec->size)
        return refuse_length(codec, w, little, length, limit);
    if (w->count - codec->size < length)
        return APH_MORE;
    w->used = codec->size + (size_t)length;
    return APH_DECODED;
}

static aph_decoded decode_string(const aph_codec *codec, aph_wire *w, bool little)
{
    aph_decoded result = find_end(codec, w, little);
    if (result == APH_DECODED)
        w->message = aph_bytes(w->bytes + codec->size, w->used - codec->size);
    return result;
}

static aph_decoded decode_text(const aph_codec *codec, aph_wire *w, bool little)
{
    aph_json_error error;
    const char *text = (const char *)w->bytes + codec->size;
    aph_decoded result = find_end(codec, w, little);
    if (result != APH_DECODED)
        return result;
    if (aphi_codec_read_json(codec, text, w->used - codec->size, &w->message, &error, &w->beyond))
        return APH_DECODED;
    return malformed(w, codec->size + error.offset, "%s%s", w->beyond ? "" : "not JSON: ", error.message);
}

static bool put_prefixed(const aph_codec *codec, const char *bytes, size_t n, bool little, aph_sink *out)
{
    unsigned char length[PREFIX_MAX] = {0};
    require_prefix(codec);
    if (codec->size < sizeof n && n >> (8 * codec->size))
        return aph_sink_refuse(out, "the length %zu does not fit in %zu bytes", n, codec->size);
    for (size_t i = 0; i < codec->size; i++)
        length[little ? i : codec->size - 1 - i] = (unsigned char)((uint64_t)n >> (8 * i));
    aph_sink_put(out, length, codec->size);
    aph_sink_put(out, bytes, n);
    return true;
}

static bool encode_string(const aph_codec *codec, aph_value message, bool little, aph_sink *out)
{
    if (!aphi_codec_require_string(out, message))
        return false;
    size_t n;
    const char *bytes = aph_bytes_of(&message, &n);
    return put_prefixed(codec, bytes, n, little, out);
}

static bool encode_text(const aph_codec *codec, aph_value message, bool little, aph_sink *out)
{
    if (!aphi_codec_require_data(out, "", message, APHI_MESSAGE_DEPTH))
        return false;
    size_t n;
    char *text = aphi_codec_json_text(codec, message, &n);
    bool encoded = put_prefixed(codec, text, n, little, out);
    free(text);
    return encoded;
}

#define PREFIXED(name, decode, encode, little) \
    aph_decoded aph_decode_##name(const aph_codec *codec, aph_wire *w) { return decode(codec, w, little); } \
    bool aph_encode_##name(const aph_codec *codec, aph_side side, aph_value message, aph_sink *out) \
    { \
        (void)side; \
        return encode(codec, message, little, out); \
    }
PREFIXED(prefixed, decode_string, encode_string, false)
PREFIXED(prefixed_little, decode_string, encode_string, true)
PREFIXED(prefixed_json, decode_text, encode_text, false)
PREFIXED(prefixed_json_little, decode_text, encode_text, true)

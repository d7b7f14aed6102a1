/* SPDX-License-Identifier: Apache-2.0
 *
 * json.c - JSON text to values and back.
 *
 * Idea:       strings are bytes. UTF-8 is written unchanged; any other byte XX as the lone surrogate \udcXX, which
 *             cannot occur in UTF-8 text, so reading restores the byte.
 * Invariants: 1. read(write(v)) == v for every concrete v
 *             2. reading recurses up to DEPTH_MAX levels
 * Not done:   use of a JSON library: common ones reject lone surrogates or NUL, and build a tree that must be
 *             copied. */
#include "value/heap.h"

#include "base/buffer.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 256 };

/* ---- reading ----------------------------------------------------------------------------------------------------- */

typedef struct reader {
    const char *text;
    size_t n, at;
    unsigned depth;
    aph_value *stack; /* items of the open arrays and objects */
    size_t stack_count, stack_capacity;
    aphi_buffer unescaped;
    aph_json_error *error;
} reader;

static bool read_value(reader *r, aph_value *v);

static bool fail_at(reader *r, size_t offset, const char *message)
{
    r->error->offset = offset;
    snprintf(r->error->message, sizeof r->error->message, "%s", message);
    return false;
}

static bool fail(reader *r, const char *message)
{
    if (r->at >= r->n)
        return fail_at(r, r->n, "the text ends in the middle of a value");
    if (!r->text[r->at])
        return fail_at(r, r->at, "a NUL byte");
    return fail_at(r, r->at, message);
}

static void skip_space(reader *r)
{
    while (r->at < r->n && strchr(" \t\r\n", r->text[r->at]) && r->text[r->at])
        r->at++;
}

static bool accept_char(reader *r, char c)
{
    if (r->at >= r->n || r->text[r->at] != c)
        return false;
    r->at++;
    return true;
}

static void push_item(reader *r, aph_value v)
{
    APHI_PUSH(r->stack, r->stack_count, r->stack_capacity, v);
}

static bool read_word(reader *r, const char *word, aph_value meaning, aph_value *v)
{
    size_t n = strlen(word);
    if (r->n - r->at < n)
        return fail_at(r, r->n, "the text ends in the middle of a value");
    if (memcmp(r->text + r->at, word, n))
        return fail(r, "expected true, false, null or another value");
    r->at += n;
    *v = meaning;
    return true;
}

static bool read_int(reader *r, aph_value *v)
{
    size_t start = r->at;
    bool negative = accept_char(r, '-'), overflow = false;
    uint64_t i = 0;
    size_t digits = r->at;
    for (; r->at < r->n && r->text[r->at] >= '0' && r->text[r->at] <= '9'; r->at++)
        overflow |=
            __builtin_mul_overflow(i, 10, &i) || __builtin_add_overflow(i, (uint64_t)(r->text[r->at] - '0'), &i);
    if (r->at == digits)
        return fail(r, "expected a digit after the minus sign");
    if (r->text[digits] == '0' && r->at > digits + 1)
        return fail_at(r, start, "a number with a leading zero");
    if (r->at < r->n && strchr(".eE", r->text[r->at]) && r->text[r->at])
        return fail_at(r, start, "a number that is not an integer");
    if (overflow || i > (uint64_t)INT64_MAX + negative)
        return fail_at(r, start, "an integer out of range (64 bits)");
    *v = aph_int((int64_t)(negative ? 0 - i : i));
    return true;
}

static bool read_hex4(reader *r, uint32_t *code)
{
    *code = 0;
    for (int i = 0; i < 4; i++, r->at++) {
        int digit = r->at < r->n ? aphi_hex_digit(r->text[r->at]) : -1;
        if (digit < 0)
            return fail(r, "expected four hexadecimal digits after \\u");
        *code = *code << 4 | (uint32_t)digit;
    }
    return true;
}

/* Reads the digits after \u: a code point, a surrogate pair, or a byte written as \udc80 to \udcff. */
static bool read_unicode(reader *r)
{
    size_t start = r->at;
    uint32_t code, low;
    if (!read_hex4(r, &code))
        return false;
    if (code >= 0xdc80 && code <= 0xdcff) {
        aphi_buffer_byte(&r->unescaped, (char)(code - 0xdc00));
        return true;
    }
    if (code >= 0xd800 && code <= 0xdbff) {
        if (!accept_char(r, '\\') || !accept_char(r, 'u') || !read_hex4(r, &low) || low < 0xdc00 || low > 0xdfff)
            return fail_at(r, start, "half of a surrogate pair");
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    } else if (code >= 0xdc00 && code <= 0xdfff) {
        return fail_at(r, start, "half of a surrogate pair");
    }
    aphi_utf8_add(&r->unescaped, code);
    return true;
}

static bool read_escape(reader *r)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    if (accept_char(r, 'u'))
        return read_unicode(r);
    const char *at = r->at < r->n && r->text[r->at] ? strchr(from, r->text[r->at]) : NULL;
    if (!at)
        return fail(r, "an unknown escape after the backslash");
    r->at++;
    aphi_buffer_byte(&r->unescaped, to[at - from]);
    return true;
}

static bool read_string(reader *r, aph_value *v)
{
    size_t start = ++r->at;
    while (r->at < r->n && r->text[r->at] != '"' && r->text[r->at] != '\\' && (unsigned char)r->text[r->at] >= ' ')
        r->at++;
    if (r->at < r->n && r->text[r->at] == '"') {
        *v = aph_bytes(r->text + start, r->at++ - start);
        return true;
    }
    r->unescaped.n = 0;
    aphi_buffer_add(&r->unescaped, r->text + start, r->at - start);
    for (;;) {
        if (accept_char(r, '"'))
            break;
        if (accept_char(r, '\\')) {
            if (!read_escape(r))
                return false;
        } else if (r->at < r->n && (unsigned char)r->text[r->at] >= ' ') {
            aphi_buffer_byte(&r->unescaped, r->text[r->at++]);
        } else {
            return fail(r, "a control character inside a string");
        }
    }
    *v = aph_bytes(r->unescaped.data, r->unescaped.n);
    return true;
}

static bool read_array(reader *r, aph_value *v)
{
    size_t base = r->stack_count;
    r->at++;
    skip_space(r);
    if (!accept_char(r, ']'))
        for (;;) {
            aph_value item;
            if (!read_value(r, &item))
                return false;
            push_item(r, item);
            skip_space(r);
            if (accept_char(r, ']'))
                break;
            if (!accept_char(r, ','))
                return fail(r, "expected a comma or ] after an item");
        }
    *v = r->stack_count == base ? aph_array(0, NULL) : aph_array(r->stack_count - base, r->stack + base);
    r->stack_count = base;
    return true;
}

static bool read_pair(reader *r)
{
    aph_value key, item;
    skip_space(r);
    if (r->at >= r->n || r->text[r->at] != '"')
        return fail(r, "expected a key in double quotes");
    if (!read_string(r, &key))
        return false;
    skip_space(r);
    if (!accept_char(r, ':'))
        return fail(r, "expected a colon after a key");
    if (!read_value(r, &item))
        return false;
    push_item(r, key);
    push_item(r, item);
    return true;
}

static bool read_object(reader *r, aph_value *v)
{
    size_t base = r->stack_count, begin = r->at;
    r->at++;
    skip_space(r);
    if (!accept_char(r, '}'))
        for (;;) {
            if (!read_pair(r))
                return false;
            skip_space(r);
            if (accept_char(r, '}'))
                break;
            if (!accept_char(r, ','))
                return fail(r, "expected a comma or } after a pair");
        }
    size_t pairs = (r->stack_count - base) / 2;
    *v = pairs ? aphi_object_of(pairs, r->stack + base) : aph_object();
    r->stack_count = base;
    if (aph_count(*v) == pairs)
        return true;
    r->at = begin; /* a duplicate key: JSON readers disagree about which one is used */
    return fail(r, "a name occurs twice in this object");
}

static bool read_value(reader *r, aph_value *v)
{
    skip_space(r);
    if (r->at >= r->n)
        return fail(r, "");
    if (r->depth == DEPTH_MAX)
        return fail(r, "nested more than 256 levels deep");
    r->depth++;
    bool ok;
    switch (r->text[r->at]) {
    case '{': ok = read_object(r, v); break;
    case '[': ok = read_array(r, v); break;
    case '"': ok = read_string(r, v); break;
    case 't': ok = read_word(r, "true", aph_bool(true), v); break;
    case 'f': ok = read_word(r, "false", aph_bool(false), v); break;
    case 'n': ok = read_word(r, "null", APH_NIL, v); break;
    case '-': case '0': case '1': case '2': case '3': case '4': case '5': case '6': case '7': case '8': case '9':
        ok = read_int(r, v);
        break;
    default: ok = fail(r, "expected a JSON value"); break;
    }
    r->depth--;
    return ok;
}

bool aph_json_read(const char *text, size_t n, aph_value *v, aph_json_error *error)
{
    aph_json_error unused;
    reader r = {.text = text, .n = n, .error = error ? error : &unused};
    bool ok = read_value(&r, v);
    if (ok) {
        skip_space(&r);
        if (r.at < n)
            ok = fail(&r, "unexpected text after the value");
    }
    free(r.stack);
    aphi_buffer_free(&r.unescaped);
    return ok;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static void write_string(aphi_buffer *b, aph_value v)
{
    size_t n;
    const char *s = aph_bytes_of(&v, &n);
    aphi_buffer_json_string(b, s, n);
}

typedef struct pair_writer {
    aphi_buffer *b;
    bool later;
} pair_writer;

static void write_value(aphi_buffer *b, aph_value v);

static bool write_pair(void *context, aph_value key, aph_value item)
{
    pair_writer *w = context;
    if (w->later)
        aphi_buffer_byte(w->b, ',');
    w->later = true;
    write_string(w->b, key);
    aphi_buffer_byte(w->b, ':');
    write_value(w->b, item);
    return true;
}

static void write_items(aphi_buffer *b, aph_value v, size_t n)
{
    aphi_buffer_byte(b, '[');
    for (size_t i = 0; i < n; i++) {
        if (i)
            aphi_buffer_byte(b, ',');
        write_value(b, v->slot[i].v);
    }
    aphi_buffer_byte(b, ']');
}

static void write_value(aphi_buffer *b, aph_value v)
{
    static const char *const sorts[] = {[APH_BOOL] = "bool", [APH_INT] = "int", [APH_STR] = "string"};
    static const char *const ops[] = {"+", "-", "*", "/", "<", "<=", "=", "and", "or", "not", "wrong"};
    switch (aph_kind_of(v)) {
    case APH_NULL: aphi_buffer_str(b, "null"); break;
    case APH_BOOL: aphi_buffer_str(b, aph_truth(v) ? "true" : "false"); break;
    case APH_INT: aphi_buffer_int(b, aph_int_of(v)); break;
    case APH_STR: write_string(b, v); break;
    case APH_ARRAY: write_items(b, v, v->count); break;
    case APH_OBJECT:
        aphi_buffer_byte(b, '{');
        aphi_pairs(v, write_pair, &(pair_writer){.b = b});
        aphi_buffer_byte(b, '}');
        break;
    case APH_SYMBOL: aphi_buffer_format(b, "{\"?\":%u,\"sort\":\"%s\"}", aph_symbol_number(v), sorts[v->detail]); break;
    case APH_TERM:
        aphi_buffer_format(b, "{\"%s\":", ops[v->detail]);
        write_items(b, v, v->count);
        aphi_buffer_byte(b, '}');
        break;
    }
}

char *aph_json_text(aph_value v, size_t *n)
{
    aphi_buffer b = {0};
    write_value(&b, v);
    if (n)
        *n = b.n;
    return aphi_buffer_text(&b);
}

void aph_json_write(FILE *out, aph_value v)
{
    aphi_buffer b = {0};
    write_value(&b, v);
    fwrite(b.data, 1, b.n, out);
    aphi_buffer_free(&b);
}

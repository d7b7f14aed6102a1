/* SPDX-License-Identifier: Apache-2.0
 *
 * json.c - JSON text to values and back.
 *
 * Idea:       strings are bytes. UTF-8 is written unchanged; any other byte XX as the lone surrogate \udcXX, which
 *             cannot occur in UTF-8 text, so reading restores the byte.
 * Invariants: 1. read(write(v)) == v for every concrete v
 *             2. reading recurses up to depth_max levels
 *             3. reading a message stops if the values take more memory than aphi_heap_limit
 * Numbers:    values are compared, ordered and solved exactly, so they have no fractions. Codecs may read and write a
 *             number that is not an integer as an object with its text.
 * Not done:   use of a JSON library: common ones reject lone surrogates or NUL, and build a tree that must be copied.
 * Read next:  json_syntax.c */
#include "value/heap.h"
#include "value/json_syntax.h"

#include "base/buffer.h"
#include "base/memory.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading ----------------------------------------------------------------------------------------------------- */

typedef struct reader {
    const char *text;
    size_t n, at;
    unsigned depth, depth_max; /* of open arrays and objects */
    bool is_message;
    bool with_numbers;   /* reads numbers that are not integers as objects */
    size_t size_before;  /* of the heap */
    bool beyond;         /* failed because of a limit */
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

/* Fails although the text may be JSON. */
static bool fail_beyond(reader *r, size_t offset, const char *message)
{
    r->beyond = true;
    return fail_at(r, offset, message);
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

static bool check_memory(reader *r)
{
    return !r->is_message || !aphi_heap_exceeds_limit(r->size_before) ||
           fail_beyond(r, r->at, "a value that needs more memory than --memory allows");
}

static bool push_item(reader *r, aph_value v)
{
    APHI_PUSH(r->stack, r->stack_count, r->stack_capacity, v);
    return check_memory(r);
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

/* Computes the digits of a number times a power of ten. Returns false if the result is not an integer of 64 bits. */
static bool scale_digits(const char *digits, size_t n, long power, uint64_t *i)
{
    for (; power < 0 && n > 0 && digits[n - 1] == '0'; power++)
        n--;
    *i = 0;
    bool overflow = false;
    for (size_t k = 0; k < n; k++)
        overflow |= __builtin_mul_overflow(*i, 10, i) || __builtin_add_overflow(*i, (uint64_t)(digits[k] - '0'), i);
    if (!overflow && *i == 0)
        return true;
    for (; power > 0 && !overflow; power--)
        overflow = __builtin_mul_overflow(*i, 10, i);
    return !overflow && power == 0;
}

/* Reads an exponent in [from, end). A large one is cut to a value that no number of digits outweighs. */
static long read_exponent(const char *from, const char *end)
{
    bool negative = from < end && *from == '-';
    long exponent = 0;
    for (from += from < end && (*from == '-' || *from == '+'); from < end; from++)
        exponent = exponent < LONG_MAX / 20 ? 10 * exponent + (*from - '0') : LONG_MAX / 2;
    return negative ? -exponent : exponent;
}

/* A decimal number: digits without zeros at the ends, times a power of ten. */
typedef struct decimal {
    const char *digits;
    size_t n;
    long power;
    bool negative;
} decimal;

static decimal decimal_of(const char *digits, size_t n, long power, bool negative)
{
    for (; n > 0 && *digits == '0'; n--)
        digits++;
    for (; n > 0 && digits[n - 1] == '0'; power++)
        n--;
    return (decimal){digits, n, power, negative};
}

static void add_zeros(aphi_buffer *b, long n)
{
    for (; n > 0; n--)
        aphi_buffer_byte(b, '0');
}

/* Writes the number as JavaScript does: without an exponent if it is from 1e-6 to below 1e21. */
static void write_decimal(aphi_buffer *b, const decimal *d)
{
    enum { LOWEST = -6, HIGHEST = 21 };
    long n = (long)d->n, point = n + d->power; /* its place, counted from the first digit */
    bool plain = point > LOWEST && point <= HIGHEST;
    size_t whole = !plain ? 1 : point <= 0 ? 0 : point < n ? (size_t)point : d->n;
    aphi_buffer_str(b, d->negative ? "-" : "");
    aphi_buffer_add(b, d->digits, whole);
    add_zeros(b, plain ? point <= 0 ? 1 : point - n : 0);
    if (whole < d->n)
        aphi_buffer_byte(b, '.');
    add_zeros(b, plain ? -point : 0);
    aphi_buffer_add(b, d->digits + whole, d->n - whole);
    if (!plain)
        aphi_buffer_format(b, "e%ld", point - 1);
}

static bool fail_deep(reader *r);

/* Reads a number that is not an integer of 64 bits: as an object, or not at all. */
static bool read_other_number(reader *r, size_t start, decimal d, const char *message, aph_value *v)
{
    aphi_buffer text = {0};
    if (!r->with_numbers)
        return fail_beyond(r, start, message);
    if (r->depth == r->depth_max) /* the object has a level of nesting */
        return fail_deep(r);
    write_decimal(&text, &d);
    *v = aph_record("number", aph_bytes(text.data, text.n));
    aphi_buffer_free(&text);
    return true;
}

static bool set_integer(uint64_t i, bool negative, aph_value *v)
{
    if (i > (uint64_t)INT64_MAX + negative)
        return false;
    *v = aph_int((int64_t)(negative ? 0 - i : i));
    return true;
}

/* Reads a number with a fraction or an exponent, such as 1.0 or 1e3. */
static bool read_decimal(reader *r, size_t start, size_t digits, bool negative, aph_value *v)
{
    const char *text = r->text;
    uint64_t i;
    r->at = start;
    if (!aphi_json_scan_number(text, r->n, &r->at))
        return fail(r, "expected a digit");
    size_t end = digits;
    while (end < r->at && text[end] != 'e' && text[end] != 'E')
        end++;
    const char *point = memchr(text + digits, '.', end - digits);
    size_t fraction = point ? (size_t)(text + end - point - 1) : 0;
    long exponent = end < r->at ? read_exponent(text + end + 1, text + r->at) : 0;
    r->unescaped.n = 0;
    aphi_buffer_add(&r->unescaped, text + digits, end - digits - fraction - (point != NULL));
    aphi_buffer_add(&r->unescaped, text + end - fraction, fraction);
    long power = exponent - (long)fraction;
    if (!scale_digits(r->unescaped.data, r->unescaped.n, power, &i))
        return read_other_number(r, start, decimal_of(r->unescaped.data, r->unescaped.n, power, negative),
                                 "a number that is not an integer of 64 bits", v);
    return set_integer(i, negative, v) ||
           read_other_number(r, start, decimal_of(r->unescaped.data, r->unescaped.n, power, negative),
                             "an integer out of range (64 bits)", v);
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
        return read_decimal(r, start, digits, negative, v);
    return (!overflow && set_integer(i, negative, v)) ||
           read_other_number(r, start, decimal_of(r->text + digits, r->at - digits, 0, negative),
                             "an integer out of range (64 bits)", v);
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
            return fail_beyond(r, start, "half of a surrogate pair");
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    } else if (code >= 0xdc00 && code <= 0xdfff) {
        return fail_beyond(r, start, "half of a surrogate pair");
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
            if (!read_value(r, &item) || !push_item(r, item))
                return false;
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
    return push_item(r, key) && push_item(r, item);
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
    /* A duplicate key: JSON readers disagree about which one is used. */
    return fail_beyond(r, begin, "a name occurs twice in this object");
}

static bool fail_deep(reader *r)
{
    char message[64];
    snprintf(message, sizeof message, "nested more than %u levels deep", r->depth_max);
    return fail_beyond(r, r->at, message);
}

static bool read_value(reader *r, aph_value *v)
{
    skip_space(r);
    if (r->at >= r->n)
        return fail(r, "");
    bool ok, nests = r->text[r->at] == '{' || r->text[r->at] == '[';
    if (nests && r->depth == r->depth_max)
        return fail_deep(r);
    r->depth += nests;
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
    r->depth -= nests;
    return ok;
}

static bool read_text(const char *text, size_t n, bool is_message, bool with_numbers, aph_value *v,
                      aph_json_error *error, bool *beyond)
{
    reader r = {.text = text, .n = n, .depth_max = is_message ? APHI_MESSAGE_DEPTH : APHI_JSON_DEPTH,
                .is_message = is_message, .with_numbers = with_numbers,
                .size_before = aphi_heap_size(), .error = error};
    size_t at;
    bool ok = read_value(&r, v) && check_memory(&r);
    if (ok) {
        skip_space(&r);
        if (r.at < n)
            ok = fail(&r, "unexpected text after the value");
    }
    free(r.stack);
    aphi_buffer_free(&r.unescaped);
    *beyond = r.beyond && aphi_json_is_valid(text, n, &at);
    if (r.beyond && !*beyond)
        fail_at(&r, at, at < n ? "unexpected text" : "the text ends in the middle of a value");
    return ok;
}

bool aph_json_read(const char *text, size_t n, aph_value *v, aph_json_error *error)
{
    aph_json_error unused;
    bool beyond;
    return read_text(text, n, false, false, v, error ? error : &unused, &beyond);
}

bool aphi_json_read_message(const char *text, size_t n, aph_value *v, aph_json_error *error, bool *beyond)
{
    return read_text(text, n, true, false, v, error, beyond);
}

bool aphi_json_read_with_numbers(const char *text, size_t n, aph_value *v, aph_json_error *error, bool *beyond)
{
    return read_text(text, n, true, true, v, error, beyond);
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
    bool later, with_numbers;
} pair_writer;

static void write_value(aphi_buffer *b, aph_value v, bool with_numbers);

/* Returns true if the object is that of a number, whose text is then written. */
static bool write_number(aphi_buffer *b, aph_value v)
{
    aph_value text = aph_field(v, "number"), again;
    aph_json_error error;
    bool beyond;
    size_t n;
    if (aph_count(v) != 1 || !aph_is_str(text))
        return false;
    const char *bytes = aph_bytes_of(&text, &n);
    if (!aphi_json_read_with_numbers(bytes, n, &again, &error, &beyond) || again != v)
        return false;
    aphi_buffer_add(b, bytes, n);
    return true;
}

static bool write_pair(void *context, aph_value key, aph_value item)
{
    pair_writer *w = context;
    if (w->later)
        aphi_buffer_byte(w->b, ',');
    w->later = true;
    write_string(w->b, key);
    aphi_buffer_byte(w->b, ':');
    write_value(w->b, item, w->with_numbers);
    return true;
}

static void write_items(aphi_buffer *b, aph_value v, size_t n, bool with_numbers)
{
    aphi_buffer_byte(b, '[');
    for (size_t i = 0; i < n; i++) {
        if (i)
            aphi_buffer_byte(b, ',');
        write_value(b, v->slot[i].v, with_numbers);
    }
    aphi_buffer_byte(b, ']');
}

static void write_value(aphi_buffer *b, aph_value v, bool with_numbers)
{
    static const char *const sorts[] = {[APH_BOOL] = "bool", [APH_INT] = "int", [APH_STR] = "string"};
    static const char *const ops[] = {"+", "-", "*", "/", "<", "<=", "=", "and", "or", "not", "wrong"};
    switch (aph_kind_of(v)) {
    case APH_NULL: aphi_buffer_str(b, "null"); break;
    case APH_BOOL: aphi_buffer_str(b, aph_truth(v) ? "true" : "false"); break;
    case APH_INT: aphi_buffer_int(b, aph_int_of(v)); break;
    case APH_STR: write_string(b, v); break;
    case APH_ARRAY: write_items(b, v, v->count, with_numbers); break;
    case APH_OBJECT:
        if (with_numbers && write_number(b, v))
            break;
        aphi_buffer_byte(b, '{');
        aphi_pairs(v, write_pair, &(pair_writer){.b = b, .with_numbers = with_numbers});
        aphi_buffer_byte(b, '}');
        break;
    case APH_SYMBOL: aphi_buffer_format(b, "{\"?\":%u,\"sort\":\"%s\"}", aph_symbol_number(v), sorts[v->detail]); break;
    case APH_TERM:
        aphi_buffer_format(b, "{\"%s\":", ops[v->detail]);
        write_items(b, v, v->count, with_numbers);
        aphi_buffer_byte(b, '}');
        break;
    case APH_SIGNAL: aphi_buffer_format(b, "\"<%s>\"", aphi_signal_name(v)); break;
    }
}

static char *text_of(aph_value v, size_t *n, bool with_numbers)
{
    aphi_buffer b = {0};
    write_value(&b, v, with_numbers);
    if (n)
        *n = b.n;
    return aphi_buffer_text(&b);
}

char *aph_json_text(aph_value v, size_t *n) { return text_of(v, n, false); }

char *aphi_json_text_with_numbers(aph_value v, size_t *n) { return text_of(v, n, true); }

void aph_json_write(FILE *out, aph_value v)
{
    aphi_buffer b = {0};
    write_value(&b, v, false);
    fwrite(b.data, 1, b.n, out);
    aphi_buffer_free(&b);
}

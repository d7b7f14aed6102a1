/* SPDX-License-Identifier: Apache-2.0
 *
 * edn.c - an EDN reader that skips forms or converts them to values; see edn.h.
 *
 * Idea:       skipping and converting share the grammar: without e, no value is built. The map of an operation is first
 *             skipped, to find its members; then only the members in use are converted.
 * Invariants: the text ends with a NUL (byte_source.h), which counts as a delimiter, so every loop stops there.
 * Cost:       one pass; items are kept on one reused stack; the C stack is bounded by DEPTH_MAX.
 */
#include "trace/edn.h"

#include <stdlib.h>
#include <string.h>
#include "base/memory.h"
#include "value/heap.h"
#include "value/json_syntax.h"

enum { DEPTH_MAX = APHI_MESSAGE_DEPTH };

static bool read_form(aphi_edn *e, aphi_cursor *c, aph_value *v, int depth);
static bool skip_blank(aphi_cursor *c, int depth);

void aphi_edn_deinit(aphi_edn *e)
{
    free(e->stack);
    aphi_buffer_free(&e->text);
}

static bool fail_malformed(aphi_cursor *c, const char *where, const char *message)
{
    return aphi_cursor_fail(c, APHI_TRACE_MALFORMED, where, message);
}

/* Classes of bytes by the tokens that they end. NUL ends all tokens. */
enum { BLANK = 1, DELIMITER = 2, IN_STRING = 4 };
static const unsigned char classes[256] = {
    ['\0'] = DELIMITER | IN_STRING,
    [' '] = BLANK | DELIMITER, [','] = BLANK | DELIMITER, ['\n'] = BLANK | DELIMITER,
    ['\t'] = BLANK | DELIMITER, ['\r'] = BLANK | DELIMITER, ['\f'] = BLANK | DELIMITER,
    ['('] = DELIMITER, [')'] = DELIMITER, ['['] = DELIMITER, [']'] = DELIMITER,
    ['{'] = DELIMITER, ['}'] = DELIMITER, [';'] = DELIMITER,
    ['"'] = DELIMITER | IN_STRING, ['\\'] = IN_STRING,
};

static bool has_class(char byte, int class)
{
    return classes[(unsigned char)byte] & class;
}

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

static bool skip_discarded(aphi_cursor *c, int depth)
{
    if (depth >= DEPTH_MAX)
        return aphi_cursor_fail_deep(c);
    c->at += 2;
    return skip_blank(c, depth + 1) && read_form(NULL, c, NULL, depth + 1);
}

/* Returns true if more text is needed: at the end of the window, or at a final # that may begin #_. */
static bool is_undecided(const aphi_cursor *c)
{
    return !c->whole && c->at + (*c->at == '#') == c->end;
}

static bool skip_blank(aphi_cursor *c, int depth)
{
    for (;;) {
        while (has_class(*c->at, BLANK))
            c->at++;
        if (*c->at == ';') {
            const char *newline = memchr(c->at, '\n', (size_t)(c->end - c->at));
            c->at = newline ? newline : c->end;
        } else if (c->at[0] == '#' && c->at[1] == '_') {
            if (!skip_discarded(c, depth))
                return false;
        } else {
            c->starved = is_undecided(c);
            return !c->starved;
        }
    }
}

/* ---- atoms ------------------------------------------------------------------------------------------------------- */

static bool read_token(aphi_cursor *c, aphi_slice *s)
{
    const char *from = c->at;
    while (!has_class(*c->at, DELIMITER))
        c->at++;
    *s = (aphi_slice){from, (size_t)(c->at - from)};
    return *c->at || (c->at == c->end && c->whole) || aphi_cursor_fail_nul(c);
}

/* Returns true for a number that is not an integer: with a fraction, an exponent, a ratio or a trailing M. */
static bool is_fraction(aphi_slice s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!is_digit(s.at[i]) && !strchr("+-.eE/M", s.at[i]))
            return false;
    return true;
}

static bool build_number(aphi_cursor *c, aphi_slice s, aph_value *v)
{
    aphi_slice digits = s;
    if (s.n > 1 && s.at[s.n - 1] == 'N')
        digits.n--;
    int64_t i = 0;
    size_t sign = *s.at == '-' || *s.at == '+';
    aphi_trace_fault fault = aphi_slice_int(digits, &i);
    if (fault == APHI_TRACE_RANGE)
        return aphi_cursor_fail(c, fault, s.at, "the integer does not fit in 64 bits; write it as a string");
    if (fault == APHI_TRACE_NONE && digits.n > sign + 1 && s.at[sign] == '0')
        return fail_malformed(c, s.at, "a number must not begin with 0");
    if (fault != APHI_TRACE_NONE && is_fraction(s))
        return aphi_cursor_fail(c, APHI_TRACE_FRACTION, s.at,
                                "only integers can be used in a value; write the number as a string or scale it");
    if (fault != APHI_TRACE_NONE)
        return fail_malformed(c, s.at, "not an EDN number");
    *v = aph_int(i);
    return true;
}

static bool is_number(aphi_slice s)
{
    return is_digit(s.at[0]) || (s.n > 1 && (s.at[0] == '-' || s.at[0] == '+') && is_digit(s.at[1]));
}

static bool build_atom(aphi_cursor *c, aphi_slice s, aph_value *v)
{
    if (is_number(s))
        return build_number(c, s, v);
    if (aphi_slice_is(s, "nil"))
        *v = APH_NIL;
    else if (aphi_slice_is(s, "true") || aphi_slice_is(s, "false"))
        *v = aph_bool(*s.at == 't');
    else
        *v = aph_bytes(s.at, s.n);
    return true;
}

static bool read_atom(aphi_edn *e, aphi_cursor *c, aph_value *v)
{
    aphi_slice s;
    return read_token(c, &s) && (!e || build_atom(c, s, v));
}

static bool read_keyword(aphi_edn *e, aphi_cursor *c, aph_value *v)
{
    aphi_slice s;
    if (!read_token(c, &s))
        return false;
    if (s.n == 1)
        return fail_malformed(c, s.at, "colon without a name");
    if (e)
        *v = aph_bytes(s.at + 1, s.n - 1);
    return true;
}

/* Reads four hexadecimal digits at p. Returns -1 if there are fewer. */
static int32_t read_hex4(const char *p)
{
    int32_t code = 0;
    for (int i = 0; i < 4; i++) {
        int digit = aphi_hex_digit(p[i]);
        if (digit < 0)
            return -1;
        code = code * 16 + digit;
    }
    return code;
}

/* Decodes \uXXXX at p, a surrogate pair, or a byte written as \udcXX. Returns the number of bytes read, or 0. */
static size_t decode_unicode(aphi_buffer *b, const char *p)
{
    int32_t code = read_hex4(p + 2);
    if (code < 0 || (code >= 0xdc00 && code < 0xdc80) || (code > 0xdcff && code <= 0xdfff))
        return 0;
    if (code >= 0xdc80 && code <= 0xdcff) {
        aphi_buffer_byte(b, (char)(code - 0xdc00));
        return 6;
    }
    if (code < 0xd800 || code > 0xdbff) {
        aphi_utf8_add(b, (uint32_t)code);
        return 6;
    }
    int32_t low = p[6] == '\\' && p[7] == 'u' ? read_hex4(p + 8) : -1;
    if (low < 0xdc00 || low > 0xdfff)
        return 0;
    aphi_utf8_add(b, 0x10000u + (((uint32_t)code - 0xd800) << 10) + ((uint32_t)low - 0xdc00));
    return 12;
}

/* Decodes the escape at p; a closing quote follows. Returns the number of bytes read, or 0. */
static size_t decode_escape(aphi_buffer *b, const char *p)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    if (p[1] == 'u')
        return decode_unicode(b, p);
    const char *known = strchr(from, p[1]);
    if (!known)
        return 0;
    aphi_buffer_byte(b, to[known - from]);
    return 2;
}

static bool build_escaped(aphi_edn *e, aphi_cursor *c, const char *from, const char *to, aph_value *v)
{
    e->text.n = 0;
    while (from < to) {
        const char *escape = memchr(from, '\\', (size_t)(to - from));
        aphi_buffer_add(&e->text, from, (size_t)((escape ? escape : to) - from));
        if (!escape)
            break;
        size_t used = decode_escape(&e->text, escape);
        if (used == 0)
            return fail_malformed(c, escape, "not an EDN escape");
        from = escape + used;
    }
    *v = aph_bytes(e->text.data, e->text.n);
    return true;
}

static bool read_string(aphi_edn *e, aphi_cursor *c, aph_value *v)
{
    const char *from = ++c->at;
    bool escaped = false;
    for (;;) {
        while (!has_class(*c->at, IN_STRING))
            c->at++;
        if (*c->at == '"')
            break;
        escaped = true;
        if (*c->at == '\\')
            c->at++;
        if (*c->at == '\0')
            return aphi_cursor_fail_nul(c);
        c->at++;
    }
    const char *to = c->at++;
    if (!e)
        return true;
    if (escaped)
        return build_escaped(e, c, from, to, v);
    *v = aph_bytes(from, (size_t)(to - from));
    return true;
}

static bool build_character(aphi_cursor *c, aphi_slice name, aph_value *v)
{
    static const char *const names[] = {"newline", "return", "space", "tab", "formfeed", "backspace"};
    static const char bytes[] = "\n\r \t\f\b";
    size_t i = aphi_slice_find(name, names, 6);
    if (i < 6)
        *v = aph_bytes(bytes + i, 1);
    else if (name.n == 5 && *name.at == 'u')
        return fail_malformed(c, name.at - 1, "write this character as a string");
    else
        *v = aph_bytes(name.at, name.n);
    return true;
}

/* Reads \a, \newline, or a delimiter such as \(. */
static bool read_character(aphi_edn *e, aphi_cursor *c, aph_value *v)
{
    const char *from = ++c->at;
    if (*from == '\0')
        return aphi_cursor_fail_nul(c);
    c->at++;
    aphi_slice rest;
    if (!read_token(c, &rest))
        return false;
    return !e || build_character(c, (aphi_slice){from, rest.n + 1}, v);
}

/* ---- collections ------------------------------------------------------------------------------------------------- */

/* Reads forms up to the closing byte; values are left on the stack. */
static bool read_items(aphi_edn *e, aphi_cursor *c, char closing, size_t *count, int depth)
{
    aph_value item = APH_NIL;
    for (*count = 0;; ++*count) {
        if (!skip_blank(c, depth))
            return false;
        if (*c->at == closing)
            break;
        if (!read_form(e, c, &item, depth + 1))
            return false;
        if (e && aphi_heap_exceeds_limit(e->size_before))
            return aphi_cursor_fail_memory(c);
        if (e)
            APHI_PUSH(e->stack, e->stack_count, e->stack_capacity, item);
    }
    c->at++;
    return true;
}

static int compare_items(const void *a, const void *b)
{
    return aph_compare(*(const aph_value *)a, *(const aph_value *)b);
}

/* Reads a vector, a list, or a set, whose items are sorted. opening: the length of the opening bracket. */
static bool read_sequence(aphi_edn *e, aphi_cursor *c, int opening, char closing, aph_value *v, int depth)
{
    size_t base = e ? e->stack_count : 0, count;
    c->at += opening;
    if (!read_items(e, c, closing, &count, depth))
        return false;
    if (e) {
        if (closing == '}' && count)
            qsort(e->stack + base, count, sizeof *e->stack, compare_items);
        *v = aph_array(count, e->stack + base);
        e->stack_count = base;
    }
    return true;
}

static bool read_map(aphi_edn *e, aphi_cursor *c, aph_value *v, int depth)
{
    const char *from = c->at++;
    size_t base = e ? e->stack_count : 0, count;
    if (!read_items(e, c, '}', &count, depth))
        return false;
    if (count % 2)
        return fail_malformed(c, from, "map with a key without a value");
    if (!e)
        return true;
    for (size_t i = 0; i < count; i += 2)
        e->stack[base + i] = aphi_key(e->stack[base + i]);
    *v = aphi_object_of(count / 2, e->stack + base);
    e->stack_count = base;
    if (aph_count(*v) != count / 2)
        return fail_malformed(c, from, "map with the same key twice");
    return true;
}

/* ##Inf and ##NaN. */
static bool reject_symbolic_number(aphi_edn *e, aphi_cursor *c)
{
    aphi_slice s;
    if (!read_token(c, &s))
        return false;
    return !e || aphi_cursor_fail(c, APHI_TRACE_FRACTION, s.at, "only integers can be used in a value");
}

/* Moves past a tag and the blanks after it. */
static bool skip_tag(aphi_cursor *c, int depth)
{
    const char *from = c->at++;
    aphi_slice name;
    if (!read_token(c, &name))
        return false;
    if (name.n == 0)
        return *c->at == '\0' ? aphi_cursor_fail_nul(c) : fail_malformed(c, from, "# without a tag");
    return skip_blank(c, depth);
}

static bool read_tagged(aphi_edn *e, aphi_cursor *c, aph_value *v, int depth)
{
    return skip_tag(c, depth) && read_form(e, c, v, depth + 1);
}

static bool read_form(aphi_edn *e, aphi_cursor *c, aph_value *v, int depth)
{
    if (depth >= DEPTH_MAX)
        return aphi_cursor_fail_deep(c);
    switch (*c->at) {
    case '{': return read_map(e, c, v, depth);
    case '[': return read_sequence(e, c, 1, ']', v, depth);
    case '(': return read_sequence(e, c, 1, ')', v, depth);
    case '"': return read_string(e, c, v);
    case ':': return read_keyword(e, c, v);
    case '\\': return read_character(e, c, v);
    case '#':
        if (c->at[1] == '{')
            return read_sequence(e, c, 2, '}', v, depth);
        return c->at[1] == '#' ? reject_symbolic_number(e, c) : read_tagged(e, c, v, depth);
    case '\0': return aphi_cursor_fail_nul(c);
    case ')': case ']': case '}': return fail_malformed(c, c->at, "closing bracket without an opening one");
    default: return read_atom(e, c, v);
    }
}

bool aphi_edn_blank(aphi_cursor *c)
{
    return skip_blank(c, 0);
}

bool aphi_edn_skip(aphi_cursor *c)
{
    return read_form(NULL, c, NULL, 0);
}

bool aphi_edn_build(aphi_edn *e, aphi_cursor *c, aph_value *v)
{
    e->stack_count = 0;
    e->size_before = aphi_heap_size();
    APHI_RESERVE(e->stack, e->stack_capacity, 1); /* aph_array needs a pointer for empty collections too */
    return read_form(e, c, v, 0);
}

/* Returns a keyword without its colon, or a string without its quotes. */
static aphi_slice key_name(aphi_slice key)
{
    if (*key.at == ':')
        return (aphi_slice){key.at + 1, key.n - 1};
    if (*key.at == '"')
        return (aphi_slice){key.at + 1, key.n - 2};
    return key;
}

static bool skip_tags(aphi_cursor *c)
{
    while (c->at[0] == '#' && c->at[1] != '{' && c->at[1] != '#')
        if (!skip_tag(c, 0))
            return false;
    return true;
}

/* Moves past one form and sets *s to its text. */
static bool skip_slice(aphi_cursor *c, aphi_slice *s)
{
    const char *from = c->at;
    if (!read_form(NULL, c, NULL, 1))
        return false;
    *s = (aphi_slice){from, (size_t)(c->at - from)};
    return true;
}

static bool read_member(aphi_cursor *c, const char *const *names, aphi_slice *slices, size_t count)
{
    aphi_slice key, item;
    if (!skip_slice(c, &key) || !skip_blank(c, 0))
        return false;
    if (*c->at == '}')
        return fail_malformed(c, key.at, "key without a value");
    if (!skip_slice(c, &item))
        return false;
    size_t i = aphi_slice_find(key_name(key), names, count);
    if (i == count)
        return true;
    if (slices[i].at)
        return fail_malformed(c, key.at, "duplicate key");
    slices[i] = item;
    return true;
}

bool aphi_edn_members(aphi_cursor *c, const char *const *names, aphi_slice *slices, size_t count)
{
    if (!skip_tags(c))
        return false;
    if (*c->at != '{')
        return aphi_cursor_fail_here(
            c, "expected an operation map such as {:process 0, :type :invoke, :f :read, :value nil}");
    c->at++;
    for (;;) {
        if (!skip_blank(c, 0))
            return false;
        if (*c->at == '}')
            break;
        if (!read_member(c, names, slices, count))
            return false;
    }
    c->at++;
    return true;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * json_scan.c - a strict JSON scanner; see json_scan.h.
 *
 * Invariant: the text ends with a NUL (byte_source.h), so a loop that stops at any unexpected byte also stops at the
 *            end.
 * Cost:      one pass; the stack grows with nesting, which DEPTH_MAX bounds.
 */
#include "trace/json_scan.h"

#include <string.h>
#include "value/heap.h"
#include "value/json_syntax.h"

enum { DEPTH_MAX = APHI_MESSAGE_DEPTH + 4 }; /* a message is inside an object */

static bool skip_value(aphi_cursor *c, bool integers, int depth);

void aphi_json_blank(aphi_cursor *c)
{
    while (*c->at == ' ' || *c->at == '\t' || *c->at == '\n' || *c->at == '\r')
        c->at++;
}

/* Moves from a backslash to the last byte of its escape. */
static bool skip_escape(aphi_cursor *c)
{
    c->at++;
    if (*c->at == '\0' || !strchr("\"\\/bfnrtu", *c->at))
        return aphi_cursor_fail_here(c, "not a JSON escape");
    int digits_left = *c->at == 'u' ? 4 : 0;
    for (; digits_left > 0; digits_left--) {
        c->at++;
        if (*c->at == '\0' || !strchr("0123456789abcdefABCDEF", *c->at))
            return aphi_cursor_fail_here(c, "\\u needs four hexadecimal digits");
    }
    return true;
}

static bool skip_string(aphi_cursor *c)
{
    for (;;) {
        do
            c->at++;
        while ((unsigned char)*c->at >= 0x20 && *c->at != '"' && *c->at != '\\');
        if (*c->at == '"')
            break;
        if (*c->at != '\\')
            return aphi_cursor_fail_here(c, "raw control character in a string; write it as an escape such as \\n");
        if (!skip_escape(c))
            return false;
    }
    c->at++;
    return true;
}

static void skip_digits(aphi_cursor *c)
{
    while (*c->at >= '0' && *c->at <= '9')
        c->at++;
}

static bool skip_some_digits(aphi_cursor *c)
{
    const char *from = c->at;
    skip_digits(c);
    return c->at > from || aphi_cursor_fail_here(c, "expected a digit");
}

static bool skip_fraction(aphi_cursor *c)
{
    if (*c->at == '.') {
        c->at++;
        if (!skip_some_digits(c))
            return false;
    }
    if (*c->at == 'e' || *c->at == 'E') {
        c->at++;
        if (*c->at == '+' || *c->at == '-')
            c->at++;
        if (!skip_some_digits(c))
            return false;
    }
    return true;
}

static bool skip_number(aphi_cursor *c, bool integers)
{
    const char *from = c->at;
    if (*c->at == '-')
        c->at++;
    const char *first = c->at;
    if (!skip_some_digits(c))
        return false;
    if (*first == '0' && c->at > first + 1)
        return aphi_cursor_fail(c, APHI_TRACE_MALFORMED, first, "a number must not begin with 0");
    const char *point = c->at;
    if (!skip_fraction(c))
        return false;
    if (*c->at == '\0' && c->at == c->end && !c->whole)
        return aphi_cursor_fail_nul(c);
    aph_value i;
    if (!integers || aph_json_read(from, (size_t)(c->at - from), &i, NULL))
        return true;
    if (c->at > point)
        return aphi_cursor_fail(c, APHI_TRACE_FRACTION, from,
                                "only integers can be used in a message; write the number as a string or scale it");
    return aphi_cursor_fail(c, APHI_TRACE_RANGE, from,
                            "the integer does not fit in 64 bits; write it as a string");
}

static bool skip_word(aphi_cursor *c, const char *word)
{
    for (; *word; word++, c->at++)
        if (*c->at != *word)
            return aphi_cursor_fail_here(c, "expected a JSON value");
    return true;
}

static bool skip_array(aphi_cursor *c, bool integers, int depth)
{
    c->at++;
    aphi_json_blank(c);
    if (*c->at != ']') {
        for (;;) {
            if (!skip_value(c, integers, depth + 1))
                return false;
            aphi_json_blank(c);
            if (*c->at == ']')
                break;
            if (*c->at != ',')
                return aphi_cursor_fail_here(c, "expected a comma or ]");
            c->at++;
            aphi_json_blank(c);
        }
    }
    c->at++;
    return true;
}

/* Moves from a key to its value. */
static bool skip_key(aphi_cursor *c, aphi_slice *key)
{
    const char *from = c->at;
    if (*c->at != '"')
        return aphi_cursor_fail_here(c, "expected a key in double quotes");
    if (!skip_string(c))
        return false;
    *key = (aphi_slice){from, (size_t)(c->at - from)};
    aphi_json_blank(c);
    if (*c->at != ':')
        return aphi_cursor_fail_here(c, "expected a colon after the key");
    c->at++;
    aphi_json_blank(c);
    return true;
}

/* Moves from a value to the next key (*at_end is false) or past the object. */
static bool skip_comma(aphi_cursor *c, bool *at_end)
{
    aphi_json_blank(c);
    *at_end = *c->at == '}';
    if (!*at_end && *c->at != ',')
        return aphi_cursor_fail_here(c, "expected a comma or }");
    c->at++;
    if (!*at_end)
        aphi_json_blank(c);
    return true;
}

/* Moves from { to the first key (*at_end is false) or past the object. */
static void skip_open(aphi_cursor *c, bool *at_end)
{
    c->at++;
    aphi_json_blank(c);
    *at_end = *c->at == '}';
    if (*at_end)
        c->at++;
}

static bool skip_object(aphi_cursor *c, bool integers, int depth)
{
    bool at_end;
    aphi_slice key = {0};
    skip_open(c, &at_end);
    while (!at_end)
        if (!skip_key(c, &key) || !skip_value(c, integers, depth + 1) || !skip_comma(c, &at_end))
            return false;
    return true;
}

static bool skip_value(aphi_cursor *c, bool integers, int depth)
{
    if (depth >= DEPTH_MAX)
        return aphi_cursor_fail_deep(c);
    switch (*c->at) {
    case '"': return skip_string(c);
    case '{': return skip_object(c, integers, depth);
    case '[': return skip_array(c, integers, depth);
    case 't': return skip_word(c, "true");
    case 'f': return skip_word(c, "false");
    case 'n': return skip_word(c, "null");
    case '-':
    case '0': case '1': case '2': case '3': case '4': case '5': case '6': case '7': case '8': case '9':
        return skip_number(c, integers);
    default: return aphi_cursor_fail_here(c, "expected a JSON value");
    }
}

bool aphi_json_skip(aphi_cursor *c, bool integers)
{
    return skip_value(c, integers, 0);
}

static size_t find_key(aphi_slice key, const char *const *names, size_t count)
{
    if (!memchr(key.at, '\\', key.n))
        return aphi_slice_find((aphi_slice){key.at + 1, key.n - 2}, names, count);
    aph_value v;
    aph_json_error error;
    if (!aph_json_read(key.at, key.n, &v, &error))
        return count;
    size_t n;
    const char *bytes = aph_bytes_of(&v, &n);
    return aphi_slice_find((aphi_slice){bytes, n}, names, count);
}

bool aphi_json_members(aphi_cursor *c, const char *const *names, aphi_slice *slices, size_t count)
{
    if (*c->at != '{')
        return aphi_cursor_fail_here(c, "expected a JSON object");
    bool at_end;
    aphi_slice key = {0};
    skip_open(c, &at_end);
    while (!at_end) {
        if (!skip_key(c, &key))
            return false;
        const char *from = c->at;
        if (!skip_value(c, false, 1))
            return false;
        size_t i = find_key(key, names, count);
        if (i < count && slices[i].at)
            return aphi_cursor_fail(c, APHI_TRACE_MALFORMED, key.at, "duplicate key");
        if (i < count)
            slices[i] = (aphi_slice){from, (size_t)(c->at - from)};
        if (!skip_comma(c, &at_end))
            return false;
    }
    return true;
}

bool aphi_json_build(aphi_cursor *c, aphi_slice s, aph_value *v)
{
    size_t before = aphi_heap_size();
    aph_json_error error;
    bool beyond;
    if (aphi_json_read_message(s.at, s.n, v, &error, &beyond))
        return true;
    c->at = s.at;
    if (aphi_heap_exceeds_limit(before))
        return aphi_cursor_fail_memory(c);
    if (!skip_value(c, true, DEPTH_MAX - APHI_MESSAGE_DEPTH))
        return false;
    bool twice = s.at[error.offset] == '{';
    return aphi_cursor_fail(c, APHI_TRACE_MALFORMED, s.at + error.offset,
                            twice ? "a name occurs twice in this object; remove one" : "half a surrogate pair");
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * json_syntax.c - the grammar of JSON (RFC 8259), without the limits of values.
 *
 * Idea:       text that exceeds a limit of the reader is scanned here from its start, to distinguish JSON beyond our
 *             limits from text that is not JSON. Open brackets are kept in a buffer, so nesting is unlimited.
 * Read next:  json.c */
#include "value/json_syntax.h"

#include "base/buffer.h"

#include <string.h>

typedef struct scan {
    const char *text;
    size_t n, at;
    aphi_buffer open; /* the open brackets */
} scan;

static bool at_any(const scan *s, const char *bytes)
{
    return s->at < s->n && s->text[s->at] && strchr(bytes, s->text[s->at]);
}

static bool accept_any(scan *s, const char *bytes)
{
    bool accepted = at_any(s, bytes);
    s->at += accepted;
    return accepted;
}

static void skip_space(scan *s)
{
    while (accept_any(s, " \t\r\n"))
        continue;
}

static bool scan_digits(scan *s)
{
    if (!accept_any(s, "0123456789"))
        return false;
    while (accept_any(s, "0123456789"))
        continue;
    return true;
}

static bool scan_number(scan *s)
{
    accept_any(s, "-");
    if (!accept_any(s, "0") && !scan_digits(s))
        return false;
    if (accept_any(s, ".") && !scan_digits(s))
        return false;
    if (!accept_any(s, "eE"))
        return true;
    accept_any(s, "+-");
    return scan_digits(s);
}

bool aphi_json_scan_number(const char *text, size_t n, size_t *at)
{
    scan s = {.text = text, .n = n, .at = *at};
    bool valid = scan_number(&s);
    *at = s.at;
    return valid;
}

static bool scan_escape(scan *s)
{
    if (!accept_any(s, "u"))
        return accept_any(s, "\"\\/bfnrt");
    for (int i = 0; i < 4; i++)
        if (!accept_any(s, "0123456789abcdefABCDEF"))
            return false;
    return true;
}

static bool scan_string(scan *s)
{
    if (!accept_any(s, "\""))
        return false;
    while (!accept_any(s, "\"")) {
        if (s->at >= s->n || (unsigned char)s->text[s->at] < ' ')
            return false;
        if (s->text[s->at++] == '\\' && !scan_escape(s))
            return false;
    }
    return true;
}

static bool scan_word(scan *s, const char *word)
{
    for (; *word; word++, s->at++)
        if (s->at >= s->n || s->text[s->at] != *word)
            return false;
    return true;
}

static bool scan_scalar(scan *s)
{
    if (at_any(s, "\""))
        return scan_string(s);
    if (at_any(s, "tfn"))
        return scan_word(s, s->text[s->at] == 't' ? "true" : s->text[s->at] == 'f' ? "false" : "null");
    return scan_number(s);
}

static bool scan_key(scan *s)
{
    skip_space(s);
    if (!scan_string(s))
        return false;
    skip_space(s);
    return accept_any(s, ":");
}

static bool accept_close(scan *s)
{
    skip_space(s);
    bool closed = accept_any(s, s->open.data[s->open.n - 1] == '{' ? "}" : "]");
    s->open.n -= closed;
    return closed;
}

/* Moves past opening brackets, keys and empty collections, to a scalar (*scalar) or past a value. */
static bool scan_start(scan *s, bool *scalar)
{
    for (;;) {
        skip_space(s);
        *scalar = !at_any(s, "[{");
        if (*scalar)
            return true;
        aphi_buffer_byte(&s->open, s->text[s->at++]);
        if (accept_close(s))
            return true;
        if (s->open.data[s->open.n - 1] == '{' && !scan_key(s))
            return false;
    }
}

/* Moves past closing brackets to the next value. *over: there is none. */
static bool scan_end(scan *s, bool *over)
{
    *over = false;
    while (s->open.n) {
        if (accept_close(s))
            continue;
        return accept_any(s, ",") && (s->open.data[s->open.n - 1] != '{' || scan_key(s));
    }
    *over = true;
    return true;
}

bool aphi_json_is_valid(const char *text, size_t n, size_t *at)
{
    scan s = {.text = text, .n = n};
    bool scalar, over = false, valid = true;
    while (valid && !over)
        valid = scan_start(&s, &scalar) && (!scalar || scan_scalar(&s)) && scan_end(&s, &over);
    skip_space(&s);
    *at = s.at;
    aphi_buffer_free(&s.open);
    return valid && s.at == n;
}

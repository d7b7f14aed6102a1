/* SPDX-License-Identifier: Apache-2.0
 *
 * http_syntax.h - character classes of HTTP (RFC 9110 5.6, RFC 3986), and spans of text. */
#ifndef APHI_CODEC_HTTP_SYNTAX_H
#define APHI_CODEC_HTTP_SYNTAX_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* A slice of text that is owned elsewhere. */
typedef struct aphi_span {
    const char *text;
    size_t n;
} aphi_span;

static inline bool aphi_span_is(aphi_span s, const char *text)
{
    return s.n == strlen(text) && memcmp(s.text, text, s.n) == 0;
}

static inline bool aphi_is_digit(unsigned char c)
{
    return c >= '0' && c <= '9';
}

static inline bool aphi_is_alpha(unsigned char c)
{
    return (unsigned char)((c | 32) - 'a') < 26;
}

static inline char aphi_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 32) : c;
}

static inline bool aphi_is_blank(unsigned char c)
{
    return c == ' ' || c == '\t';
}

/* Returns -1 if the character is not a hexadecimal digit. */
static inline int aphi_hex_of(unsigned char c)
{
    if (aphi_is_digit(c))
        return c - '0';
    c |= 32;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* A character of a token: methods and field names. */
static inline bool aphi_is_token(unsigned char c)
{
    return aphi_is_alpha(c) || c == '-' || aphi_is_digit(c) || (c && strchr("!#$%&'*+.^_`|~", c));
}

/* A character of a field value or reason phrase: visible characters, blanks, and bytes from 128 on. */
static inline bool aphi_is_text(unsigned char c)
{
    return (c >= ' ' && c != 127) || c == '\t';
}

/* Removes blanks at both ends. */
static inline aphi_span aphi_trim(aphi_span s)
{
    while (s.n && aphi_is_blank((unsigned char)s.text[s.n - 1]))
        s.n--;
    while (s.n && aphi_is_blank((unsigned char)*s.text)) {
        s.text++;
        s.n--;
    }
    return s;
}

/* Returns the length of the valid prefix of a target: the whole length if it is valid for the method (RFC 9112 3.2). */
size_t aphi_http_target(aphi_span method, aphi_span target);
/* Does the same for the value of Host: a host and an optional port (RFC 9110 7.2). */
size_t aphi_http_host(aphi_span host);

#endif

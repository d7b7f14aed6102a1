/* SPDX-License-Identifier: Apache-2.0
 *
 * plain_text.c - text for terminals and shells; see plain_text.h. */
#include "base/plain_text.h"

#include <stdlib.h>
#include <string.h>

/* ---- terminals --------------------------------------------------------------------------------------------------- */

bool aphi_utf8_is_command(uint32_t p)
{
    return p < 0x20 || (p >= 0x7f && p < 0xa0) || (p >= 0x2028 && p <= 0x202e) || (p >= 0x2066 && p <= 0x2069)
           || p == 0x200e || p == 0x200f || p == 0xfeff;
}

/* Decodes the first character. Returns its length in bytes, and whether it is harmless. */
static size_t read_character(const char *text, size_t n, uint32_t *point, bool *harmless)
{
    size_t length = aphi_utf8_next(text, n, point);
    *harmless = *point == '\n' || *point == '\t' || (*point != APHI_UTF8_INVALID && !aphi_utf8_is_command(*point));
    return length;
}

static void escape_text(aphi_buffer *out, const char *text)
{
    uint32_t point;
    bool harmless;
    for (size_t n = strlen(text), at = 0, length; at < n; at += length) {
        length = read_character(text + at, n - at, &point, &harmless);
        if (harmless)
            aphi_buffer_add(out, text + at, length);
        else if (length == 1)
            aphi_buffer_format(out, "\\x%02x", (unsigned char)text[at]);
        else
            aphi_buffer_format(out, "\\u%04x", (unsigned)point);
    }
}

static void escape_args(aphi_buffer *out, const char *format, va_list args)
{
    char *text;
    if (vasprintf(&text, format, args) < 0)
        return;
    escape_text(out, text);
    free(text);
}

void aphi_buffer_escaped(aphi_buffer *out, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    escape_args(out, format, args);
    va_end(args);
}

void aphi_print_args(FILE *out, const char *format, va_list args)
{
    aphi_buffer escaped = {0};
    escape_args(&escaped, format, args);
    fwrite(escaped.data ? escaped.data : "", 1, escaped.n, out);
    aphi_buffer_free(&escaped);
}

void aphi_print(FILE *out, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    aphi_print_args(out, format, args);
    va_end(args);
}

/* ---- shells ------------------------------------------------------------------------------------------------------ */

/* Appends bytes that must not reach a terminal; printf makes them again. Returns the number of bytes. */
static size_t quote_harmful(aphi_buffer *out, const char *text, size_t n)
{
    size_t at = 0, length;
    uint32_t point;
    bool harmless;
    aphi_buffer_str(out, "'\"$(printf '");
    for (; at < n; at += length) {
        length = read_character(text + at, n - at, &point, &harmless);
        if (harmless)
            break;
        for (size_t i = 0; i < length; i++)
            aphi_buffer_format(out, "\\%03o", (unsigned char)text[at + i]);
    }
    aphi_buffer_str(out, "')\"'");
    return at;
}

void aphi_quote(aphi_buffer *out, const char *text)
{
    uint32_t point;
    bool harmless;
    aphi_buffer_byte(out, '\'');
    for (size_t n = strlen(text), at = 0, length; at < n; at += length) {
        length = read_character(text + at, n - at, &point, &harmless);
        if (!harmless)
            length = quote_harmful(out, text + at, n - at);
        else if (point == '\'')
            aphi_buffer_str(out, "'\\''");
        else
            aphi_buffer_add(out, text + at, length);
    }
    aphi_buffer_byte(out, '\'');
}

void aphi_quote_word(aphi_buffer *out, const char *text)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+=.,:/@%";
    if (*text && !text[strspn(text, plain)])
        aphi_buffer_str(out, text);
    else
        aphi_quote(out, text);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * utf8.c - decoding, cleaning, measuring and cutting of UTF-8 text. */
#include "report/utf8.h"

#include <string.h>

#define REPLACEMENT 0xfffd

size_t aphi_utf8_next(const char *bytes, size_t n, uint32_t *point)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char first = (unsigned char)bytes[0];
    if (first < 0x80) {
        *point = first;
        return 1;
    }
    size_t length = first >= 0xf8 ? 0 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 0;
    if (!length || length > n)
        return 0;
    uint32_t p = first & (0xffu >> (length + 1));
    for (size_t i = 1; i < length; i++) {
        if (((unsigned char)bytes[i] & 0xc0) != 0x80)
            return 0;
        p = p << 6 | ((unsigned char)bytes[i] & 0x3f);
    }
    if (p < least[length] || p > 0x10ffff || (p >= 0xd800 && p <= 0xdfff))
        return 0;
    *point = p;
    return length;
}

void aphi_utf8_add(aphi_buffer *out, uint32_t p)
{
    if (p < 0x80) {
        aphi_buffer_byte(out, (char)p);
        return;
    }
    int more = p < 0x800 ? 1 : p < 0x10000 ? 2 : 3;
    aphi_buffer_byte(out, (char)((0xff00u >> (more + 1) & 0xff) | p >> 6 * more));
    while (more--)
        aphi_buffer_byte(out, (char)(0x80 | (p >> 6 * more & 0x3f)));
}

/* The length in bytes of the first column of n > 0 bytes. */
static size_t column_bytes(const char *text, size_t n)
{
    uint32_t p;
    size_t taken = aphi_utf8_next(text, n, &p);
    return taken ? taken : 1;
}

size_t aphi_utf8_columns(const char *text)
{
    size_t columns = 0;
    for (size_t n = strlen(text); n; columns++) {
        size_t taken = column_bytes(text, n);
        text += taken;
        n -= taken;
    }
    return columns;
}

bool aphi_utf8_is_command(uint32_t p)
{
    return p < 0x20 || (p >= 0x7f && p < 0xa0) || (p >= 0x2028 && p <= 0x202e) || (p >= 0x2066 && p <= 0x2069)
           || p == 0x200e || p == 0x200f || p == 0xfeff;
}

static const char *ascii_form(uint32_t p)
{
    switch (p) {
    case 0x2192: return "->";
    case 0x2190: return "<-";
    case 0x2026: return "...";
    case 0x2260: return "!=";
    case 0x2264: return "<=";
    case 0x2265: return ">=";
    case 0x2013: case 0x2014: case 0x2212: return "-";
    case 0x2018: case 0x2019: return "'";
    case 0x201c: case 0x201d: return "\"";
    case 0x00b5: return "u";
    default: return "?";
    }
}

void aphi_utf8_clean(aphi_buffer *out, const char *text, bool unicode)
{
    for (size_t n = strlen(text); n;) {
        uint32_t p;
        size_t taken = aphi_utf8_next(text, n, &p);
        if (!taken || aphi_utf8_is_command(p))
            p = REPLACEMENT;
        if (p < 0x80 || unicode)
            aphi_utf8_add(out, p);
        else
            aphi_buffer_str(out, ascii_form(p));
        taken = taken ? taken : 1;
        text += taken;
        n -= taken;
    }
}

/* The length in bytes of the first `columns` columns. */
static size_t head_bytes(const char *text, size_t columns)
{
    size_t n = strlen(text), at = 0;
    while (columns-- && at < n)
        at += column_bytes(text + at, n - at);
    return at;
}

/* Appends `first` columns of text, an ellipsis, and as much of its end as fits. */
static void cut_text(aphi_buffer *out, const char *text, size_t columns, size_t first, const char *ellipsis)
{
    size_t all = aphi_utf8_columns(text), dots = aphi_utf8_columns(ellipsis);
    if (all <= columns) {
        aphi_buffer_str(out, text);
        return;
    }
    if (columns < dots) {
        aphi_buffer_add(out, text, head_bytes(text, columns));
        return;
    }
    aphi_buffer_add(out, text, head_bytes(text, first));
    aphi_buffer_str(out, ellipsis);
    aphi_buffer_str(out, text + head_bytes(text, all - (columns - dots - first)));
}

static const char *ellipsis_of(bool unicode, size_t *columns)
{
    size_t dots = unicode ? 1 : 2;
    *columns = *columns > dots ? *columns - dots : 0;
    return unicode ? "…" : "..";
}

void aphi_utf8_cut(aphi_buffer *out, const char *text, size_t columns, bool unicode)
{
    size_t left = columns;
    const char *ellipsis = ellipsis_of(unicode, &left);
    cut_text(out, text, columns, left, ellipsis);
}

void aphi_utf8_cut_middle(aphi_buffer *out, const char *text, size_t columns, bool unicode)
{
    size_t left = columns;
    const char *ellipsis = ellipsis_of(unicode, &left);
    cut_text(out, text, columns, left / 2, ellipsis);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * utf8.c - escaping, measuring and cutting of UTF-8 text. */
#include "report/utf8.h"

#include <string.h>

#define REPLACEMENT 0xfffd

size_t aphi_utf8_columns(const char *text)
{
    size_t columns = 0;
    uint32_t p;
    for (size_t n = strlen(text), at = 0; at < n; columns++)
        at += aphi_utf8_next(text + at, n - at, &p);
    return columns;
}

size_t aphi_utf8_head(const char *text, size_t columns)
{
    size_t n = strlen(text), at = 0;
    uint32_t p;
    while (columns-- && at < n)
        at += aphi_utf8_next(text + at, n - at, &p);
    return at;
}

size_t aphi_utf8_wrap(const char *text, size_t n, size_t columns)
{
    size_t at = 0, blank = 0;
    uint32_t p;
    while (columns-- && at < n) {
        blank = text[at] == ' ' ? at : blank;
        at += aphi_utf8_next(text + at, n - at, &p);
    }
    return at >= n || text[at] == ' ' || !blank ? at : blank;
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
    uint32_t p;
    for (size_t n = strlen(text), at = 0; at < n;) {
        at += aphi_utf8_next(text + at, n - at, &p);
        if (p == APHI_UTF8_INVALID || aphi_utf8_is_command(p))
            p = REPLACEMENT;
        if (p < 0x80 || unicode)
            aphi_utf8_add(out, p);
        else
            aphi_buffer_str(out, ascii_form(p));
    }
}

static void add_html(aphi_buffer *out, uint32_t p, const char *newline)
{
    switch (p) {
    case '<': aphi_buffer_str(out, "&lt;"); break;
    case '>': aphi_buffer_str(out, "&gt;"); break;
    case '&': aphi_buffer_str(out, "&amp;"); break;
    case '"': aphi_buffer_str(out, "&quot;"); break;
    case '\'': aphi_buffer_str(out, "&#39;"); break;
    case '\n': aphi_buffer_str(out, newline); break;
    default:
        if (aphi_utf8_is_command(p))
            aphi_buffer_format(out, "\\u%04x", (unsigned)p);
        else
            aphi_utf8_add(out, p);
    }
}

void aphi_utf8_html(aphi_buffer *out, const char *bytes, size_t n, size_t limit, const char *newline)
{
    uint32_t p;
    for (size_t at = 0, length; at < n && at < limit; at += length) {
        length = aphi_utf8_next(bytes + at, n - at, &p);
        if (p == APHI_UTF8_INVALID)
            aphi_buffer_format(out, "\\x%02x", (unsigned char)bytes[at]);
        else
            add_html(out, p, newline);
    }
    aphi_buffer_str(out, n > limit ? "…" : "");
}

/* Appends the beginning of the text and an ellipsis; with `middle`, also as much of its end as fits. */
static void cut_text(aphi_buffer *out, const char *text, size_t columns, bool unicode, bool middle)
{
    size_t all = aphi_utf8_columns(text), dots = unicode ? 1 : 2;
    if (all <= columns) {
        aphi_buffer_str(out, text);
        return;
    }
    if (columns < dots) {
        aphi_buffer_add(out, text, aphi_utf8_head(text, columns));
        return;
    }
    size_t first = middle ? (columns - dots) / 2 : columns - dots;
    aphi_buffer_add(out, text, aphi_utf8_head(text, first));
    aphi_buffer_str(out, unicode ? "…" : "..");
    aphi_buffer_str(out, text + aphi_utf8_head(text, all - (columns - dots - first)));
}

void aphi_utf8_cut(aphi_buffer *out, const char *text, size_t columns, bool unicode)
{
    cut_text(out, text, columns, unicode, false);
}

void aphi_utf8_cut_middle(aphi_buffer *out, const char *text, size_t columns, bool unicode)
{
    cut_text(out, text, columns, unicode, true);
}

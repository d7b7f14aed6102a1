/* SPDX-License-Identifier: Apache-2.0
 *
 * text_line.c - one line of a text drawing. */
#include "report/text_line.h"

#include "base/memory.h"
#include "report/utf8.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void aphi_text_line_deinit(aphi_text_line *l)
{
    free(l->cells);
    *l = (aphi_text_line){0};
}

void aphi_text_line_put(aphi_text_line *l, size_t x, uint32_t point, aphi_ink ink)
{
    APHI_RESERVE(l->cells, l->capacity, x + 1);
    while (l->n <= x)
        l->cells[l->n++] = (aphi_cell){0};
    l->cells[x] = (aphi_cell){point, ink};
}

size_t aphi_text_line_bytes(aphi_text_line *l, size_t x, const char *text, size_t bytes, aphi_ink ink)
{
    uint32_t p;
    for (size_t at = 0; at < bytes;) {
        at += aphi_utf8_next(text + at, bytes - at, &p);
        assert(p != APHI_UTF8_INVALID);
        aphi_text_line_put(l, x++, p == ' ' ? 0 : p, ink);
    }
    return x;
}

size_t aphi_text_line_text(aphi_text_line *l, size_t x, const char *text, aphi_ink ink)
{
    return aphi_text_line_bytes(l, x, text, strlen(text), ink);
}

bool aphi_text_line_blank(const aphi_text_line *l, size_t from, size_t to)
{
    for (size_t i = from; i < to && i < l->n; i++)
        if (l->cells[i].point)
            return false;
    return true;
}

static void change_ink(aphi_buffer *out, const aphi_terminal *t, aphi_ink from, aphi_ink to)
{
    if (from != APHI_INK_NONE && from != to)
        aphi_buffer_str(out, aphi_terminal_ink(t, APHI_INK_NONE));
    if (to != APHI_INK_NONE && from != to)
        aphi_buffer_str(out, aphi_terminal_ink(t, to));
}

void aphi_text_line_flush(aphi_text_line *l, aphi_buffer *out, const aphi_terminal *t)
{
    aphi_ink now = APHI_INK_NONE;
    while (l->n && !l->cells[l->n - 1].point)
        l->n--;
    for (size_t i = 0; i < l->n; i++) {
        aphi_cell c = l->cells[i];
        if (c.point) { /* blanks need no ink */
            change_ink(out, t, now, c.ink);
            now = c.ink;
        }
        aphi_utf8_add(out, c.point ? c.point : ' ');
    }
    change_ink(out, t, now, APHI_INK_NONE);
    aphi_buffer_byte(out, '\n');
    l->n = 0;
}

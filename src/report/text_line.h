/* SPDX-License-Identifier: Apache-2.0
 *
 * text_line.h - one line of a text drawing; characters can be put at any column, in any order, each with its ink. */
#ifndef APHI_REPORT_TEXT_LINE_H
#define APHI_REPORT_TEXT_LINE_H

#include "report/terminal.h"

typedef struct aphi_cell {
    uint32_t point; /* 0: blank */
    aphi_ink ink;
} aphi_cell;

typedef struct aphi_text_line {
    aphi_cell *cells;
    size_t n, capacity;
} aphi_text_line;

void aphi_text_line_deinit(aphi_text_line *l);
void aphi_text_line_put(aphi_text_line *l, size_t x, uint32_t point, aphi_ink ink);
/* Puts clean text (utf8.h) at column x. Returns the column after it. */
size_t aphi_text_line_bytes(aphi_text_line *l, size_t x, const char *text, size_t bytes, aphi_ink ink);
size_t aphi_text_line_text(aphi_text_line *l, size_t x, const char *text, aphi_ink ink);
/* Returns true if the columns from..to - 1 are empty. */
bool aphi_text_line_blank(const aphi_text_line *l, size_t from, size_t to);
/* Appends the line to out without trailing blanks, and clears it. */
void aphi_text_line_flush(aphi_text_line *l, aphi_buffer *out, const aphi_terminal *t);

#endif

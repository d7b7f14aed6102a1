/* SPDX-License-Identifier: Apache-2.0
 *
 * cells.h - a line of a drawing: characters put anywhere in it, in any order, each with its ink. */
#ifndef APHI_REPORT_CELLS_H
#define APHI_REPORT_CELLS_H

#include "report/terminal.h"

typedef struct aphi_cell {
    uint32_t point; /* 0: blank */
    aphi_ink ink;
} aphi_cell;

typedef struct aphi_cells {
    aphi_cell *cells;
    size_t n, capacity;
} aphi_cells;

void aphi_cells_deinit(aphi_cells *l);
void aphi_cells_put(aphi_cells *l, size_t x, uint32_t point, aphi_ink ink);
/* Clean text (utf8.h) from column x on; the column after it. */
size_t aphi_cells_bytes(aphi_cells *l, size_t x, const char *text, size_t bytes, aphi_ink ink);
size_t aphi_cells_text(aphi_cells *l, size_t x, const char *text, aphi_ink ink);
/* Is nothing in the columns from..to - 1? */
bool aphi_cells_blank(const aphi_cells *l, size_t from, size_t to);
/* Writes the line, without blanks at its end, and empties it. */
void aphi_cells_flush(aphi_cells *l, aphi_buffer *out, const aphi_terminal *t);

#endif

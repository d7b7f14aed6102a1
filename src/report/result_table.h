/* SPDX-License-Identifier: Apache-2.0
 *
 * result_table.h - a table of results, one row for each file.
 *
 * One file: one line. Up to APHI_TABLE_ROWS files: a row each, and a line of totals. More: only the rows of files that
 * did not pass, and the totals, unless `all`. */
#ifndef APHI_REPORT_RESULT_TABLE_H
#define APHI_REPORT_RESULT_TABLE_H

#include "report/result_row.h"
#include "report/terminal.h"

#define APHI_TABLE_ROWS 30

void aphi_table_write(aphi_buffer *out, const aphi_result *results, size_t n, bool all, const aphi_terminal *t);

#endif

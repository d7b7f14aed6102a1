/* SPDX-License-Identifier: Apache-2.0
 *
 * result_table.h - what came of many files, at a glance.
 *
 * One file: one line. A few: a row each, and a line of totals. More than APHI_TABLE_ROWS: only those that did not pass,
 * and the totals, unless all are asked for. */
#ifndef APHI_REPORT_RESULT_TABLE_H
#define APHI_REPORT_RESULT_TABLE_H

#include "report/result_row.h"
#include "report/terminal.h"

#define APHI_TABLE_ROWS 30

const char *aphi_outcome_name(aphi_outcome o); /* "pass" */
aphi_ink aphi_outcome_ink(aphi_outcome o);

void aphi_table_write(aphi_buffer *out, const aphi_result *results, size_t n, bool all, const aphi_terminal *t);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * result_table.h - a table of results, one row for each file.
 *
 * A single file has one line. Up to APHI_TABLE_ROWS files have a row each, and a line of totals. For more files, only
 * those that did not pass have a row, unless `all` is set. */
#ifndef APHI_REPORT_RESULT_TABLE_H
#define APHI_REPORT_RESULT_TABLE_H

#include "report/terminal.h"

#define APHI_TABLE_ROWS 30

typedef enum aphi_outcome {
    APHI_OUTCOME_PASS,
    APHI_OUTCOME_FAIL,
    APHI_OUTCOME_UNKNOWN, /* a limit was reached */
    APHI_OUTCOME_ERROR,   /* no verdict: bad input or a faulty model */
    APHI_OUTCOME_VACUOUS, /* there was nothing to judge */
} aphi_outcome;
#define APHI_OUTCOMES 5

typedef struct aphi_result {
    const char *file;
    aphi_outcome outcome;
    uint64_t operations;
    uint64_t configurations;
    int64_t time_ns;
    const char *message; /* one line: the reason why it did not pass; or NULL */
    const char *detail;  /* the full report without colours, or NULL */
} aphi_result;

void aphi_table_write(aphi_buffer *out, const aphi_result *results, size_t n, bool all, const aphi_terminal *t);

#endif

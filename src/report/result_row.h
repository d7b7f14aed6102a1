/* SPDX-License-Identifier: Apache-2.0
 *
 * result_row.h - the result of checking one file, for the table and the JUnit report. */
#ifndef APHI_REPORT_RESULT_ROW_H
#define APHI_REPORT_RESULT_ROW_H

#include <stdint.h>

typedef enum aphi_outcome {
    APHI_OUTCOME_PASS,
    APHI_OUTCOME_FAIL,
    APHI_OUTCOME_UNKNOWN, /* a limit was reached */
    APHI_OUTCOME_ERROR,   /* no verdict: bad input or a faulty model */
} aphi_outcome;
#define APHI_OUTCOMES 4

typedef struct aphi_result {
    const char *file;
    aphi_outcome outcome;
    uint64_t operations;
    uint64_t configurations;
    int64_t time_ns;
    const char *message; /* one line: why it did not pass; or NULL */
    const char *detail;  /* the full report without colours, or NULL */
} aphi_result;

#endif

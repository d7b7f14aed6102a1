/* SPDX-License-Identifier: Apache-2.0
 *
 * result_row.h - what the check of one file came to: what the table and the JUnit report are made of. */
#ifndef APHI_REPORT_RESULT_ROW_H
#define APHI_REPORT_RESULT_ROW_H

#include <stdint.h>

typedef enum aphi_outcome {
    APHI_OUTCOME_PASS,
    APHI_OUTCOME_FAIL,
    APHI_OUTCOME_UNKNOWN, /* a limit was hit */
    APHI_OUTCOME_ERROR,   /* the input or the model is at fault: there is no verdict */
} aphi_outcome;
#define APHI_OUTCOMES 4

typedef struct aphi_result {
    const char *file;
    aphi_outcome outcome;
    uint64_t operations;
    uint64_t configurations;
    int64_t time_ns;
    const char *message; /* a line on why it is not a pass, or NULL */
    const char *detail;  /* all there is to say of it, lines without colours, or NULL */
} aphi_result;

#endif

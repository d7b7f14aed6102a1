/* SPDX-License-Identifier: Apache-2.0
 *
 * check_result.h - the result of a trial: what check_trace.c found out, as the value that aphi_check_trace returns. */
#ifndef APHI_CHECK_CHECK_RESULT_H
#define APHI_CHECK_CHECK_RESULT_H

#include "check/check_trace.h"
#include "check/history_capture.h"
#include "oracle/partitions.h"
#include "trace/lookahead.h"

/* A trace on trial. */
typedef struct aphi_check {
    const aph_model *model;
    const aphi_check_options *options;
    const char *file;
    aphi_trace *trace;
    aphi_lookahead *ahead;
    aphi_partitions *partitions;
    aphi_lookahead_event *batch;
    size_t batch_count;
    int status;                 /* of the reader */
    aph_verdict verdict;
    int64_t check_ns;
    uint64_t operations, observations;
    uint64_t line;              /* of the observation that was judged last */
    aphi_history_capture histories;   /* with options->explain */
    aph_value result;           /* a root while the trial lasts: telling may collect */
} aphi_check;

/* Fills in j->result, an object before: from all that the trial came to, or because there could not be one. */
void aphi_check_result(aphi_check *j);
void aphi_check_result_error(aphi_check *j, aphi_exit code, const char *message);

#endif

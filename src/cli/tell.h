/* SPDX-License-Identifier: Apache-2.0
 *
 * tell.h - the result of a trial: what judge.c found out, as the value that aphi_judge returns. */
#ifndef APHI_CLI_TELL_H
#define APHI_CLI_TELL_H

#include "cli/judge.h"
#include "cli/recall.h"
#include "oracle/partitions.h"
#include "trace/lookahead.h"

/* A trace on trial. */
typedef struct aphi_judgement {
    const aph_model *model;
    const aphi_judge_options *options;
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
    aphi_histories histories;   /* with options->explain */
    aph_value result;           /* a root while the trial lasts: telling may collect */
} aphi_judgement;

/* Fills in j->result, an object before: from all that the trial came to, or because there could not be one. */
void aphi_tell(aphi_judgement *j);
void aphi_tell_error(aphi_judgement *j, aphi_exit code, const char *message);

#endif

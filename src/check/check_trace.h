/* SPDX-License-Identifier: Apache-2.0
 *
 * check_trace.h - one trace, one model, one result. */
#ifndef APHI_CHECK_CHECK_TRACE_H
#define APHI_CHECK_CHECK_TRACE_H

#include "check/exits.h"
#include "trace/trace.h"

#include <antiphon/oracle.h>

typedef struct aphi_check_options {
    aph_oracle_options oracle;
    aphi_trace_format format;
    bool explain;   /* keep the history and give an explanation, confirmed by replay */
    void (*progress)(uint64_t observations); /* now and then; may be NULL */
} aphi_check_options;

/* What came of it, as the object that --json prints, with at least
 *   file, verdict (pass, fail, unknown, error), exit, check_ns, operations, configurations
 * and, where there is something to say,
 *   error {message, line, column}, limit, evidence, explanation, replay. */
aph_value aphi_check_trace(const aph_model *model, const char *file, const aphi_check_options *options);

/* The model as it can be judged in the environment. Where messages are lost and come twice, nobody can tell which
 * answer is of which request, so it promises nothing. */
aph_model aphi_model_in(const aph_model *model, const char *environment);

#endif

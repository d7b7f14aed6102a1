/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_diff.h - the first difference between two runs of a script, except values that a server makes up. */
#ifndef APHI_TESTER_TRACE_DIFF_H
#define APHI_TESTER_TRACE_DIFF_H

#include "tester/run.h"

typedef struct aphi_divergence {
    bool found;
    int64_t label;
    aph_value then, now;
    bool missing;        /* the later run has no such message */
    uint64_t renamed;    /* strings and times made up by the server that differ */
} aphi_divergence;

/* trace: of the earlier run. Returns false if it cannot be read. Skips lines without a label. */
bool aphi_trace_diff(const char *trace, const aphi_run *run, aphi_divergence *d);

#endif

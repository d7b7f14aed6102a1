/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_diff.h - where a run first differs from an earlier one of the same script, but for what a server makes up. */
#ifndef APHI_TESTER_TRACE_DIFF_H
#define APHI_TESTER_TRACE_DIFF_H

#include "tester/run.h"

typedef struct aphi_divergence {
    bool found;
    int64_t label;
    aph_value then, now;
    bool missing;        /* there is no such message now */
    uint64_t renamed;    /* strings and times that the server made up, and that are others now */
} aphi_divergence;

/* trace: that of the earlier run. False if there is none that can be read. Lines without a label are passed over. */
bool aphi_trace_diff(const char *trace, const aphi_run *run, aphi_divergence *d);

#endif

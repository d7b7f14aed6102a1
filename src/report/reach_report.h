/* SPDX-License-Identifier: Apache-2.0
 *
 * reach_report.h - results of antiphon reach, as text and as JSON. */
#ifndef APHI_REPORT_REACH_REPORT_H
#define APHI_REPORT_REACH_REPORT_H

#include "alts/composition.h"
#include "explore/counting.h"
#include "explore/explore.h"
#include "local/local_sequences.h"
#include "report/terminal.h"

typedef struct aphi_reach_result {
    const char *model;
    aphi_explore_stats stats;
    bool done;              /* all sequences were visited */
    bool sampled;           /* random sequences */
    bool states, total_orders; /* valid in the graph */
    aphi_composition graph;
    bool has_property, violated;
    uint64_t number;        /* if violated: number of the sequence */
    const char *why;        /* violated */
    int64_t ns;
} aphi_reach_result;

void aphi_reach_report_text(aphi_buffer *out, const aphi_reach_result *r);
void aphi_reach_report_json(aphi_buffer *out, const aphi_reach_result *r);
/* --count */
void aphi_reach_report_count_text(aphi_buffer *out, const aphi_alts *alts, const aphi_sequence_count *c, int64_t ns);
void aphi_reach_report_count_json(aphi_buffer *out, const aphi_alts *alts, const aphi_sequence_count *c, int64_t ns);
/* --local; with `races`, including race sets */
void aphi_reach_report_local_text(aphi_buffer *out, const aphi_alts *alts, const aphi_local_sequences *s, bool races);
void aphi_reach_report_local_json(aphi_buffer *out, const aphi_alts *alts, const aphi_local_sequences *s, bool races);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * reach_report.h - results of antiphon reach, as text and as JSON. */
#ifndef APHI_REPORT_REACH_REPORT_H
#define APHI_REPORT_REACH_REPORT_H

#include "explore/counting.h"
#include "local/local_sequences.h"
#include "report/terminal.h"

/* --count */
void aphi_reach_report_count_text(aphi_buffer *out, const aphi_alts *alts, const aphi_sequence_count *c, int64_t ns);
void aphi_reach_report_count_json(aphi_buffer *out, const aphi_alts *alts, const aphi_sequence_count *c, int64_t ns);
/* --local; races: with race sets */
void aphi_reach_report_local_text(aphi_buffer *out, const aphi_alts *alts, const aphi_local_sequences *s, bool races);
void aphi_reach_report_local_json(aphi_buffer *out, const aphi_alts *alts, const aphi_local_sequences *s, bool races);

#endif

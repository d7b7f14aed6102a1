/* SPDX-License-Identifier: Apache-2.0
 *
 * refine_report.h - the result of antiphon refine as text, as JSON, and its counterexample as a trace. */
#ifndef APHI_REPORT_REFINE_REPORT_H
#define APHI_REPORT_REFINE_REPORT_H

#include "refine/refinement.h"
#include "report/terminal.h"

typedef struct aphi_refine_report {
    const aphi_refine_deepening *bounds;
    const aphi_refine_outcome *outcome;
    const char *name;       /* of the model, even if a mutant of it was explored */
    bool mutant;
    int64_t ns;             /* time used */
    int exit_code;
} aphi_refine_report;

void aphi_refine_report_text(aphi_buffer *out, const aphi_refine_report *r, const aphi_terminal *terminal);
aph_value aphi_refine_report_json(const aphi_refine_report *r);
/* Writes the counterexample for antiphon check. Returns false with errno if the file cannot be written. */
bool aphi_refine_report_trace(const aphi_refine_report *r, const char *path);

#endif

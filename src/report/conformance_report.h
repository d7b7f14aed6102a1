/* SPDX-License-Identifier: Apache-2.0
 *
 * conformance_report.h - the result of antiphon conform as text, as JSON, and as a page. */
#ifndef APHI_REPORT_CONFORMANCE_REPORT_H
#define APHI_REPORT_CONFORMANCE_REPORT_H

#include "execute/conformance.h"
#include "report/terminal.h"

void aphi_conformance_report_text(aphi_buffer *out, const aphi_conformance_campaign *r, const aphi_terminal *terminal);
aph_value aphi_conformance_report_json(const aphi_conformance_campaign *r, int exit_code);
/* Writes a page with model and program side by side. Returns false with errno if the file cannot be written. */
bool aphi_conformance_report_page(const aphi_conformance_campaign *r, const char *path);

#endif

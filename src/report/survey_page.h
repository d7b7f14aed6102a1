/* SPDX-License-Identifier: Apache-2.0
 *
 * survey_page.h - the pages of a survey: one for each server, and an index. */
#ifndef APHI_REPORT_SURVEY_PAGE_H
#define APHI_REPORT_SURVEY_PAGE_H

#include <antiphon/value.h>
#include "base/buffer.h"

/* Appends the page of a server. `server` is an object; each field may be absent:
 *   {"name", "subject", "model", "version", "when", "verdict", "why": texts,
 *    "passed", "messages", "runs", "ns": numbers,
 *    "waived": [names of waivers],
 *    "findings": [{"verdict", "why", "waiver", "summary", "picture", "replay", "page": texts, "clauses": [texts],
 *                  "requests", "reject_ns", "shrink_ns", "reproduced", "confirmed": numbers, "minimal": boolean}],
 *    "choices": [{"ways": [[text, number]], "clause": text}], "observations": number, "never": [texts]}
 * The page is self-contained and has no script. All data appears as text, never as markup. */
void aphi_survey_page_write(aphi_buffer *out, aph_value server);
/* Appends the index of an array of servers. The page of each server is name.html. */
void aphi_survey_page_index(aphi_buffer *out, aph_value servers);

#endif

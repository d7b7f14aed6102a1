/* SPDX-License-Identifier: Apache-2.0
 *
 * check_report.h - results for people. */
#ifndef APHI_REPORT_CHECK_REPORT_H
#define APHI_REPORT_CHECK_REPORT_H

#include "report/terminal.h"

#include <antiphon/model.h>

/* Messages are said in the model's words; NULL: as JSON.
 * What is to be said of a result beyond its row in the table: the failing window, what was expected, what is wrong with
 * the input, the explanation. Nothing for a plain pass. */
void aphi_check_report_detail(aphi_buffer *out, aph_value result, aph_words *words, const aphi_terminal *t);
/* The result as --json prints it: durations in milliseconds. */
void aphi_check_report_json(FILE *out, aph_value result);
/* One line on why it is not a pass. */
void aphi_check_report_reason(aphi_buffer *out, aph_value result, aph_words *words);

#endif

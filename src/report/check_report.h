/* SPDX-License-Identifier: Apache-2.0
 *
 * check_report.h - results of `antiphon check` as text and as JSON. */
#ifndef APHI_REPORT_CHECK_REPORT_H
#define APHI_REPORT_CHECK_REPORT_H

#include "report/result_table.h"
#include "report/terminal.h"

#include <antiphon/check.h>

/* Appends the details of a result: the failing window and the expected responses, the error of the input, or the
 * explanation; nothing for a plain pass. `words` is the model's formatter of messages; NULL selects JSON. */
void aphi_check_report_detail(aphi_buffer *out, const aph_check_result *r, aph_words *words, const aphi_terminal *t);
/* Writes the result as --json prints it, with durations in milliseconds. */
void aphi_check_report_json(FILE *out, const aph_check_result *r, int exit_code);
/* Returns a row of the table and of the JUnit report; with `detailed`, it has the details of a result that is not a
 * pass. The row points to the file name of the result; the caller frees the row. */
aphi_result aphi_check_report_row(const aph_check_result *r, aph_words *words, bool detailed);
void aphi_check_report_row_free(aphi_result *row);

#endif

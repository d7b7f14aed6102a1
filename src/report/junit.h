/* SPDX-License-Identifier: Apache-2.0
 *
 * junit.h - results as JUnit XML.
 *
 * The model is a suite, and each file is a test case. A fail is a <failure>; an unknown verdict is an <error> of type
 * "unknown", since <skipped> would let the build pass; bad input is an <error> of type "input". */
#ifndef APHI_REPORT_JUNIT_H
#define APHI_REPORT_JUNIT_H

#include "report/result_table.h"
#include "report/run_diagram.h"

/* `suite` is the name of the model; `timestamp` is ISO 8601, or NULL for none. */
void aphi_junit_write(aphi_buffer *out, const char *suite, const char *timestamp, const aphi_result *results, size_t n);

/* Writes a live run as one test case, named by its title. A verdict against the subject (fail, malformed, starved,
 * dead) is a <failure> with the headline as its message and the diagram as its text; unknown, vacuous and error are an
 * <error> of that type. */
void aphi_junit_run(aphi_buffer *out, const char *suite, const char *timestamp, const aphi_run_diagram *run);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * run_page.h - a self-contained HTML page of a run, with a space-time diagram. */
#ifndef APHI_REPORT_RUN_PAGE_H
#define APHI_REPORT_RUN_PAGE_H

#include "report/run_diagram.h"

#define APHI_RUN_PAGE_BYTES 2000000 /* upper limit of the page, for runs of any length */

/* Writes the page. Returns false if writing failed. Server data appears as text, never as markup or script. The page
 * opens at the failing message, or at the last one; it contains the other messages if they fit. */
bool aphi_run_page_write(FILE *out, const aphi_run_diagram *t);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * run_page.h - a run as one self-contained page, with a space-time diagram. */
#ifndef APHI_REPORT_RUN_PAGE_H
#define APHI_REPORT_RUN_PAGE_H

#include "report/run_diagram.h"

#define APHI_RUN_PAGE_BYTES 2000000 /* no page is larger, however long the run was */

/* Writes the page; false if writing failed. Whatever a server sent is text on it, never markup or script. It shows the
 * messages around the failing one, or the last if there is none; the others are in it as far as they fit. */
bool aphi_run_page_write(FILE *out, const aphi_run_diagram *t);

#endif

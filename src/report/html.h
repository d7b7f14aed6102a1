/* SPDX-License-Identifier: Apache-2.0
 *
 * html.h - a run as one self-contained page, with a space-time diagram. */
#ifndef APHI_REPORT_HTML_H
#define APHI_REPORT_HTML_H

#include "report/timeline.h"

#define APHI_HTML_BYTES 2000000 /* no page is larger, however long the run was */

/* Writes the page; false if writing failed. Whatever a server sent is text on it, never markup or script. It shows the
 * messages around the failing one, or the last if there is none; the others are in it as far as they fit. */
bool aphi_html_write(FILE *out, const aphi_timeline *t);

#endif

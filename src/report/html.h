/* SPDX-License-Identifier: Apache-2.0
 *
 * html.h - a run as one self-contained page, with a space-time diagram. */
#ifndef APHI_REPORT_HTML_H
#define APHI_REPORT_HTML_H

#include "report/timeline.h"

/* Writes the page; false if writing failed. Whatever a server sent is text on it, never markup or script. */
bool aphi_html_write(FILE *out, const aphi_timeline *t);

#endif

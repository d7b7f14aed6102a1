/* SPDX-License-Identifier: Apache-2.0
 *
 * divergence_page.h - a pair of space-time diagrams that shows where model and program diverge. */
#ifndef APHI_REPORT_DIVERGENCE_PAGE_H
#define APHI_REPORT_DIVERGENCE_PAGE_H

#include "base/buffer.h"
#include "execute/conformance.h"

/* Appends the model's diagram on the left and the program's on the right. In both, the differing event is marked, with
 * the messages that it could have received. */
void aphi_divergence_page_add(aphi_buffer *page, const aphi_layout *cast, const aphi_difference *d);

#endif

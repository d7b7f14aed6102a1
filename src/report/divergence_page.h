/* SPDX-License-Identifier: Apache-2.0
 *
 * divergence_page.h - where model and program part, side by side: a pair of space-time diagrams on a page. */
#ifndef APHI_REPORT_DIVERGENCE_PAGE_H
#define APHI_REPORT_DIVERGENCE_PAGE_H

#include "base/buffer.h"
#include "execute/conformance.h"

/* What the model has on the left, what the program did on the right; on both sides the event to blame is marked, with
 * what it could have taken there. */
void aphi_divergence_page_add(aphi_buffer *page, const aphi_cast *cast, const aphi_difference *d);

#endif

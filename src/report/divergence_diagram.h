/* SPDX-License-Identifier: Apache-2.0
 *
 * divergence_diagram.h - space-time diagrams, in text and on a page, of the point where model and program diverge.
 *
 *              L1     L2     L3
 *       ✗      │      ├─────▶│      L2:1 passes py m to L3:1
 *              │      │      ╰─ in the model, it could have received nothing else
 *              │      │      ╰─ in the program, it could have received instead: px m from L1:1
 *              ├──────┼─────▶│      L1:1 passes px m to L3:2
 *
 * Each thread is a vertical line; time runs down. L1:2 is the second event of L1. A solid arrow is a synchronous
 * message; ● is the send of an asynchronous message, a dashed arrow its receive; ○ is a local event. */
#ifndef APHI_REPORT_DIVERGENCE_DIAGRAM_H
#define APHI_REPORT_DIVERGENCE_DIAGRAM_H

#include "execute/conformance.h"
#include "report/terminal.h"

/* Draws the causal past of the differing event and of the messages it could have received: the last `rows` rows. */
void aphi_divergence_diagram_draw(aphi_buffer *out, const aphi_layout *cast, const aphi_difference *d,
                                  const aphi_terminal *t, size_t rows);
/* Appends to a page (swimlanes.h) the model's diagram on the left and the program's on the right. In both, the
 * differing event is marked, with the messages that it could have received. */
void aphi_divergence_page_add(aphi_buffer *page, const aphi_layout *cast, const aphi_difference *d);
/* Appends "px m from L1:1, ...", or "nothing". */
void aphi_divergence_diagram_rivals(aphi_buffer *out, const aphi_layout *cast, const aphi_race_set *r);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * spacetime.h - messages between threads as a space-time diagram in text, and where model and program part.
 *
 *              L1     L2     L3
 *       ✗      │      ├─────▶│      L2:1 passes py m to L3:1
 *              │      │      ╰─ in the model, it could have taken nothing else
 *              │      │      ╰─ in the program, it could have taken instead: px m from L1:1
 *              ├──────┼─────▶│      L1:1 passes px m to L3:2
 *
 * A line downwards for each thread, time goes downwards; L1:2 is the second event of L1. A solid arrow is a synchronous
 * message, a dashed one is an asynchronous message that is received, ● is one that is sent, ○ a local event. */
#ifndef APHI_REPORT_SPACETIME_H
#define APHI_REPORT_SPACETIME_H

#include "execute/conformance.h"
#include "report/terminal.h"

/* What lies in the past of the event to blame and of what it could have taken, at most so many rows: the last ones. */
void aphi_spacetime_draw(aphi_buffer *out, const aphi_cast *cast, const aphi_difference *d, const aphi_terminal *t,
                         size_t rows);
/* "receive py m from L2": an event in words. */
void aphi_spacetime_event(aphi_buffer *out, const aphi_cast *cast, const aphi_recorded *e);
/* "px m from L1:1, ..."; "nothing" if there is none. */
void aphi_spacetime_rivals(aphi_buffer *out, const aphi_cast *cast, const aphi_rivals *r);

#endif

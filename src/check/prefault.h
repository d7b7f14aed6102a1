/* SPDX-License-Identifier: Apache-2.0
 *
 * prefault.h - have memory ready before the clock starts.
 *
 * A trace of a hundred operations is checked in less time than the system takes to hand out the pages for it. */
#ifndef APHI_CHECK_PREFAULT_H
#define APHI_CHECK_PREFAULT_H

/* Once, at the beginning: have pages. Does its work the first time it is called. */
void aphi_prefault(void);

#endif

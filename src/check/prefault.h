/* SPDX-License-Identifier: Apache-2.0
 *
 * prefault.h - allocation of memory pages before a check is timed.
 *
 * The check of a hundred operations takes less time than the system takes to map the pages for it. */
#ifndef APHI_CHECK_PREFAULT_H
#define APHI_CHECK_PREFAULT_H

/* Maps pages for the allocator. Only the first call has an effect. */
void aphi_prefault(void);

#endif

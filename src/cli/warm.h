/* SPDX-License-Identifier: Apache-2.0
 *
 * warm.h - have memory and code ready before the clock starts.
 *
 * A trace of a hundred operations is checked in less time than the system takes to hand out the pages for it, and the
 * processor to fetch them and the program for the first time. */
#ifndef APHI_CLI_WARM_H
#define APHI_CLI_WARM_H

/* Each does its work the first time it is called. Once, at the beginning: have pages. */
void aphi_warm_pages(void);
/* Just before the check: have the program's code, and the memory that is handed out next, in the processor's cache. */
void aphi_warm_cache(void);

#endif

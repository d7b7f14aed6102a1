/* SPDX-License-Identifier: Apache-2.0
 *
 * clock.h - the monotonic clock in nanoseconds, CPU time, idle time, and pauses. */
#ifndef APHI_BASE_CLOCK_H
#define APHI_BASE_CLOCK_H

#include <stdint.h>

int64_t aphi_clock_ns(void);
/* Returns the CPU time of this thread. May be called from a signal handler. */
int64_t aphi_clock_cpu_ns(void);
/* Returns the total idle time of all processors; negative if it is not known. */
int64_t aphi_clock_idle_ns(void);
/* For polling: sleeps for *ns, then increases *ns by half, up to a millisecond. */
void aphi_clock_backoff(int64_t *ns);
#define APHI_CLOCK_BACKOFF_NS INT64_C(20000) /* the first pause */

#endif

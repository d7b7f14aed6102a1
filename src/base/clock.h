/* SPDX-License-Identifier: Apache-2.0
 *
 * clock.h - the one clock: nanoseconds since some fixed moment, never going back. */
#ifndef APHI_BASE_CLOCK_H
#define APHI_BASE_CLOCK_H

#include <stdint.h>

int64_t aphi_clock_ns(void);
/* How long the processors of this machine have been idle, added up; negative if the system does not tell. */
int64_t aphi_clock_idle_ns(void);

#endif

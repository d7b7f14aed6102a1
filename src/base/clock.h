/* SPDX-License-Identifier: Apache-2.0
 *
 * clock.h - the one clock: nanoseconds since some fixed moment, never going back. */
#ifndef APHI_BASE_CLOCK_H
#define APHI_BASE_CLOCK_H

#include <stdint.h>

int64_t aphi_clock_ns(void);

#endif

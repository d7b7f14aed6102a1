/* SPDX-License-Identifier: Apache-2.0
 *
 * reach_count.h - antiphon reach --count: how many sequences there are, without visiting them. */
#ifndef APHI_CLI_REACH_COUNT_H
#define APHI_CLI_REACH_COUNT_H

#include "alts/alts.h"

#include <signal.h>

/* Returns an exit code. When *stop is set, it ends, and when it would take more memory than so many bytes. */
int aphi_count(const aphi_alts *alts, size_t bytes, bool json, const volatile sig_atomic_t *stop);

#endif

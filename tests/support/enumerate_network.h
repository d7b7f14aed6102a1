/* SPDX-License-Identifier: Apache-2.0
 *
 * enumerate_network.h - enumerate, over a network that is a program. */
#ifndef TESTS_SUPPORT_ENUMERATE_NETWORK_H
#define TESTS_SUPPORT_ENUMERATE_NETWORK_H

#include "enumerate.h"

#include <antiphon/network.h>

/* Not for models with connections. */
enumerated enumerate_network(const subject *s, const history *h, const aph_network *network);

#endif

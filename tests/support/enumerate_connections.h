/* SPDX-License-Identifier: Apache-2.0
 *
 * enumerate_connections.h - enumerate, for a model with connections. */
#ifndef TESTS_SUPPORT_ENUMERATE_CONNECTIONS_H
#define TESTS_SUPPORT_ENUMERATE_CONNECTIONS_H

#include "enumerate.h"

/* Not for ENUMERATE_UDP, which has no connections. */
enumerated enumerate_connections(const subject *s, const history *h, enumerate_env env);

#endif

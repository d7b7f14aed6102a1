/* SPDX-License-Identifier: Apache-2.0
 *
 * env.h - the environment between tester and server: the order in which messages may arrive.
 *
 *   sync   no delay: requests are taken, and responses observed, at the moment when they are sent
 *   tcp    each connection preserves order, different connections do not, and delays are unbounded
 *   tcp:N  like tcp, but with bounded buffers: a connection holds up to N messages each way; further sends wait
 *   udp    messages may be lost, duplicated and reordered, even on one connection
 */
#ifndef APHI_ENV_ENV_H
#define APHI_ENV_ENV_H

#include <stdbool.h>
#include <stddef.h>

typedef struct aphi_env {
    bool immediate;   /* a request reaches the server when it is sent */
    bool fifo;        /* messages of one connection arrive in order */
    bool lossy;       /* messages may be lost or duplicated */
    size_t buffer;    /* messages in each direction of a connection; 0: no limit */
} aphi_env;

#define APHI_ENV_NAMES "tcp, tcp:N (buffers of N messages in each direction of a connection), sync or udp"

/* Returns false if the name is unknown. NULL means tcp. */
bool aphi_env_named(const char *name, aphi_env *env);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * env.h - what lies between the tester and the server: which of the requests in flight may reach the server next.
 *
 *   sync  nothing: a request is taken when it is sent, an answer is seen when it is given
 *   tcp   each connection keeps its order, there is none between connections, and everything takes any time
 */
#ifndef APHI_ENV_ENV_H
#define APHI_ENV_ENV_H

#include <stdbool.h>

typedef struct aphi_env {
    const char *name;
    bool immediate;   /* a request reaches the server at the moment it is sent */
    bool fifo;        /* requests of one connection arrive in the order they were sent */
} aphi_env;

/* NULL if there is no environment of that name. */
const aphi_env *aphi_env_find(const char *name);

#endif

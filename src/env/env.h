/* SPDX-License-Identifier: Apache-2.0
 *
 * env.h - what lies between the tester and the server: which of the messages in flight may arrive next.
 *
 *   sync   nothing: a request is taken when it is sent, an answer is seen when it is given
 *   tcp    each connection keeps its order, there is none between connections, and everything takes any time
 *   tcp:N  the same, and a connection holds at most N messages each way: who sends more waits until some were taken
 *   udp    messages may be lost, duplicated, and overtake each other, on a connection too
 */
#ifndef APHI_ENV_ENV_H
#define APHI_ENV_ENV_H

#include <stdbool.h>
#include <stddef.h>

typedef struct aphi_env {
    bool immediate;   /* a request reaches the server at the moment it is sent */
    bool fifo;        /* messages of one connection arrive in the order they were sent */
    bool lossy;       /* they may be lost, and arrive more than once */
    size_t buffer;    /* messages that a connection holds each way; 0: any number */
} aphi_env;

#define APHI_ENV_NAMES "tcp, tcp:N (at most N messages in flight each way on a connection), sync and udp"

/* False if there is no environment of that name. NULL stands for tcp. */
bool aphi_env_named(const char *name, aphi_env *env);

#endif

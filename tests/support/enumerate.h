/* SPDX-License-Identifier: Apache-2.0
 *
 * enumerate.h - a concrete, exhaustive decision whether a model explains a history.
 *
 * It tries each order in which the server may have taken the requests, and each value of each choice. A request may be
 * taken after it was sent, or never; requests on one connection are taken in order. It uses no code from src/oracle or
 * src/solve. */
#ifndef TESTS_SUPPORT_ENUMERATE_H
#define TESTS_SUPPORT_ENUMERATE_H

#include "histories.h"

typedef enum enumerate_env {
    ENUMERATE_TCP,
    ENUMERATE_SYNC,
    ENUMERATE_UDP,         /* at most one duplicate of each request */
    ENUMERATE_TCP_1,       /* buffers of one message */
    ENUMERATE_TCP_2,
    ENUMERATE_ENVS,
} enumerate_env;

typedef struct enumerated {
    bool explained;
    size_t reached;        /* length of the longest prefix of the history that has an explanation */
} enumerated;

enumerated enumerate(const subject *s, const history *h, enumerate_env env);

#endif

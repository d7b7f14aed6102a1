/* SPDX-License-Identifier: Apache-2.0
 *
 * enumerate.h - decide by trying everything, concretely, whether a model explains a history.
 *
 * Everything is: each order in which the server may have taken the requests (after they were sent, those of a
 * connection in order, each perhaps never), and each value of each choice. Nothing of src/oracle or src/solve is used.
 * */
#ifndef TESTS_SUPPORT_ENUMERATE_H
#define TESTS_SUPPORT_ENUMERATE_H

#include "histories.h"

typedef enum enumerate_env {
    ENUMERATE_TCP,
    ENUMERATE_SYNC,
    ENUMERATE_UDP,         /* at most one duplicate of each request */
    ENUMERATE_TCP_1,       /* connections hold one message each way */
    ENUMERATE_TCP_2,
    ENUMERATE_ENVS,
} enumerate_env;

typedef struct enumerated {
    bool explained;
    size_t reached;        /* observations in the longest beginning of the history that has an explanation */
} enumerated;

enumerated enumerate(const subject *s, const history *h, enumerate_env env);

#endif

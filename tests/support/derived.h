/* SPDX-License-Identifier: Apache-2.0
 *
 * derived.h - the verdict of the derivation (src/derive) on a small history. */
#ifndef TESTS_SUPPORT_DERIVED_H
#define TESTS_SUPPORT_DERIVED_H

#include "histories.h"

#include <antiphon/check.h>

typedef enum derived {
    DERIVED_REJECTS,
    DERIVED_ACCEPTS,
    DERIVED_GIVES_UP, /* there were too many branches */
} derived;

typedef struct derived_options {
    bool live;         /* decide after each observation, and then probe for silence; otherwise once, at the end */
    uint64_t lost;     /* bit i: the response to the request at i, below 64, is lost */
} derived_options;

typedef struct derived_result {
    derived verdict;
    size_t reached;    /* number of observations that have an explanation */
    derived quiet;     /* if live and accepted: the verdict of the last probe, for the history followed by silence */
} derived_result;

derived_result derived_decide(const subject *s, const history *h, const aph_network *network, derived_options options);
/* The same in an environment: "tcp", "tcp:1", "sync" or "udp". */
derived_result derived_decide_in(const subject *s, const history *h, const char *environment, derived_options options);

#endif

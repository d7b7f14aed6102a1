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

/* network: a name or a file, as for aph_network_load. If live, the history is decided after each observation, and the
 * place of the failure is checked to be the same. *reached: the observations that have an explanation. */
derived derived_decide(const subject *s, const history *h, const aph_network *network, bool live, size_t *reached);
/* The same in an environment: "tcp", "tcp:1", "sync" or "udp". */
derived derived_decide_in(const subject *s, const history *h, const char *environment, bool live, size_t *reached);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * random_alts.h - random models of message-passing programs that keep the restrictions of alts.h. */
#ifndef TESTS_SUPPORT_RANDOM_ALTS_H
#define TESTS_SUPPORT_RANDOM_ALTS_H

#include "alts/alts.h"

typedef struct random_shape {
    unsigned components, ports, labels, states;  /* at most; at least 2, 1, 1, 2 */
    unsigned mediums;                            /* an aphi_medium, or 3: any */
    unsigned sync;                               /* sends that are synchronous, in 12 */
    bool flat;                                   /* receives lead to few states, so that orders often do not matter */
} random_shape;

/* Draws one; *seed is not 0, and goes on. aphi_alts_free frees it. */
void random_alts(aphi_alts *a, random_shape shape, uint64_t *seed);

#endif

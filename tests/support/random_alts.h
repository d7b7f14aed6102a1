/* SPDX-License-Identifier: Apache-2.0
 *
 * random_alts.h - random models of message-passing programs that satisfy the restrictions of alts.h. */
#ifndef TESTS_SUPPORT_RANDOM_ALTS_H
#define TESTS_SUPPORT_RANDOM_ALTS_H

#include "alts/alts.h"

typedef struct random_shape {
    unsigned components, ports, labels, states;  /* maxima; the minima are 2, 1, 1, 2 */
    unsigned mediums;                            /* an aphi_medium, or 3 for a random one */
    unsigned sync;                               /* probability of a synchronous send, in twelfths */
    bool flat;                                   /* moves lead to the next state, so orders often do not matter */
} random_shape;

/* Makes a random model; advances *seed, which is not 0. Free it with aphi_alts_free. */
void random_alts(aphi_alts *a, random_shape shape, uint64_t *seed);

#endif

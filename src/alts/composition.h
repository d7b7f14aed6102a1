/* SPDX-License-Identifier: Apache-2.0
 *
 * composition.h - size of the parallel composition of a model's components. */
#ifndef APHI_ALTS_COMPOSITION_H
#define APHI_ALTS_COMPOSITION_H

#include "alts/alts.h"
#include "base/uint128.h"

#include <signal.h>

typedef struct aphi_composition {
    uint64_t states, transitions; /* up to strong bisimulation */
    aphi_uint128 paths;           /* number of total orders: paths from the initial state to a terminal one */
    bool overflow;                /* the number of paths exceeds 128 bits */
} aphi_composition;

/* The model must be sound (aphi_alts_check). Returns false with the reason in `why` if the composition is too large,
 * *stop was set (stop may be NULL), or the model has synchronous sends to a port with one queue for all senders. */
bool aphi_composition_measure(const aphi_alts *a, aphi_composition *g, const volatile sig_atomic_t *stop, char *why,
                              size_t size);

#endif

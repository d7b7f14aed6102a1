/* SPDX-License-Identifier: Apache-2.0
 *
 * composition.h - a model's components composed, all interleavings of them: how large that is. */
#ifndef APHI_ALTS_COMPOSITION_H
#define APHI_ALTS_COMPOSITION_H

#include "alts/alts.h"
#include "base/uint128.h"

#include <signal.h>

typedef struct aphi_composition {
    uint64_t states, transitions; /* up to strong bisimulation */
    uint64_t situations;          /* states before that */
    aphi_uint128 paths;      /* total orders: from the first state to one without transitions */
    bool overflow;                /* there are more paths than 128 bits hold */
} aphi_composition;

/* The model must be sound. False: it is too large, or *stop was set meanwhile (stop may be NULL), or it has synchronous
 * sends to a port with one queue for all senders, for which this is not defined. */
bool aphi_composition_measure(const aphi_alts *a, aphi_composition *g, const volatile sig_atomic_t *stop, char *why,
                              size_t size);

#endif

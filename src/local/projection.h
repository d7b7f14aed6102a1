/* SPDX-License-Identifier: Apache-2.0
 *
 * projection.h - local sequences by projection of all complete sequences of the model.
 *
 * The slow alternative to sequence_search.h. A local sequence is encoded as words: for each event op, sync, port,
 * label, peer, the size of its race set, and for each candidate of it port, label, sender, sorted. */
#ifndef APHI_LOCAL_PROJECTION_H
#define APHI_LOCAL_PROJECTION_H

#include "base/intern.h"
#include "local/sequence_search.h"
#include "explore/sequence.h"

typedef struct aphi_projection {
    size_t count;                   /* of components */
    aphi_intern *by_events, *by_races;
    uint32_t *code;                 /* scratch */
    size_t used, capacity;
} aphi_projection;

void aphi_projection_open(aphi_projection *p, size_t components);
void aphi_projection_close(aphi_projection *p);
/* Adds the local sequence of each component. */
void aphi_projection_add(aphi_projection *p, aphi_sequence *s);
/* Adds all local sequences of another. */
void aphi_projection_merge(aphi_projection *p, const aphi_projection *other);
/* Encodes one local sequence; valid until the next call. Without races, all race sets are empty. */
const uint32_t *aphi_projection_encode(aphi_projection *p, const aphi_local_event *events, size_t count, bool races,
                                       size_t *length);
/* As aphi_sequence_search_each, for one component. */
bool aphi_projection_each(const aphi_projection *p, const aphi_alts *a, size_t component, bool races,
                          aphi_sequence_search_visit *visit, void *context);

#endif

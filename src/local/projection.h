/* SPDX-License-Identifier: Apache-2.0
 *
 * projection.h - local sequences by projection of all complete sequences of the model.
 *
 * The slow alternative to sequence_search.h. A local sequence is encoded as words. Each event has op, sync, port,
 * label, peer and the size of its race set, followed by port, label and sender of its candidates, sorted. */
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
/* Adds all local sequences of `other`. */
void aphi_projection_merge(aphi_projection *p, const aphi_projection *other);
/* Encodes one local sequence; valid until the next call. Without races, all race sets are empty. */
const uint32_t *aphi_projection_encode(aphi_projection *p, const aphi_local_event *events, size_t count, bool races,
                                       size_t *length);
/* Like aphi_sequence_search_each, for one component. */
bool aphi_projection_each(const aphi_projection *p, const aphi_alts *a, size_t component, bool races,
                          aphi_sequence_search_visit *visit, void *context);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * projection.h - the sequences of each component, collected from complete sequences of the whole model one by one.
 *
 * The slow way to what local_search.h finds directly. A local sequence is kept as numbers: for each event op, sync, port,
 * label, peer, how many rivals, and for each rival port, label, sender, sorted. */
#ifndef APHI_LOCAL_PROJECTION_H
#define APHI_LOCAL_PROJECTION_H

#include "base/intern.h"
#include "local/local_search.h"
#include "explore/sequence.h"

typedef struct aphi_projection {
    size_t count;                   /* components */
    aphi_intern *by_events, *by_races;
    uint32_t *text;                 /* scratch */
    size_t used, capacity;
} aphi_projection;

void aphi_projection_open(aphi_projection *p, size_t components);
void aphi_projection_close(aphi_projection *p);
/* Adds what each component does in the sequence. */
void aphi_projection_add(aphi_projection *p, aphi_sequence *s);
/* Adds all that another has. */
void aphi_projection_merge(aphi_projection *p, const aphi_projection *other);
/* One local sequence as numbers, in the same form; out is valid until the next. Without races, no event has rivals. */
const uint32_t *aphi_projection_text(aphi_projection *p, const aphi_local_event *events, size_t count, bool races,
                                     size_t *length);
/* Calls back with each sequence of a component, as aphi_local_search_walk does. */
bool aphi_projection_walk(const aphi_projection *p, const aphi_alts *a, size_t component, bool races,
                          aphi_local_search_visit *visit, void *context);

#endif

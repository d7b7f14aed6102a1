/* SPDX-License-Identifier: Apache-2.0
 *
 * local_search.h - the sequences of one component in all runs of a model, found without listing the runs.
 *
 * A sequence is what the component does in a complete run: its sends, receives (with the sender) and local events.
 * With races, each receive also has its race set: which messages could have been received in its place, the rest of
 * its past unchanged. */
#ifndef APHI_LOCAL_LOCAL_SEARCH_H
#define APHI_LOCAL_LOCAL_SEARCH_H

#include "alts/alts.h"

#include <signal.h>

typedef struct aphi_local_rival {
    uint32_t port, label, sender;
} aphi_local_rival;

typedef struct aphi_local_event {
    aphi_alts_op op;
    bool sync;                        /* of sends and receives: how the message was sent */
    uint32_t port, label;             /* a local event has only the label */
    uint32_t peer;                    /* the component at the other end */
    uint32_t state;                   /* of the component, before the event: its receives are the open list */
    const aphi_local_rival *race;     /* sorted by port, label, sender; each once */
    size_t race_count;
} aphi_local_event;

typedef enum aphi_local_search_status {
    APHI_LOCAL_SEARCH_DONE,
    APHI_LOCAL_SEARCH_TOO_LARGE,           /* a limit was hit: there is no answer */
    APHI_LOCAL_SEARCH_STOPPED,             /* nor is there here */
} aphi_local_search_status;

typedef struct aphi_local_search_options {
    bool races;
    size_t states_max;                /* situations to remember at most; 0: no limit */
    const volatile sig_atomic_t *stop; /* when it is set, the search ends; or NULL */
} aphi_local_search_options;

typedef struct aphi_local_search aphi_local_search;

/* Finds them. The model must be sound (aphi_alts_check) and outlive the answer. */
aphi_local_search *aphi_local_search_open(const aphi_alts *a, size_t component, aphi_local_search_options options);
void aphi_local_search_close(aphi_local_search *l);
aphi_local_search_status aphi_local_search_outcome(const aphi_local_search *l);
/* UINT64_MAX stands for that many and more. */
uint64_t aphi_local_search_count(const aphi_local_search *l);
size_t aphi_local_search_states(const aphi_local_search *l);   /* situations that were remembered */
/* Calls back with each sequence, until it returns false. The events are valid during the call. */
typedef bool aphi_local_search_visit(void *context, const aphi_local_event *events, size_t count);
bool aphi_local_search_walk(const aphi_local_search *l, aphi_local_search_visit *visit, void *context);

#endif

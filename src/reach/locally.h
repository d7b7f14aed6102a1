/* SPDX-License-Identifier: Apache-2.0
 *
 * locally.h - the sequences of one component in all runs of a model, found without listing the runs.
 *
 * A sequence is what the component does in a complete run: its sends, receives (with the sender) and local events.
 * With races, each receive also has its race set: which messages could have been received in its place, the rest of
 * its past unchanged. */
#ifndef APHI_REACH_LOCALLY_H
#define APHI_REACH_LOCALLY_H

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

typedef enum aphi_locally_status {
    APHI_LOCALLY_DONE,
    APHI_LOCALLY_TOO_LARGE,           /* a limit was hit: there is no answer */
    APHI_LOCALLY_STOPPED,             /* nor is there here */
} aphi_locally_status;

typedef struct aphi_locally_options {
    bool races;
    size_t states_max;                /* situations to remember at most; 0: no limit */
    const volatile sig_atomic_t *stop; /* when it is set, the search ends; or NULL */
} aphi_locally_options;

typedef struct aphi_locally aphi_locally;

/* Finds them. The model must be sound (aphi_alts_check) and outlive the answer. */
aphi_locally *aphi_locally_open(const aphi_alts *a, size_t component, aphi_locally_options options);
void aphi_locally_close(aphi_locally *l);
aphi_locally_status aphi_locally_outcome(const aphi_locally *l);
/* UINT64_MAX stands for that many and more. */
uint64_t aphi_locally_count(const aphi_locally *l);
size_t aphi_locally_states(const aphi_locally *l);   /* situations that were remembered */
/* Calls back with each sequence, until it returns false. The events are valid during the call. */
typedef bool aphi_locally_visit(void *context, const aphi_local_event *events, size_t count);
bool aphi_locally_walk(const aphi_locally *l, aphi_locally_visit *visit, void *context);

#endif

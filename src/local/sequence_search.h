/* SPDX-License-Identifier: Apache-2.0
 *
 * sequence_search.h - local sequences of one component in all runs of a model, found without listing the runs.
 *
 * A local sequence has the events of the component in a complete run: sends, receives (with the sender) and local
 * events. With races, each receive also has its race set: the messages that it could have received instead, with the
 * same causal past. */
#ifndef APHI_LOCAL_SEQUENCE_SEARCH_H
#define APHI_LOCAL_SEQUENCE_SEARCH_H

#include "alts/alts.h"

#include <signal.h>

/* A message of a race set. */
typedef struct aphi_race_candidate {
    uint32_t port, label, sender;
} aphi_race_candidate;

/* Sorts by port, label and sender, and removes duplicates. Returns the number of those left. */
size_t aphi_race_candidates_sort(aphi_race_candidate *candidates, size_t count);

typedef struct aphi_local_event {
    aphi_alts_op op;
    bool sync;                       /* for sends and receives: the message is synchronous */
    uint32_t port, label;            /* a local event has only the label */
    uint32_t peer;                   /* sender or receiver */
    uint32_t state;                  /* the component's state before the event; its receives are the OpenList */
    const aphi_race_candidate *race; /* sorted by port, label, sender; no duplicates */
    size_t race_count;
} aphi_local_event;

typedef enum aphi_sequence_search_status {
    APHI_SEQUENCE_SEARCH_DONE,
    APHI_SEQUENCE_SEARCH_TOO_LARGE,           /* a limit was reached: no result */
    APHI_SEQUENCE_SEARCH_STOPPED,             /* *stop was set: no result */
} aphi_sequence_search_status;

typedef struct aphi_sequence_search_options {
    bool races;
    bool available;                    /* with races: also messages that the receive is not open to */
    size_t states_max;                 /* memoized states; 0: no limit */
    const volatile sig_atomic_t *stop; /* ends the search when set; may be NULL */
} aphi_sequence_search_options;

typedef struct aphi_sequence_search aphi_sequence_search;

/* Runs the search. The model must be sound (aphi_alts_check) and outlive the result. */
aphi_sequence_search *aphi_sequence_search_open(const aphi_alts *a, size_t component,
                                                aphi_sequence_search_options options);
void aphi_sequence_search_close(aphi_sequence_search *l);
aphi_sequence_search_status aphi_sequence_search_outcome(const aphi_sequence_search *l);
/* Returns the number of sequences, or UINT64_MAX if there are at least that many. */
uint64_t aphi_sequence_search_count(const aphi_sequence_search *l);
/* Calls `visit` for each sequence until it returns false, and returns its last result. Events are valid in the call.
 * events[count] has the state at the end and, if the component waits there and available messages are requested, the
 * race set of that receive. */
typedef bool aphi_sequence_search_visit(void *context, const aphi_local_event *events, size_t count);
bool aphi_sequence_search_each(const aphi_sequence_search *l, aphi_sequence_search_visit *visit, void *context);

#endif

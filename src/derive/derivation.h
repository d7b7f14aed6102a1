/* SPDX-License-Identifier: Apache-2.0
 *
 * derivation.h - decide whether a model explains observations over any network; see derivation.c. */
#ifndef APHI_DERIVE_DERIVATION_H
#define APHI_DERIVE_DERIVATION_H

#include <antiphon/network.h>
#include <antiphon/oracle.h>

typedef struct aphi_derivation_options {
    uint64_t branches;  /* give up after as many; 0: no limit */
    int64_t time_ms;    /* wall clock, from the first decision; 0: no limit */
    size_t memory;      /* bytes; 0: no limit */
    int64_t solver_ms;  /* for each query to Z3; 0: 1000 */
    bool unguarded;     /* the caller has armed step_guard.h */
} aphi_derivation_options;

typedef struct aphi_derivation_stats {
    uint64_t branches;  /* different states of server, network and observer that were visited */
    uint64_t events;    /* of server and network */
    uint64_t absorbed, emitted; /* packets of the network, in all branches */
    size_t pending;     /* branches that are not refuted */
} aphi_derivation_stats;

typedef struct aphi_derivation aphi_derivation;

/* Model and network must outlive the derivation. */
aphi_derivation *aphi_derivation_open(const aph_model *model, const aph_network *network,
                                      const aphi_derivation_options *options);
void aphi_derivation_close(aphi_derivation *d);

/* Add an observation; line is for the caller. Signals are ignored unless the model has connections. sent returns a
 * number for aphi_derivation_lost. */
size_t aphi_derivation_sent(aphi_derivation *d, uint64_t line, int64_t connection, aph_value message);
void aphi_derivation_received(aphi_derivation *d, uint64_t line, int64_t connection, aph_value message);
/* Silence: nothing is in flight that must arrive. */
void aphi_derivation_quiet(aphi_derivation *d, uint64_t line);
/* No response to this request of an rpc model will be observed; the server may receive it at any time or never. */
void aphi_derivation_lost(aphi_derivation *d, size_t request);
/* The same for a request of another model, which is unknown: no later message on the connection is judged. If the model
 * has connections, the client has left this one. */
void aphi_derivation_lose_connection(aphi_derivation *d, uint64_t line, int64_t connection);

/* Decides the observations so far. May call aph_collect. After APH_FAIL and APH_UNKNOWN the verdict stays. */
aph_verdict aphi_derivation_decide(aphi_derivation *d);
/* Returns the verdict of the observations followed by silence, without adding it. */
aph_verdict aphi_derivation_may_be_quiet(aphi_derivation *d);

typedef struct aphi_derivation_observation {
    bool sent, quiet;
    int64_t connection;
    aph_value message; /* APH_NIL for silence */
    uint64_t line;
} aphi_derivation_observation;

/* After APH_FAIL: the number of the first observation, from 0, that no branch explains. */
size_t aphi_derivation_unexplained(const aphi_derivation *d);
aphi_derivation_observation aphi_derivation_observation_at(const aphi_derivation *d, size_t i);
/* Its line; 0 after all observations. */
uint64_t aphi_derivation_line(const aphi_derivation *d);
/* The messages that branches allow on its connection instead: an array of objects with the fields answer and state, the
 * state of the server. */
aph_value aphi_derivation_allowed(const aphi_derivation *d);
bool aphi_derivation_all_allowed(const aphi_derivation *d); /* false if there may be more */
/* After APH_UNKNOWN: a fault of the model or the network, or a limit. The message has no newline. */
aph_fault aphi_derivation_fault(const aphi_derivation *d, const char **message);
aph_limit aphi_derivation_limit(const aphi_derivation *d);
/* Returns the state of the server in a branch that is not refuted; APH_NIL if there is none. */
aph_value aphi_derivation_state(const aphi_derivation *d);
aphi_derivation_stats aphi_derivation_stats_of(const aphi_derivation *d);

#endif

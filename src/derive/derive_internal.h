/* SPDX-License-Identifier: Apache-2.0
 *
 * derive_internal.h - the state of a derivation, for derivation.c and compose.c. */
#ifndef APHI_DERIVE_DERIVE_INTERNAL_H
#define APHI_DERIVE_DERIVE_INTERNAL_H

#include "base/int_map.h"
#include "derive/branch.h"

enum { APHI_ALLOWED_SHOWN = 8 };

typedef enum aphi_seen_kind { APHI_SEEN_SENT, APHI_SEEN_RECEIVED, APHI_SEEN_QUIET } aphi_seen_kind;

typedef struct aphi_seen {
    aphi_seen_kind kind;
    bool lost;          /* a request without a response: the server may receive it at any time or never */
    int64_t connection;
    aph_value message;
    uint64_t line;
} aphi_seen;

typedef struct aphi_branches {
    aphi_branch *items;
    size_t count, capacity;
} aphi_branches;

/* A set of values. */
typedef struct aphi_names {
    aph_value *slots;               /* a hash table; its size is 0 or a power of two */
    size_t size, count;
} aphi_names;

struct aphi_derivation {
    aph_model model, network_model;
    const aph_network *network;
    aphi_derivation_options options;
    aphi_tree_fault model_fault;
    aphi_branch_solver solver;
    aphi_derivation_stats stats;

    aphi_seen *seen;                /* the history */
    size_t seen_count, seen_capacity;
    uint64_t misuse_line;           /* of an observation that no client can make; 0: none */
    aphi_int_map opened;            /* connection -> 1 + index of the observation that the client has opened it */
    aphi_int_map used;              /* connection -> 1 + index of its first observation by a sending client */
    aphi_int_map addressed;         /* the connections on which the server has sent, in any branch */
    aphi_int_map shut;              /* connection -> 1 + index of the observation that the client has closed its side */
    aphi_int_map gone;              /* connection -> 1 + index of the observation that the client has left it */
    aphi_int_map ended;             /* connection -> 1 + index of the observation that it was closed or reset */
    aphi_int_map deaf;              /* connection -> 1 + index from which on its messages are not judged */

    aphi_branches others;           /* the branches that are not refuted; the last one is tried next */
    aphi_branches later;            /* more of them: tried when there are no others, with a larger delivered_max */
    uint32_t delivered_max;         /* packets to the server after one observation */
    bool copies;                    /* a branch has delivered more than twice what clients have sent */
    bool unbounded;                 /* a branch was dropped because it delivers packets without bound */
    aphi_names names;               /* of the visited branches */

    const aphi_branch *current;     /* runs, and is not among the others; NULL: none */
    const aphi_derivation *outer;   /* while silence is tried: the derivation before */

    bool begun, armed;
    aph_verdict verdict;
    aph_fault fault;
    aph_limit limit;
    char message[400];
    aph_value allowed;              /* array: messages allowed in place of the observation `reached` */
    size_t allowed_at;
    size_t reached;                 /* the largest number of observations that a branch has matched */
};

/* Adds a branch to those that are tried later; takes ownership. */
void aphi_derivation_push(aphi_derivation *d, aphi_branch b);
/* Adds a branch to those that are tried when there are no others; takes ownership. */
void aphi_derivation_defer(aphi_derivation *d, aphi_branch b);
/* Returns false if a branch with the same future was visited before. */
bool aphi_derivation_visit(aphi_derivation *d, aphi_branch *b);
void aphi_derivation_fail(aphi_derivation *d, aph_fault fault, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Runs one event of the branch. Returns false if it throws. */
bool aphi_compose(aphi_derivation *d, aphi_branch *b);

#endif

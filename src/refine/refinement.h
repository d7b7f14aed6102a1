/* SPDX-License-Identifier: Apache-2.0
 *
 * refinement.h - refinement check: all traces of a model, across the network, must be allowed by a specification.
 *
 * The model runs with a number of clients that send given requests in chunks. The specification, another model, must
 * explain everything that the clients can observe. The two may have different messages for the same bytes: requests are
 * encoded with the codec of the specification, split into chunks, and decoded with the codec of the model. Responses
 * are converted in the opposite direction. */
#ifndef APHI_REFINE_REFINEMENT_H
#define APHI_REFINE_REFINEMENT_H

#include <antiphon/network.h>
#include <antiphon/oracle.h>

#include <signal.h>

typedef struct aphi_refine_options {
    const aph_model *model, *spec;
    const aph_network *network;        /* between them and their clients; NULL: tcp */
    size_t clients, messages;          /* of each client */
    size_t chunks;                     /* maximum per message; all ways to split it are tried */
    const aph_value *requests;   /* request k of client i is requests[i * stride + k]; marked by the caller */
    size_t stride;
    bool unreduced;                    /* explore all orders of events, to test the reductions */
    int64_t deadline_ns;               /* compared with aphi_clock_ns; 0: none */
    size_t memory;                     /* bytes of values; 0: no limit */
    const volatile sig_atomic_t *stop; /* may be NULL */
    void (*progress)(uint64_t states); /* called occasionally; may be NULL */
} aphi_refine_options;

typedef enum aphi_refine_verdict {
    APHI_REFINES,
    APHI_REFINES_NOT,     /* trace is a counterexample: observable, but not allowed by the specification */
    APHI_REFINES_VACUOUS, /* no counterexample, but no schedule has responses to all requests */
    APHI_REFINES_UNKNOWN, /* a limit was reached, or the search was stopped; see why */
    APHI_REFINES_FAULT,   /* a fault of a model, or incompatible codecs; see why */
} aphi_refine_verdict;

typedef struct aphi_refinement {
    aphi_refine_verdict verdict;
    aph_fault fault;      /* with APHI_REFINES_FAULT */
    char why[400];        /* for people; "" with APHI_REFINES */
    /* For APHI_REFINES_NOT: the lines of a trace file, as an array of objects; the index of the unexplained response;
     * and the responses allowed there, {"answer": ...} each. A response is placed at its first byte, so later entries
     * may precede its last byte. The caller must mark these values. */
    aph_value trace;
    size_t failing;
    aph_value allowed;
    uint64_t states;      /* visited */
    uint64_t traces;      /* different traces checked */
    double schedules;     /* number of paths to an end; 0 for a random search */
    bool sampled;         /* a choice of the model has too many values; only some were tried */
} aphi_refinement;

/* Checks all schedules within the bounds. */
aphi_refinement aphi_refine(const aphi_refine_options *options);
/* Checks `schedules` random schedules within the bounds. */
aphi_refinement aphi_refine_random(const aphi_refine_options *options, uint64_t schedules, uint64_t seed);

/* ---- growing bounds ---------------------------------------------------------------------------------------------- */

/* Refinement with growing bounds, then with random schedules beyond them. */

enum {
    APHI_REFINE_CLIENTS_MAX = 16,
    APHI_REFINE_MESSAGES_MAX = 64,
    APHI_REFINE_DRAWS = 16,       /* additional sets of requests for small bounds */
    APHI_REFINE_DRAWN_SIZE = 2,   /* messages in a small bound */
};

typedef struct aphi_refine_deepening {
    aphi_refine_options options; /* the fields clients, messages, requests and stride are unused */
    size_t clients, messages;    /* maximum number of clients, and of messages per client */
    uint64_t random;             /* schedules beyond the bounds */
    uint64_t seed;               /* for the requests and the random schedules */
} aphi_refine_deepening;

typedef struct aphi_refine_outcome {
    aphi_refinement result;       /* the first failure; if there is none, the result of the full bounds */
    aphi_refinement bounded; /* the result of the full bounds */
    uint64_t random_passed; /* number of random schedules that passed */
    size_t clients, messages;     /* bounds of the last exploration */
} aphi_refine_outcome;

/* Returns true for APHI_REFINES and APHI_REFINES_VACUOUS. */
bool aphi_refine_passed(const aphi_refinement *result);
/* The caller must mark result.trace and result.allowed, also during the call. Returns false with a message if the
 * specification has no generator for the requests. */
bool aphi_refine_within(const aphi_refine_deepening *bounds, aphi_refine_outcome *outcome, char *error, size_t size);

#endif

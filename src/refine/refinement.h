/* SPDX-License-Identifier: Apache-2.0
 *
 * refinement.h - does what clients see of one model, across the network, stay within what another allows?
 *
 * The first, the model, is run with a number of clients that send given requests in chunks; the second, the
 * specification, must explain whatever they can see. The two need not speak the same messages, only the same bytes:
 * requests are encoded by the specification's codec, cut into chunks and decoded by the model's, and answers the other
 * way round. */
#ifndef APHI_REFINE_REFINEMENT_H
#define APHI_REFINE_REFINEMENT_H

#include <antiphon/oracle.h>

#include <signal.h>

typedef struct aphi_refine_options {
    const aph_model *model, *spec;
    size_t clients, messages;    /* of each client */
    size_t chunks;               /* in which a message may come, at most; all ways to cut it are tried */
    const aph_value *requests;   /* the k-th of client i is requests[i * stride + k]; the caller keeps them alive */
    size_t stride;
    bool unreduced;              /* every order of everything: what the reductions are compared with */
    int64_t deadline_ns;         /* of aphi_clock_ns; 0: none */
    size_t memory;               /* bytes of values; 0: no limit */
    const volatile sig_atomic_t *stop; /* may be NULL */
    void (*progress)(uint64_t states); /* now and then; may be NULL */
} aphi_refine_options;

typedef enum aphi_refined {
    APHI_REFINES,
    APHI_REFINES_NOT,     /* trace is something that clients can see and the specification does not explain */
    APHI_REFINES_VACUOUS, /* nothing is wrong, but in no schedule was everything answered */
    APHI_REFINES_UNKNOWN, /* a limit was hit, or it was stopped: why says which */
    APHI_REFINES_FAULT,   /* a model is at fault, or the two do not fit: why says how */
} aphi_refined;

typedef struct aphi_refinement {
    aphi_refined verdict;
    aph_fault fault;      /* with APHI_REFINES_FAULT */
    char why[400];        /* for people; "" with APHI_REFINES */
    /* APHI_REFINES_NOT: lines of a trace file, as an array of objects; the place of the answer that nothing explains;
     * and what would have been explained there, {"answer": ...} each. An answer stands where its first byte was seen:
     * what follows may have been sent before its last. From here on the caller keeps them alive. */
    aph_value trace;
    size_t failing;
    aph_value allowed;
    uint64_t states;      /* situations looked at */
    uint64_t traces;      /* different ones that the specification was asked to explain */
    double schedules;     /* ways from the beginning to an end through these situations; 0 of random ones */
    bool sampled;         /* a choice of the model has too many values: only some were tried */
} aphi_refinement;

/* All schedules within the bounds. */
aphi_refinement aphi_refine(const aphi_refine_options *options);
/* So many schedules drawn at random within the bounds. */
aphi_refinement aphi_refine_randomly(const aphi_refine_options *options, uint64_t walks, uint64_t seed);

#endif

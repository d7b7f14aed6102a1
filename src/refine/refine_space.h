/* SPDX-License-Identifier: Apache-2.0
 *
 * refine_space.h - state space of a model, its clients, and the network between them. */
#ifndef APHI_REFINE_REFINE_SPACE_H
#define APHI_REFINE_REFINE_SPACE_H

#include "refine/refinement.h"

/* The fields of a state, an array value: equal states are one interned word. */
enum {
    APHI_REFINE_MODEL_STATE, /* at the beginning of the current step */
    APHI_REFINE_ANSWERS,     /* answers to the events of the step so far */
    APHI_REFINE_CHOSEN,      /* number of values made for choices */
    APHI_REFINE_ARRIVING,    /* [client, messages completed by the chunk...], or APH_NIL */
    APHI_REFINE_CLIENTS,
    APHI_REFINE_TRACE,       /* see refine_trace.h */
    APHI_REFINE_NETWORK,     /* of a user's network: see refine_network.c */
    APHI_REFINE_FIELDS
};

typedef enum aphi_refine_flaw {
    APHI_REFINE_FLAW_NONE,
    APHI_REFINE_FLAW_UNREQUESTED, /* a response without a request */
    APHI_REFINE_FLAW_MALFORMED,   /* bytes that are not a message of the specification */
    APHI_REFINE_FLAW_CLOSED,      /* the server closes a connection, and the specification has no connections */
    APHI_REFINE_FLAW_FAULT,       /* a fault of a model, or incompatible codecs */
} aphi_refine_flaw;

typedef struct aphi_refine_space {
    const aphi_refine_options *options;
    aph_model network;      /* options->network as a model */
    size_t chunks;          /* 1 if both models have the same codec: partial messages have no effect then */
    aph_value *bytes;       /* the encoded requests */
    aph_value *states;      /* a stack */
    size_t count, capacity;
    size_t first_end;       /* after an expansion: from here on, a client ends its connection; SIZE_MAX: nowhere */
    bool sampled;
    aphi_refine_flaw flaw;
    aph_fault fault;
    aph_value trace;        /* the trace that has the flaw, unless it is a fault */
    size_t flawed;          /* the client that observes the flaw, in the last entry that it received */
    char why[400];
} aphi_refine_space;

/* Sets *first to the initial state. Returns false, with flaw and why set, if the requests cannot be encoded or the
 * model does not start. Close the space in either case. */
bool aphi_refine_space_open(aphi_refine_space *space, const aphi_refine_options *options, aph_value *first);
void aphi_refine_space_close(aphi_refine_space *space);
void aphi_refine_space_mark(const aphi_refine_space *space);

/* Pushes the successors of a state. There are none at the end of a run, or if a flaw is found. */
void aphi_refine_space_expand(aphi_refine_space *space, aph_value state);
#endif

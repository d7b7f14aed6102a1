/* SPDX-License-Identifier: Apache-2.0
 *
 * refine_state.h - a model, its clients, the network between them and what the clients have seen: one situation of a run. */
#ifndef APHI_REFINE_REFINE_STATE_H
#define APHI_REFINE_REFINE_STATE_H

#include "refine/refinement.h"

/* The fields of a scene, which is an array: equal scenes are one word. */
enum {
    APHI_REFINE_STATE_STATE,   /* of the model at the head of its step */
    APHI_REFINE_STATE_ANSWERS, /* to its events since */
    APHI_REFINE_STATE_CHOSEN,  /* values made up for choices so far */
    APHI_REFINE_STATE_FED,     /* [client, messages of the chunk that arrives, ...]; APH_NIL if none does */
    APHI_REFINE_STATE_CLIENTS,
    APHI_REFINE_STATE_TRACE, /* [[kind, client, message], ...]; without a message while only its first bytes are there */
    APHI_REFINE_STATE_FIELDS
};
enum { APHI_REFINE_STATE_SENT, APHI_REFINE_STATE_RECEIVED }; /* kinds */

typedef enum aphi_refine_flaw {
    APHI_REFINE_FLAW_NONE,
    APHI_REFINE_FLAW_ORPHAN,    /* an answer where nothing was asked */
    APHI_REFINE_FLAW_MALFORMED, /* bytes that are no message of the specification */
    APHI_REFINE_FLAW_FAULT,     /* a model is at fault, or the two do not fit */
} aphi_refine_flaw;

typedef struct aphi_refine_state {
    const aphi_refine_options *options;
    size_t chunks;          /* 1 if both speak the same messages: then a chunk that is no message changes nothing */
    aph_value *bytes;       /* of the requests */
    aph_value *scenes;      /* a stack of scenes; marked by the owner of the stage */
    size_t count, capacity;
    bool sampled;
    /* what went wrong, if something did */
    aphi_refine_flaw blemish;
    aph_fault fault;
    aph_value trace;        /* with it */
    char why[400];
} aphi_refine_state;

/* False: the requests cannot be sent, or the model does not start; blemish and why are set. To be ended either way. */
bool aphi_refine_state_open(aphi_refine_state *stage, const aphi_refine_options *options, aph_value *first);
void aphi_refine_state_close(aphi_refine_state *stage);
void aphi_refine_state_mark(const aphi_refine_state *stage);

/* Pushes what a scene can become. Nothing: the run is over, or there is a blemish. */
void aphi_refine_state_go_on(aphi_refine_state *stage, aph_value scene);
/* The trace as lines of a trace file. */
aph_value aphi_refine_state_lines(aph_value trace);

#endif

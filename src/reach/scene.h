/* SPDX-License-Identifier: Apache-2.0
 *
 * scene.h - a model, its clients, the network between them and what the clients have seen: one situation of a run. */
#ifndef APHI_REACH_SCENE_H
#define APHI_REACH_SCENE_H

#include "reach/refinement.h"

/* The fields of a scene, which is an array: equal scenes are one word. */
enum {
    APHI_SCENE_STATE,   /* of the model at the head of its step */
    APHI_SCENE_ANSWERS, /* to its events since */
    APHI_SCENE_CHOSEN,  /* values made up for choices so far */
    APHI_SCENE_FED,     /* [client, messages of the chunk that arrives, ...]; APH_NIL if none does */
    APHI_SCENE_CLIENTS,
    APHI_SCENE_TRACE,   /* [[kind, client, message], ...]; without a message while only its first bytes are there */
    APHI_SCENE_FIELDS
};
enum { APHI_SCENE_SENT, APHI_SCENE_RECEIVED }; /* kinds */

typedef enum aphi_blemish {
    APHI_BLEMISH_NONE,
    APHI_BLEMISH_ORPHAN,    /* an answer where nothing was asked */
    APHI_BLEMISH_MALFORMED, /* bytes that are no message of the specification */
    APHI_BLEMISH_FAULT,     /* a model is at fault, or the two do not fit */
} aphi_blemish;

typedef struct aphi_stage {
    const aphi_refine_options *options;
    size_t chunks;          /* 1 if both speak the same messages: then a chunk that is no message changes nothing */
    aph_value *bytes;       /* of the requests */
    aph_value *scenes;      /* a stack of scenes; marked by the owner of the stage */
    size_t count, capacity;
    bool sampled;
    /* what went wrong, if something did */
    aphi_blemish blemish;
    aph_fault fault;
    aph_value trace;        /* with it */
    char why[400];
} aphi_stage;

/* False: the requests cannot be sent, or the model does not start; blemish and why are set. To be ended either way. */
bool aphi_stage_open(aphi_stage *stage, const aphi_refine_options *options, aph_value *first);
void aphi_stage_close(aphi_stage *stage);
void aphi_stage_mark(const aphi_stage *stage);

/* Pushes what a scene can become. Nothing: the run is over, or there is a blemish. */
void aphi_stage_go_on(aphi_stage *stage, aph_value scene);
/* The trace as lines of a trace file. */
aph_value aphi_stage_lines(aph_value trace);

#endif

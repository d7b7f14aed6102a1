/* SPDX-License-Identifier: Apache-2.0
 *
 * reduced_model.h - a model minimized for the local sequences of one component, the target.
 *
 * States of the other components that are bisimilar are merged, and so are labels on a port that its owner treats alike
 * (classes). The target and the labels on its ports are unchanged. Mediums become channels, each a queue or a bag. Each
 * state has the sets of classes that it may still send and of components that it may still reach.
 *
 *     model (alts.h)  --->  reduced model: blocks of states, classes of labels, channels  --->  sequence_search.c
 */
#ifndef APHI_LOCAL_REDUCED_MODEL_H
#define APHI_LOCAL_REDUCED_MODEL_H

#include "alts/alts.h"

typedef enum aphi_reduced_kind {
    APHI_REDUCED_TERMINAL,
    APHI_REDUCED_SEND,
    APHI_REDUCED_SYNC,      /* a synchronous send */
    APHI_REDUCED_LOCAL,     /* of the target only */
    APHI_REDUCED_RECEIVE,
} aphi_reduced_kind;

typedef struct aphi_reduced_move {
    uint32_t target;
    uint32_t class;        /* of the label; ports have disjoint classes */
    uint16_t port, label;  /* the original label; for a merged move, one of its labels */
} aphi_reduced_move;

/* State number `states` is an additional state without moves, used for removed components. */
typedef struct aphi_reduced_component {
    uint32_t initial, states;
    uint8_t *kind;
    uint32_t *first;
    aphi_reduced_move *moves;
    /* By state, model->words each: classes that may still be sent, and classes that the state receives. */
    uint64_t *may_send, *accepts;
    uint64_t *may_reach;    /* by state: components to which it may still send */
    uint64_t *needs;        /* by state: components that must receive before this one can end */
    uint64_t *contends_for; /* by state: components to whose contended ports it may still send */
} aphi_reduced_component;

#define APHI_REDUCED_NO_CHANNEL UINT32_MAX

typedef struct aphi_reduced_port {
    uint16_t owner;
    uint32_t word, words;    /* position of its classes in may_send and accepts */
    uint32_t channel, channels;
    uint32_t *channel_of;    /* by sender: the channel that its messages enter */
    uint32_t *capacity_of;   /* by sender: maximum number of its messages in transit; 0: never full */
    bool contended;          /* one queue for several senders: the order of entry matters */
    uint32_t *receives_left; /* for a contended port, by state of the owner: maximal number of receives */
    bool ordered;            /* synchronous messages wait for earlier ones of their sender */
    bool has_sync;           /* some send to it is synchronous */
    bool single_class;       /* one bag of messages of a single class */
} aphi_reduced_port;

typedef struct aphi_reduced_channel {
    uint16_t port;
    bool bag;
    bool has_sender;      /* entries have their sender */
    uint16_t sender;      /* of a queue that is not contended */
    uint32_t *sends_left; /* for such a queue, by state of the sender: maximal number of sends */
} aphi_reduced_channel;

typedef struct aphi_reduced_model {
    size_t target, component_count, port_count, channel_count, words;
    bool contended;            /* some port is contended */
    aphi_reduced_component *components;
    aphi_reduced_port *ports;
    aphi_reduced_channel *channels;
} aphi_reduced_model;

typedef enum aphi_reduced_status {
    APHI_REDUCED_READY,
    APHI_REDUCED_TOO_LARGE,     /* too many states in a component */
} aphi_reduced_status;

/* The model must be sound (aphi_alts_check). With races, messages that race sets distinguish are not merged. */
aphi_reduced_status aphi_reduced_model_build(aphi_reduced_model *g, const aphi_alts *a, size_t target, bool races);
void aphi_reduced_model_free(aphi_reduced_model *g);

#endif

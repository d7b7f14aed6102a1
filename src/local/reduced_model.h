/* SPDX-License-Identifier: Apache-2.0
 *
 * reduced_model.h - a model made ready for finding the sequences of one component, the target.
 *
 * What the target cannot tell apart is made one: states of the other components that behave alike, and labels on a
 * port that its owner treats alike (classes). The target itself, and the labels on its ports, stay as they are.
 * Mediums become channels, each a queue or a bag. For each state of a component it is known what can still come of
 * it.
 *
 *     model (alts.h)  --->  ground: graphs of blocks, classes of labels, channels, futures  --->  local_search.c
 */
#ifndef APHI_LOCAL_REDUCED_MODEL_H
#define APHI_LOCAL_REDUCED_MODEL_H

#include "alts/alts.h"

typedef enum aphi_reduced_kind {
    APHI_REDUCED_TERMINAL,
    APHI_REDUCED_SEND,
    APHI_REDUCED_SYNC,      /* a send that waits until it is received */
    APHI_REDUCED_LOCAL,     /* only of the target */
    APHI_REDUCED_RECEIVE,
} aphi_reduced_kind;

typedef struct aphi_reduced_move {
    uint32_t target;
    uint32_t class;        /* of the label on that port; classes of different ports differ */
    uint16_t port, label;  /* the label as the model has it; of a merged move, one of them */
} aphi_reduced_move;

/* A component. The state numbered `states` is one more, without moves: where a component is put that no longer
 * matters. */
typedef struct aphi_reduced_part {
    uint32_t initial, states;
    uint8_t *kind;
    uint32_t *first;
    aphi_reduced_move *moves;
    /* Of a state, `words` of the ground: classes that can still be sent, and classes that are received in this state.
     * */
    uint64_t *future, *accept;
    uint64_t *reaches;     /* components that may still be sent something */
    uint64_t *needs;       /* components that must receive for this one to go on: synchronous sends, and full mediums */
    uint64_t *contends;    /* components whose contended ports may still be sent something */
} aphi_reduced_part;

#define APHI_REDUCED_NO_CHANNEL UINT32_MAX

typedef struct aphi_reduced_port {
    uint16_t owner;
    uint32_t word, words;      /* where its classes lie in future and accept */
    uint32_t channel, channels;
    uint32_t *by_sender;       /* the channel that a component's sends enter */
    uint32_t *limit;           /* how many of its messages may be in transit; 0: never too many */
    bool contended;            /* one queue for several senders, in which synchronous ones stand in line: the order
                                * in which they enter it matters */
    uint32_t *takes;           /* of a contended port: the most that its owner can still receive, by its state */
    bool ordered;              /* what is sent synchronously waits for what its sender sent before */
    bool synced;               /* some send to it is synchronous */
    bool plain;                /* one bag of messages that are all alike: the owner has no choice among them */
} aphi_reduced_port;

typedef struct aphi_reduced_channel {
    uint16_t port;
    bool bag;
    bool named;                /* entries tell their sender */
    uint16_t sender;           /* of a queue that is not contended */
    uint32_t *left;            /* of such a queue: what the sender may still send there, by its state */
} aphi_reduced_channel;

typedef struct aphi_reduced_model {
    size_t target, part_count, port_count, channel_count, words;
    bool contended;            /* some port is */
    aphi_reduced_part *parts;
    aphi_reduced_port *ports;
    aphi_reduced_channel *channels;
} aphi_reduced_model;

typedef enum aphi_reduced_status {
    APHI_REDUCED_READY,
    APHI_REDUCED_TOO_LARGE,     /* more states in a component than are provided for */
} aphi_reduced_status;

/* The model must be sound (aphi_alts_check). With races, what a race set may depend on is kept apart. */
aphi_reduced_status aphi_reduced_make(aphi_reduced_model *g, const aphi_alts *a, size_t target, bool races);
void aphi_reduced_free(aphi_reduced_model *g);

#endif

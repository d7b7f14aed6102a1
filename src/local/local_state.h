/* SPDX-License-Identifier: Apache-2.0
 *
 * local_state.h - where all components of a ground are and what is in transit, and the steps that can be taken.
 *
 * A situation is an array of numbers: the state of each component, the content of each channel, and, with races, what
 * is known: two words of bits that say which components know of the target's last receive (what that is good for:
 * local_search.c), or the past (causal_history.h) if several components send to one queue. Contents are interned lists of entries, an
 * entry being a class of labels, perhaps a sender, and a mark: again a bit for knowing, or a stamp of the past. */
#ifndef APHI_LOCAL_LOCAL_STATE_H
#define APHI_LOCAL_LOCAL_STATE_H

#include "local/reduced_model.h"
#include "base/intern.h"
#include "local/causal_history.h"

typedef struct aphi_local_state_step {
    uint32_t move;           /* of the receiver; of the sender if it enters a contended queue */
    uint32_t entry;          /* what is taken from a channel */
    uint32_t channel;        /* APHI_REDUCED_NO_CHANNEL: a synchronous message that stands in no line */
    uint16_t agent;          /* who decides: the owner of the port */
    uint16_t sender;
    bool enters;             /* into a contended queue, to be in it or to stand in line; else a receive */
    bool sync;               /* the message is synchronous */
    bool allowed;            /* with races: it knows of the target's last receive */
    bool twin;               /* another message in the same bag has the same class and sender */
} aphi_local_state_step;

typedef struct aphi_local_state {
    aphi_reduced_model ground;
    bool races;
    bool late, dated;        /* races by bits, the target's receives being late; races by the past */
    aphi_causal_history past;          /* if dated */
    uint32_t marks;          /* how many there are */
    size_t size;             /* numbers in a situation */
    aphi_intern *contents;    /* of each channel */
    aphi_local_state_step *steps;        /* of the situation that was looked at last, those of one agent together */
    size_t step_count, step_capacity;
    uint32_t first_step[APHI_ALTS_COMPONENTS_MAX + 1];
    uint64_t enabled, allowed;                     /* agents that have a step, and an allowed one */
    uint64_t fed_by[APHI_ALTS_COMPONENTS_MAX];     /* who may still give this agent one more choice */
    uint64_t waits_for[APHI_ALTS_COMPONENTS_MAX];  /* of one that is about to send: who must act first */
    uint32_t *scratch;
    size_t scratch_capacity;
} aphi_local_state;

aphi_reduced_status aphi_local_state_init(aphi_local_state *y, const aphi_alts *a, size_t target, bool races);
void aphi_local_state_free(aphi_local_state *y);
void aphi_local_state_start(aphi_local_state *y, uint32_t *v);

/* The entry that a component's asynchronous message of that class is in its channel. */
uint32_t aphi_local_state_entry(const aphi_local_state *y, uint32_t channel, uint32_t class, size_t sender,
                                uint32_t mark);
uint32_t aphi_local_state_class(const aphi_local_state *y, uint32_t entry);
/* What is in a channel, in order. Valid until something is put anywhere. */
const uint32_t *aphi_local_state_content(const aphi_local_state *y, const uint32_t *v, uint32_t channel, size_t *count);
void aphi_local_state_put(aphi_local_state *y, uint32_t *v, uint32_t channel, uint32_t entry);
/* The target has a local event. */
void aphi_local_state_local(aphi_local_state *y, uint32_t *v);
/* Lets a component make its send, if nothing keeps it from it and nobody else's choice depends on when. */
bool aphi_local_state_send(aphi_local_state *y, uint32_t *v, size_t c);
/* Whether c waits for one queue and for nothing else, and something that it takes is there: then that is no choice. */
bool aphi_local_state_forced(const aphi_local_state *y, const uint32_t *v, size_t c, aphi_local_state_step *step);
/* Takes a step. The target's receive makes everybody forget, with races. */
void aphi_local_state_take(aphi_local_state *y, uint32_t *v, const aphi_local_state_step *step);
/* Components that cannot influence the target any more, nor one of `also`, are put out of the way with what is sent to
 * them. */
void aphi_local_state_prune(aphi_local_state *y, uint32_t *v, uint64_t also);
/* Lists all steps: fills steps, first_step, enabled and allowed. */
void aphi_local_state_look(aphi_local_state *y, const uint32_t *v);
/* The part of a situation that is the past. */
uint32_t *aphi_local_state_past(const aphi_local_state *y, uint32_t *v);
/* Fills fed_by and waits_for. */
void aphi_local_state_prospects(aphi_local_state *y, const uint32_t *v);
/* Those who may still move while the agents in `still` do not, if at first those of `from` can. */
uint64_t aphi_local_state_movable(const aphi_local_state *y, uint64_t from, uint64_t still);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * state_space.h - states of a reduced model, and their steps.
 *
 * A state v is an array of words: the state of each component, the content of each channel, and, with races, either two
 * words of bits for the components that know of the target's last receive (sequence_search.c), or the causal history
 * (causal_history.h) if several components send to one queue. Contents are interned lists of entries. An entry is a
 * class of labels, optionally a sender, and a mark: the bit of the message, or its stamp in the history. */
#ifndef APHI_LOCAL_STATE_SPACE_H
#define APHI_LOCAL_STATE_SPACE_H

#include "local/reduced_model.h"
#include "base/intern.h"
#include "local/causal_history.h"

typedef struct aphi_space_step {
    uint32_t move;    /* the receiver's move; the sender's if `enqueues` */
    uint32_t entry;   /* taken from the channel */
    uint32_t channel; /* APHI_REDUCED_NO_CHANNEL: a synchronous message outside any queue */
    uint16_t agent;   /* the component that makes the choice: the owner of the port */
    uint16_t sender;
    bool enqueues;    /* a message enters a contended queue; otherwise a receive */
    bool sync;        /* the message is synchronous */
    bool allowed;     /* with races: it depends on the target's last receive */
    bool duplicate;   /* the bag has another message of the same class and sender */
} aphi_space_step;

typedef struct aphi_state_space {
    aphi_reduced_model model;
    bool races;
    bool latest_order, has_history;               /* with races: latest receives, or causal histories */
    aphi_causal_history history;                  /* if has_history */
    uint32_t mark_count;                          /* number of different marks */
    size_t size;                                  /* words of a state */
    aphi_intern *contents;                        /* by channel */
    aphi_space_step *steps;                       /* of the state listed last, grouped by agent */
    size_t step_count, step_capacity;
    uint32_t first_step[APHI_ALTS_COMPONENTS_MAX + 1];
    uint64_t enabled, allowed;                    /* agents that have a step; those that have an allowed step */
    uint64_t enablers[APHI_ALTS_COMPONENTS_MAX];  /* agents that may still add a choice to this one */
    uint64_t waits_for[APHI_ALTS_COMPONENTS_MAX]; /* for a sender: the agent that must move first */
    uint32_t *label_of;                           /* by class of a message to the target */
    uint32_t *scratch;
    size_t scratch_capacity;
} aphi_state_space;

aphi_reduced_status aphi_state_space_init(aphi_state_space *sp, const aphi_alts *a, size_t target, bool races);
void aphi_state_space_free(aphi_state_space *sp);
void aphi_state_space_initial(aphi_state_space *sp, uint32_t *v);

/* Returns the entry of an asynchronous message in its channel. */
uint32_t aphi_state_space_entry(const aphi_state_space *sp, uint32_t channel, uint32_t class, size_t sender,
                                uint32_t mark);
uint32_t aphi_state_space_class(const aphi_state_space *sp, uint32_t entry);
/* Returns the entries of a channel, in order. Valid until any channel changes. */
const uint32_t *aphi_state_space_content(const aphi_state_space *sp, const uint32_t *v, uint32_t channel,
                                         size_t *count);
void aphi_state_space_put(aphi_state_space *sp, uint32_t *v, uint32_t channel, uint32_t entry);
/* Performs a local event of the target. */
void aphi_state_space_local_event(aphi_state_space *sp, uint32_t *v);
/* Performs the send of a component. Returns false if the send must wait, or if its order is a choice. */
bool aphi_state_space_send(aphi_state_space *sp, uint32_t *v, size_t c);
/* Returns true if c receives from a single queue only and accepts its front: a step without a choice. */
bool aphi_state_space_forced_receive(const aphi_state_space *sp, const uint32_t *v, size_t c, aphi_space_step *step);
/* Returns true if a component depends on the target's last receive. */
bool aphi_state_space_is_marked(const aphi_state_space *sp, const uint32_t *v, size_t c);
/* Clears all marks, as a receive of the target does. */
void aphi_state_space_clear_marks(aphi_state_space *sp, uint32_t *v);
/* Takes a step. With races, a receive of the target clears all bits. */
void aphi_state_space_apply(aphi_state_space *sp, uint32_t *v, const aphi_space_step *step);
/* Removes components that can no longer influence the target or a component in `also`, and their messages. */
void aphi_state_space_prune(aphi_state_space *sp, uint32_t *v, uint64_t also);
/* Sets steps, first_step, enabled and allowed. */
void aphi_state_space_list_steps(aphi_state_space *sp, const uint32_t *v);
/* Lists the messages that the target could receive now if it were open to all messages, other than that of the step,
 * which may be NULL. Returns their number; the result must be freed. */
size_t aphi_state_space_available(const aphi_state_space *sp, const uint32_t *v, const aphi_space_step *taken,
                                  aphi_race_candidate **found);
/* Returns the causal history within a state. */
uint32_t *aphi_state_space_history(const aphi_state_space *sp, uint32_t *v);
/* Sets enablers and waits_for. */
void aphi_state_space_find_enablers(aphi_state_space *sp, const uint32_t *v);
/* Returns the agents that may still move while those in `frozen` do not, if those in `from` move first. */
uint64_t aphi_state_space_movable(const aphi_state_space *sp, uint64_t from, uint64_t frozen);

/* ---- independent steps ------------------------------------------------------------------------------------------- */

/* Components that communicate mostly with each other form a cluster. A step of a cluster is checked against all
 * possible further actions of the environment. If taking the step first always leads to the same state, with the same
 * messages sent at least as early, the search need not follow any other step. */
typedef struct aphi_independence aphi_independence;

/* The state space must not have races, and must outlive the result. */
aphi_independence *aphi_independence_open(aphi_state_space *space);
void aphi_independence_close(aphi_independence *k);
/* Returns true if the step, which is enabled in state v, is independent. Overwrites the list of steps of the space. */
bool aphi_independence_check(aphi_independence *k, const uint32_t *v, const aphi_space_step *step);

#endif

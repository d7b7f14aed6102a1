/* SPDX-License-Identifier: Apache-2.0
 *
 * actor.h - a model that acts: given requests it answers, with all that is open to it drawn at random. */
#ifndef APHI_HARNESS_ACTOR_H
#define APHI_HARNESS_ACTOR_H

#include <antiphon/model.h>

#include "base/buffer.h"
#include "base/choice.h"

/* What came of a request. */
typedef enum aphi_act {
    APHI_ACT_TAKEN,    /* the actor went on to its next receive */
    APHI_ACT_NOT_NOW,  /* whatever is drawn, the model says never: the request waits until the state has changed */
    APHI_ACT_UNKNOWN,  /* the model does not know it: why says what it knows */
    APHI_ACT_FAULT,    /* the model is wrong; the actor can do no more */
} aphi_act;

/* Kinds of fault. */
typedef enum aphi_act_fault {
    APHI_ACT_CRASHED,
    APHI_ACT_STUCK,     /* a step does not end, or steps follow each other without a receive */
    APHI_ACT_IMPURE,    /* run again with the same answers, the step did something else */
    APHI_ACT_UNSENT,    /* what it sends is no message of its codec */
    APHI_ACT_FULL,      /* its values take too much memory */
} aphi_act_fault;

/* A message to be sent: bytes of the actor's buffer. */
typedef struct aphi_act_sent {
    int64_t to;         /* negative: a connection of the model's own */
    size_t at, n;
    aph_value message;
} aphi_act_sent;

typedef struct aphi_act_log aphi_act_log;

/* All fields are to be read only. */
typedef struct aphi_actor {
    const aph_model *model;
    const char *here;         /* HOST:PORT of those whom the model asks, as the codec is told; NULL: nobody */
    aphi_choice choice;
    aph_value state;          /* at the head of the step in which it waits */
    aphi_act_log *log, *work; /* answers to events since the head: those that count, those being tried */
    aphi_act_sent *sent;      /* by the last request, in order */
    size_t sent_count, sent_capacity;
    aphi_buffer bytes;
    aphi_act_fault fault;
    char why[256];            /* after APHI_ACT_UNKNOWN and APHI_ACT_FAULT */
} aphi_actor;

/* Draws the unknowns of the initial state. The model must outlive the actor, which is a root by itself. Steps are
 * guarded (tree/guard.h) until it is closed. */
void aphi_actor_open(aphi_actor *a, const aph_model *model, const char *here, uint64_t seed);
void aphi_actor_close(aphi_actor *a);
/* Runs to the first receive; what it sends before is in sent. TAKEN, or a fault. */
aphi_act aphi_actor_begin(aphi_actor *a);
/* Takes one request and runs on to the next receive. Does not collect. */
aphi_act aphi_actor_take(aphi_actor *a, int64_t from, aph_value message);
/* It waits because of how it chose since the head of its step, where it has done nothing else: as nobody has seen
 * that, it may choose again while no request comes. */
bool aphi_actor_may_reconsider(const aphi_actor *a);
/* Chooses again, and runs to the next receive: TAKEN, NOT_NOW if it stays as it is, or a fault. Does not collect. */
aphi_act aphi_actor_reconsider(aphi_actor *a);

#endif

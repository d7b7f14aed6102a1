/* SPDX-License-Identifier: Apache-2.0
 *
 * simulator.h - a model that acts: given requests it answers, with all that is open to it drawn at random. */
#ifndef APHI_SERVER_SIMULATOR_H
#define APHI_SERVER_SIMULATOR_H

#include <antiphon/model.h>

#include "base/buffer.h"
#include "base/choice.h"

/* What came of a request. */
typedef enum aphi_simulated {
    APHI_SIMULATED_TAKEN,   /* the actor went on to its next receive */
    APHI_SIMULATED_NOT_NOW, /* whatever is drawn, the model says never: the request waits until the state has changed */
    APHI_SIMULATED_UNKNOWN, /* the model does not know it: why says what it knows */
    APHI_SIMULATED_FAULT,   /* the model is wrong; the actor can do no more */
} aphi_simulated;

/* Kinds of fault. */
typedef enum aphi_simulated_fault {
    APHI_SIMULATED_CRASHED,
    APHI_SIMULATED_STUCK,     /* a step does not end, or steps follow each other without a receive */
    APHI_SIMULATED_IMPURE,    /* run again with the same answers, the step did something else */
    APHI_SIMULATED_UNSENT,    /* what it sends is no message of its codec */
    APHI_SIMULATED_FULL,      /* its values take too much memory */
} aphi_simulated_fault;

/* A message to be sent: bytes of the actor's buffer. */
typedef struct aphi_simulated_sent {
    int64_t to;         /* negative: a connection of the model's own */
    size_t at, n;
    aph_value message;
} aphi_simulated_sent;

typedef struct aphi_simulated_log aphi_simulated_log;

/* All fields are to be read only. */
typedef struct aphi_simulator {
    const aph_model *model;
    const char *here;         /* HOST:PORT of those whom the model asks, as the codec is told; NULL: nobody */
    aphi_choice choice;
    aph_value state;          /* at the head of the step in which it waits */
    aphi_simulated_log *log, *work; /* answers to events since the head: those that count, those being tried */
    aphi_simulated_sent *sent;      /* by the last request, in order */
    size_t sent_count, sent_capacity;
    aphi_buffer bytes;
    aphi_simulated_fault fault;
    char why[256];            /* after APHI_SIMULATED_UNKNOWN and APHI_SIMULATED_FAULT */
} aphi_simulator;

/* Draws the unknowns of the initial state. The model must outlive the actor, which is a root by itself. Steps are
 * guarded (tree/guard.h) until it is closed. */
void aphi_simulator_open(aphi_simulator *a, const aph_model *model, const char *here, uint64_t seed);
void aphi_simulator_close(aphi_simulator *a);
/* Runs to the first receive; what it sends before is in sent. TAKEN, or a fault. */
aphi_simulated aphi_simulator_begin(aphi_simulator *a);
/* Takes one request and runs on to the next receive. Does not collect. */
aphi_simulated aphi_simulator_take(aphi_simulator *a, int64_t from, aph_value message);
/* It waits because of how it chose since the head of its step, where it has done nothing else: as nobody has seen
 * that, it may choose again while no request comes. */
bool aphi_simulator_may_reconsider(const aphi_simulator *a);
/* Chooses again, and runs to the next receive: TAKEN, NOT_NOW if it stays as it is, or a fault. Does not collect. */
aphi_simulated aphi_simulator_reconsider(aphi_simulator *a);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * simulator.h - runs a model, which takes requests and sends responses; all choices are drawn at random. */
#ifndef APHI_SERVER_SIMULATOR_H
#define APHI_SERVER_SIMULATOR_H

#include <antiphon/model.h>

#include "base/buffer.h"
#include "base/random_choice.h"

/* The result of a request. */
typedef enum aphi_simulated {
    APHI_SIMULATED_TAKEN,   /* the model is at its next receive */
    APHI_SIMULATED_NOT_NOW, /* the model ended in never with all drawn choices; retry the request in another state */
    APHI_SIMULATED_UNKNOWN, /* the model does not know the request; see why */
    APHI_SIMULATED_FAULT,   /* the model is faulty, and cannot continue */
} aphi_simulated;

/* Kinds of fault. */
typedef enum aphi_simulated_fault {
    APHI_SIMULATED_CRASHED,
    APHI_SIMULATED_STUCK,     /* a step does not end, or steps follow each other without a receive */
    APHI_SIMULATED_IMPURE,    /* the step behaved differently when it was run again with the same answers */
    APHI_SIMULATED_UNSENT,    /* the model sends a value that its codec cannot encode */
    APHI_SIMULATED_MISCALLED, /* a network delivers a packet on a connection that does not exist */
    APHI_SIMULATED_FULL,      /* the model's values need too much memory */
} aphi_simulated_fault;

/* A sent message: bytes [at, at + n) of the buffer `bytes`. */
typedef struct aphi_simulated_sent {
    int64_t to;         /* negative: a connection that the model opened */
    size_t at, n;
    aph_value message;
} aphi_simulated_sent;

typedef struct aphi_simulated_log aphi_simulated_log;

/* The caller only reads the fields. */
typedef struct aphi_simulator {
    const aph_model *model;
    const char *const *origins; /* the servers that the model calls, for the codec, as in aph_wire; NULL: none */
    aphi_choice choice;
    aph_value state;          /* the state at the head of the waiting step */
    aphi_simulated_log *log, *work; /* answers to events since the head: committed; of the current attempt */
    aphi_simulated_sent *sent;      /* messages sent for the latest request, in order */
    size_t sent_count, sent_capacity;
    aphi_buffer bytes;
    aphi_simulated_fault fault;
    char why[480];            /* after APHI_SIMULATED_UNKNOWN and APHI_SIMULATED_FAULT */
} aphi_simulator;

/* Draws the unknowns of the initial state. The model must outlive the simulator, which adds itself as a root. Steps are
 * guarded (tree/step_guard.h) until the simulator is closed. */
void aphi_simulator_open(aphi_simulator *s, const aph_model *model, const char *const *origins, uint64_t seed);
void aphi_simulator_close(aphi_simulator *s);
/* Returns true, with a fault, if a function of the model other than its step has failed. */
bool aphi_simulator_lost_call(aphi_simulator *s);
/* Runs to the first receive; `sent` then has the messages sent before it. Returns TAKEN or FAULT. */
aphi_simulated aphi_simulator_begin(aphi_simulator *s);
/* Takes a request and runs to the next receive. Does not collect garbage. */
aphi_simulated aphi_simulator_take(aphi_simulator *s, int64_t from, aph_value message);
/* Answers APH_EVENT_CHOOSE or APH_EVENT_DECIDE. Returns false if no answer is possible. */
bool aphi_simulator_draw(aphi_simulator *s, const aph_event *e, aph_value *answer);
/* Returns true if the step has not received, and has made choices since it sent last. These are not observable then,
 * and it may choose again while no request comes. */
bool aphi_simulator_may_reconsider(const aphi_simulator *s);
/* Makes these choices again and runs to the next receive. Returns TAKEN, NOT_NOW if nothing changed, or FAULT. Does not
 * collect. */
aphi_simulated aphi_simulator_reconsider(aphi_simulator *s);

#endif

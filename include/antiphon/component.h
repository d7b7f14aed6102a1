/* SPDX-License-Identifier: Apache-2.0
 *
 * component.h - message-passing programs as models: components that send to and receive from ports.
 *
 * A component is a step as in model.h: a C function that is called repeatedly until it calls aph_halt. Its calls may
 * depend only on *state, its data, and the results of the calls below. Antiphon does not run components against each
 * other: it converts each component to a transition system, by running the step once for each message that it can
 * receive. A step may be abandoned at any call and run again from its beginning, so it must not hold resources across
 * calls.
 *
 * Receives are the only source of nondeterminism: a component does one thing at a time, but a receive may match several
 * messages. `antiphon reach` explores all runs, and `antiphon conform` compares them with a real program.
 *
 *     static void ping(aph *m, aph_value *state)
 *     {
 *         aph_post(m, TO_PONG, aph_str("ping"));
 *         aph_take(m, TO_PING, APH_ARRAY_OF(aph_str("pong")));
 *         aph_halt(m);
 *     }
 */
#ifndef ANTIPHON_COMPONENT_H
#define ANTIPHON_COMPONENT_H

#include <antiphon/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- programs ---------------------------------------------------------------------------------------------------- */

/* The order in which a port delivers messages sent by aph_post. */
typedef enum aph_medium {
    APH_FIFO_PAIR, /* for each sender, in the order of its sends */
    APH_FIFO_PORT, /* in the order of all sends */
    APH_UNORDERED, /* in any order */
} aph_medium;

typedef struct aph_port {
    const char *name;
    int owner;         /* index of the component that receives from the port; all others may send to it */
    aph_medium medium;
    int capacity;      /* maximum number of messages in transit per sender; aph_post waits for room. 0: no limit */
} aph_port;

typedef struct aph_component {
    const char *name;
    aph_step *step;
    aph_value (*initial)(const void *data); /* the initial state; NULL: the empty object */
    const void *data;                       /* passed to the step by aph_data */
} aph_component;

/* Components and ports are referred to by their index in these arrays. */
typedef struct aph_program {
    const char *name;
    const char *summary;
    const aph_component *components;
    const aph_port *ports;
    int component_count, port_count;
} aph_program;

/* Put APH_PROGRAM(my_program), where my_program is an aph_program, at the end of a file for `antiphon reach FILE.c`. */
#define APH_PROGRAM(program_) \
    const aph_model *aph_model_main(void) \
    { \
        static aph_model model_; \
        model_ = (aph_model){.version = APH_MODEL_VERSION, .name = (program_).name, .summary = (program_).summary, \
                             .step = aph_program_step, .program = &(program_)}; \
        return &model_; \
    }
/* The step of a model made by APH_PROGRAM. It only reports that the model is a program, not a server. */
void aph_program_step(aph *m, aph_value *state);

/* ---- inside a component ------------------------------------------------------------------------------------------ */

/* A label is a string, or an array of a string and integers: APH_ARRAY_OF(aph_str("req"), aph_int(2)) prints as
 * req(2). Its text has at most 199 bytes. */

/* Sends asynchronously: returns at once, or when the port has room. */
void aph_post(aph *m, int port, aph_value label);
/* Sends synchronously: returns when the message is received. */
void aph_pass(aph *m, int port, aph_value label);
/* Receives a message with one of the labels in the array, from a port that the component owns. Returns the label. */
aph_value aph_take(aph *m, int port, aph_value labels);

typedef struct aph_alternative {
    int port;
    aph_value label;
    bool open; /* the guard: if false, this alternative is ignored */
} aph_alternative;
/* Receives a message that matches one of the open alternatives. Returns the index of that alternative. At least one
 * must be open. */
int aph_select(aph *m, size_t n, const aph_alternative *alternatives);

/* Performs a local event with this label, which appears in the local sequences of the component. */
void aph_note(aph *m, const char *label);
/* Ends the component. */
void aph_halt(aph *m) __attribute__((noreturn));

#ifdef __cplusplus
}
#endif
#endif

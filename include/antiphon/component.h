/* SPDX-License-Identifier: Apache-2.0
 *
 * component.h - write a message-passing program as small C programs that send to and receive from ports.
 *
 * A component is a step as in model.h: a plain C function, run until it halts, that is a pure function of *state and of
 * what the calls below return. It is never run against others: it is unfolded into a transition system, by running it
 * with each message that it is ready to receive. A step that is run again from its head must not hold resources.
 *
 * The only free choice of a program is which message is received next: a component does one thing at a time, but for a
 * receive, which may be open to several messages. */
#ifndef ANTIPHON_COMPONENT_H
#define ANTIPHON_COMPONENT_H

#include <antiphon/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What holds messages that were posted and are not received yet. */
typedef enum aph_medium {
    APH_FIFO_PAIR,  /* in the order in which each sender sent them */
    APH_FIFO_PORT,  /* in the order in which they were sent, whoever did */
    APH_UNORDERED,
} aph_medium;

typedef struct aph_port {
    const char *name;
    int owner;          /* the component that receives from it, by its number; all others may send to it */
    aph_medium medium;
    int capacity;       /* messages of one sender in transit; one more has to wait. 0: no limit */
} aph_port;

typedef struct aph_component {
    const char *name;
    aph_step *step;
    aph_value (*initial)(const void *data); /* NULL: the empty object */
    const void *data;                       /* aph_data gives it to the step */
} aph_component;

typedef struct aph_program {
    const char *name;
    const char *summary;
    const aph_component *components;
    const aph_port *ports;
    int component_count, port_count;
} aph_program;

/* A program in a file of its own ends with APH_PROGRAM(my_program), which makes it known to `antiphon reach`. */
#define APH_PROGRAM(program_) \
    const aph_model *aph_model_main(void) \
    { \
        static aph_model model_; \
        model_ = (aph_model){.version = APH_MODEL_VERSION, .name = (program_).name, .summary = (program_).summary, \
                             .step = aph_program_step, .program = &(program_)}; \
        return &model_; \
    }
void aph_program_step(aph *m, aph_value *state); /* of its model: says that it is a program, not a server */

/* ---- what a component may do ------------------------------------------------------------------------------------- */

/* A label is a string, or an array of a string and integers: APH_ARRAY_OF(aph_str("req"), aph_int(2)) reads req(2). */

void aph_post(aph *m, int port, aph_value label);       /* sends, and goes on */
void aph_pass(aph *m, int port, aph_value label);       /* sends, and waits until it is received */
/* Receives one of these labels, an array; returns it. */
aph_value aph_take(aph *m, int port, aph_value labels);

typedef struct aph_alternative {
    int port;
    aph_value label;
    bool open; /* its guard */
} aph_alternative;
/* Receives by one of the alternatives that are open; returns which. At least one must be. */
int aph_select(aph *m, size_t n, const aph_alternative *alternatives);

void aph_note(aph *m, const char *label);               /* an event of its own */
void aph_halt(aph *m) __attribute__((noreturn));        /* the component is over */

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * alts.h - a closed model of a message-passing program: annotated transition systems that meet at ports.
 *
 * A model is a set of components. A component is a graph of states; each transition sends to a port, receives from one
 * of the component's own ports, or is an event of its own (local). A port has one owner, who alone receives from it;
 * anybody else may send to it. A receive takes what is sent, synchronously or asynchronously, if port and label agree.
 *
 *     component   first: |0|1|3|3|        transitions of state s: moves[first[s]] .. moves[first[s + 1] - 1]
 *                 moves: |p!a|q?b|q?c|    a state without any is terminal
 *
 * Restrictions, which aphi_alts_check tests and all that searches relies on:
 *   R1  a state is terminal, or has one send, or one local event, or one receive or more
 *   R2  two receives of one state do not agree in both port and label
 *   closed: the owner of a port is the only one to receive from it, and never sends to it
 *   acyclic: no component comes back to a state (aphi_alts_unroll makes it so, up to a bound)
 *
 * Mediums hold what was sent asynchronously and is not received yet. What is sent synchronously never enters one: its
 * sender waits until it is received. It overtakes nothing from its own sender on a port that keeps order: the receiver
 * takes first what that sender sent there before. */
#ifndef APHI_ALTS_ALTS_H
#define APHI_ALTS_ALTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { APHI_ALTS_COMPONENTS_MAX = 64, APHI_ALTS_PORTS_MAX = 4096, APHI_ALTS_LABELS_MAX = 65535 };

typedef enum aphi_medium {
    APHI_MEDIUM_PAIR,      /* first in, first out, for each sender on its own */
    APHI_MEDIUM_PORT,      /* first in, first out, all senders in one queue; never full */
    APHI_MEDIUM_UNORDERED, /* any message may be received next */
} aphi_medium;

typedef enum aphi_alts_op { APHI_ALTS_SEND, APHI_ALTS_RECEIVE, APHI_ALTS_LOCAL } aphi_alts_op;

typedef struct aphi_alts_move {
    uint32_t target;    /* a state of the same component */
    uint16_t port;      /* not of a local event */
    uint16_t label;
    uint8_t op;         /* aphi_alts_op */
    bool sync;          /* of a send: it waits until it is received. Receives take both kinds */
} aphi_alts_move;

typedef struct aphi_alts_component {
    char *name;
    uint32_t initial, states;
    uint32_t *first;          /* states + 1 of them */
    aphi_alts_move *moves;
} aphi_alts_component;

typedef struct aphi_alts_port {
    char *name;
    uint16_t owner;           /* a component */
    aphi_medium medium;
    /* Messages of one sender that can be in transit on this port: one more waits until one is received. 0: no limit. */
    uint32_t capacity;
} aphi_alts_port;

typedef struct aphi_alts {
    char *name;
    aphi_alts_component *components;
    aphi_alts_port *ports;
    char **labels;            /* each once: equal labels have equal numbers, whatever the port */
    size_t component_count, port_count, label_count;
    size_t component_capacity, port_capacity, label_capacity;
} aphi_alts;

/* ---- making one -------------------------------------------------------------------------------------------------- */

void aphi_alts_init(aphi_alts *a, const char *name);
void aphi_alts_free(aphi_alts *a);
/* The number of the component, port or label of that name; SIZE_MAX if there is none. */
size_t aphi_alts_component_named(const aphi_alts *a, const char *name);
size_t aphi_alts_port_named(const aphi_alts *a, const char *name);
size_t aphi_alts_label_named(const aphi_alts *a, const char *name);
/* Adds one; SIZE_MAX if there are too many. The name must be new for components and ports; a label that is known keeps
 * its number. */
size_t aphi_alts_add_component(aphi_alts *a, const char *name);
size_t aphi_alts_add_port(aphi_alts *a, const char *name, size_t owner, aphi_medium medium, uint32_t capacity);
size_t aphi_alts_add_label(aphi_alts *a, const char *name);
/* Gives a component its states and moves: moves[i] leaves from[i]; in any order, they are sorted by it, stably. */
void aphi_alts_fill(aphi_alts *a, size_t component, uint32_t initial, uint32_t states, size_t count,
                    const uint32_t *from, const aphi_alts_move *moves);

/* ---- checking one ------------------------------------------------------------------------------------------------ */

typedef enum aphi_alts_flaw {
    APHI_ALTS_SOUND,
    APHI_ALTS_MIXED,     /* R1 */
    APHI_ALTS_AMBIGUOUS, /* R2 */
    APHI_ALTS_OPEN,      /* somebody receives from a port that is not his own, or sends to his own */
    APHI_ALTS_CYCLIC,    /* and nothing else is wrong */
} aphi_alts_flaw;

/* What is wrong, if something is: why names component and state. It also looks at what cannot be
 * reached. */
aphi_alts_flaw aphi_alts_check(const aphi_alts *a, char *why, size_t size);
/* Can each state that waits be sent something? If not, why says which cannot: that is a deadlock, or the model leaves
 * out who sends there. */
bool aphi_alts_is_fed(const aphi_alts *a, char *why, size_t size);
/* Makes components with cycles acyclic: no run enters a state more than `times` times; where it would, it ends. Each
 * cycle is bounded on its own. False: it becomes too large. */
bool aphi_alts_unroll(aphi_alts *a, uint32_t times, char *why, size_t size);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * alts.h - annotated labelled transition systems (ALTS): a closed model of a message-passing program.
 *
 * A model is a set of components. A component is a graph of states. Each transition ("move") sends to a port, receives
 * from one of the component's own ports, or is a local event. Only the owner of a port receives from it; any other
 * component may send to it. A receive accepts synchronous and asynchronous sends of its port and label.
 *
 *     component   first: |0|1|3|3|        transitions of state s: moves[first[s]] .. moves[first[s + 1] - 1]
 *                 moves: |p!a|q?b|q?c|    a state without moves is terminal
 *
 * Restrictions, checked by aphi_alts_check; all searches rely on them:
 * R1  a state is terminal, or has exactly one send, exactly one local event, or only receives
 *   R2  two receives of one state differ in port or label
 * closed: only the owner of a port receives from it, and the owner never sends to it
 *   acyclic: no component returns to a state (aphi_alts_unroll bounds cycles)
 *
 * A medium holds the asynchronous messages in transit. A synchronous message never enters a medium: its sender waits
 * until the message is received. On an ordered port, a synchronous message does not overtake others from its sender. */
#ifndef APHI_ALTS_ALTS_H
#define APHI_ALTS_ALTS_H

#include "base/buffer.h"

enum { APHI_ALTS_COMPONENTS_MAX = 64, APHI_ALTS_PORTS_MAX = 4096, APHI_ALTS_LABELS_MAX = 65535 };

typedef enum aphi_medium {
    APHI_MEDIUM_PAIR,      /* FIFO for each sender */
    APHI_MEDIUM_PORT,      /* FIFO, one queue for all senders */
    APHI_MEDIUM_UNORDERED, /* any message may be received next */
} aphi_medium;

typedef enum aphi_alts_op { APHI_ALTS_SEND, APHI_ALTS_RECEIVE, APHI_ALTS_LOCAL } aphi_alts_op;

typedef struct aphi_alts_move {
    uint32_t target;    /* a state of the same component */
    uint16_t port;      /* unused by a local event */
    uint16_t label;
    uint8_t op;         /* aphi_alts_op */
    bool sync;          /* for a send: the sender waits for the receive; a receive accepts both kinds */
} aphi_alts_move;

typedef struct aphi_alts_component {
    char *name;
    uint32_t initial, states;
    uint32_t *first;          /* states + 1 entries */
    aphi_alts_move *moves;
} aphi_alts_component;

typedef struct aphi_alts_port {
    char *name;
    uint16_t owner;           /* a component */
    aphi_medium medium;
    /* Maximum number of messages in transit from one sender; a sender beyond it waits. 0: no limit. */
    uint32_t capacity;
} aphi_alts_port;

typedef struct aphi_alts {
    char *name;
    aphi_alts_component *components;
    aphi_alts_port *ports;
    char **labels;            /* without duplicates: a label has the same number on all ports */
    size_t component_count, port_count, label_count;
    size_t component_capacity, port_capacity, label_capacity;
} aphi_alts;

/* ---- construction ------------------------------------------------------------------------------------------------ */

void aphi_alts_init(aphi_alts *a, const char *name);
void aphi_alts_free(aphi_alts *a);
/* Returns the index of the component, port or label with that name, or SIZE_MAX. */
size_t aphi_alts_component_named(const aphi_alts *a, const char *name);
size_t aphi_alts_port_named(const aphi_alts *a, const char *name);
size_t aphi_alts_label_named(const aphi_alts *a, const char *name);
/* Adds a component, port or label and returns its index, or SIZE_MAX at the limit. Names of components and ports must
 * be new; an existing label keeps its index. */
size_t aphi_alts_add_component(aphi_alts *a, const char *name);
size_t aphi_alts_add_port(aphi_alts *a, const char *name, size_t owner, aphi_medium medium, uint32_t capacity);
size_t aphi_alts_add_label(aphi_alts *a, const char *name);
/* Sets the states and moves of a component: moves[i] leaves from[i]. Moves are sorted by state, stably. */
void aphi_alts_fill(aphi_alts *a, size_t component, uint32_t initial, uint32_t states, size_t count,
                    const uint32_t *from, const aphi_alts_move *moves);

/* ---- checks ------------------------------------------------------------------------------------------------------ */

typedef enum aphi_alts_flaw {
    APHI_ALTS_SOUND,
    APHI_ALTS_MIXED,      /* R1 */
    APHI_ALTS_AMBIGUOUS,  /* R2 */
    APHI_ALTS_NOT_CLOSED, /* a component receives from a foreign port, or sends to its own */
    APHI_ALTS_CYCLIC,     /* has a cycle, but no other flaw */
} aphi_alts_flaw;

/* Returns the first flaw, and describes it in `why` with its component and state. Checks unreachable states, too. */
aphi_alts_flaw aphi_alts_check(const aphi_alts *a, char *why, size_t size);
/* Returns false, and describes the state in `why`, if a state waits only on ports to which no component sends. Such a
 * model has a deadlock, or lacks the sender. */
bool aphi_alts_check_senders(const aphi_alts *a, char *why, size_t size);
/* Makes components with cycles acyclic: a run ends instead of entering a state more than `times` times. Each cycle is
 * bounded separately. Returns false if the result is too large. */
bool aphi_alts_unroll(aphi_alts *a, uint32_t times, char *why, size_t size);

/* ---- text formats: .alts, Aldebaran .aut, Graphviz --------------------------------------------------------------- */

typedef enum aphi_alts_problem {
    APHI_ALTS_READ, /* no problem */
    APHI_ALTS_UNREADABLE, /* the file, or a file that it names, cannot be read */
    APHI_ALTS_MALFORMED,
} aphi_alts_problem;

/* Reads a model (docs/message-passing.md). Relative names of behaviour files are relative to its folder. On failure,
 * `why` is "file:line: problem", and there is nothing to free. */
aphi_alts_problem aphi_alts_read_file(const char *name, aphi_alts *a, char *why, size_t size);
/* Reads a model from text in memory, which must not name behaviour files. */
bool aphi_alts_read(const char *name, const char *text, size_t n, aphi_alts *a, char *why, size_t size);
/* Reads an .aut file as the behaviour of a component of `a`. The component and all ports exist already. */
bool aphi_aut_read(const char *name, const char *text, size_t n, aphi_alts *a, size_t component, char *why,
                   size_t size);

void aphi_alts_write(const aphi_alts *a, FILE *out);
void aphi_aut_write(const aphi_alts *a, size_t component, FILE *out);
void aphi_dot_write(const aphi_alts *a, FILE *out);

/* Appends an event of a sequence as JSON, without the closing brace; a local event has only op and label:
 * {"op":"send","sync":true,"port":"p","label":"m","peer":"B" */
void aphi_alts_event_json(aphi_buffer *out, aphi_alts_op op, bool sync, const char *port, const char *label,
                          const char *peer);
/* Appends an item of an array of messages: ["p","m"], or with a sender ["p","m","A"]. `sender` may be NULL. */
void aphi_alts_message_json(aphi_buffer *out, bool first, const char *port, const char *label, const char *sender);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * transition.h - all results that a model may have for one request. */
#ifndef APHI_ORACLE_TRANSITION_H
#define APHI_ORACLE_TRANSITION_H

#include <antiphon/oracle.h>

/* A suspended server: the model, the constraints on its unknowns, and the messages that it has sent but that are not
 * yet observed. In normal form: equal cores have equal words. */
typedef struct aphi_core {
    aph_value state;    /* at the start of the step */
    aph_value answers;  /* answers to the events since then; APH_NIL at the start */
    aph_value store;    /* constraints on the symbols */
    aph_value outbox;   /* object: connection -> array of messages, or false if it is ignored; APH_NIL if empty */
    uint32_t fresh;     /* symbols are numbered below this */
} aphi_core;

static inline bool aphi_core_equal(const aphi_core *a, const aphi_core *b)
{
    return a->state == b->state && a->answers == b->answers && a->store == b->store && a->outbox == b->outbox;
}

void aphi_core_mark(const aphi_core *c); /* for a root */

/* The treatment of the messages that a step sends. */
typedef enum aphi_send_mode {
    APHI_EXPECT, /* there must be exactly one, to the sender of the request and equal to the expected one */
    APHI_KEEP,   /* they are added to the outbox */
    APHI_DROP,   /* they will never be observed */
} aphi_send_mode;

typedef struct aphi_successor {
    aphi_core core;
    aph_value path; /* array of the answers at the branches on the way; APH_NIL without branches */
} aphi_successor;

enum { APHI_FAULT_BYTES = 700 }; /* size of the message of a fault */

typedef struct aphi_machine aphi_machine;

/* lossy: the outbox is unordered and keeps its messages, so that a message sent twice counts once. */
aphi_machine *aphi_machine_open(const aph_model *model, bool rpc, bool lossy, int64_t solver_ms);
void aphi_machine_close(aphi_machine *m);

/* Functions that return successors set *n to their number, which may be 0. Successors are valid until the next call. */
/* Returns the server before its first request. */
const aphi_successor *aphi_machine_start(aphi_machine *m, size_t *n);
/* Returns all results of the request. expected is used only with APHI_EXPECT. An rpc model that does not distinguish
 * connections gets the same number from all of them, except with APHI_KEEP. */
const aphi_successor *aphi_machine_feed(aphi_machine *m, const aphi_core *core, int64_t from, aph_value message,
                                     aphi_send_mode mode, aph_value expected, size_t *n);
/* Without message order: returns all ways in which a message in the outbox for the connection can be the observed one.
 * The message stays in the outbox, since it may be observed again. */
const aphi_successor *aphi_machine_deliver(aphi_machine *m, const aphi_core *core, int64_t connection, aph_value seen,
                                       size_t *n);
/* Like aphi_machine_deliver, for a connection that the server opened. At its first message, the successors also choose
 * the matching connection of the model. */
const aphi_successor *aphi_machine_accept(aphi_machine *m, const aphi_core *core, int64_t connection, aph_value seen,
                                      size_t *n);
/* Removes the oldest message for the connection. Returns false if it cannot equal the observed one. */
bool aphi_machine_match(aphi_machine *m, aphi_core *core, int64_t connection, aph_value seen);
/* Removes a message for the connection; place 0 is the oldest. */
void aphi_machine_discard(aphi_core *core, int64_t connection, size_t place);

/* Return true if there is a message for the connection, or for any connection. */
bool aphi_outbox_has(const aphi_core *core, int64_t connection);
bool aphi_outbox_has_any(const aphi_core *core);
/* Ignores all further messages to the connection: one of them was lost, and it is unknown which. */
void aphi_outbox_ignore(aphi_core *core, int64_t connection);
bool aphi_outbox_is_ignored(const aphi_core *core, int64_t connection);
void aphi_outbox_clear(aphi_core *core);
/* Returns true if the last message for the connection is its close. */
bool aphi_outbox_is_closed(const aphi_core *core, int64_t connection);
/* Removes all messages for the connection. */
void aphi_outbox_drop(aphi_core *core, int64_t connection);
/* Returns the connection with this name in the outbox. */
int64_t aphi_outbox_connection(aph_value name);
/* Returns an array of all messages that can be observed next on the connection. */
aph_value aphi_outbox_candidates(const aphi_machine *m, const aphi_core *core, int64_t connection);
/* Returns the model's number for a connection that the server opened; 0 if it is unknown. */
int64_t aphi_outbox_own_number(const aphi_core *core, int64_t connection);
/* Removes that number, because nothing more will arrive on the connection. */
void aphi_outbox_close(aphi_core *core, int64_t connection);

/* Returns true once the model has been found to distinguish connections: a result depends on the number of a connection
 * in another way than by the destination of the response. tell_apart: the model is known to do so. */
bool aphi_machine_tells_apart(const aphi_machine *m);
void aphi_machine_tell_apart(aphi_machine *m);

/* A fault stops the search. undecided: the solver gave up on a branch, which was dropped. */
aph_fault aphi_machine_fault(const aphi_machine *m, const char **message);
bool aphi_machine_undecided(const aphi_machine *m);
bool aphi_machine_out_of_time(const aphi_machine *m); /* a limit was reached */
aph_limit aphi_machine_limit(const aphi_machine *m);
/* Starts to count results by the named alternatives and decisions on their paths. branches returns an object of counts
 * by name ("strong tag"; a false decision is "not " and its name), with 0 for those that were never taken. */
void aphi_machine_count_branches(aphi_machine *m);
aph_value aphi_machine_branches(const aphi_machine *m);
uint64_t aphi_machine_steps(const aphi_machine *m);
size_t aphi_machine_bytes(const aphi_machine *m);

#endif

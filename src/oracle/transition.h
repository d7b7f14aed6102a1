/* SPDX-License-Identifier: Apache-2.0
 *
 * transition.h - all that a model may do with one request. */
#ifndef APHI_ORACLE_TRANSITION_H
#define APHI_ORACLE_TRANSITION_H

#include <antiphon/oracle.h>

/* A server in the middle of its work: a suspended model, what is known of its unknowns, and what it has said that has
 * not been seen yet. In normal form, so equal situations are equal words. */
typedef struct aphi_core {
    aph_value state;    /* at the head of the step */
    aph_value answers;  /* to the events since; APH_NIL at the head */
    aph_value store;    /* constraints on the symbols */
    aph_value mail;     /* object: connection -> array of messages sent but not seen, false if deaf; APH_NIL if none */
    uint32_t fresh;     /* symbols are numbered below this */
} aphi_core;

static inline bool aphi_core_equal(const aphi_core *a, const aphi_core *b)
{
    return a->state == b->state && a->answers == b->answers && a->store == b->store && a->mail == b->mail;
}

void aphi_core_mark(const aphi_core *c); /* in a root */

/* What becomes of the messages that the step sends. */
typedef enum aphi_fate {
    APHI_EXPECT, /* there must be one, to the sender of the request, and it must be this one */
    APHI_KEEP,   /* they go to the mail */
    APHI_DROP,   /* nobody will see them */
} aphi_fate;

typedef struct aphi_successor {
    aphi_core core;
    aph_value path; /* what each branch on the way was, as an array; APH_NIL without branches */
} aphi_successor;

typedef struct aphi_machine aphi_machine;

/* lossy: mail has no order and stays, so that a message said twice is as one. */
aphi_machine *aphi_machine_open(const aph_model *model, bool rpc, bool lossy, int64_t solver_ms);
void aphi_machine_close(aphi_machine *m);

/* The server before its first request. */
const aphi_successor *aphi_machine_start(aphi_machine *m, size_t *n);
/* Everything that feeding the request may come to; valid until the next call. Empty if nothing can. */
const aphi_successor *aphi_machine_feed(aphi_machine *m, const aphi_core *core, int64_t from, aph_value message,
                                     aphi_fate fate, aph_value expected, size_t *n);
/* Is there mail for the connection? */
bool aphi_mail_waits(const aphi_core *core, int64_t connection);
/* Nothing more is to be seen on this connection: an answer was lost of which nobody can say which it would have been.
 * */
void aphi_mail_deafen(aphi_core *core, int64_t connection);
bool aphi_mail_deaf(const aphi_core *core, int64_t connection);
bool aphi_mail_waits_anywhere(const aphi_core *core);
/* Nothing that was said will be seen any more. */
void aphi_mail_forget(aphi_core *core);
/* Where messages overtake each other and come twice: all ways in which something said to the connection can be what was
 * seen. It stays, since it may be seen again. Valid until the next call of this or of aphi_machine_feed. */
const aphi_successor *aphi_machine_deliver(aphi_machine *m, const aphi_core *core, int64_t connection, aph_value seen,
                                       size_t *n);
/* The same for a connection that the server opened to us: which of the model's own it is, if nothing was said on it
 * before, is part of the way. */
const aphi_successor *aphi_machine_accept(aphi_machine *m, const aphi_core *core, int64_t connection, aph_value seen,
                                      size_t *n);
/* Everything said that could be seen next on the connection, where that may be more than one message; an array. */
aph_value aphi_mail_for(const aphi_machine *m, const aphi_core *core, int64_t connection);
/* The model's own number for a connection that the server opened to us; 0 if it is not known. */
int64_t aphi_mail_opened(const aphi_core *core, int64_t connection);
/* Nothing more is to come on it. */
void aphi_mail_hang_up(aphi_core *core, int64_t connection);
/* Take the oldest mail of the connection, which must be able to equal the message seen. */
bool aphi_machine_match(aphi_machine *m, aphi_core *core, int64_t connection, aph_value seen);
/* Throw a mail of the connection away; place 0 is the oldest. */
void aphi_machine_discard(aphi_core *core, int64_t connection, size_t place);

/* Trouble so far: a fault stops everything; undecided means that the solver gave up on some branch, which was dropped.
 * */
aph_fault aphi_machine_fault(const aphi_machine *m, const char **message);
bool aphi_machine_undecided(const aphi_machine *m);
bool aphi_machine_out_of_time(const aphi_machine *m);
/* From now on, how often results went which way where the model names its ways: "strong tag"; of a decision, its name
 * or "not " and its name. An object of counts, with 0 for ways that were seen and never taken. */
void aphi_machine_count_branches(aphi_machine *m);
aph_value aphi_machine_branches(const aphi_machine *m);
uint64_t aphi_machine_steps(const aphi_machine *m);
size_t aphi_machine_bytes(const aphi_machine *m);

#endif

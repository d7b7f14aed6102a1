/* SPDX-License-Identifier: Apache-2.0
 *
 * generator.h - the next action of a run: its request, its connection, its wait. */
#ifndef APHI_GENERATE_GENERATOR_H
#define APHI_GENERATE_GENERATOR_H

#include <antiphon/model.h>
#include "script/expression.h"
#include "script/script.h"

typedef struct aphi_generator aphi_generator;

/* The information that a generator may use for an action. It is borrowed for the call. */
typedef struct aphi_knowledge {
    aph_value state;               /* of the model in some explanation, or APH_NIL */
    const aphi_labelled *seen;
    const uint32_t *in_flight;     /* by connection: outstanding requests */
    size_t connections;
    /* An object that maps each branch of the model to the number of times that explanations took it, or APH_NIL. Kinds
     * of requests and field values that led to a new branch are generated more often. */
    aph_value branches;
} aphi_knowledge;

/* Opens the model's generator, or one made from its shape. Returns NULL with a message if the model has neither, or its
 * shape is invalid. depth: the largest number of requests in flight on a connection. */
aphi_generator *aphi_generator_open(const aph_model *model, uint64_t seed, size_t connections, size_t depth,
                                    char *error, size_t error_size);
void aphi_generator_close(aphi_generator *g);
/* Ensures that no connection has requests of different partitions in flight, if the model has partitions. This is
 * needed to judge them separately (oracle/partitions.h). Call it before the first action. */
void aphi_generator_keep_apart(aphi_generator *g);
/* Adds connections that are used only in place of blocked ones. Call it before the first action. */
void aphi_generator_add_spares(aphi_generator *g, size_t spares);
/* Lets up to n actions wait for silence, each of them after an abort or close. For a model with connections. Call it
 * before the first action. */
void aphi_generator_add_silences(aphi_generator *g, unsigned n);
/* A blocked connection gets no further requests until it is unblocked. */
void aphi_generator_block(aphi_generator *g, int64_t connection);
void aphi_generator_unblock(aphi_generator *g, int64_t connection);
/* Returns the number of connections in use that are not blocked. If there are none, there is no next action. */
size_t aphi_generator_usable(const aphi_generator *g);
/* The connection has ended. The next action on it opens it again. */
void aphi_generator_note_end(aphi_generator *g, int64_t connection);
/* Withdraws the latest action, which will not be performed. */
void aphi_generator_withdraw(aphi_generator *g, const aphi_action *a);
/* Ends the current phase. Call it if a calm phase takes too long, because the responses are slow. */
void aphi_generator_end_phase(aphi_generator *g);
/* Returns the next action of the run: a send, or rarely a close. No connection starves. A connection is closed only
 * when it has no outstanding requests. An action waits only for responses to requests of this generator. Returns an
 * action with label 0 if the model's generator is wrong; see aphi_generator_error. */
aphi_action aphi_generator_next(aphi_generator *g, const aphi_knowledge *known);
/* Call this when an action is performed after later ones. Returns its new label, which is greater than all earlier
 * labels; later waits for the action use it. */
int64_t aphi_generator_rename(aphi_generator *g, int64_t connection, int64_t label);
/* Returns true if the latest action is in a calm phase, in which each request waits for the previous response. */
bool aphi_generator_is_calm(const aphi_generator *g);
const char *aphi_generator_error(const aphi_generator *g);

/* Returns the kind of a request, a string. request: a message or an expression. */
aph_value aphi_request_kind(const aph_model *model, aph_value request);
/* Returns an object whose keys are the kinds of requests in 1,000 draws without known messages. */
aph_value aphi_generator_kinds(const aph_model *model);
/* Returns the frequent values of fields in 5,000 such draws: for each field, an array of [VALUE, FIELDS]. The keys of
 * FIELDS are the fields of all requests with that value. Values have no holes. */
aph_value aphi_generator_values(const aph_model *model);

#endif

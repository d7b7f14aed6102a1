/* SPDX-License-Identifier: Apache-2.0
 *
 * generator.h - what to send next, on which connection, after what. */
#ifndef APHI_GENERATE_GENERATOR_H
#define APHI_GENERATE_GENERATOR_H

#include <antiphon/model.h>
#include "script/expression.h"
#include "script/script.h"

typedef struct aphi_generator aphi_generator;

/* What a generator may look at when it makes an action. All is borrowed for the call. */
typedef struct aphi_knowledge {
    aph_value state;               /* of an explanation that is alive, or APH_NIL */
    const aphi_labelled *seen;
    const uint32_t *in_flight;     /* by connection: requests without an answer */
    size_t connections;
    /* Branches of the model by name, and how often explanations took them; an object, or APH_NIL. Kinds of requests and
     * field values that led to a branch not reached before are made more often. */
    aph_value branches;
} aphi_knowledge;

/* The model's generator, or one made from its shape. NULL with a message if the model has neither, or its shape is
 * wrong. depth: requests that one connection may have in flight. */
aphi_generator *aphi_generator_open(const aph_model *model, uint64_t seed, size_t connections, size_t depth,
                                    char *error, size_t error_size);
void aphi_generator_close(aphi_generator *g);
/* Before the first action: no connection shall have requests of different parts in flight, if the model has parts. Only
 * then can the parts be judged apart (oracle/partitions.h). */
void aphi_generator_keep_apart(aphi_generator *g);
/* The next action of the run: a send with label, connection, wait and chunk, or now and then a close. Every connection
 * is used: none waits for ever while others are served. A connection is closed only when nothing is in flight on it.
 * What is known is as of the action before; an action waits only for answers to requests that this generator made.
 * An action with the label 0 is none: the model's generator is at fault, and aphi_generator_error says how. */
aphi_action aphi_generator_next(aphi_generator *g, const aphi_knowledge *known);
/* An action on that connection is performed later than others that were made after it: its new label, greater than all
 * before. Waits for it that are made from now on are for the new one. */
int64_t aphi_generator_rename(aphi_generator *g, int64_t on, int64_t label);
/* Of the latest action: each waits for the one before. */
bool aphi_generator_is_calm(const aphi_generator *g);
const char *aphi_generator_error(const aphi_generator *g);

/* What kind of request it is, a string; given as a message or as an expression. */
aph_value aphi_request_kind(const aph_model *model, aph_value request);
/* The kinds of requests that come up in a thousand draws by somebody who has seen nothing yet: an object whose keys
 * they are. */
aph_value aphi_generator_kinds(const aph_model *model);
/* What the fields of requests often say, in five thousand such draws: an object that has for each an array of
 * [VALUE, FIELDS]. FIELDS is an object whose keys are all the fields that requests had which say so. There are no holes
 * in the values. */
aph_value aphi_generator_values(const aph_model *model);

#endif

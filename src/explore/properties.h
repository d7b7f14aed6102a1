/* SPDX-License-Identifier: Apache-2.0
 *
 * properties.h - properties that every sequence of a model must have. */
#ifndef APHI_EXPLORE_PROPERTIES_H
#define APHI_EXPLORE_PROPERTIES_H

#include "explore/sequence.h"

/* ---- forbidden states: combinations of component states that no sequence may reach ------------------------------- */

typedef struct aphi_forbidden {
    const char **texts;           /* "COMPONENT=STATE,..." */
    aphi_thread_state **states;   /* for each text, once it is parsed */
    size_t *state_counts;
    size_t count, capacity;
} aphi_forbidden;                 /* all zero: nothing is forbidden */

/* The text must outlive the list. */
void aphi_forbidden_add(aphi_forbidden *f, const char *text);
/* Parses the texts. Returns false with a message if one is invalid for the model. */
bool aphi_forbidden_parse(aphi_forbidden *f, const aphi_compiled_model *model, char *error, size_t size);
/* Returns a combination that the sequence can reach, or NULL. */
const char *aphi_forbidden_reached(const aphi_forbidden *f, const aphi_sequence *s);
void aphi_forbidden_free(aphi_forbidden *f);

/* ---- all properties ---------------------------------------------------------------------------------------------- */

typedef struct aphi_properties {
    bool deadlock_free;
    const char *exclusive;     /* a local event, or NULL: at most one component at a time may be in a state after it */
    aphi_forbidden forbidden;
    size_t exclusive_label;    /* set by aphi_properties_resolve; SIZE_MAX: none */
} aphi_properties;

bool aphi_properties_any(const aphi_properties *p);
/* Looks up the names in the model. Returns false with a message if the model lacks one. */
bool aphi_properties_resolve(aphi_properties *p, const aphi_compiled_model *model, char *error, size_t size);
/* Returns true with a description if the sequence violates a property. */
bool aphi_properties_violated(const aphi_properties *p, const aphi_sequence *s, const aphi_compiled_model *model,
                              char *why, size_t size);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * forbidden_states.h - combinations of component states that no sequence may reach. */
#ifndef APHI_EXPLORE_FORBIDDEN_STATES_H
#define APHI_EXPLORE_FORBIDDEN_STATES_H

#include "explore/sequence.h"

typedef struct aphi_forbidden {
    const char **texts;           /* "COMPONENT=STATE,..." */
    aphi_thread_state **states;   /* of each text, once they are parsed */
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

#endif

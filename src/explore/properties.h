/* SPDX-License-Identifier: Apache-2.0
 *
 * properties.h - properties that every sequence of a model must have. */
#ifndef APHI_EXPLORE_PROPERTIES_H
#define APHI_EXPLORE_PROPERTIES_H

#include "explore/forbidden_states.h"

typedef struct aphi_properties {
    bool deadlock_free;
    const char *exclusive;     /* a local event: no two components may be in the states after it at once; or NULL */
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

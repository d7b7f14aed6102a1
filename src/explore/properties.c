/* SPDX-License-Identifier: Apache-2.0
 *
 * properties.c - properties that every sequence of a model must have. */
#include "explore/properties.h"

#include <stdio.h>

bool aphi_properties_any(const aphi_properties *p)
{
    return p->deadlock_free || p->exclusive || p->forbidden.count;
}

/* The label of a local event; SIZE_MAX if no component has such an event, even if messages have that label. */
static size_t local_event_named(const aphi_alts *a, const char *name)
{
    size_t label = aphi_alts_label_named(a, name);
    for (size_t t = 0; t < a->component_count; t++) {
        const aphi_alts_component *c = &a->components[t];
        for (uint32_t i = 0; i < c->first[c->states]; i++)
            if (c->moves[i].op == APHI_ALTS_LOCAL && c->moves[i].label == label)
                return label;
    }
    return SIZE_MAX;
}

bool aphi_properties_resolve(aphi_properties *p, const aphi_compiled_model *model, char *error, size_t size)
{
    char why[300];
    p->exclusive_label = p->exclusive ? local_event_named(model->alts, p->exclusive) : SIZE_MAX;
    if (p->exclusive && p->exclusive_label == SIZE_MAX) {
        snprintf(error, size, "--exclusive %s: %s has no local event of that name", p->exclusive, model->alts->name);
        return false;
    }
    if (aphi_forbidden_parse(&p->forbidden, model, why, sizeof why))
        return true;
    snprintf(error, size, "--forbid %s", why);
    return false;
}

/* Lists the waiting components and their states. */
static void describe_deadlock(const aphi_sequence *s, const aphi_compiled_model *model, char *why, size_t size)
{
    size_t used = (size_t)snprintf(why, size, "it ends in a deadlock:");
    for (size_t t = 0, waiting = 0; t < model->thread_count && used < size; t++)
        if (model->states[s->end_states[t]].kind != APHI_COMPILED_TERMINAL)
            used += (size_t)snprintf(why + used, size - used, "%s component %s waits in state %u",
                                     waiting++ ? "," : "", model->alts->components[t].name,
                                     s->end_states[t] - model->threads[t].base);
}

bool aphi_properties_violated(const aphi_properties *p, const aphi_sequence *s, const aphi_compiled_model *model,
                              char *why, size_t size)
{
    unsigned t, u;
    if (p->deadlock_free && s->deadlock) {
        describe_deadlock(s, model, why, size);
        return true;
    }
    const char *reached = aphi_forbidden_reached(&p->forbidden, s);
    if (reached) {
        snprintf(why, size, "%s can hold at the same time", reached);
        return true;
    }
    if (p->exclusive_label == SIZE_MAX || !aphi_sequence_find_overlap(s, p->exclusive_label, &t, &u))
        return false;
    snprintf(why, size, "%s and %s can both be after %s at the same time", model->alts->components[t].name,
             model->alts->components[u].name, p->exclusive);
    return true;
}

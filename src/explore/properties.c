/* SPDX-License-Identifier: Apache-2.0
 *
 * properties.c - properties that every sequence of a model must have. */
#include "explore/properties.h"

#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- forbidden states -------------------------------------------------------------------------------------------- */

typedef struct parser {
    const aphi_compiled_model *model;
    const char *text;
    char *error;
    size_t size;
} parser;

void aphi_forbidden_add(aphi_forbidden *f, const char *text)
{
    APHI_PUSH(f->texts, f->count, f->capacity, text);
}

/* States are numbered within a component, as --print alts numbers them. */
static bool parse_state(const aphi_compiled_model *model, unsigned thread, const char *text, uint32_t *state)
{
    char *end;
    unsigned long number = strtoul(text, &end, 10);
    *state = model->threads[thread].base + (uint32_t)number;
    return *text >= '0' && *text <= '9' && !*end && number < model->threads[thread].states;
}

static bool parse_pair(const parser *p, char *word, aphi_thread_state *state)
{
    char *equals = strrchr(word, '=');
    if (!equals) {
        snprintf(p->error, p->size, "%s: %s is not COMPONENT=STATE", p->text, word);
        return false;
    }
    *equals = 0;
    size_t component = aphi_alts_component_named(p->model->alts, word);
    if (component == SIZE_MAX) {
        snprintf(p->error, p->size, "%s: %s has no component %s", p->text, p->model->alts->name, word);
        return false;
    }
    state->thread = (unsigned)component;
    if (parse_state(p->model, state->thread, equals + 1, &state->state))
        return true;
    snprintf(p->error, p->size, "%s: the states of %s are numbers from 0 to %u; see --print alts", p->text, word,
             p->model->threads[component].states - 1);
    return false;
}

static bool parse_text(const parser *p, char *copy, aphi_thread_state *states, size_t *count)
{
    for (char *word = copy, *next; word; word = next) {
        next = strchr(word, ',');
        if (next)
            *next++ = 0;
        if (!parse_pair(p, word, &states[*count]))
            return false;
        for (size_t i = 0; i < *count; i++)
            if (states[i].thread == states[*count].thread) {
                snprintf(p->error, p->size, "%s: %s is named twice", p->text, word);
                return false;
            }
        ++*count;
    }
    return true;
}

bool aphi_forbidden_parse(aphi_forbidden *f, const aphi_compiled_model *model, char *error, size_t size)
{
    bool valid = true;
    f->states = aphi_alloc_zero((f->count + 1) * sizeof *f->states);
    f->state_counts = aphi_alloc_zero((f->count + 1) * sizeof *f->state_counts);
    for (size_t i = 0; i < f->count && valid; i++) {
        char *copy = aphi_copy(f->texts[i], strlen(f->texts[i]) + 1);
        f->states[i] = aphi_alloc((model->thread_count + 1) * sizeof **f->states);
        valid = parse_text(&(parser){model, f->texts[i], error, size}, copy, f->states[i], &f->state_counts[i]);
        free(copy);
    }
    return valid;
}

const char *aphi_forbidden_reached(const aphi_forbidden *f, const aphi_sequence *s)
{
    for (size_t i = 0; i < f->count; i++)
        if (aphi_sequence_can_reach(s, f->states[i], f->state_counts[i]))
            return f->texts[i];
    return NULL;
}

void aphi_forbidden_free(aphi_forbidden *f)
{
    for (size_t i = 0; f->states && i < f->count; i++)
        free(f->states[i]);
    APHI_FREE_ALL(f->states, f->state_counts, f->texts);
    *f = (aphi_forbidden){0};
}

/* ---- all properties ---------------------------------------------------------------------------------------------- */

bool aphi_properties_any(const aphi_properties *p)
{
    return p->deadlock_free || p->exclusive || p->forbidden.count;
}

/* Returns the label of a local event, or SIZE_MAX if no component has such an event, even if messages have it. */
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

/* SPDX-License-Identifier: Apache-2.0
 *
 * forbidden.c - what must never be, read and looked for. */
#include "cli/forbidden.h"

#include "base/memory.h"
#include "cli/commands.h"

#include <stdlib.h>
#include <string.h>

void aphi_forbidden_add(aphi_forbidden *n, const char *text)
{
    APHI_RESERVE(n->texts, n->capacity, n->count + 1);
    n->texts[n->count++] = text;
}

/* The state of a component, as messages and --print alts number it. */
static bool read_state(const aphi_compiled_model *plan, unsigned thread, const char *text, uint32_t *state)
{
    char *end;
    unsigned long number = strtoul(text, &end, 10);
    *state = plan->threads[thread].base + (uint32_t)number;
    return *text >= '0' && *text <= '9' && !*end && number < plan->threads[thread].states;
}

static int read_point(const aphi_compiled_model *plan, const char *text, char *word, aphi_thread_state *point)
{
    char *equals = strrchr(word, '=');
    if (!equals)
        return aphi_usage("--forbid %s: %s is not COMPONENT=STATE", text, word);
    *equals = 0;
    size_t component = aphi_alts_component_named(plan->alts, word);
    if (component == SIZE_MAX)
        return aphi_usage("--forbid %s: %s has no component %s", text, plan->alts->name, word);
    point->thread = (unsigned)component;
    if (!read_state(plan, point->thread, equals + 1, &point->state))
        return aphi_usage("--forbid %s: the states of %s are numbers from 0 to %u, as --print alts says", text, word,
                          plan->threads[component].states - 1);
    return 0;
}

static int read_text(const aphi_compiled_model *plan, const char *text, char *copy, aphi_thread_state *points,
                     size_t *count)
{
    for (char *word = copy, *next; word; word = next) {
        next = strchr(word, ',');
        if (next)
            *next++ = 0;
        int code = read_point(plan, text, word, &points[*count]);
        if (code)
            return code;
        for (size_t i = 0; i < *count; i++)
            if (points[i].thread == points[*count].thread)
                return aphi_usage("--forbid %s: %s is named twice", text, word);
        ++*count;
    }
    return 0;
}

int aphi_forbidden_read(aphi_forbidden *n, const aphi_compiled_model *plan)
{
    int code = 0;
    n->points = aphi_alloc_zero((n->count + 1) * sizeof *n->points);
    n->point_counts = aphi_alloc_zero((n->count + 1) * sizeof *n->point_counts);
    for (size_t i = 0; i < n->count && !code; i++) {
        char *copy = aphi_copy(n->texts[i], strlen(n->texts[i]) + 1);
        n->points[i] = aphi_alloc((plan->thread_count + 1) * sizeof **n->points);
        code = read_text(plan, n->texts[i], copy, n->points[i], &n->point_counts[i]);
        free(copy);
    }
    return code;
}

const char *aphi_forbidden_broken(const aphi_forbidden *n, const aphi_sequence *s)
{
    for (size_t i = 0; i < n->count; i++)
        if (aphi_sequence_can_reach(s, n->points[i], n->point_counts[i]))
            return n->texts[i];
    return NULL;
}

void aphi_forbidden_free(aphi_forbidden *n)
{
    for (size_t i = 0; n->points && i < n->count; i++)
        free(n->points[i]);
    free(n->points);
    free(n->point_counts);
    free(n->texts);
    *n = (aphi_forbidden){0};
}

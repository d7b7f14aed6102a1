/* SPDX-License-Identifier: Apache-2.0
 *
 * refine_deepening.c - refinement with growing bounds, then with random schedules beyond them.
 *
 * Idea:       the search begins with one client and one message, so that the first failure is small. The generator of
 *             the specification draws the requests from the seed. Small bounds are explored with several sets of
 *             requests, since other contents may cause other behaviours. Beyond the bounds, schedules are random. */
#include "refine/refinement.h"

#include "base/memory.h"
#include "generate/generator.h"
#include "value/heap.h"

#include <stdio.h>
#include <stdlib.h>

enum { BEYOND_CLIENTS = 2, BEYOND_MESSAGES = 4, ACTIONS_MAX = 100 };

typedef struct search {
    aphi_refine_deepening bounds;
    aphi_refine_outcome *outcome;
    aph_value *requests;     /* enough requests for the random schedules */
    size_t request_count;
    char *error;
    size_t error_size;
} search;

static void mark_requests(void *context)
{
    const search *s = context;
    for (size_t i = 0; i < s->request_count; i++)
        aph_mark(s->requests[i]);
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

/* Distributes generated requests by connection until each client has enough. References to responses stay unresolved,
 * because there are no responses yet. */
static bool draw_messages(search *s, aphi_generator *g, aphi_labelled *seen)
{
    size_t clients = s->bounds.clients * BEYOND_CLIENTS, messages = s->bounds.messages * BEYOND_MESSAGES;
    size_t missing = s->request_count;
    uint32_t in_flight[APHI_REFINE_CLIENTS_MAX * BEYOND_CLIENTS] = {0};
    size_t sent[APHI_REFINE_CLIENTS_MAX * BEYOND_CLIENTS] = {0};
    aphi_knowledge known = {.seen = seen, .in_flight = in_flight, .connections = clients};
    for (size_t i = 0; missing > 0 && i < ACTIONS_MAX * s->request_count; i++) {
        aphi_action a = aphi_generator_next(g, &known);
        if (!a.label)
            return false;
        size_t client = (size_t)a.connection;
        if (!a.send || aphi_is_signal(a.send) || client >= clients || sent[client] == messages)
            continue;
        aph_value message = aphi_expression_fill(a.send, seen, s->bounds.options.spec->functions);
        aphi_labelled_add(seen, a.label, message);
        s->requests[client * messages + sent[client]++] = message;
        missing--;
    }
    return missing == 0;
}

static bool draw_requests(search *s, uint64_t seed)
{
    char error[300] = "it does not send on every connection";
    aphi_refine_options *o = &s->bounds.options;
    size_t clients = s->bounds.clients * BEYOND_CLIENTS;
    o->stride = s->bounds.messages * BEYOND_MESSAGES;
    s->request_count = clients * o->stride;
    free(s->requests);
    s->requests = aphi_alloc_zero(s->request_count * sizeof *s->requests);
    o->requests = s->requests;
    aphi_generator *g = aphi_generator_open(o->spec, seed, clients, 1, error, sizeof error);
    aphi_labelled *seen = aphi_labelled_open(256);
    bool drawn = g && draw_messages(s, g, seen);
    if (!drawn)
        snprintf(s->error, s->error_size, "%s: no requests can be generated: %s", o->spec->name,
                 g && aphi_generator_error(g) ? aphi_generator_error(g) : error);
    aphi_labelled_close(seen);
    if (g)
        aphi_generator_close(g);
    return drawn;
}

/* ---- bounds ------------------------------------------------------------------------------------------------------ */

bool aphi_refine_passed(const aphi_refinement *result)
{
    return result->verdict == APHI_REFINES || result->verdict == APHI_REFINES_VACUOUS;
}

static bool passed(const search *s)
{
    return aphi_refine_passed(&s->outcome->result);
}

static void set_bounds(search *s, size_t clients, size_t messages)
{
    s->outcome->clients = s->bounds.options.clients = clients;
    s->outcome->messages = s->bounds.options.messages = messages;
}

/* All bounds with `size` messages, fewer clients first. */
static void explore_size(search *s, size_t size)
{
    for (size_t clients = 1; clients <= s->bounds.clients && passed(s); clients++) {
        if (size % clients || size / clients > s->bounds.messages)
            continue;
        set_bounds(s, clients, size / clients);
        s->outcome->result = aphi_refine(&s->bounds.options);
    }
}

static bool explore_draws(search *s)
{
    bool drawn = true, several = s->bounds.clients * s->bounds.messages > 1;
    for (unsigned i = 0; i < APHI_REFINE_DRAWS && several && drawn && passed(s); i++) {
        drawn = draw_requests(s, s->bounds.seed + 1 + i);
        for (size_t size = 1; size <= APHI_REFINE_DRAWN_SIZE && drawn && passed(s); size++)
            explore_size(s, size);
    }
    return drawn && (!passed(s) || draw_requests(s, s->bounds.seed));
}

/* If the schedules pass, the result of the bounds is kept: long schedules may all be vacuous. */
static void explore_randomly(search *s)
{
    set_bounds(s, s->bounds.clients * BEYOND_CLIENTS, s->bounds.messages * BEYOND_MESSAGES);
    s->outcome->result = aphi_refine_random(&s->bounds.options, s->bounds.random, s->bounds.seed);
    if (passed(s)) {
        s->outcome->random_passed = s->bounds.random;
        s->outcome->result = s->outcome->bounded;
    }
}

static bool explore(search *s)
{
    if (!draw_requests(s, s->bounds.seed))
        return false;
    for (size_t size = 1; size <= s->bounds.clients * s->bounds.messages && passed(s); size++)
        explore_size(s, size);
    s->outcome->bounded = s->outcome->result;
    if (!passed(s))
        return true;
    if (!explore_draws(s))
        return false;
    if (!passed(s))
        return true;
    s->outcome->result = s->outcome->bounded; /* small bounds may all be vacuous */
    if (s->bounds.random)
        explore_randomly(s);
    return true;
}

bool aphi_refine_within(const aphi_refine_deepening *bounds, aphi_refine_outcome *outcome, char *error, size_t size)
{
    search s = {.bounds = *bounds, .outcome = outcome, .error = error, .error_size = size};
    *outcome = (aphi_refine_outcome){0};
    aph_root_add(mark_requests, &s);
    bool explored = explore(&s);
    aph_root_remove(mark_requests, &s);
    free(s.requests);
    return explored;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * composition.c - parallel composition of a model's components, minimized up to strong bisimulation, and its size.
 *
 * Idea:       breadth-first search over global states. Each step is one event and components are acyclic, so a state is
 *             numbered before its successors. States are then processed backwards, each after all its successors: two
 *             states are bisimilar exactly if they have equal sets of (event, class of successor). Paths are counted in
 *             the same pass.
 * Invariants: a global state is an array of words: the state of each component, then for each port the number of its
 *             messages, and the messages. The messages in a medium are stored in a canonical order, so states that
 *             differ only unobservably are equal.
 * Cost:       all global states in memory, a few hundred bytes each. */
#include "alts/composition.h"

#include "base/intern.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STATES_MAX = 40000000, MESSAGES_MAX = 4096 };

typedef struct edge {
    uint64_t event;   /* kind, sender, port, label */
    uint32_t target;  /* a global state; later, the class of that state */
} edge;

typedef struct graph {
    const aphi_alts *alts;
    aphi_intern states;       /* global states */
    edge *edges;
    size_t edge_count, edge_capacity;
    size_t *first_edge;
    size_t first_capacity;
    uint32_t *current, *next; /* the state being expanded, and a successor */
    size_t current_size, next_size;
    bool too_large;
    const volatile sig_atomic_t *stop;
} graph;

/* ---- steps ------------------------------------------------------------------------------------------------------- */

static uint64_t event_of(unsigned kind, size_t sender, const aphi_alts_move *m)
{
    uint64_t port = m->op == APHI_ALTS_LOCAL ? 0 : m->port;
    return (uint64_t)kind << 56 | (uint64_t)sender << 32 | port << 16 | m->label;
}

enum { EVENT_LOCAL, EVENT_POST, EVENT_RECEIVE, EVENT_PASS };

static void add_edge(graph *g, uint64_t event)
{
    uint32_t target = aphi_intern_number(&g->states, g->next, g->next_size * sizeof *g->next);
    APHI_PUSH(g->edges, g->edge_count, g->edge_capacity, (edge){.event = event, .target = target});
}

static void copy_current(graph *g)
{
    memcpy(g->next, g->current, g->current_size * sizeof *g->current);
    g->next_size = g->current_size;
}

/* Offset of the message count of a port. */
static size_t port_offset(const graph *g, size_t port)
{
    size_t at = g->alts->component_count;
    for (size_t i = 0; i < port; i++)
        at += 1 + g->current[at];
    return at;
}

static void insert_message(graph *g, size_t offset, size_t at, uint32_t message)
{
    memmove(g->next + at + 1, g->next + at, (g->next_size - at) * sizeof *g->next);
    g->next[at] = message;
    g->next[offset]++;
    g->next_size++;
}

static void step_post(graph *g, size_t t, const aphi_alts_move *m)
{
    const aphi_alts_port *port = &g->alts->ports[m->port];
    size_t offset = port_offset(g, m->port), end = offset + 1 + g->current[offset], at = end, own = 0;
    uint32_t message = (uint32_t)t << 16 | m->label;
    for (size_t i = offset + 1; i < end; i++)
        own += g->current[i] >> 16 == t;
    if ((port->capacity && own >= port->capacity) || g->current[offset] >= MESSAGES_MAX) {
        g->too_large |= g->current[offset] >= MESSAGES_MAX;
        return;
    }
    copy_current(g);
    while (port->medium == APHI_MEDIUM_PAIR && at > offset + 1 && g->current[at - 1] >> 16 > t)
        at--;
    while (port->medium == APHI_MEDIUM_UNORDERED && at > offset + 1 && g->current[at - 1] > message)
        at--;
    insert_message(g, offset, at, message);
    g->next[t] = m->target;
    add_edge(g, event_of(EVENT_POST, t, m));
}

static bool comes_first(const graph *g, aphi_medium medium, size_t offset, size_t at)
{
    if (at == offset + 1)
        return true;
    if (medium == APHI_MEDIUM_PORT)
        return false;
    if (medium == APHI_MEDIUM_PAIR)
        return g->current[at - 1] >> 16 != g->current[at] >> 16;
    return g->current[at - 1] != g->current[at]; /* of equal messages, only the first is taken */
}

static void step_receive(graph *g, size_t t, const aphi_alts_move *m)
{
    aphi_medium medium = g->alts->ports[m->port].medium;
    size_t offset = port_offset(g, m->port);
    for (size_t at = offset + 1; at < offset + 1 + g->current[offset]; at++) {
        if ((g->current[at] & 0xffff) != m->label || !comes_first(g, medium, offset, at))
            continue;
        copy_current(g);
        memmove(g->next + at, g->next + at + 1, (g->next_size - at - 1) * sizeof *g->next);
        g->next[offset]--;
        g->next_size--;
        g->next[t] = m->target;
        add_edge(g, event_of(EVENT_RECEIVE, g->current[at] >> 16, m));
    }
}

static void step_pass(graph *g, size_t t, const aphi_alts_move *m)
{
    const aphi_alts_port *port = &g->alts->ports[m->port];
    const aphi_alts_component *owner = &g->alts->components[port->owner];
    size_t offset = port_offset(g, m->port);
    uint32_t state = g->current[port->owner];
    for (size_t at = offset + 1; port->medium == APHI_MEDIUM_PAIR && at < offset + 1 + g->current[offset]; at++)
        if (g->current[at] >> 16 == t)
            return; /* the message would overtake an earlier one */
    for (uint32_t i = owner->first[state]; i < owner->first[state + 1]; i++) {
        const aphi_alts_move *r = &owner->moves[i];
        if (r->op != APHI_ALTS_RECEIVE || r->port != m->port || r->label != m->label)
            continue;
        copy_current(g);
        g->next[t] = m->target;
        g->next[port->owner] = r->target;
        add_edge(g, event_of(EVENT_PASS, t, m));
    }
}

static void step_move(graph *g, size_t t, const aphi_alts_move *m)
{
    if (m->op == APHI_ALTS_RECEIVE) {
        step_receive(g, t, m);
    } else if (m->op == APHI_ALTS_LOCAL) {
        copy_current(g);
        g->next[t] = m->target;
        add_edge(g, event_of(EVENT_LOCAL, t, m));
    } else if (m->sync) {
        step_pass(g, t, m);
    } else {
        step_post(g, t, m);
    }
}

static void expand_state(graph *g, size_t state)
{
    size_t bytes;
    const void *words = aphi_intern_key(&g->states, (uint32_t)state, &bytes);
    APHI_RESERVE(g->first_edge, g->first_capacity, state + 2);
    g->first_edge[state] = g->edge_count;
    g->current_size = bytes / sizeof *g->current;
    memcpy(g->current, words, bytes);
    for (size_t t = 0; t < g->alts->component_count; t++) {
        const aphi_alts_component *c = &g->alts->components[t];
        for (uint32_t i = c->first[g->current[t]]; i < c->first[g->current[t] + 1]; i++)
            step_move(g, t, &c->moves[i]);
    }
    g->first_edge[state + 1] = g->edge_count;
}

static bool is_stopped(const graph *g)
{
    return g->stop && *g->stop;
}

static void build_graph(graph *g)
{
    size_t room = g->alts->component_count + g->alts->port_count * (1 + (size_t)MESSAGES_MAX) + 1;
    g->current = aphi_alloc_zero(room * sizeof *g->current);
    g->next = aphi_alloc_zero(room * sizeof *g->next);
    for (size_t t = 0; t < g->alts->component_count; t++)
        g->current[t] = g->alts->components[t].initial;
    aphi_intern_number(&g->states, g->current,
                       (g->alts->component_count + g->alts->port_count) * sizeof *g->current);
    for (size_t i = 0; i < g->states.count && !g->too_large && !is_stopped(g); i++) {
        expand_state(g, i);
        g->too_large |= g->states.count > STATES_MAX;
    }
    free(g->current);
    free(g->next);
}

/* ---- classes ----------------------------------------------------------------------------------------------------- */

static int by_event(const void *a, const void *b)
{
    const edge *x = a, *y = b;
    if (x->event != y->event)
        return x->event < y->event ? -1 : 1;
    return (x->target > y->target) - (x->target < y->target);
}

/* Copies the edges of a state with classes as targets, without duplicates. */
static size_t signature_of(const graph *g, const uint32_t *class_of, size_t state, edge *out)
{
    size_t n = g->first_edge[state + 1] - g->first_edge[state], kept = 0;
    memcpy(out, g->edges + g->first_edge[state], n * sizeof *out);
    for (size_t i = 0; i < n; i++)
        out[i].target = class_of[out[i].target];
    qsort(out, n, sizeof *out, by_event);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || by_event(&out[i], &out[i - 1]))
            out[kept++] = out[i];
    return kept;
}

/* Encodes a signature as words, so that classes can be interned like states. */
static size_t encode_signature(const edge *edges, size_t n, uint32_t *words)
{
    for (size_t i = 0; i < n; i++) {
        words[3 * i] = (uint32_t)(edges[i].event >> 32);
        words[3 * i + 1] = (uint32_t)edges[i].event;
        words[3 * i + 2] = edges[i].target;
    }
    return 3 * n;
}

static void count_class(aphi_composition *out, const edge *edges, size_t n, aphi_uint128 *paths)
{
    aphi_uint128 sum = n == 0;
    for (size_t i = 0; i < n; i++) {
        out->overflow |= sum + paths[edges[i].target] < sum;
        sum += paths[edges[i].target];
    }
    paths[out->states++] = sum;
    out->transitions += n;
}

static void minimize(graph *g, aphi_composition *out)
{
    size_t count = g->states.count, widest = 0;
    aphi_intern classes = {0};
    uint32_t *class_of = aphi_alloc(count * sizeof *class_of);
    aphi_uint128 *paths = aphi_alloc(count * sizeof *paths);
    for (size_t i = 0; i < count; i++)
        widest = g->first_edge[i + 1] - g->first_edge[i] > widest ? g->first_edge[i + 1] - g->first_edge[i] : widest;
    edge *edges = aphi_alloc((widest + 1) * sizeof *edges);
    uint32_t *words = aphi_alloc((3 * widest + 1) * sizeof *words);
    for (size_t i = count; i-- > 0 && !is_stopped(g);) {
        size_t n = signature_of(g, class_of, i, edges), before = classes.count;
        class_of[i] = aphi_intern_number(&classes, words, encode_signature(edges, n, words) * sizeof *words);
        if (classes.count > before)
            count_class(out, edges, n, paths);
    }
    if (!is_stopped(g))
        out->paths = paths[class_of[0]];
    APHI_FREE_ALL(class_of, paths, edges, words);
    aphi_intern_free(&classes);
}

static bool is_supported(const aphi_alts *a, char *why, size_t size)
{
    for (size_t t = 0; t < a->component_count; t++) {
        const aphi_alts_component *c = &a->components[t];
        for (uint32_t i = 0; i < c->first[c->states]; i++) {
            const aphi_alts_move *m = &c->moves[i];
            if (m->op != APHI_ALTS_SEND || !m->sync || a->ports[m->port].medium != APHI_MEDIUM_PORT)
                continue;
            snprintf(why, size, "component %s sends synchronously to %s, which has one queue for all senders: entering "
                     "the queue is not an event, so interleavings cannot be counted", c->name, a->ports[m->port].name);
            return false;
        }
    }
    return true;
}

bool aphi_composition_measure(const aphi_alts *a, aphi_composition *out, const volatile sig_atomic_t *stop, char *why,
                              size_t size)
{
    graph g = {.alts = a, .stop = stop};
    *out = (aphi_composition){0};
    if (!is_supported(a, why, size))
        return false;
    build_graph(&g);
    if (g.too_large)
        snprintf(why, size, "the composition exceeds the limit of %zu states", g.states.count - 1);
    else if (!is_stopped(&g))
        minimize(&g, out);
    bool measured = !g.too_large && !is_stopped(&g);
    if (!g.too_large && !measured)
        snprintf(why, size, "interrupted before all interleavings were composed");
    aphi_intern_free(&g.states);
    free(g.edges);
    free(g.first_edge);
    return measured;
}

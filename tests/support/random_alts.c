/* SPDX-License-Identifier: Apache-2.0
 *
 * random_alts.c - random models; they are acyclic because moves lead to higher states only. */
#include "random_alts.h"

#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct generator {
    aphi_alts *a;
    random_shape shape;
    uint64_t *seed;
    uint32_t *from;
    aphi_alts_move *moves;
    size_t count;
} generator;

static unsigned below(uint64_t *seed, unsigned n)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return (unsigned)(*seed * 0x2545f4914f6cdd1du >> 33) % n;
}

/* A random port of the component, or of another one; SIZE_MAX if there is none. */
static size_t random_port(generator *g, size_t component, bool own)
{
    size_t found = SIZE_MAX;
    unsigned count_seen = 0;
    for (size_t p = 0; p < g->a->port_count; p++)
        if ((g->a->ports[p].owner == component) == own && below(g->seed, ++count_seen) == 0)
            found = p;
    return found;
}

static void add_move(generator *g, uint32_t state, aphi_alts_move m)
{
    for (size_t j = g->count; j-- > 0 && g->from[j] == state;)
        if (g->moves[j].port == m.port && g->moves[j].label == m.label)
            return;
    g->from[g->count] = state;
    g->moves[g->count++] = m;
}

static void add_random_moves(generator *g, size_t component, uint32_t state, uint32_t states)
{
    uint32_t left = states - state - 1;
    unsigned kind = below(g->seed, 16);
    bool receives = kind < 9, sends = !receives && kind < 15;
    if (receives && random_port(g, component, true) == SIZE_MAX)
        receives = false, sends = true;
    if (left == 0 || (sends && random_port(g, component, false) == SIZE_MAX))
        return;
    for (unsigned n = receives ? 1 + below(g->seed, 4) : 1; n > 0; n--) {
        uint32_t distance = g->shape.flat ? 0 : below(g->seed, 3) ? 0 : below(g->seed, left);
        aphi_alts_move m = {.op = receives ? APHI_ALTS_RECEIVE
                                  : sends  ? APHI_ALTS_SEND
                                           : APHI_ALTS_LOCAL,
                            .label = (uint16_t)below(g->seed, (unsigned)g->a->label_count),
                            .target = state + 1 + distance};
        if (receives || sends)
            m.port = (uint16_t)random_port(g, component, receives);
        m.sync = sends && below(g->seed, 12) < g->shape.sync;
        add_move(g, state, m);
    }
}

static void add_random_component(generator *g, size_t component)
{
    uint32_t states = 2 + below(g->seed, g->shape.states - 1);
    g->from = aphi_alloc(states * 4 * sizeof *g->from);
    g->moves = aphi_alloc(states * 4 * sizeof *g->moves);
    g->count = 0;
    for (uint32_t s = 0; s < states; s++)
        add_random_moves(g, component, s, states);
    aphi_alts_fill(g->a, component, 0, states, g->count, g->from, g->moves);
    free(g->from);
    free(g->moves);
}

void random_alts(aphi_alts *a, random_shape shape, uint64_t *seed)
{
    generator g = {.a = a, .shape = shape, .seed = seed};
    unsigned components = 2 + below(seed, shape.components - 1), ports = 1 + below(seed, shape.ports);
    unsigned labels = 1 + below(seed, shape.labels);
    char name[16];
    aphi_alts_init(a, "random");
    for (unsigned i = 0; i < components; i++) {
        snprintf(name, sizeof name, "C%u", i);
        aphi_alts_add_component(a, name);
    }
    for (unsigned i = 0; i < ports; i++) {
        aphi_medium medium = (aphi_medium)(shape.mediums == 3 ? below(seed, 3) : shape.mediums);
        bool unlimited = below(seed, 2);
        snprintf(name, sizeof name, "p%u", i);
        aphi_alts_add_port(a, name, below(seed, components), medium, unlimited ? 0 : 1 + below(seed, 2));
    }
    for (unsigned i = 0; i < labels; i++) {
        snprintf(name, sizeof name, "m%u", i);
        aphi_alts_add_label(a, name);
    }
    for (unsigned i = 0; i < components; i++)
        add_random_component(&g, i);
}

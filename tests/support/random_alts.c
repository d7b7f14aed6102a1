/* SPDX-License-Identifier: Apache-2.0
 *
 * random_alts.c - states are numbered so that moves only go up: what is drawn is acyclic. */
#include "random_alts.h"

#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct draw {
    aphi_alts *a;
    random_shape shape;
    uint64_t *seed;
    uint32_t *from;
    aphi_alts_move *moves;
    size_t count;
} draw;

static unsigned below(uint64_t *seed, unsigned n)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return (unsigned)(*seed * 0x2545f4914f6cdd1du >> 33) % n;
}

/* A port that is the component's own, or one that is not; SIZE_MAX if there is none. */
static size_t some_port(draw *d, size_t component, bool own)
{
    size_t found = SIZE_MAX;
    unsigned met = 0;
    for (size_t p = 0; p < d->a->port_count; p++)
        if ((d->a->ports[p].owner == component) == own && below(d->seed, ++met) == 0)
            found = p;
    return found;
}

static void put(draw *d, uint32_t state, aphi_alts_move m)
{
    for (size_t j = d->count; j-- > 0 && d->from[j] == state;)
        if (d->moves[j].port == m.port && d->moves[j].label == m.label)
            return;
    d->from[d->count] = state;
    d->moves[d->count++] = m;
}

static void draw_state(draw *d, size_t component, uint32_t state, uint32_t states)
{
    uint32_t left = states - state - 1;
    unsigned kind = below(d->seed, 16);
    bool receives = kind < 9, sends = !receives && kind < 15;
    if (receives && some_port(d, component, true) == SIZE_MAX)
        receives = false, sends = true;
    if (left == 0 || (sends && some_port(d, component, false) == SIZE_MAX))
        return;
    for (unsigned n = receives ? 1 + below(d->seed, 4) : 1; n > 0; n--) {
        uint32_t far = d->shape.flat ? 0 : below(d->seed, 3) ? 0 : below(d->seed, left);
        aphi_alts_move m = {.op = receives ? APHI_ALTS_RECEIVE : sends ? APHI_ALTS_SEND : APHI_ALTS_LOCAL,
                            .label = (uint16_t)below(d->seed, (unsigned)d->a->label_count), .target = state + 1 + far};
        if (receives || sends)
            m.port = (uint16_t)some_port(d, component, receives);
        m.sync = sends && below(d->seed, 12) < d->shape.sync;
        put(d, state, m);
    }
}

static void draw_component(draw *d, size_t component)
{
    uint32_t states = 2 + below(d->seed, d->shape.states - 1);
    d->from = aphi_alloc(states * 4 * sizeof *d->from);
    d->moves = aphi_alloc(states * 4 * sizeof *d->moves);
    d->count = 0;
    for (uint32_t s = 0; s < states; s++)
        draw_state(d, component, s, states);
    aphi_alts_fill(d->a, component, 0, states, d->count, d->from, d->moves);
    free(d->from);
    free(d->moves);
}

void random_alts(aphi_alts *a, random_shape shape, uint64_t *seed)
{
    draw d = {.a = a, .shape = shape, .seed = seed};
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
        draw_component(&d, i);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * alts.c - make models of message-passing programs, check them, unroll their cycles.
 *
 * Idea:       names are few and are looked up by walking, from the newest for labels, which is where a match mostly is.
 * Cost:       checking is linear in the moves, but for R2, which is quadratic in the receives of one state. */
#include "alts/alts.h"

#include "base/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { UNROLLED_MAX = 4 << 20 };

/* ---- making one -------------------------------------------------------------------------------------------------- */

void aphi_alts_init(aphi_alts *a, const char *name)
{
    *a = (aphi_alts){.name = aphi_copy(name, strlen(name) + 1)};
}

void aphi_alts_free(aphi_alts *a)
{
    for (size_t i = 0; i < a->component_count; i++) {
        free(a->components[i].name);
        free(a->components[i].first);
        free(a->components[i].moves);
    }
    for (size_t i = 0; i < a->port_count; i++)
        free(a->ports[i].name);
    for (size_t i = 0; i < a->label_count; i++)
        free(a->labels[i]);
    free(a->components);
    free(a->ports);
    free(a->labels);
    free(a->name);
    *a = (aphi_alts){0};
}

size_t aphi_alts_component_named(const aphi_alts *a, const char *name)
{
    for (size_t i = 0; i < a->component_count; i++)
        if (!strcmp(a->components[i].name, name))
            return i;
    return SIZE_MAX;
}

size_t aphi_alts_port_named(const aphi_alts *a, const char *name)
{
    for (size_t i = 0; i < a->port_count; i++)
        if (!strcmp(a->ports[i].name, name))
            return i;
    return SIZE_MAX;
}

size_t aphi_alts_label_named(const aphi_alts *a, const char *name)
{
    for (size_t i = a->label_count; i-- > 0;)
        if (!strcmp(a->labels[i], name))
            return i;
    return SIZE_MAX;
}

size_t aphi_alts_add_component(aphi_alts *a, const char *name)
{
    if (a->component_count == APHI_ALTS_COMPONENTS_MAX)
        return SIZE_MAX;
    APHI_RESERVE(a->components, a->component_capacity, a->component_count + 1);
    aphi_alts_component *c = &a->components[a->component_count];
    *c = (aphi_alts_component){.name = aphi_copy(name, strlen(name) + 1), .states = 1,
                               .first = aphi_alloc_zero(2 * sizeof *c->first), .moves = aphi_alloc(sizeof *c->moves)};
    return a->component_count++;
}

size_t aphi_alts_add_port(aphi_alts *a, const char *name, size_t owner, aphi_medium medium, uint32_t capacity)
{
    if (a->port_count == APHI_ALTS_PORTS_MAX)
        return SIZE_MAX;
    APHI_RESERVE(a->ports, a->port_capacity, a->port_count + 1);
    a->ports[a->port_count] = (aphi_alts_port){.name = aphi_copy(name, strlen(name) + 1), .owner = (uint16_t)owner,
                                               .medium = medium, .capacity = capacity};
    return a->port_count++;
}

size_t aphi_alts_add_label(aphi_alts *a, const char *name)
{
    size_t known = aphi_alts_label_named(a, name);
    if (known != SIZE_MAX || a->label_count == APHI_ALTS_LABELS_MAX)
        return known;
    APHI_RESERVE(a->labels, a->label_capacity, a->label_count + 1);
    a->labels[a->label_count] = aphi_copy(name, strlen(name) + 1);
    return a->label_count++;
}

void aphi_alts_fill(aphi_alts *a, size_t component, uint32_t initial, uint32_t states, size_t count,
                    const uint32_t *from, const aphi_alts_move *moves)
{
    aphi_alts_component *c = &a->components[component];
    free(c->first);
    free(c->moves);
    c->initial = initial;
    c->states = states;
    c->first = aphi_alloc_zero((states + 2) * sizeof *c->first);
    c->moves = aphi_alloc((count + 1) * sizeof *c->moves);
    for (size_t i = 0; i < count; i++)
        c->first[from[i] + 2]++;
    for (uint32_t s = 0; s < states; s++)
        c->first[s + 2] += c->first[s + 1];
    for (size_t i = 0; i < count; i++)
        c->moves[c->first[from[i] + 1]++] = moves[i];
}

/* ---- checking one ------------------------------------------------------------------------------------------------ */

static const char *op_name(uint8_t op)
{
    return op == APHI_ALTS_SEND ? "a send" : op == APHI_ALTS_RECEIVE ? "a receive" : "a local event";
}

static aphi_alts_flaw check_mixed(const aphi_alts_component *c, uint32_t s, char *why, size_t size)
{
    const aphi_alts_move *m = c->moves + c->first[s];
    size_t n = c->first[s + 1] - c->first[s];
    for (size_t i = 1; i < n; i++)
        if (m[0].op != m[i].op || m[i].op != APHI_ALTS_RECEIVE) {
            snprintf(why, size, "component %s, state %" PRIu32 ": %s and %s leave it; a state has one send, or one "
                     "local event, or receives only: split it", c->name, s, op_name(m[0].op),
                     m[0].op == m[i].op ? "another one" : op_name(m[i].op));
            return APHI_ALTS_MIXED;
        }
    return APHI_ALTS_SOUND;
}

static aphi_alts_flaw check_ambiguous(const aphi_alts *a, const aphi_alts_component *c, uint32_t s, char *why,
                                      size_t size)
{
    for (uint32_t i = c->first[s]; i < c->first[s + 1]; i++)
        for (uint32_t j = c->first[s]; j < i; j++)
            if (c->moves[i].port == c->moves[j].port && c->moves[i].label == c->moves[j].label) {
                snprintf(why, size, "component %s, state %" PRIu32 ": two receives of %s from %s leave it; what is "
                         "received must decide where to go: merge them", c->name, s, a->labels[c->moves[i].label],
                         a->ports[c->moves[i].port].name);
                return APHI_ALTS_AMBIGUOUS;
            }
    return APHI_ALTS_SOUND;
}

static aphi_alts_flaw check_open(const aphi_alts *a, size_t component, uint32_t s, char *why, size_t size)
{
    const aphi_alts_component *c = &a->components[component];
    for (uint32_t i = c->first[s]; i < c->first[s + 1]; i++) {
        const aphi_alts_move *m = &c->moves[i];
        if (m->op == APHI_ALTS_LOCAL)
            continue;
        const aphi_alts_port *p = &a->ports[m->port];
        bool own = p->owner == component;
        if (own == (m->op == APHI_ALTS_RECEIVE))
            continue;
        snprintf(why, size, own ? "component %s, state %" PRIu32 ": it sends to %s, its own port; a component receives "
                 "what others send%s" : "component %s, state %" PRIu32 ": it receives from %s, a port of %s; only the "
                 "owner of a port receives from it", c->name, s, p->name, own ? "" : a->components[p->owner].name);
        return APHI_ALTS_OPEN;
    }
    return APHI_ALTS_SOUND;
}

/* Is a state met again on the way from it? Depth first, with a stack of our own. 0 unseen, 1 on the way, 2 done. */
static bool find_cycle(const aphi_alts_component *c, uint32_t *at)
{
    uint8_t *colour = aphi_alloc_zero(c->states);
    uint32_t *stack = aphi_alloc(c->states * sizeof *stack), *next = aphi_alloc(c->states * sizeof *next);
    bool found = false;
    for (uint32_t s = 0; s < c->states && !found; s++) {
        size_t depth = 0;
        if (colour[s])
            continue;
        stack[depth] = s;
        next[depth++] = c->first[s];
        colour[s] = 1;
        while (depth && !found) {
            uint32_t here = stack[depth - 1];
            if (next[depth - 1] == c->first[here + 1]) {
                colour[here] = 2;
                depth--;
                continue;
            }
            uint32_t target = c->moves[next[depth - 1]++].target;
            if (colour[target] == 1) {
                found = true;
                *at = target;
            } else if (!colour[target]) {
                stack[depth] = target;
                next[depth++] = c->first[target];
                colour[target] = 1;
            }
        }
    }
    free(colour);
    free(stack);
    free(next);
    return found;
}

static aphi_alts_flaw check_states(const aphi_alts *a, size_t component, char *why, size_t size)
{
    const aphi_alts_component *c = &a->components[component];
    aphi_alts_flaw flaw = APHI_ALTS_SOUND;
    for (uint32_t s = 0; s < c->states && !flaw; s++) {
        flaw = check_mixed(c, s, why, size);
        if (!flaw)
            flaw = check_ambiguous(a, c, s, why, size);
        if (!flaw)
            flaw = check_open(a, component, s, why, size);
    }
    return flaw;
}

static aphi_alts_flaw check_cycles(const aphi_alts_component *c, char *why, size_t size)
{
    uint32_t at;
    if (!find_cycle(c, &at))
        return APHI_ALTS_SOUND;
    snprintf(why, size, "component %s, state %" PRIu32 ": it can be reached again from itself, so runs have no end; "
             "give a bound (--unroll N), or count the rounds in the model", c->name, at);
    return APHI_ALTS_CYCLIC;
}

/* Does the state wait for ports only that nobody sends to? */
static bool waits_for_nobody(const aphi_alts_component *c, uint32_t s, const bool *fed)
{
    for (uint32_t i = c->first[s]; i < c->first[s + 1]; i++)
        if (c->moves[i].op != APHI_ALTS_RECEIVE || fed[c->moves[i].port])
            return false;
    return c->first[s] < c->first[s + 1];
}

bool aphi_alts_is_fed(const aphi_alts *a, char *why, size_t size)
{
    bool *fed = aphi_alloc_zero((a->port_count + 1) * sizeof *fed), all = true;
    for (size_t t = 0; t < a->component_count; t++)
        for (uint32_t i = 0; i < a->components[t].first[a->components[t].states]; i++)
            if (a->components[t].moves[i].op == APHI_ALTS_SEND)
                fed[a->components[t].moves[i].port] = true;
    for (size_t t = 0; t < a->component_count && all; t++) {
        const aphi_alts_component *c = &a->components[t];
        for (uint32_t s = 0; s < c->states && all; s++) {
            all = !waits_for_nobody(c, s, fed);
            if (!all)
                snprintf(why, size, "component %s, state %" PRIu32 ": it receives from %s, and no component ever sends "
                         "there", c->name, s, a->ports[c->moves[c->first[s]].port].name);
        }
    }
    free(fed);
    return all;
}

/* Cycles last: who unrolls them wants to know that nothing else is wrong. */
aphi_alts_flaw aphi_alts_check(const aphi_alts *a, char *why, size_t size)
{
    aphi_alts_flaw flaw = APHI_ALTS_SOUND;
    for (size_t i = 0; i < a->component_count && !flaw; i++)
        flaw = check_states(a, i, why, size);
    for (size_t i = 0; i < a->component_count && !flaw; i++)
        flaw = check_cycles(&a->components[i], why, size);
    return flaw;
}

/* ---- unrolling --------------------------------------------------------------------------------------------------- */

/* Strongly connected parts of a component, by Tarjan's algorithm; part[s] is the number of its part. A state is left
 * when all that was found from it is: so a move to one that was left later, or to itself, closes a cycle. */
typedef struct parts {
    const aphi_alts_component *c;
    uint32_t *part, *index, *low, *left, *stack, *path, *next;
    size_t stacked, depth;
    uint32_t count, clock, leaves;
} parts;

static void enter_state(parts *p, uint32_t s)
{
    p->index[s] = p->low[s] = ++p->clock;
    p->stack[p->stacked++] = s;
    p->path[p->depth] = s;
    p->next[p->depth++] = p->c->first[s];
}

static void leave_state(parts *p, uint32_t s)
{
    p->depth--;
    p->left[s] = p->leaves++;
    if (p->low[s] == p->index[s]) {
        uint32_t member;
        do {
            member = p->stack[--p->stacked];
            p->part[member] = p->count;
        } while (member != s);
        p->count++;
    }
    if (p->depth && p->low[s] < p->low[p->path[p->depth - 1]])
        p->low[p->path[p->depth - 1]] = p->low[s];
}

static void find_parts(parts *p)
{
    for (uint32_t root = 0; root < p->c->states; root++) {
        if (p->index[root])
            continue;
        enter_state(p, root);
        while (p->depth) {
            uint32_t s = p->path[p->depth - 1];
            if (p->next[p->depth - 1] == p->c->first[s + 1]) {
                leave_state(p, s);
                continue;
            }
            uint32_t target = p->c->moves[p->next[p->depth - 1]++].target;
            if (!p->index[target])
                enter_state(p, target);
            else if (p->part[target] == UINT32_MAX && p->index[target] < p->low[s])
                p->low[s] = p->index[target];
        }
    }
}

/* A copy of a state for each round of its cycle. A move that closes a cycle begins the next round; after the last there
 * is none, and the run ends there. Inside of a round no state comes twice. */
static void unroll_component(aphi_alts *a, size_t component, const parts *p, uint32_t times)
{
    const aphi_alts_component *c = &a->components[component];
    size_t room = (size_t)c->first[c->states] * times, count = 0;
    uint32_t *from = aphi_alloc((room + 1) * sizeof *from);
    aphi_alts_move *moves = aphi_alloc((room + 1) * sizeof *moves);
    for (uint32_t s = 0; s < c->states; s++)
        for (uint32_t i = c->first[s]; i < c->first[s + 1]; i++)
            for (uint32_t round = 0; round < times; round++) {
                aphi_alts_move m = c->moves[i];
                bool inside = p->part[s] == p->part[m.target], back = inside && p->left[m.target] >= p->left[s];
                uint32_t next = !inside ? 0 : round + back;
                if (next == times)
                    continue;
                m.target = m.target * times + next;
                from[count] = s * times + round;
                moves[count++] = m;
            }
    aphi_alts_fill(a, component, c->initial * times, c->states * times, count, from, moves);
    free(from);
    free(moves);
}

static void unroll_one(aphi_alts *a, size_t component, uint32_t times)
{
    size_t bytes = (a->components[component].states + 1) * sizeof(uint32_t);
    parts p = {.c = &a->components[component], .part = aphi_alloc(bytes), .index = aphi_alloc_zero(bytes),
               .low = aphi_alloc(bytes), .left = aphi_alloc(bytes), .stack = aphi_alloc(bytes),
               .path = aphi_alloc(bytes), .next = aphi_alloc(bytes)};
    memset(p.part, 0xff, bytes);
    find_parts(&p);
    unroll_component(a, component, &p, times);
    free(p.part);
    free(p.index);
    free(p.low);
    free(p.left);
    free(p.stack);
    free(p.path);
    free(p.next);
}

bool aphi_alts_unroll(aphi_alts *a, uint32_t times, char *why, size_t size)
{
    uint32_t at;
    for (size_t i = 0; i < a->component_count; i++) {
        const aphi_alts_component *c = &a->components[i];
        if (!find_cycle(c, &at))
            continue;
        if ((uint64_t)c->states * times > UNROLLED_MAX) {
            snprintf(why, size, "component %s has %" PRIu32 " states: unrolled %" PRIu32 " times, they are too many",
                     c->name, c->states, times);
            return false;
        }
        unroll_one(a, i, times);
    }
    return true;
}

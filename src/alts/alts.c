/* SPDX-License-Identifier: Apache-2.0
 *
 * alts.c - models of message-passing programs: construction, checks, unrolling of cycles.
 *
 * Idea:       a model has few names, so they are found by linear search. Labels are searched from the newest.
 * Cost:       checks are linear in the number of moves, except R2, which is quadratic in the receives of one state. */
#include "alts/alts.h"

#include "base/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { UNROLLED_MAX = 4 << 20 };

/* ---- construction ------------------------------------------------------------------------------------------------ */

void aphi_alts_init(aphi_alts *a, const char *name)
{
    *a = (aphi_alts){.name = aphi_copy(name, strlen(name) + 1)};
}

void aphi_alts_free(aphi_alts *a)
{
    for (size_t i = 0; i < a->component_count; i++) {
        APHI_FREE_ALL(a->components[i].name, a->components[i].first, a->components[i].moves);
    }
    for (size_t i = 0; i < a->port_count; i++)
        free(a->ports[i].name);
    for (size_t i = 0; i < a->label_count; i++)
        free(a->labels[i]);
    APHI_FREE_ALL(a->components, a->ports, a->labels, a->name);
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

/* ---- checks ------------------------------------------------------------------------------------------------------ */

static const char *op_noun(uint8_t op)
{
    return op == APHI_ALTS_SEND ? "a send" : op == APHI_ALTS_RECEIVE ? "a receive" : "a local event";
}

static aphi_alts_flaw check_mixed(const aphi_alts_component *c, uint32_t s, char *why, size_t size)
{
    const aphi_alts_move *m = c->moves + c->first[s];
    size_t n = c->first[s + 1] - c->first[s];
    for (size_t i = 1; i < n; i++)
        if (m[0].op != m[i].op || m[i].op != APHI_ALTS_RECEIVE) {
            snprintf(why, size, "component %s, state %" PRIu32 ": %s and %s leave it; a state may have one send, "
                     "one local event, or only receives: split it", c->name, s, op_noun(m[0].op),
                     m[0].op == m[i].op ? "another one" : op_noun(m[i].op));
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
                snprintf(why, size, "component %s, state %" PRIu32 ": two receives of %s from %s leave it; the message "
                         "must determine the next state: merge them", c->name, s, a->labels[c->moves[i].label],
                         a->ports[c->moves[i].port].name);
                return APHI_ALTS_AMBIGUOUS;
            }
    return APHI_ALTS_SOUND;
}

static aphi_alts_flaw check_closed(const aphi_alts *a, size_t component, uint32_t s, char *why, size_t size)
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
        snprintf(why, size, own ? "component %s, state %" PRIu32 ": it sends to %s, its own port; only other "
                 "components send to it%s" : "component %s, state %" PRIu32 ": it receives from %s, a port of %s; only "
                 "the owner of a port receives from it", c->name, s, p->name, own ? "" : a->components[p->owner].name);
        return APHI_ALTS_NOT_CLOSED;
    }
    return APHI_ALTS_SOUND;
}

/* Finds a state on a cycle. Depth-first search with an explicit stack. Colours: 0 unseen, 1 on the stack, 2 done. */
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
    APHI_FREE_ALL(colour, stack, next);
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
            flaw = check_closed(a, component, s, why, size);
    }
    return flaw;
}

static aphi_alts_flaw check_cycles(const aphi_alts_component *c, char *why, size_t size)
{
    uint32_t at;
    if (!find_cycle(c, &at))
        return APHI_ALTS_SOUND;
    snprintf(why, size, "component %s, state %" PRIu32 ": it is on a cycle, so runs are unbounded; "
             "give a bound (--unroll N), or count the rounds in the model", c->name, at);
    return APHI_ALTS_CYCLIC;
}

/* Returns true if the state waits only on ports without a sender. */
static bool waits_without_sender(const aphi_alts_component *c, uint32_t s, const bool *has_sender)
{
    for (uint32_t i = c->first[s]; i < c->first[s + 1]; i++)
        if (c->moves[i].op != APHI_ALTS_RECEIVE || has_sender[c->moves[i].port])
            return false;
    return c->first[s] < c->first[s + 1];
}

bool aphi_alts_check_senders(const aphi_alts *a, char *why, size_t size)
{
    bool *has_sender = aphi_alloc_zero((a->port_count + 1) * sizeof *has_sender), all = true;
    for (size_t t = 0; t < a->component_count; t++)
        for (uint32_t i = 0; i < a->components[t].first[a->components[t].states]; i++)
            if (a->components[t].moves[i].op == APHI_ALTS_SEND)
                has_sender[a->components[t].moves[i].port] = true;
    for (size_t t = 0; t < a->component_count && all; t++) {
        const aphi_alts_component *c = &a->components[t];
        for (uint32_t s = 0; s < c->states && all; s++) {
            all = !waits_without_sender(c, s, has_sender);
            if (!all)
                snprintf(why, size, "component %s, state %" PRIu32 ": it receives from %s, but no component sends to "
                         "that port", c->name, s, a->ports[c->moves[c->first[s]].port].name);
        }
    }
    free(has_sender);
    return all;
}

/* Cycles are checked last: a caller that unrolls them needs the results of the other checks. */
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

/* Tarjan's algorithm for strongly connected components; scc[s] is the number of the component that contains state s.
 * States are left in postorder, so a move closes a cycle if it leads to the same state or to one that is left later. */
typedef struct scc_search {
    const aphi_alts_component *c;
    uint32_t *scc, *index, *low, *left_order, *stack, *path, *next;
    size_t stacked, depth;
    uint32_t count, clock, left_count;
} scc_search;

static void enter_state(scc_search *p, uint32_t s)
{
    p->index[s] = p->low[s] = ++p->clock;
    p->stack[p->stacked++] = s;
    p->path[p->depth] = s;
    p->next[p->depth++] = p->c->first[s];
}

static void leave_state(scc_search *p, uint32_t s)
{
    p->depth--;
    p->left_order[s] = p->left_count++;
    if (p->low[s] == p->index[s]) {
        uint32_t member;
        do {
            member = p->stack[--p->stacked];
            p->scc[member] = p->count;
        } while (member != s);
        p->count++;
    }
    if (p->depth && p->low[s] < p->low[p->path[p->depth - 1]])
        p->low[p->path[p->depth - 1]] = p->low[s];
}

static void find_sccs(scc_search *p)
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
            else if (p->scc[target] == UINT32_MAX && p->index[target] < p->low[s])
                p->low[s] = p->index[target];
        }
    }
}

/* Copies each state once for each round of its cycle. A move that closes a cycle leads to the next round; in the last
 * round it is dropped, and the run ends there. Within a round no state repeats. */
static void unroll_component(aphi_alts *a, size_t component, const scc_search *p, uint32_t times)
{
    const aphi_alts_component *c = &a->components[component];
    size_t room = (size_t)c->first[c->states] * times, count = 0;
    uint32_t *from = aphi_alloc((room + 1) * sizeof *from);
    aphi_alts_move *moves = aphi_alloc((room + 1) * sizeof *moves);
    for (uint32_t s = 0; s < c->states; s++)
        for (uint32_t i = c->first[s]; i < c->first[s + 1]; i++)
            for (uint32_t round = 0; round < times; round++) {
                aphi_alts_move m = c->moves[i];
                bool inside = p->scc[s] == p->scc[m.target];
                bool back = inside && p->left_order[m.target] >= p->left_order[s];
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

static void unroll_cycles_of(aphi_alts *a, size_t component, uint32_t times)
{
    size_t bytes = (a->components[component].states + 1) * sizeof(uint32_t);
    scc_search p = {.c = &a->components[component], .scc = aphi_alloc(bytes), .index = aphi_alloc_zero(bytes),
                    .low = aphi_alloc(bytes), .left_order = aphi_alloc(bytes), .stack = aphi_alloc(bytes),
                    .path = aphi_alloc(bytes), .next = aphi_alloc(bytes)};
    memset(p.scc, 0xff, bytes);
    find_sccs(&p);
    unroll_component(a, component, &p, times);
    APHI_FREE_ALL(p.scc, p.index, p.low, p.left_order, p.stack, p.path, p.next);
}

bool aphi_alts_unroll(aphi_alts *a, uint32_t times, char *why, size_t size)
{
    uint32_t at;
    for (size_t i = 0; i < a->component_count; i++) {
        const aphi_alts_component *c = &a->components[i];
        if (!find_cycle(c, &at))
            continue;
        if ((uint64_t)c->states * times > UNROLLED_MAX) {
            snprintf(why, size, "component %s has %" PRIu32 " states: unrolled %" PRIu32 " times, too many",
                     c->name, c->states, times);
            return false;
        }
        unroll_cycles_of(a, i, times);
    }
    return true;
}

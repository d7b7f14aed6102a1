/* SPDX-License-Identifier: Apache-2.0
 *
 * compiled_model.c - make a model ready for the search.
 *
 * Idea:       all that the search asks is looked up: the move of a state by an input is a bit count away, and what a
 *             component may still send to another is a row of bit sets, shared by the states that have the same.
 * Invariants: states are numbered component by component, in the model's order; so are inputs
 * Cost:       linear in moves times components, once.
 * Read next:  explore.c. */
#include "explore/compiled_model.h"

#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct making {
    aphi_compiled_model *plan;
    const aphi_alts *alts;
    uint16_t *input_of;    /* [thread-owned port * labels + label]: input + 1 */
    uint16_t *channel_of;  /* [sender * ports + port]: channel + 1 */
    uint32_t *depths;      /* of states */
    uint32_t *rows;        /* table of rows, each + 1 */
    size_t row_count, row_capacity, table_size, later_capacity;
    char *why;
    size_t why_size;
} making;

/* ---- inputs and channels ----------------------------------------------------------------------------------------- */

static uint16_t *input_at(const making *m, const aphi_alts_move *move)
{
    return &m->input_of[(size_t)move->port * m->alts->label_count + move->label];
}

static void count_inputs(making *m)
{
    const aphi_alts *a = m->alts;
    for (size_t t = 0; t < a->component_count; t++) {
        const aphi_alts_component *c = &a->components[t];
        for (uint32_t i = 0; i < c->first[c->states]; i++)
            if (c->moves[i].op != APHI_ALTS_LOCAL)
                *input_at(m, &c->moves[i]) = 1;
    }
}

/* Inputs of a thread are all that somebody sends to its ports or that it receives there, in the order of ports and
 * labels. */
static bool number_inputs(making *m)
{
    aphi_compiled_model *p = m->plan;
    const aphi_alts *a = m->alts;
    size_t total = 0;
    count_inputs(m);
    for (size_t i = 0; i < a->port_count * a->label_count; i++)
        total += m->input_of[i];
    p->input_ports = aphi_alloc((total + 1) * sizeof *p->input_ports);
    p->input_labels = aphi_alloc((total + 1) * sizeof *p->input_labels);
    for (size_t t = 0; t < a->component_count; t++) {
        aphi_compiled_thread *thread = &p->threads[t];
        thread->input_base = (uint32_t)p->input_count;
        for (size_t port = 0; port < a->port_count; port++)
            for (size_t label = 0; a->ports[port].owner == t && label < a->label_count; label++) {
                uint16_t *input = &m->input_of[port * a->label_count + label];
                if (!*input)
                    continue;
                p->input_ports[p->input_count] = (uint16_t)port;
                p->input_labels[p->input_count++] = (uint16_t)label;
                *input = (uint16_t)(p->input_count - thread->input_base);
            }
        if (p->input_count - thread->input_base >= UINT16_MAX) {
            snprintf(m->why, m->why_size, "component %s can be sent too many different messages",
                     a->components[t].name);
            return false;
        }
        thread->inputs = (uint16_t)(p->input_count - thread->input_base);
    }
    return true;
}

static uint64_t inputs_of_port(const aphi_compiled_model *p, const aphi_compiled_thread *thread, size_t port)
{
    uint64_t set = 0;
    for (unsigned k = 0; k < thread->inputs; k++)
        if (p->input_ports[thread->input_base + k] == port)
            set |= (uint64_t)1 << (k & 63);
    return set;
}

static bool add_channel(making *m, size_t sender, size_t port)
{
    aphi_compiled_model *p = m->plan;
    const aphi_alts_port *at = &m->alts->ports[port];
    aphi_compiled_thread *receiver = &p->threads[at->owner];
    aphi_compiled_channel *c = &p->channels[p->channel_count];
    if (receiver->into_count == 64 || p->channel_count == UINT16_MAX) {
        snprintf(m->why, m->why_size, "component %s has more than 64 channels: pairs of a sender and a port",
                 m->alts->components[at->owner].name);
        return false;
    }
    uint64_t bit = (uint64_t)1 << receiver->into_count;
    *c = (aphi_compiled_channel){.inputs = inputs_of_port(p, receiver, port), .sender = (uint16_t)sender,
                             .receiver = at->owner, .port = (uint16_t)port, .bit = (uint8_t)receiver->into_count,
                             .medium = (uint8_t)at->medium, .capacity = at->capacity ? at->capacity : UINT32_MAX};
    receiver->ordered |= at->medium == APHI_MEDIUM_PORT ? bit : 0;
    receiver->unordered |= at->medium == APHI_MEDIUM_UNORDERED ? bit : 0;
    p->port_queues |= at->medium == APHI_MEDIUM_PORT;
    p->unordered |= at->medium == APHI_MEDIUM_UNORDERED;
    receiver->into[receiver->into_count++] = (uint16_t)p->channel_count;
    m->channel_of[sender * m->alts->port_count + port] = (uint16_t)++p->channel_count;
    return true;
}

static bool number_channels(making *m)
{
    const aphi_alts *a = m->alts;
    m->plan->channels = aphi_alloc_zero((a->component_count * a->port_count + 1) * sizeof *m->plan->channels);
    for (size_t t = 0; t < a->component_count; t++) {
        const aphi_alts_component *c = &a->components[t];
        for (uint32_t i = 0; i < c->first[c->states]; i++)
            if (c->moves[i].op == APHI_ALTS_SEND && !m->channel_of[t * a->port_count + c->moves[i].port] &&
                !add_channel(m, t, c->moves[i].port))
                return false;
    }
    return true;
}

/* ---- states ------------------------------------------------------------------------------------------------------ */

static int by_input(const void *a, const void *b)
{
    const aphi_compiled_move *x = a, *y = b;
    return (x->input > y->input) - (x->input < y->input);
}

static void fill_receive(making *m, aphi_compiled_state *s, const aphi_alts_move *moves, uint32_t base)
{
    s->kind = APHI_COMPILED_RECEIVE;
    for (size_t i = 0; i < s->count; i++) {
        uint16_t input = (uint16_t)(*input_at(m, &moves[i]) - 1);
        m->plan->moves[s->first + i] = (aphi_compiled_move){.target = base + moves[i].target, .input = input};
        s->open |= (uint64_t)1 << (input & 63);
    }
    qsort(m->plan->moves + s->first, s->count, sizeof *m->plan->moves, by_input);
}

static void fill_state(making *m, size_t thread, uint32_t state, size_t *moves)
{
    const aphi_alts_component *c = &m->alts->components[thread];
    uint32_t base = m->plan->threads[thread].base;
    aphi_compiled_state *s = &m->plan->states[base + state];
    const aphi_alts_move *first = c->moves + c->first[state];
    s->first = (uint32_t)*moves;
    s->count = (uint16_t)(c->first[state + 1] - c->first[state]);
    *moves += s->count;
    if (s->count == 0)
        return;
    if (first->op == APHI_ALTS_RECEIVE) {
        fill_receive(m, s, first, base);
        return;
    }
    m->plan->moves[s->first].target = base + first->target;
    s->label = first->label;
    s->kind = first->op == APHI_ALTS_LOCAL ? APHI_COMPILED_LOCAL
              : first->sync                ? APHI_COMPILED_PASS
                                           : APHI_COMPILED_POST;
    if (first->op == APHI_ALTS_SEND) {
        s->channel = (uint16_t)(m->channel_of[thread * m->alts->port_count + first->port] - 1);
        s->input = (uint16_t)(*input_at(m, first) - 1);
    }
}

static void fill_states(making *m)
{
    aphi_compiled_model *p = m->plan;
    size_t moves = 0;
    for (size_t t = 0; t < p->thread_count; t++) {
        p->threads[t].base = (uint32_t)p->state_count;
        p->threads[t].states = m->alts->components[t].states;
        p->threads[t].initial = p->threads[t].base + m->alts->components[t].initial;
        p->state_count += p->threads[t].states;
        moves += m->alts->components[t].first[p->threads[t].states];
    }
    p->states = aphi_alloc_zero(p->state_count * sizeof *p->states);
    p->moves = aphi_alloc_zero((moves + 1) * sizeof *p->moves);
    moves = 0;
    for (size_t t = 0; t < p->thread_count; t++)
        for (uint32_t s = 0; s < p->threads[t].states; s++)
            fill_state(m, t, s, &moves);
}

/* ---- what may still be sent -------------------------------------------------------------------------------------- */

static uint64_t hash_row(const uint64_t *row, size_t n)
{
    uint64_t h = 1469598103934665603u;
    for (size_t i = 0; i < n; i++)
        h = (h ^ row[i] ^ row[i] >> 29) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 32;
}

static size_t row_place(const making *m, const uint64_t *row)
{
    size_t n = m->plan->thread_count, at = hash_row(row, n) & (m->table_size - 1);
    while (m->rows[at] && memcmp(m->plan->later + (m->rows[at] - 1) * n, row, n * sizeof *row) != 0)
        at = (at + 1) & (m->table_size - 1);
    return at;
}

static void grow_rows(making *m)
{
    m->table_size = m->table_size ? 2 * m->table_size : 64;
    free(m->rows);
    m->rows = aphi_alloc_zero(m->table_size * sizeof *m->rows);
    for (size_t i = 0; i < m->row_count; i++)
        m->rows[row_place(m, m->plan->later + i * m->plan->thread_count)] = (uint32_t)i + 1;
}

static uint32_t row_number(making *m, const uint64_t *row)
{
    size_t n = m->plan->thread_count;
    if (2 * (m->row_count + 1) > m->table_size)
        grow_rows(m);
    size_t at = row_place(m, row);
    if (!m->rows[at]) {
        APHI_RESERVE(m->plan->later, m->later_capacity, (m->row_count + 1) * n);
        memcpy(m->plan->later + m->row_count * n, row, n * sizeof *row);
        m->rows[at] = (uint32_t)++m->row_count;
    }
    return m->rows[at] - 1;
}

/* All states that it can go to are done. */
static void finish_state(making *m, uint32_t state)
{
    aphi_compiled_model *p = m->plan;
    aphi_compiled_state *s = &p->states[state];
    uint64_t row[APHI_ALTS_COMPONENTS_MAX] = {0};
    uint32_t depth = 0;
    for (uint32_t i = s->first; i < s->first + s->count; i++) {
        uint32_t target = p->moves[i].target;
        const uint64_t *after = p->later + p->states[target].row * p->thread_count;
        for (size_t t = 0; t < p->thread_count; t++)
            row[t] |= after[t];
        depth = m->depths[target] + 1 > depth ? m->depths[target] + 1 : depth;
    }
    if (s->kind == APHI_COMPILED_POST || s->kind == APHI_COMPILED_PASS)
        row[p->channels[s->channel].receiver] |= (uint64_t)1 << (s->input & 63);
    m->depths[state] = depth;
    s->row = row_number(m, row);
}

/* Depth first, so that a state is finished after those that it can go to. */
static void finish_from(making *m, uint32_t root, uint8_t *done, uint32_t *stack, uint32_t *next)
{
    aphi_compiled_model *p = m->plan;
    size_t depth = 0;
    stack[depth] = root;
    next[depth++] = 0;
    while (depth) {
        uint32_t here = stack[depth - 1];
        const aphi_compiled_state *s = &p->states[here];
        while (next[depth - 1] < s->count && done[p->moves[s->first + next[depth - 1]].target])
            next[depth - 1]++;
        if (next[depth - 1] == s->count) {
            finish_state(m, here);
            done[here] = 1;
            depth--;
        } else {
            stack[depth] = p->moves[s->first + next[depth - 1]].target;
            next[depth++] = 0;
        }
    }
}

static void finish_states(making *m)
{
    aphi_compiled_model *p = m->plan;
    size_t n = p->state_count + 1;
    uint8_t *done = aphi_alloc_zero(n);
    uint32_t *stack = aphi_alloc(n * sizeof *stack), *next = aphi_alloc(n * sizeof *next);
    m->depths = aphi_alloc_zero(n * sizeof *m->depths);
    for (uint32_t s = 0; s < p->state_count; s++)
        if (!done[s])
            finish_from(m, s, done, stack, next);
    for (size_t t = 0; t < p->thread_count; t++) {
        p->threads[t].depth = m->depths[p->threads[t].initial];
        p->threads[t].log = (uint32_t)p->log_room;
        p->log_room += p->threads[t].depth;
    }
    free(done);
    free(stack);
    free(next);
    free(m->depths);
}

static bool make_room(making *m)
{
    aphi_compiled_model *p = m->plan;
    for (size_t i = 0; i < p->channel_count; i++) {
        aphi_compiled_channel *c = &p->channels[i];
        uint32_t depth = p->threads[c->sender].depth;
        c->base = (uint32_t)p->message_room;
        p->message_room += depth + 1;
        if (depth >= UINT16_MAX || (c->medium == APHI_MEDIUM_UNORDERED && depth > APHI_COMPILED_MESSAGES_MAX)) {
            snprintf(m->why, m->why_size, "component %s can do %u events in a run: too many%s",
                     m->alts->components[c->sender].name, depth,
                     c->medium == APHI_MEDIUM_UNORDERED ? " for what sends to an unordered port" : "");
            return false;
        }
    }
    return true;
}

bool aphi_compiled_make(aphi_compiled_model *p, const aphi_alts *a, char *why, size_t size)
{
    *p = (aphi_compiled_model){.alts = a, .thread_count = a->component_count};
    p->threads = aphi_alloc_zero((a->component_count + 1) * sizeof *p->threads);
    making m = {.plan = p, .alts = a, .why = why, .why_size = size};
    m.input_of = aphi_alloc_zero((a->port_count * a->label_count + 1) * sizeof *m.input_of);
    m.channel_of = aphi_alloc_zero((a->component_count * a->port_count + 1) * sizeof *m.channel_of);
    bool made = number_inputs(&m) && number_channels(&m);
    if (made) {
        fill_states(&m);
        finish_states(&m);
        made = make_room(&m);
    }
    free(m.input_of);
    free(m.channel_of);
    free(m.rows);
    if (!made)
        aphi_compiled_free(p);
    return made;
}

void aphi_compiled_free(aphi_compiled_model *p)
{
    free(p->threads);
    free(p->states);
    free(p->moves);
    free(p->channels);
    free(p->input_ports);
    free(p->input_labels);
    free(p->later);
    *p = (aphi_compiled_model){0};
}

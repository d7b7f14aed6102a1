/* SPDX-License-Identifier: Apache-2.0
 *
 * compiled_model.c - conversion of a model to the form that the search uses.
 *
 * Idea:       the search does only table lookups. A bit count finds the move of a state on an input. The inputs that a
 *             component may still send are a row of bit sets; equal rows are shared.
 * Invariants: states are numbered component by component, in the model's order; so are inputs
 * Cost:       the number of moves times the number of components, once.
 * Read next:  explore.c. */
#include "explore/compiled_model.h"

#include "base/intern.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct builder {
    aphi_compiled_model *model;
    const aphi_alts *alts;
    uint16_t *input_of;    /* [port * labels + label]: input of the owner + 1 */
    uint16_t *channel_of;  /* [sender * ports + port]: channel + 1 */
    uint32_t *depths;    /* of states: longest path, in events */
    aphi_intern rows;    /* of may_send */
    char *why;
    size_t why_size;
} builder;

/* ---- inputs and channels ----------------------------------------------------------------------------------------- */

static uint16_t *input_at(const builder *b, const aphi_alts_move *move)
{
    return &b->input_of[(size_t)move->port * b->alts->label_count + move->label];
}

static void mark_inputs(builder *b)
{
    const aphi_alts *a = b->alts;
    for (size_t t = 0; t < a->component_count; t++) {
        const aphi_alts_component *c = &a->components[t];
        for (uint32_t i = 0; i < c->first[c->states]; i++)
            if (c->moves[i].op != APHI_ALTS_LOCAL)
                *input_at(b, &c->moves[i]) = 1;
    }
}

/* The inputs of a thread are all labels sent to its ports or received there, ordered by port and label. */
static bool number_inputs(builder *b)
{
    aphi_compiled_model *p = b->model;
    const aphi_alts *a = b->alts;
    size_t total = 0;
    mark_inputs(b);
    for (size_t i = 0; i < a->port_count * a->label_count; i++)
        total += b->input_of[i];
    p->input_ports = aphi_alloc((total + 1) * sizeof *p->input_ports);
    p->input_labels = aphi_alloc((total + 1) * sizeof *p->input_labels);
    for (size_t t = 0; t < a->component_count; t++) {
        aphi_compiled_thread *thread = &p->threads[t];
        thread->input_base = (uint32_t)p->input_count;
        for (size_t port = 0; port < a->port_count; port++)
            for (size_t label = 0; a->ports[port].owner == t && label < a->label_count; label++) {
                uint16_t *input = &b->input_of[port * a->label_count + label];
                if (!*input)
                    continue;
                p->input_ports[p->input_count] = (uint16_t)port;
                p->input_labels[p->input_count++] = (uint16_t)label;
                *input = (uint16_t)(p->input_count - thread->input_base);
            }
        if (p->input_count - thread->input_base >= UINT16_MAX) {
            snprintf(b->why, b->why_size, "component %s has too many inputs: pairs of a port and a label",
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

static bool add_channel(builder *b, size_t sender, size_t port)
{
    aphi_compiled_model *p = b->model;
    const aphi_alts_port *at = &b->alts->ports[port];
    aphi_compiled_thread *receiver = &p->threads[at->owner];
    aphi_compiled_channel *c = &p->channels[p->channel_count];
    if (receiver->incoming_count == 64 || p->channel_count == UINT16_MAX) {
        snprintf(b->why, b->why_size, "component %s has more than 64 incoming channels: pairs of a sender and a port",
                 b->alts->components[at->owner].name);
        return false;
    }
    uint64_t bit = (uint64_t)1 << receiver->incoming_count;
    *c = (aphi_compiled_channel){.inputs = inputs_of_port(p, receiver, port), .sender = (uint16_t)sender,
                             .receiver = at->owner, .port = (uint16_t)port, .bit = (uint8_t)receiver->incoming_count,
                                 .medium = (uint8_t)at->medium, .capacity = at->capacity ? at->capacity : UINT32_MAX};
    receiver->shared_queue |= at->medium == APHI_MEDIUM_PORT ? bit : 0;
    receiver->unordered |= at->medium == APHI_MEDIUM_UNORDERED ? bit : 0;
    p->has_shared_queues |= at->medium == APHI_MEDIUM_PORT;
    p->has_unordered |= at->medium == APHI_MEDIUM_UNORDERED;
    receiver->incoming[receiver->incoming_count++] = (uint16_t)p->channel_count;
    b->channel_of[sender * b->alts->port_count + port] = (uint16_t)++p->channel_count;
    return true;
}

static bool number_channels(builder *b)
{
    const aphi_alts *a = b->alts;
    b->model->channels = aphi_alloc_zero((a->component_count * a->port_count + 1) * sizeof *b->model->channels);
    for (size_t t = 0; t < a->component_count; t++) {
        const aphi_alts_component *c = &a->components[t];
        for (uint32_t i = 0; i < c->first[c->states]; i++)
            if (c->moves[i].op == APHI_ALTS_SEND && !b->channel_of[t * a->port_count + c->moves[i].port] &&
                !add_channel(b, t, c->moves[i].port))
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

static void fill_receive(builder *b, aphi_compiled_state *s, const aphi_alts_move *moves, uint32_t base)
{
    s->kind = APHI_COMPILED_RECEIVE;
    for (size_t i = 0; i < s->count; i++) {
        uint16_t input = (uint16_t)(*input_at(b, &moves[i]) - 1);
        b->model->moves[s->first + i] = (aphi_compiled_move){.target = base + moves[i].target, .input = input};
        s->open |= (uint64_t)1 << (input & 63);
    }
    qsort(b->model->moves + s->first, s->count, sizeof *b->model->moves, by_input);
}

static void fill_state(builder *b, size_t thread, uint32_t state, size_t *moves)
{
    const aphi_alts_component *c = &b->alts->components[thread];
    uint32_t base = b->model->threads[thread].base;
    aphi_compiled_state *s = &b->model->states[base + state];
    const aphi_alts_move *first = c->moves + c->first[state];
    s->first = (uint32_t)*moves;
    s->count = (uint16_t)(c->first[state + 1] - c->first[state]);
    *moves += s->count;
    if (s->count == 0)
        return;
    if (first->op == APHI_ALTS_RECEIVE) {
        fill_receive(b, s, first, base);
        return;
    }
    b->model->moves[s->first].target = base + first->target;
    s->label = first->label;
    s->kind = first->op == APHI_ALTS_LOCAL ? APHI_COMPILED_LOCAL
              : first->sync                ? APHI_COMPILED_PASS
                                           : APHI_COMPILED_POST;
    if (first->op == APHI_ALTS_SEND) {
        s->channel = (uint16_t)(b->channel_of[thread * b->alts->port_count + first->port] - 1);
        s->input = (uint16_t)(*input_at(b, first) - 1);
    }
}

static void fill_states(builder *b)
{
    aphi_compiled_model *p = b->model;
    size_t moves = 0;
    for (size_t t = 0; t < p->thread_count; t++) {
        p->threads[t].base = (uint32_t)p->state_count;
        p->threads[t].states = b->alts->components[t].states;
        p->threads[t].initial = p->threads[t].base + b->alts->components[t].initial;
        p->state_count += p->threads[t].states;
        moves += b->alts->components[t].first[p->threads[t].states];
    }
    p->states = aphi_alloc_zero(p->state_count * sizeof *p->states);
    p->moves = aphi_alloc_zero((moves + 1) * sizeof *p->moves);
    moves = 0;
    for (size_t t = 0; t < p->thread_count; t++)
        for (uint32_t s = 0; s < p->threads[t].states; s++)
            fill_state(b, t, s, &moves);
}

/* ---- inputs that may still be sent ------------------------------------------------------------------------------ */

/* Precondition: all successors of the state are finished. */
static void finish_state(builder *b, uint32_t state)
{
    aphi_compiled_model *p = b->model;
    aphi_compiled_state *s = &p->states[state];
    uint64_t row[APHI_ALTS_COMPONENTS_MAX] = {0};
    uint32_t depth = 0;
    for (uint32_t i = s->first; i < s->first + s->count; i++) {
        uint32_t target = p->moves[i].target;
        const uint64_t *after = aphi_intern_key(&b->rows, p->states[target].may_send_row, NULL);
        for (size_t t = 0; t < p->thread_count; t++)
            row[t] |= after[t];
        depth = b->depths[target] + 1 > depth ? b->depths[target] + 1 : depth;
    }
    if (s->kind == APHI_COMPILED_POST || s->kind == APHI_COMPILED_PASS)
        row[p->channels[s->channel].receiver] |= (uint64_t)1 << (s->input & 63);
    b->depths[state] = depth;
    s->may_send_row = aphi_intern_number(&b->rows, row, p->thread_count * sizeof *row);
}

/* Depth-first search: finishes each state after its successors. */
static void finish_from(builder *b, uint32_t root, uint8_t *done, uint32_t *stack, uint32_t *next)
{
    aphi_compiled_model *p = b->model;
    size_t depth = 0;
    stack[depth] = root;
    next[depth++] = 0;
    while (depth) {
        uint32_t here = stack[depth - 1];
        const aphi_compiled_state *s = &p->states[here];
        while (next[depth - 1] < s->count && done[p->moves[s->first + next[depth - 1]].target])
            next[depth - 1]++;
        if (next[depth - 1] == s->count) {
            finish_state(b, here);
            done[here] = 1;
            depth--;
        } else {
            stack[depth] = p->moves[s->first + next[depth - 1]].target;
            next[depth++] = 0;
        }
    }
}

static void finish_states(builder *b)
{
    aphi_compiled_model *p = b->model;
    size_t n = p->state_count + 1;
    uint8_t *done = aphi_alloc_zero(n);
    uint32_t *stack = aphi_alloc(n * sizeof *stack), *next = aphi_alloc(n * sizeof *next);
    b->depths = aphi_alloc_zero(n * sizeof *b->depths);
    for (uint32_t s = 0; s < p->state_count; s++)
        if (!done[s])
            finish_from(b, s, done, stack, next);
    for (size_t t = 0; t < p->thread_count; t++) {
        p->threads[t].depth = b->depths[p->threads[t].initial];
        p->threads[t].first_step = (uint32_t)p->step_capacity;
        p->step_capacity += p->threads[t].depth;
    }
    p->may_send = aphi_copy(b->rows.bytes, b->rows.used);
    APHI_FREE_ALL(done, stack, next, b->depths);
    aphi_intern_free(&b->rows);
}

static bool reserve_messages(builder *b)
{
    aphi_compiled_model *p = b->model;
    for (size_t i = 0; i < p->channel_count; i++) {
        aphi_compiled_channel *c = &p->channels[i];
        uint32_t depth = p->threads[c->sender].depth;
        c->base = (uint32_t)p->message_capacity;
        p->message_capacity += depth + 1;
        if (depth >= UINT16_MAX || (c->medium == APHI_MEDIUM_UNORDERED && depth > APHI_COMPILED_MESSAGES_MAX)) {
            snprintf(b->why, b->why_size, "component %s has up to %u events in a run; too many%s",
                     b->alts->components[c->sender].name, depth,
                     c->medium == APHI_MEDIUM_UNORDERED ? " for a sender to an unordered port" : "");
            return false;
        }
    }
    return true;
}

bool aphi_compiled_model_build(aphi_compiled_model *p, const aphi_alts *a, char *why, size_t size)
{
    *p = (aphi_compiled_model){.alts = a, .thread_count = a->component_count};
    p->threads = aphi_alloc_zero((a->component_count + 1) * sizeof *p->threads);
    builder b = {.model = p, .alts = a, .why = why, .why_size = size};
    b.input_of = aphi_alloc_zero((a->port_count * a->label_count + 1) * sizeof *b.input_of);
    b.channel_of = aphi_alloc_zero((a->component_count * a->port_count + 1) * sizeof *b.channel_of);
    bool made = number_inputs(&b) && number_channels(&b);
    if (made) {
        fill_states(&b);
        finish_states(&b);
        made = reserve_messages(&b);
    }
    free(b.input_of);
    free(b.channel_of);
    if (!made)
        aphi_compiled_model_free(p);
    return made;
}

void aphi_compiled_model_free(aphi_compiled_model *p)
{
    APHI_FREE_ALL(p->threads, p->states, p->moves, p->channels, p->input_ports, p->input_labels, p->may_send);
    *p = (aphi_compiled_model){0};
}

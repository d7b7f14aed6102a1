/* SPDX-License-Identifier: Apache-2.0
 *
 * reduced_model.c - minimization of a model for one target component, in four steps.
 *
 * 1. Inputs: the pairs of port and label that occur, sorted. A move is then an input and a target state.
 * 2. Partition refinement: initially all states of a component are one block, and all labels of a port one class.
 *    States whose moves differ in class or block are split, and so are labels that a state of the owner distinguishes,
 *    until nothing changes. The result is a bisimulation of the whole model that leaves the target unchanged. Local
 *    events of other components are invisible, and are skipped.
 * 3. Quotient: the reachable blocks become the states.
 * 4. Summaries and channels: the classes that each state may still send, computed backwards from the last states, and
 *    the channels of each port.
 *
 * Cost: a pass over all moves for each round of refinement. */
#include "local/reduced_model.h"

#include "base/memory.h"
#include "base/intern.h"

#include <stdlib.h>
#include <string.h>

enum { STATES_MAX = 65534 };
static const uint32_t NONE = UINT32_MAX;

typedef struct builder {
    const aphi_alts *a;
    size_t target, input_count;
    bool races, has_sender; /* has_sender: entries of shared channels have their sender */
    uint32_t *inputs;       /* port << 16 | label, sorted */
    uint32_t *class;        /* by input */
    uint32_t **block;       /* by component and state */
    uint32_t **skip;        /* by component and state: the next state without a local event */
    uint32_t **max_sends;   /* by component and port: most asynchronous sends on a path */
} builder;

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static size_t sort_unique(uint32_t *p, size_t n)
{
    qsort(p, n, sizeof *p, by_number);
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || p[i] != p[kept - 1])
            p[kept++] = p[i];
    return kept;
}

static size_t move_count(const aphi_alts_component *c)
{
    return c->first[c->states];
}

static size_t input_index(const builder *w, const aphi_alts_move *m)
{
    uint32_t key = (uint32_t)m->port << 16 | m->label;
    uint32_t *at = bsearch(&key, w->inputs, w->input_count, sizeof key, by_number);
    return (size_t)(at - w->inputs);
}

static void collect_inputs(builder *w)
{
    size_t n = 0;
    for (size_t c = 0; c < w->a->component_count; c++)
        n += move_count(&w->a->components[c]);
    w->inputs = aphi_alloc((n + 1) * sizeof *w->inputs);
    n = 0;
    for (size_t c = 0; c < w->a->component_count; c++)
        for (size_t i = 0; i < move_count(&w->a->components[c]); i++) {
            const aphi_alts_move *m = &w->a->components[c].moves[i];
            if (m->op != APHI_ALTS_LOCAL)
                w->inputs[n++] = (uint32_t)m->port << 16 | m->label;
        }
    w->input_count = sort_unique(w->inputs, n);
}

static size_t input_owner(const builder *w, size_t input)
{
    return w->a->ports[w->inputs[input] >> 16].owner;
}

static void begin_partition(builder *w)
{
    w->class = aphi_alloc_zero((w->input_count + 1) * sizeof *w->class);
    for (size_t f = 0; f < w->input_count; f++)
        w->class[f] = input_owner(w, f) == w->target ? (uint32_t)(w->a->port_count + f) : w->inputs[f] >> 16;
    w->block = aphi_alloc(w->a->component_count * sizeof *w->block);
    w->skip = aphi_alloc(w->a->component_count * sizeof *w->skip);
    for (size_t c = 0; c < w->a->component_count; c++) {
        const aphi_alts_component *p = &w->a->components[c];
        w->block[c] = aphi_alloc_zero((p->states + 1) * sizeof **w->block);
        w->skip[c] = aphi_alloc((p->states + 1) * sizeof **w->skip);
        for (uint32_t q = 0; q < p->states; q++) {
            uint32_t end = q;
            while (c != w->target && p->first[end] < p->first[end + 1] &&
                   p->moves[p->first[end]].op == APHI_ALTS_LOCAL)
                end = p->moves[p->first[end]].target;
            w->skip[c][q] = end;
            if (c == w->target)
                w->block[c][q] = q;
        }
    }
}

/* The signature of a state: its block, then its moves, sorted and without duplicates. */
static size_t state_signature(const builder *w, size_t c, uint32_t q, uint64_t *out)
{
    const aphi_alts_component *p = &w->a->components[c];
    size_t n = 0;
    q = w->skip[c][q];
    out[n++] = w->block[c][q];
    for (uint32_t i = p->first[q]; i < p->first[q + 1]; i++) {
        const aphi_alts_move *m = &p->moves[i];
        uint64_t input = w->class[input_index(w, m)], kind = m->op == APHI_ALTS_RECEIVE ? 2 : m->sync;
        uint64_t item = input << 34 | kind << 32 | w->block[c][w->skip[c][m->target]];
        size_t at = n;
        while (at > 1 && out[at - 1] > item)
            at--;
        if (at > 1 && out[at - 1] == item)
            continue;
        memmove(&out[at + 1], &out[at], (n - at) * sizeof *out);
        out[at] = item;
        n++;
    }
    return n;
}

/* Splits the blocks of a component; returns true if the number of blocks has grown. */
static bool split_states(builder *w, size_t c)
{
    const aphi_alts_component *p = &w->a->components[c];
    if (c == w->target)
        return false;
    aphi_intern seen = {0}, before = {0};
    uint64_t *signature = aphi_alloc((move_count(p) + 2) * sizeof *signature);
    uint32_t *next = aphi_alloc((p->states + 1) * sizeof *next);
    for (uint32_t q = 0; q < p->states; q++) {
        aphi_intern_number(&before, &w->block[c][q], sizeof **w->block);
        next[q] = aphi_intern_number(&seen, signature, state_signature(w, c, q, signature) * sizeof *signature);
    }
    bool split = seen.count > before.count;
    free(w->block[c]);
    w->block[c] = next;
    free(signature);
    aphi_intern_free(&seen);
    aphi_intern_free(&before);
    return split;
}

/* The signatures of labels: their class, and the blocks to which they lead from each state of the owner. */
static void label_signatures(const builder *w, size_t c, uint64_t **out, size_t *n)
{
    const aphi_alts_component *p = &w->a->components[c];
    for (uint32_t q = 0; q < p->states; q++)
        for (uint32_t i = p->first[q]; i < p->first[q + 1]; i++) {
            const aphi_alts_move *m = &p->moves[i];
            if (m->op != APHI_ALTS_RECEIVE)
                continue;
            size_t f = input_index(w, m);
            out[f] = aphi_realloc(out[f], (n[f] + 1) * sizeof **out);
            out[f][n[f]++] = (uint64_t)q << 32 | w->block[c][w->skip[c][m->target]];
        }
}

static bool split_labels(builder *w)
{
    uint64_t **signatures = aphi_alloc_zero((w->input_count + 1) * sizeof *signatures);
    size_t *n = aphi_alloc_zero((w->input_count + 1) * sizeof *n);
    for (size_t f = 0; f < w->input_count; f++) {
        signatures[f] = aphi_alloc(sizeof **signatures);
        signatures[f][n[f]++] = w->class[f];
    }
    for (size_t c = 0; c < w->a->component_count; c++)
        label_signatures(w, c, signatures, n);
    aphi_intern seen = {0}, before = {0};
    for (size_t f = 0; f < w->input_count; f++) {
        aphi_intern_number(&before, &w->class[f], sizeof *w->class);
        w->class[f] = aphi_intern_number(&seen, signatures[f], n[f] * sizeof **signatures);
        free(signatures[f]);
    }
    bool split = seen.count > before.count;
    aphi_intern_free(&seen);
    aphi_intern_free(&before);
    free(signatures);
    free(n);
    return split;
}

static void refine_partition(builder *w)
{
    for (bool again = true; again;) {
        again = split_labels(w);
        for (size_t c = 0; c < w->a->component_count; c++)
            again |= split_states(w, c);
    }
}

/* ---- the quotient ------------------------------------------------------------------------------------------------ */

static aphi_reduced_kind kind_of(const aphi_alts_component *p, uint32_t q)
{
    if (p->first[q] == p->first[q + 1])
        return APHI_REDUCED_TERMINAL;
    const aphi_alts_move *m = &p->moves[p->first[q]];
    if (m->op == APHI_ALTS_LOCAL)
        return APHI_REDUCED_LOCAL;
    return m->op == APHI_ALTS_RECEIVE ? APHI_REDUCED_RECEIVE : m->sync ? APHI_REDUCED_SYNC : APHI_REDUCED_SEND;
}

typedef struct quotient {
    uint32_t *number;     /* by block: its state, or NONE if not reached */
    uint32_t *origin;     /* by state: a state of the original component */
    uint32_t count;
} quotient;

static uint32_t quotient_state(const builder *w, size_t c, quotient *q, uint32_t state)
{
    state = w->skip[c][state];
    uint32_t *number = &q->number[w->block[c][state]];
    if (*number == NONE) {
        q->origin[q->count] = state;
        *number = q->count++;
    }
    return *number;
}

/* Adds a move unless the state, whose moves start at `first`, has an equal one. */
static size_t add_move(aphi_reduced_component *comp, size_t first, size_t n, aphi_reduced_move m)
{
    for (size_t i = first; i < n; i++)
        if (comp->moves[i].class == m.class && comp->moves[i].target == m.target && comp->moves[i].port == m.port)
            return n;
    comp->moves[n] = m;
    return n + 1;
}

static void build_component(const builder *w, size_t c, aphi_reduced_component *comp)
{
    const aphi_alts_component *p = &w->a->components[c];
    quotient q = {.number = aphi_alloc((p->states + 1) * sizeof *q.number),
                  .origin = aphi_alloc((p->states + 1) * sizeof *q.origin)};
    memset(q.number, 0xff, (p->states + 1) * sizeof *q.number);
    comp->kind = aphi_alloc_zero(p->states + 1);
    comp->first = aphi_alloc((p->states + 2) * sizeof *comp->first);
    comp->moves = aphi_alloc((move_count(p) + 1) * sizeof *comp->moves);
    comp->initial = quotient_state(w, c, &q, p->initial);
    size_t n = 0;
    for (uint32_t s = 0; s < q.count; s++) {
        uint32_t o = q.origin[s];
        comp->kind[s] = (uint8_t)kind_of(p, o);
        comp->first[s] = (uint32_t)n;
        for (uint32_t i = p->first[o]; i < p->first[o + 1]; i++) {
            const aphi_alts_move *m = &p->moves[i];
            uint32_t class = m->op == APHI_ALTS_LOCAL ? 0 : w->class[input_index(w, m)];
            aphi_reduced_move mapped = {quotient_state(w, c, &q, m->target), class, m->port, m->label};
            n = c == w->target ? (comp->moves[n] = mapped, n + 1) : add_move(comp, comp->first[s], n, mapped);
        }
    }
    comp->states = q.count;
    comp->first[q.count] = comp->first[q.count + 1] = (uint32_t)n;
    comp->kind[q.count] = APHI_REDUCED_TERMINAL;
    free(q.number);
    free(q.origin);
}

/* Renumbers the classes, so that those of a port are consecutive. */
static void number_classes(builder *w, aphi_reduced_model *g)
{
    uint32_t *renumbered = aphi_alloc((w->input_count + 1) * sizeof *renumbered);
    memset(renumbered, 0xff, (w->input_count + 1) * sizeof *renumbered);
    uint32_t word = 0;
    size_t f = 0;
    for (size_t p = 0; p < g->port_count; p++) {
        uint32_t n = 0;
        for (; f < w->input_count && w->inputs[f] >> 16 == p; f++) {
            if (renumbered[w->class[f]] == NONE)
                renumbered[w->class[f]] = word * 64 + n++;
        }
        g->ports[p].word = word;
        g->ports[p].words = (n + 63) / 64;
        g->ports[p].single_class = n == 1;
        word += g->ports[p].words;
    }
    for (f = 0; f < w->input_count; f++)
        w->class[f] = renumbered[w->class[f]];
    g->words = word;
    free(renumbered);
}

/* ---- summaries --------------------------------------------------------------------------------------------------- */

/* The states in postorder: each after its successors. */
static uint32_t *postorder(const aphi_reduced_component *comp)
{
    uint32_t *order = aphi_alloc((comp->states + 1) * sizeof *order);
    uint32_t *stack = aphi_alloc((comp->states + 1) * sizeof *stack);
    uint32_t *next = aphi_alloc((comp->states + 1) * sizeof *next), n = 0, depth = 1;
    memset(next, 0xff, (comp->states + 1) * sizeof *next);
    stack[0] = comp->initial;
    next[comp->initial] = comp->first[comp->initial];
    while (depth > 0) {
        uint32_t s = stack[depth - 1];
        if (next[s] == comp->first[s + 1]) {
            order[n++] = s;
            depth--;
            continue;
        }
        uint32_t t = comp->moves[next[s]++].target;
        if (next[t] == NONE) {
            next[t] = comp->first[t];
            stack[depth++] = t;
        }
    }
    free(stack);
    free(next);
    return order;
}

static void set_bit(uint64_t *words, uint32_t bit)
{
    words[bit / 64] |= UINT64_C(1) << bit % 64;
}

static bool is_send(uint8_t kind)
{
    return kind == APHI_REDUCED_SEND || kind == APHI_REDUCED_SYNC;
}

static void summarize_state(const aphi_reduced_model *g, aphi_reduced_component *comp, size_t c, uint32_t s)
{
    uint64_t *may_send = &comp->may_send[s * g->words];
    for (uint32_t i = comp->first[s]; i < comp->first[s + 1]; i++) {
        const aphi_reduced_move *m = &comp->moves[i];
        for (size_t k = 0; k < g->words; k++)
            may_send[k] |= comp->may_send[m->target * g->words + k];
        comp->may_reach[s] |= comp->may_reach[m->target];
        comp->needs[s] |= comp->needs[m->target];
        comp->contends_for[s] |= comp->contends_for[m->target];
        if (comp->kind[s] == APHI_REDUCED_RECEIVE)
            set_bit(&comp->accepts[s * g->words], m->class);
        if (!is_send(comp->kind[s]))
            continue;
        const aphi_reduced_port *port = &g->ports[m->port];
        uint64_t owner = UINT64_C(1) << port->owner;
        set_bit(may_send, m->class);
        comp->may_reach[s] |= owner;
        if (comp->kind[s] == APHI_REDUCED_SYNC || port->capacity_of[c])
            comp->needs[s] |= owner;
        if (port->contended)
            comp->contends_for[s] |= owner;
    }
}

static void summarize_component(aphi_reduced_model *g, size_t c)
{
    aphi_reduced_component *comp = &g->components[c];
    size_t n = (size_t)comp->states + 1;
    comp->may_send = aphi_alloc_zero((n * g->words + 1) * sizeof *comp->may_send);
    comp->accepts = aphi_alloc_zero((n * g->words + 1) * sizeof *comp->accepts);
    comp->may_reach = aphi_alloc_zero(n * sizeof *comp->may_reach);
    comp->needs = aphi_alloc_zero(n * sizeof *comp->needs);
    comp->contends_for = aphi_alloc_zero(n * sizeof *comp->contends_for);
    uint32_t *order = postorder(comp);
    for (uint32_t i = 0; i < comp->states; i++)
        summarize_state(g, comp, c, order[i]);
    free(order);
}

/* Returns, by state, the maximal number of asynchronous sends to the port, or receives from it, on a path. */
static uint32_t *max_moves_from(const aphi_reduced_component *comp, const uint32_t *order, size_t port,
                                aphi_reduced_kind kind)
{
    uint32_t *max = aphi_alloc_zero((comp->states + 1) * sizeof *max);
    for (uint32_t i = 0; i < comp->states; i++) {
        uint32_t s = order[i];
        for (uint32_t k = comp->first[s]; k < comp->first[s + 1]; k++) {
            uint32_t here = comp->kind[s] == kind && comp->moves[k].port == port;
            if (max[comp->moves[k].target] + here > max[s])
                max[s] = max[comp->moves[k].target] + here;
        }
    }
    return max;
}

static void count_sends(builder *w, const aphi_reduced_model *g)
{
    w->max_sends = aphi_alloc(g->component_count * sizeof *w->max_sends);
    for (size_t c = 0; c < g->component_count; c++) {
        const aphi_reduced_component *comp = &g->components[c];
        w->max_sends[c] = aphi_alloc_zero((g->port_count + 1) * sizeof **w->max_sends);
        uint32_t *order = postorder(comp);
        for (uint32_t s = 0; s < comp->states; s++)
            if (comp->kind[s] == APHI_REDUCED_SEND && !w->max_sends[c][comp->moves[comp->first[s]].port]) {
                uint16_t port = comp->moves[comp->first[s]].port;
                uint32_t *max = max_moves_from(comp, order, port, APHI_REDUCED_SEND);
                w->max_sends[c][port] = max[comp->initial];
                free(max);
            }
        free(order);
    }
}

/* ---- channels ---------------------------------------------------------------------------------------------------- */

static void mark_sync_ports(aphi_reduced_model *g)
{
    for (size_t c = 0; c < g->component_count; c++)
        for (uint32_t s = 0; s < g->components[c].states; s++)
            if (g->components[c].kind[s] == APHI_REDUCED_SYNC)
                g->ports[g->components[c].moves[g->components[c].first[s]].port].has_sync = true;
}

static size_t sender_count(const aphi_reduced_model *g, size_t port)
{
    size_t n = 0;
    for (size_t c = 0; c < g->component_count; c++) {
        bool sends = false;
        for (uint32_t s = 0; s < g->components[c].states; s++)
            sends |=
                is_send(g->components[c].kind[s]) && g->components[c].moves[g->components[c].first[s]].port == port;
        n += sends;
    }
    return n;
}

typedef struct traffic {
    size_t senders;           /* number of asynchronous senders */
    bool limited, single;     /* a sender may have to wait; no sender sends more than once */
} traffic;

static traffic traffic_on(const builder *w, aphi_reduced_port *port, size_t p)
{
    const aphi_alts_port *from = &w->a->ports[p];
    traffic t = {.single = true};
    for (size_t c = 0; c < w->a->component_count; c++) {
        uint32_t max = w->max_sends[c][p];
        if (max == 0)
            continue;
        t.senders++;
        t.single &= max == 1;
        if (from->capacity && max > from->capacity) {
            port->capacity_of[c] = from->capacity;
            t.limited = true;
        }
    }
    return t;
}

static uint32_t add_channel(aphi_reduced_model *g, aphi_reduced_port *port, aphi_reduced_channel channel)
{
    g->channels = aphi_realloc(g->channels, (g->channel_count + 1) * sizeof *g->channels);
    g->channels[g->channel_count] = channel;
    port->channels++;
    return (uint32_t)g->channel_count++;
}

/* Returns true if some class on the port has more than one sender. */
static bool shared_class(const aphi_reduced_model *g, size_t p)
{
    const aphi_reduced_port *port = &g->ports[p];
    uint32_t *senders = aphi_alloc_zero(((size_t)port->words * 64 + 1) * sizeof *senders);
    bool shared = false;
    for (size_t c = 0; c < g->component_count; c++)
        for (uint32_t s = 0; s < g->components[c].states; s++) {
            const aphi_reduced_move *m = &g->components[c].moves[g->components[c].first[s]];
            if (g->components[c].kind[s] != APHI_REDUCED_SEND || m->port != p)
                continue;
            uint32_t *sender = &senders[m->class - port->word * 64];
            shared |= *sender && *sender != c + 1;
            *sender = (uint32_t)c + 1;
        }
    free(senders);
    return shared;
}

/* Adds one bag for uniform or unordered messages, one queue for a contended port, or a queue for each sender. If no
 * sender sends more than once, order does not matter either: a bag has fewer states if senders share a class. */
static void add_channels_of(const builder *w, aphi_reduced_model *g, size_t p)
{
    aphi_reduced_port *port = &g->ports[p];
    traffic t = traffic_on(w, port, p);
    bool is_target_port = port->owner == w->target, unordered = w->a->ports[p].medium == APHI_MEDIUM_UNORDERED;
    bool has_shared_queue = w->a->ports[p].medium == APHI_MEDIUM_PORT && sender_count(g, p) > 1;
    bool is_uniform = port->single_class && !is_target_port && !t.limited && !(port->has_sync && !unordered) &&
                 (!w->races || unordered || (t.single && !has_shared_queue));
    bool sent_once = t.single && !is_target_port && !t.limited && !port->has_sync &&
                     w->a->ports[p].medium == APHI_MEDIUM_PAIR && shared_class(g, p);
    port->single_class = is_uniform;
    port->ordered = !unordered;
    port->contended = has_shared_queue && !is_uniform;
    g->contended |= port->contended;
    if (port->contended) {
        uint32_t *order = postorder(&g->components[port->owner]);
        port->receives_left = max_moves_from(&g->components[port->owner], order, p, APHI_REDUCED_RECEIVE);
        free(order);
    }
    port->channel = (uint32_t)g->channel_count;
    aphi_reduced_channel channel = {.port = (uint16_t)p, .bag = is_uniform || unordered || sent_once};
    channel.has_sender = is_target_port || t.limited || (port->contended && port->has_sync) || w->has_sender;
    uint32_t shared = APHI_REDUCED_NO_CHANNEL;
    if (port->contended || (channel.bag && t.senders > 0))
        shared = add_channel(g, port, channel);
    for (size_t c = 0; c < g->component_count; c++) {
        port->channel_of[c] = w->max_sends[c][p] || port->contended ? shared : APHI_REDUCED_NO_CHANNEL;
        if (w->max_sends[c][p] && shared == APHI_REDUCED_NO_CHANNEL) {
            uint32_t *order = postorder(&g->components[c]);
            channel.sender = (uint16_t)c;
            channel.has_sender = false;
            channel.sends_left = max_moves_from(&g->components[c], order, p, APHI_REDUCED_SEND);
            free(order);
            port->channel_of[c] = add_channel(g, port, channel);
        }
    }
}

/* With races and a queue for several senders, states have a causal history, which needs the sender of every message. */
static void add_channels(builder *w, aphi_reduced_model *g)
{
    count_sends(w, g);
    mark_sync_ports(g);
    for (size_t p = 0; p < g->port_count; p++)
        w->has_sender |= w->races && w->a->ports[p].medium == APHI_MEDIUM_PORT && sender_count(g, p) > 1;
    for (size_t p = 0; p < g->port_count; p++) {
        g->ports[p].channel_of = aphi_alloc(g->component_count * sizeof *g->ports[p].channel_of);
        g->ports[p].capacity_of = aphi_alloc_zero(g->component_count * sizeof *g->ports[p].capacity_of);
        add_channels_of(w, g, p);
    }
    for (size_t c = 0; c < g->component_count; c++)
        free(w->max_sends[c]);
    free(w->max_sends);
}

/* ---- construction ------------------------------------------------------------------------------------------------ */

static void free_builder(builder *w)
{
    for (size_t c = 0; c < w->a->component_count; c++) {
        free(w->block[c]);
        free(w->skip[c]);
    }
    APHI_FREE_ALL(w->block, w->skip, w->inputs, w->class);
}

static aphi_reduced_status build_all(builder *w, aphi_reduced_model *g)
{
    for (size_t p = 0; p < g->port_count; p++)
        g->ports[p].owner = w->a->ports[p].owner;
    number_classes(w, g);
    for (size_t c = 0; c < g->component_count; c++)
        build_component(w, c, &g->components[c]);
    add_channels(w, g);
    for (size_t c = 0; c < g->component_count; c++) {
        if (g->components[c].states > STATES_MAX)
            return APHI_REDUCED_TOO_LARGE;
        summarize_component(g, c);
    }
    return APHI_REDUCED_READY;
}

aphi_reduced_status aphi_reduced_model_build(aphi_reduced_model *g, const aphi_alts *a, size_t target, bool races)
{
    *g = (aphi_reduced_model){.target = target, .component_count = a->component_count, .port_count = a->port_count};
    g->components = aphi_alloc_zero((g->component_count + 1) * sizeof *g->components);
    g->ports = aphi_alloc_zero((g->port_count + 1) * sizeof *g->ports);
    builder w = {.a = a, .target = target, .races = races};
    collect_inputs(&w);
    begin_partition(&w);
    refine_partition(&w);
    aphi_reduced_status status = build_all(&w, g);
    free_builder(&w);
    return status;
}

void aphi_reduced_model_free(aphi_reduced_model *g)
{
    for (size_t c = 0; c < g->component_count; c++) {
        aphi_reduced_component *p = &g->components[c];
        APHI_FREE_ALL(p->kind, p->first, p->moves, p->may_send, p->accepts, p->may_reach, p->needs, p->contends_for);
    }
    for (size_t p = 0; p < g->port_count; p++) {
        APHI_FREE_ALL(g->ports[p].channel_of, g->ports[p].capacity_of, g->ports[p].receives_left);
    }
    for (size_t i = 0; i < g->channel_count; i++)
        free(g->channels[i].sends_left);
    APHI_FREE_ALL(g->components, g->ports, g->channels);
    *g = (aphi_reduced_model){0};
}

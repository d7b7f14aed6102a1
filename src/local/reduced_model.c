/* SPDX-License-Identifier: Apache-2.0
 *
 * reduced_model.c - from a model to the ground of reduced_model.h, in four steps.
 *
 * 1. Feeds: the pairs of port and label that occur, sorted. A move is then a feed and a state to go to.
 * 2. Refinement: at first all states of a component are in one block and all labels of a port in one class. States
 *    whose moves differ in class or block are split, labels that some state of the owner does not treat alike are
 *    split, until nothing is. Both relations together are a bisimulation of the whole model that leaves the target as
 *    it is. Local events of others are skipped first: nobody sees them.
 * 3. Quotient: the blocks that can be reached become the states.
 * 4. Futures, channels: what can still be sent in a state, from the last states backwards; how messages are kept.
 *
 * Cost: refinement is the plain method, a round over all moves for each round that splits. */
#include "local/reduced_model.h"

#include "base/memory.h"
#include "base/intern.h"

#include <stdlib.h>
#include <string.h>

enum { STATES_MAX = 65534 };
static const uint32_t NOWHERE = UINT32_MAX;

typedef struct work {
    const aphi_alts *a;
    size_t target, feed_count;
    bool races, named;     /* named: whatever is shared tells its senders */
    uint32_t *feeds;       /* port << 16 | label, sorted */
    uint32_t *class;       /* of each feed */
    uint32_t **block;      /* of each state of each component */
    uint32_t **skip;       /* the state that is left of a state when local events are skipped */
    uint32_t **longest;    /* [component][port]: most asynchronous sends on one way through it */
} work;

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static size_t unique(uint32_t *p, size_t n)
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

static size_t feed_of(const work *w, const aphi_alts_move *m)
{
    uint32_t key = (uint32_t)m->port << 16 | m->label;
    uint32_t *at = bsearch(&key, w->feeds, w->feed_count, sizeof key, by_number);
    return (size_t)(at - w->feeds);
}

static void collect_feeds(work *w)
{
    size_t n = 0;
    for (size_t c = 0; c < w->a->component_count; c++)
        n += move_count(&w->a->components[c]);
    w->feeds = aphi_alloc((n + 1) * sizeof *w->feeds);
    n = 0;
    for (size_t c = 0; c < w->a->component_count; c++)
        for (size_t i = 0; i < move_count(&w->a->components[c]); i++) {
            const aphi_alts_move *m = &w->a->components[c].moves[i];
            if (m->op != APHI_ALTS_LOCAL)
                w->feeds[n++] = (uint32_t)m->port << 16 | m->label;
        }
    w->feed_count = unique(w->feeds, n);
}

static size_t owner_of_feed(const work *w, size_t feed)
{
    return w->a->ports[w->feeds[feed] >> 16].owner;
}

static void start_partition(work *w)
{
    w->class = aphi_alloc_zero((w->feed_count + 1) * sizeof *w->class);
    for (size_t f = 0; f < w->feed_count; f++)
        w->class[f] = owner_of_feed(w, f) == w->target ? (uint32_t)(w->a->port_count + f) : w->feeds[f] >> 16;
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

/* What a state is told apart by, as numbers: its block, then its moves in sorted order, each once. */
static size_t state_signature(const work *w, size_t c, uint32_t q, uint64_t *out)
{
    const aphi_alts_component *p = &w->a->components[c];
    size_t n = 0;
    q = w->skip[c][q];
    out[n++] = w->block[c][q];
    for (uint32_t i = p->first[q]; i < p->first[q + 1]; i++) {
        const aphi_alts_move *m = &p->moves[i];
        uint64_t feed = w->class[feed_of(w, m)], kind = m->op == APHI_ALTS_RECEIVE ? 2 : m->sync;
        uint64_t item = feed << 34 | kind << 32 | w->block[c][w->skip[c][m->target]];
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

/* Splits the blocks of a component. True if their number rose. */
static bool split_states(work *w, size_t c)
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
    bool grew = seen.count > before.count;
    free(w->block[c]);
    w->block[c] = next;
    free(signature);
    aphi_intern_free(&seen);
    aphi_intern_free(&before);
    return grew;
}

/* What labels are told apart by: their class, and in which states of the owner they lead where. */
static void label_signatures(const work *w, size_t c, uint64_t **out, size_t *n)
{
    const aphi_alts_component *p = &w->a->components[c];
    for (uint32_t q = 0; q < p->states; q++)
        for (uint32_t i = p->first[q]; i < p->first[q + 1]; i++) {
            const aphi_alts_move *m = &p->moves[i];
            if (m->op != APHI_ALTS_RECEIVE)
                continue;
            size_t f = feed_of(w, m);
            out[f] = aphi_realloc(out[f], (n[f] + 1) * sizeof **out);
            out[f][n[f]++] = (uint64_t)q << 32 | w->block[c][w->skip[c][m->target]];
        }
}

static bool split_labels(work *w)
{
    uint64_t **signatures = aphi_alloc_zero((w->feed_count + 1) * sizeof *signatures);
    size_t *n = aphi_alloc_zero((w->feed_count + 1) * sizeof *n);
    for (size_t f = 0; f < w->feed_count; f++) {
        signatures[f] = aphi_alloc(sizeof **signatures);
        signatures[f][n[f]++] = w->class[f];
    }
    for (size_t c = 0; c < w->a->component_count; c++)
        label_signatures(w, c, signatures, n);
    aphi_intern seen = {0}, before = {0};
    for (size_t f = 0; f < w->feed_count; f++) {
        aphi_intern_number(&before, &w->class[f], sizeof *w->class);
        w->class[f] = aphi_intern_number(&seen, signatures[f], n[f] * sizeof **signatures);
        free(signatures[f]);
    }
    bool grew = seen.count > before.count;
    aphi_intern_free(&seen);
    aphi_intern_free(&before);
    free(signatures);
    free(n);
    return grew;
}

static void refine(work *w)
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
    uint32_t *number;     /* of a block: its state in the part, NOWHERE as long as it was not reached */
    uint32_t *origin;     /* of a state of the part: a state of the component */
    uint32_t count;
} quotient;

static uint32_t state_for(const work *w, size_t c, quotient *q, uint32_t state)
{
    state = w->skip[c][state];
    uint32_t *number = &q->number[w->block[c][state]];
    if (*number == NOWHERE) {
        q->origin[q->count] = state;
        *number = q->count++;
    }
    return *number;
}

/* Adds a move unless the state, whose moves start at `first`, has one like it. */
static size_t add_move(aphi_reduced_part *part, size_t first, size_t n, aphi_reduced_move m)
{
    for (size_t i = first; i < n; i++)
        if (part->moves[i].class == m.class && part->moves[i].target == m.target && part->moves[i].port == m.port)
            return n;
    part->moves[n] = m;
    return n + 1;
}

static void quotient_part(const work *w, size_t c, aphi_reduced_part *part)
{
    const aphi_alts_component *p = &w->a->components[c];
    quotient q = {.number = aphi_alloc((p->states + 1) * sizeof *q.number),
                  .origin = aphi_alloc((p->states + 1) * sizeof *q.origin)};
    memset(q.number, 0xff, (p->states + 1) * sizeof *q.number);
    part->kind = aphi_alloc_zero(p->states + 1);
    part->first = aphi_alloc((p->states + 2) * sizeof *part->first);
    part->moves = aphi_alloc((move_count(p) + 1) * sizeof *part->moves);
    part->initial = state_for(w, c, &q, p->initial);
    size_t n = 0;
    for (uint32_t s = 0; s < q.count; s++) {
        uint32_t o = q.origin[s];
        part->kind[s] = (uint8_t)kind_of(p, o);
        part->first[s] = (uint32_t)n;
        for (uint32_t i = p->first[o]; i < p->first[o + 1]; i++) {
            const aphi_alts_move *m = &p->moves[i];
            uint32_t class = m->op == APHI_ALTS_LOCAL ? 0 : w->class[feed_of(w, m)];
            aphi_reduced_move moved = {state_for(w, c, &q, m->target), class, m->port, m->label};
            n = c == w->target ? (part->moves[n] = moved, n + 1) : add_move(part, part->first[s], n, moved);
        }
    }
    part->states = q.count;
    part->first[q.count] = part->first[q.count + 1] = (uint32_t)n;
    part->kind[q.count] = APHI_REDUCED_TERMINAL;
    free(q.number);
    free(q.origin);
}

/* Numbers classes anew, so that those of a port lie together, and says where. */
static void place_classes(work *w, aphi_reduced_model *g)
{
    uint32_t *fresh = aphi_alloc((w->feed_count + 1) * sizeof *fresh);
    memset(fresh, 0xff, (w->feed_count + 1) * sizeof *fresh);
    uint32_t word = 0;
    size_t f = 0;
    for (size_t p = 0; p < g->port_count; p++) {
        uint32_t n = 0;
        for (; f < w->feed_count && w->feeds[f] >> 16 == p; f++) {
            if (fresh[w->class[f]] == NOWHERE)
                fresh[w->class[f]] = word * 64 + n++;
        }
        g->ports[p].word = word;
        g->ports[p].words = (n + 63) / 64;
        g->ports[p].plain = n == 1;
        word += g->ports[p].words;
    }
    for (f = 0; f < w->feed_count; f++)
        w->class[f] = fresh[w->class[f]];
    g->words = word;
    free(fresh);
}

/* ---- futures ----------------------------------------------------------------------------------------------------- */

/* States of a part such that each comes after those that its moves lead to. */
static uint32_t *last_first(const aphi_reduced_part *part)
{
    uint32_t *order = aphi_alloc((part->states + 1) * sizeof *order);
    uint32_t *stack = aphi_alloc((part->states + 1) * sizeof *stack);
    uint32_t *next = aphi_alloc((part->states + 1) * sizeof *next), n = 0, depth = 1;
    memset(next, 0xff, (part->states + 1) * sizeof *next);
    stack[0] = part->initial;
    next[part->initial] = part->first[part->initial];
    while (depth > 0) {
        uint32_t s = stack[depth - 1];
        if (next[s] == part->first[s + 1]) {
            order[n++] = s;
            depth--;
            continue;
        }
        uint32_t t = part->moves[next[s]++].target;
        if (next[t] == NOWHERE) {
            next[t] = part->first[t];
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

static void future_of_state(const aphi_reduced_model *g, aphi_reduced_part *part, size_t c, uint32_t s)
{
    uint64_t *future = &part->future[s * g->words];
    for (uint32_t i = part->first[s]; i < part->first[s + 1]; i++) {
        const aphi_reduced_move *m = &part->moves[i];
        for (size_t k = 0; k < g->words; k++)
            future[k] |= part->future[m->target * g->words + k];
        part->reaches[s] |= part->reaches[m->target];
        part->needs[s] |= part->needs[m->target];
        part->contends[s] |= part->contends[m->target];
        if (part->kind[s] == APHI_REDUCED_RECEIVE)
            set_bit(&part->accept[s * g->words], m->class);
        if (!is_send(part->kind[s]))
            continue;
        const aphi_reduced_port *port = &g->ports[m->port];
        uint64_t owner = UINT64_C(1) << port->owner;
        set_bit(future, m->class);
        part->reaches[s] |= owner;
        if (part->kind[s] == APHI_REDUCED_SYNC || port->limit[c])
            part->needs[s] |= owner;
        if (port->contended)
            part->contends[s] |= owner;
    }
}

static void futures(aphi_reduced_model *g, size_t c)
{
    aphi_reduced_part *part = &g->parts[c];
    size_t n = (size_t)part->states + 1;
    part->future = aphi_alloc_zero((n * g->words + 1) * sizeof *part->future);
    part->accept = aphi_alloc_zero((n * g->words + 1) * sizeof *part->accept);
    part->reaches = aphi_alloc_zero(n * sizeof *part->reaches);
    part->needs = aphi_alloc_zero(n * sizeof *part->needs);
    part->contends = aphi_alloc_zero(n * sizeof *part->contends);
    uint32_t *order = last_first(part);
    for (uint32_t i = 0; i < part->states; i++)
        future_of_state(g, part, c, order[i]);
    free(order);
}

/* For each state, the most asynchronous sends to a port, or receives from it, on one way on from it. */
static uint32_t *longest_ways(const aphi_reduced_part *part, const uint32_t *order, size_t port, aphi_reduced_kind kind)
{
    uint32_t *most = aphi_alloc_zero((part->states + 1) * sizeof *most);
    for (uint32_t i = 0; i < part->states; i++) {
        uint32_t s = order[i];
        for (uint32_t k = part->first[s]; k < part->first[s + 1]; k++) {
            uint32_t here = part->kind[s] == kind && part->moves[k].port == port;
            if (most[part->moves[k].target] + here > most[s])
                most[s] = most[part->moves[k].target] + here;
        }
    }
    return most;
}

static void count_sends(work *w, const aphi_reduced_model *g)
{
    w->longest = aphi_alloc(g->part_count * sizeof *w->longest);
    for (size_t c = 0; c < g->part_count; c++) {
        const aphi_reduced_part *part = &g->parts[c];
        w->longest[c] = aphi_alloc_zero((g->port_count + 1) * sizeof **w->longest);
        uint32_t *order = last_first(part);
        for (uint32_t s = 0; s < part->states; s++)
            if (part->kind[s] == APHI_REDUCED_SEND && !w->longest[c][part->moves[part->first[s]].port]) {
                uint16_t port = part->moves[part->first[s]].port;
                uint32_t *most = longest_ways(part, order, port, APHI_REDUCED_SEND);
                w->longest[c][port] = most[part->initial];
                free(most);
            }
        free(order);
    }
}

/* ---- channels ---------------------------------------------------------------------------------------------------- */

static void note_synced(aphi_reduced_model *g)
{
    for (size_t c = 0; c < g->part_count; c++)
        for (uint32_t s = 0; s < g->parts[c].states; s++)
            if (g->parts[c].kind[s] == APHI_REDUCED_SYNC)
                g->ports[g->parts[c].moves[g->parts[c].first[s]].port].synced = true;
}

static size_t sender_count(const aphi_reduced_model *g, size_t port)
{
    size_t n = 0;
    for (size_t c = 0; c < g->part_count; c++) {
        bool sends = false;
        for (uint32_t s = 0; s < g->parts[c].states; s++)
            sends |= is_send(g->parts[c].kind[s]) && g->parts[c].moves[g->parts[c].first[s]].port == port;
        n += sends;
    }
    return n;
}

typedef struct traffic {
    size_t senders, last;     /* who sends asynchronously: how many, and one of them */
    bool limited, single;     /* somebody may have to wait; nobody sends more than once */
} traffic;

static traffic traffic_of(const work *w, aphi_reduced_port *port, size_t p)
{
    const aphi_alts_port *from = &w->a->ports[p];
    traffic t = {.single = true};
    for (size_t c = 0; c < w->a->component_count; c++) {
        uint32_t most = w->longest[c][p];
        if (most == 0)
            continue;
        t.senders++;
        t.last = c;
        t.single &= most == 1;
        if (from->capacity && most > from->capacity) {
            port->limit[c] = from->capacity;
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

/* Whether some class on the port is sent by more than one component. */
static bool shared_class(const aphi_reduced_model *g, size_t p)
{
    const aphi_reduced_port *port = &g->ports[p];
    uint32_t *by = aphi_alloc_zero(((size_t)port->words * 64 + 1) * sizeof *by);
    bool shared = false;
    for (size_t c = 0; c < g->part_count; c++)
        for (uint32_t s = 0; s < g->parts[c].states; s++) {
            const aphi_reduced_move *m = &g->parts[c].moves[g->parts[c].first[s]];
            if (g->parts[c].kind[s] != APHI_REDUCED_SEND || m->port != p)
                continue;
            uint32_t *sender = &by[m->class - port->word * 64];
            shared |= *sender && *sender != c + 1;
            *sender = (uint32_t)c + 1;
        }
    free(by);
    return shared;
}

/* A bag for all that is alike or in no order, one queue for a contended port, else a queue for each sender. Where
 * nobody sends more than once there is no order either: then a bag tells less, if messages of different senders can be
 * alike. */
static void place_channels(const work *w, aphi_reduced_model *g, size_t p)
{
    aphi_reduced_port *port = &g->ports[p];
    traffic t = traffic_of(w, port, p);
    bool own = port->owner == w->target, unordered = w->a->ports[p].medium == APHI_MEDIUM_UNORDERED;
    bool lined = w->a->ports[p].medium == APHI_MEDIUM_PORT && sender_count(g, p) > 1;
    bool alike = port->plain && !own && !t.limited && !(port->synced && !unordered) &&
                 (!w->races || unordered || (t.single && !lined));
    bool once = t.single && !own && !t.limited && !port->synced && w->a->ports[p].medium == APHI_MEDIUM_PAIR &&
                shared_class(g, p);
    port->plain = alike;
    port->ordered = !unordered;
    port->contended = lined && !alike;
    g->contended |= port->contended;
    if (port->contended) {
        uint32_t *order = last_first(&g->parts[port->owner]);
        port->takes = longest_ways(&g->parts[port->owner], order, p, APHI_REDUCED_RECEIVE);
        free(order);
    }
    port->channel = (uint32_t)g->channel_count;
    aphi_reduced_channel channel = {.port = (uint16_t)p, .bag = alike || unordered || once,
                                   .named = own || t.limited || (port->contended && port->synced) || w->named};
    uint32_t shared = APHI_REDUCED_NO_CHANNEL;
    if (port->contended || (channel.bag && t.senders > 0))
        shared = add_channel(g, port, channel);
    for (size_t c = 0; c < g->part_count; c++) {
        port->by_sender[c] = w->longest[c][p] || port->contended ? shared : APHI_REDUCED_NO_CHANNEL;
        if (w->longest[c][p] && shared == APHI_REDUCED_NO_CHANNEL) {
            uint32_t *order = last_first(&g->parts[c]);
            channel.sender = (uint16_t)c;
            channel.named = false;
            channel.left = longest_ways(&g->parts[c], order, p, APHI_REDUCED_SEND);
            free(order);
            port->by_sender[c] = add_channel(g, port, channel);
        }
    }
}

/* With races and a queue for several senders, situations carry the past (causal_history.h), in which every message has a sender.
 */
static void place_all(work *w, aphi_reduced_model *g)
{
    count_sends(w, g);
    note_synced(g);
    for (size_t p = 0; p < g->port_count; p++)
        w->named |= w->races && w->a->ports[p].medium == APHI_MEDIUM_PORT && sender_count(g, p) > 1;
    for (size_t p = 0; p < g->port_count; p++) {
        g->ports[p].by_sender = aphi_alloc(g->part_count * sizeof *g->ports[p].by_sender);
        g->ports[p].limit = aphi_alloc_zero(g->part_count * sizeof *g->ports[p].limit);
        place_channels(w, g, p);
    }
    for (size_t c = 0; c < g->part_count; c++)
        free(w->longest[c]);
    free(w->longest);
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static void free_work(work *w)
{
    for (size_t c = 0; c < w->a->component_count; c++) {
        free(w->block[c]);
        free(w->skip[c]);
    }
    free(w->block);
    free(w->skip);
    free(w->feeds);
    free(w->class);
}

static aphi_reduced_status build(work *w, aphi_reduced_model *g)
{
    for (size_t p = 0; p < g->port_count; p++)
        g->ports[p].owner = w->a->ports[p].owner;
    place_classes(w, g);
    for (size_t c = 0; c < g->part_count; c++)
        quotient_part(w, c, &g->parts[c]);
    place_all(w, g);
    for (size_t c = 0; c < g->part_count; c++) {
        if (g->parts[c].states > STATES_MAX)
            return APHI_REDUCED_TOO_LARGE;
        futures(g, c);
    }
    return APHI_REDUCED_READY;
}

aphi_reduced_status aphi_reduced_make(aphi_reduced_model *g, const aphi_alts *a, size_t target, bool races)
{
    *g = (aphi_reduced_model){.target = target, .part_count = a->component_count, .port_count = a->port_count};
    g->parts = aphi_alloc_zero((g->part_count + 1) * sizeof *g->parts);
    g->ports = aphi_alloc_zero((g->port_count + 1) * sizeof *g->ports);
    work w = {.a = a, .target = target, .races = races};
    collect_feeds(&w);
    start_partition(&w);
    refine(&w);
    aphi_reduced_status status = build(&w, g);
    free_work(&w);
    return status;
}

void aphi_reduced_free(aphi_reduced_model *g)
{
    for (size_t c = 0; c < g->part_count; c++) {
        aphi_reduced_part *p = &g->parts[c];
        void *all[] = {p->kind, p->first, p->moves, p->future, p->accept, p->reaches, p->needs, p->contends};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            free(all[i]);
    }
    for (size_t p = 0; p < g->port_count; p++) {
        free(g->ports[p].by_sender);
        free(g->ports[p].limit);
        free(g->ports[p].takes);
    }
    for (size_t i = 0; i < g->channel_count; i++)
        free(g->channels[i].left);
    free(g->parts);
    free(g->ports);
    free(g->channels);
    *g = (aphi_reduced_model){0};
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * port_queue.c - ports with one queue for all senders: possible fronts of the queue during the search.
 *
 * Idea:       the order in which messages entered such a queue is not part of a sequence; only receives reveal it. So
 *             messages are not ordered when they are sent. A message can be at the front if no other message in the
 *             same port must have been sent before it. Receiving a message implies that it was sent before all other
 *             messages in the port. This order constrains all later receives.
 * Picture:    X: s' --> u if port p delivers s before s', then t -> s -> s' -> u: Y: t --> s in another port, u cannot
 *             be ahead of t
 * Invariants: the order of all events so far has no cycles
 * Cost:       one pass over the run so far for each pair of messages at the fronts of a port. Models without such ports
 *             have no cost. */
#include "explore/explore_state.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

/* An event has two nodes, its beginning and its end. A synchronous message is in the queue between the two; an
 * asynchronous send begins when there is room. The events of a thread are consecutive; the last is the one in which the
 * thread waits. */
typedef struct event_graph {
    const aphi_explore_state *run;
    uint32_t *base;          /* by thread: its first node */
    uint32_t node_count;
    uint32_t *partner;       /* of a send, its receive; of a synchronous receive, its send */
    uint32_t *room;          /* for a receive: the send that began when it freed room */
    uint32_t *next;          /* for a send: the send received next from the same port, or NONE */
    uint16_t *last;          /* for the send received last from a port: the port + 1 */
    uint32_t *stack;
    uint8_t *seen;
    uint32_t *fronts;        /* by channel: the send of the message at its front, or NONE */
    struct assumed_front {   /* messages assumed to be at the front of their port */
        uint32_t node;
        uint16_t port;
    } *assumed;
    size_t assumed_count;
} event_graph;

/* ---- the order of events ----------------------------------------------------------------------------------------- */

static uint32_t entry_node(const event_graph *g, unsigned thread, unsigned index)
{
    return g->base[thread] + 2 * index;
}

static uint32_t done_node(const event_graph *g, unsigned thread, unsigned index)
{
    return entry_node(g, thread, index) + 1;
}

/* Links a receive to the asynchronous send of the channel that waited for its room, if any. */
static void add_room_edge(event_graph *g, unsigned channel, unsigned received, uint32_t receive)
{
    const aphi_compiled_channel *c = &g->run->model->channels[channel];
    if (c->capacity == UINT32_MAX || received + c->capacity >= g->run->end[channel])
        return;
    const aphi_message *m = &g->run->messages[c->base + received + c->capacity];
    if (!m->sync)
        g->room[receive] = entry_node(g, c->sender, m->index);
}

static unsigned channel_from(const aphi_compiled_model *p, unsigned receiver, unsigned sender, unsigned input)
{
    const aphi_compiled_thread *t = &p->threads[receiver];
    unsigned port = p->input_ports[t->input_base + input], i = 0;
    while (p->channels[t->incoming[i]].sender != sender || p->channels[t->incoming[i]].port != port)
        i++;
    return t->incoming[i];
}

static void add_receive(event_graph *g, unsigned thread, unsigned index, uint32_t *newest, uint16_t *received)
{
    const aphi_compiled_model *p = g->run->model;
    const aphi_step *step = &g->run->steps[p->threads[thread].first_step + index];
    uint32_t receive = done_node(g, thread, index), send = done_node(g, step->peer, step->peer_index);
    unsigned channel = channel_from(p, thread, step->peer, step->input);
    g->partner[send] = receive;
    if (step->sync)
        g->partner[receive] = send;
    add_room_edge(g, channel, received[channel]++, receive);
    if (p->channels[channel].medium != APHI_MEDIUM_PORT)
        return;
    unsigned port = p->channels[channel].port;
    uint32_t entry = entry_node(g, step->peer, step->peer_index);
    if (newest[port] != NONE) {
        g->next[newest[port]] = entry;
        g->last[newest[port]] = 0;
    }
    newest[port] = entry;
    g->last[entry] = (uint16_t)(port + 1);
}

static void add_events(event_graph *g)
{
    const aphi_compiled_model *p = g->run->model;
    uint32_t *newest = aphi_alloc((p->alts->port_count + 1) * sizeof *newest);
    uint16_t *received = aphi_alloc_zero((p->channel_count + 1) * sizeof *received);
    memset(newest, 0xff, (p->alts->port_count + 1) * sizeof *newest);
    for (unsigned t = 0; t < p->thread_count; t++)
        for (unsigned i = 0; i < g->run->done[t]; i++)
            if (p->states[g->run->steps[p->threads[t].first_step + i].state].kind == APHI_COMPILED_RECEIVE)
                add_receive(g, t, i, newest, received);
    for (unsigned c = 0; c < p->channel_count; c++) {
        const aphi_message *front = &g->run->messages[p->channels[c].base + g->run->first[c]];
        bool empty = g->run->first[c] == g->run->end[c];
        g->fronts[c] = empty ? NONE : entry_node(g, p->channels[c].sender, front->index);
    }
    free(newest);
    free(received);
}

static void graph_open(event_graph *g, const aphi_explore_state *run)
{
    const aphi_compiled_model *p = run->model;
    *g = (event_graph){.run = run, .base = aphi_alloc((p->thread_count + 1) * sizeof *g->base)};
    for (size_t t = 0; t < p->thread_count; t++) {
        g->base[t] = g->node_count;
        g->node_count += 2 * (run->done[t] + 1u);
    }
    g->base[p->thread_count] = g->node_count;
    size_t bytes = g->node_count * sizeof(uint32_t);
    g->partner = aphi_alloc(bytes);
    g->room = aphi_alloc(bytes);
    g->next = aphi_alloc(bytes);
    g->stack = aphi_alloc(bytes);
    memset(g->partner, 0xff, bytes);
    memset(g->room, 0xff, bytes);
    memset(g->next, 0xff, bytes);
    g->last = aphi_alloc_zero(g->node_count * sizeof *g->last);
    g->seen = aphi_alloc(g->node_count);
    g->fronts = aphi_alloc((p->channel_count + 1) * sizeof *g->fronts);
    g->assumed = aphi_alloc((p->alts->port_count + 1) * sizeof *g->assumed);
    add_events(g);
}

static void graph_close(event_graph *g)
{
    APHI_FREE_ALL(g->base, g->partner, g->room, g->next, g->stack, g->last, g->seen, g->fronts, g->assumed);
}

static void visit_node(event_graph *g, uint32_t node, size_t *count)
{
    if (node == NONE || g->seen[node])
        return;
    g->seen[node] = 1;
    g->stack[(*count)++] = node;
}

/* Visits the fronts of all channels of the port, except one: they come later, and so do the messages behind them. */
static void visit_port_fronts(event_graph *g, unsigned port, uint32_t except, size_t *count)
{
    for (unsigned c = 0; c < g->run->model->channel_count; c++)
        if (g->run->model->channels[c].port == port && g->fronts[c] != except)
            visit_node(g, g->fronts[c], count);
}

/* Returns true if a precedes b in every schedule. */
static bool precedes(event_graph *g, uint32_t a, uint32_t b)
{
    size_t count = 0;
    memset(g->seen, 0, g->node_count);
    visit_node(g, a, &count);
    while (count && !g->seen[b]) {
        uint32_t n = g->stack[--count];
        bool ends = false;
        for (size_t t = 1; t <= g->run->model->thread_count && !ends; t++)
            ends = n + 1 == g->base[t];
        if (!ends)
            visit_node(g, n + 1, &count);
        visit_node(g, g->partner[n], &count);
        visit_node(g, g->room[n], &count);
        visit_node(g, g->next[n], &count);
        if (g->last[n])
            visit_port_fronts(g, g->last[n] - 1u, NONE, &count);
        for (size_t i = 0; i < g->assumed_count; i++)
            if (g->assumed[i].node == n)
                visit_port_fronts(g, g->assumed[i].port, n, &count);
    }
    return g->seen[b];
}

/* ---- fronts ------------------------------------------------------------------------------------------------------ */

/* Returns true if the front of this channel can be the front of its port. */
static bool can_lead(event_graph *g, unsigned channel)
{
    const aphi_compiled_channel *all = g->run->model->channels;
    for (unsigned c = 0; c < g->run->model->channel_count; c++)
        if (c != channel && all[c].port == all[channel].port && g->fronts[c] != NONE &&
            precedes(g, g->fronts[c], g->fronts[channel]))
            return false;
    return true;
}

static bool accepts_front(const aphi_explore_state *run, unsigned channel)
{
    const aphi_compiled_channel *c = &run->model->channels[channel];
    return aphi_compiled_receive(run->model, &run->model->states[run->state[c->receiver]],
                                 run->messages[c->base + run->first[channel]].input,
                                 run->model->threads[c->receiver].inputs <= 64);
}

static void refresh_thread(aphi_explore_state *run, event_graph *g, unsigned thread)
{
    const aphi_compiled_thread *t = &run->model->threads[thread];
    uint64_t found = run->candidates[thread] & ~t->shared_queue, bit = (uint64_t)1 << thread;
    for (uint64_t rest = run->nonempty[thread] & t->shared_queue; rest; rest &= rest - 1) {
        unsigned channel = t->incoming[__builtin_ctzll(rest)];
        if (accepts_front(run, channel) && can_lead(g, channel))
            found |= rest & -rest;
    }
    run->candidates[thread] = found;
    run->asleep[thread] &= found;
    run->sets->awake = found & ~run->asleep[thread] ? run->sets->awake | bit : run->sets->awake & ~bit;
}

void aphi_port_queue_refresh(aphi_explore_state *run)
{
    event_graph g;
    graph_open(&g, run);
    for (uint64_t rest = run->shared_readers & ~run->sets->ended; rest; rest &= rest - 1)
        refresh_thread(run, &g, (unsigned)__builtin_ctzll(rest));
    graph_close(&g);
}

/* ---- deadlock ---------------------------------------------------------------------------------------------------- */

/* Returns true if each port from `port` on that has a candidate can have another message at its front instead. */
static bool ports_stuck_from(event_graph *g, unsigned port)
{
    const aphi_explore_state *run = g->run;
    const aphi_compiled_model *p = run->model;
    bool has_candidate = false, stuck = false;
    if (port == p->alts->port_count)
        return true;
    for (unsigned c = 0; c < p->channel_count; c++)
        if (p->channels[c].port == port && p->channels[c].medium == APHI_MEDIUM_PORT && g->fronts[c] != NONE)
            has_candidate |= run->candidates[p->channels[c].receiver] >> p->channels[c].bit & 1;
    if (!has_candidate)
        return ports_stuck_from(g, port + 1);
    for (unsigned c = 0; c < p->channel_count && !stuck; c++) {
        if (p->channels[c].port != port || g->fronts[c] == NONE || accepts_front(run, c) || !can_lead(g, c))
            continue;
        g->assumed[g->assumed_count++] = (struct assumed_front){.node = g->fronts[c], .port = (uint16_t)port};
        stuck = ports_stuck_from(g, port + 1);
        g->assumed_count--;
    }
    return stuck;
}

bool aphi_port_queue_stuck(aphi_explore_state *run)
{
    for (uint64_t rest = run->sets->sleepers; rest; rest &= rest - 1) {
        unsigned t = (unsigned)__builtin_ctzll(rest);
        if (run->candidates[t] & ~run->model->threads[t].shared_queue)
            return false;
    }
    event_graph g;
    graph_open(&g, run);
    bool stuck = ports_stuck_from(&g, 0);
    graph_close(&g);
    return stuck;
}

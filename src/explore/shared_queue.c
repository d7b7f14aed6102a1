/* SPDX-License-Identifier: Apache-2.0
 *
 * shared_queue.c - ports whose senders share one queue: which message can be at its front.
 *
 * Idea:       in which order such a queue was filled is not part of a sequence; it shows only in what is received from
 *             it. So messages are not put in order when they are sent. A message can be at the front if no other one in
 *             the same port had to be sent before it. When it is received, it was sent before all the others: that is
 *             an order between threads like any other, and is followed from then on.
 * Picture:    X: u --> s'           if p gives s before s', then s -> s', so u before s is refuted:
 *             Y: t --> s            from another port, t cannot be behind what comes after s'
 * Invariants: what must come before what, all of it together, has no cycles
 * Cost:       a walk over the run so far for each pair of messages at the fronts of a port. Only models that have such
 *             ports pay for it. */
#include "explore/shared_queue.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

/* An event is two nodes: it is entered upon, and done. In between, who sends synchronously stands in line; who sends
 * asynchronously enters upon it when there is room. The events of a thread follow one another, and the one at the end
 * is what it waits in. */
typedef struct order {
    const aphi_explore_state *at;
    uint32_t *base;          /* by thread: its first node */
    uint32_t node_count;
    uint32_t *partner;       /* of a send, its receive; of a synchronous receive, its send */
    uint32_t *room;          /* of a receive: the send that could only then be entered upon */
    uint32_t *next;          /* of a send: the one received next from the same port; of the last, NONE */
    uint16_t *last;          /* of a send that was received last from a port with one queue: the port + 1 */
    uint32_t *stack;
    uint8_t *seen;
    uint32_t *fronts;        /* by channel: the node of the message at its front; NONE */
    struct held {            /* messages that are taken to be at the front of their port */
        uint32_t node;
        uint16_t port;
    } *held;
    size_t held_count;
} order;

/* ---- the order of events ----------------------------------------------------------------------------------------- */

static uint32_t entry_of(const order *o, unsigned thread, unsigned index)
{
    return o->base[thread] + 2 * index;
}

static uint32_t node_of(const order *o, unsigned thread, unsigned index)
{
    return entry_of(o, thread, index) + 1;
}

/* The send with that number in a channel, if it was asynchronous and had to wait for room. */
static void note_room(order *o, unsigned channel, unsigned received, uint32_t receive)
{
    const aphi_compiled_channel *c = &o->at->plan->channels[channel];
    if (c->capacity == UINT32_MAX || received + c->capacity >= o->at->end[channel])
        return;
    const aphi_message *m = &o->at->messages[c->base + received + c->capacity];
    if (!m->sync)
        o->room[receive] = entry_of(o, c->sender, m->index);
}

static unsigned channel_from(const aphi_compiled_model *p, unsigned receiver, unsigned sender, unsigned input)
{
    const aphi_compiled_thread *t = &p->threads[receiver];
    unsigned port = p->input_ports[t->input_base + input], i = 0;
    while (p->channels[t->into[i]].sender != sender || p->channels[t->into[i]].port != port)
        i++;
    return t->into[i];
}

static void note_receive(order *o, unsigned thread, unsigned index, uint32_t *newest, uint16_t *received)
{
    const aphi_compiled_model *p = o->at->plan;
    const aphi_step *step = &o->at->steps[p->threads[thread].log + index];
    uint32_t receive = node_of(o, thread, index), send = node_of(o, step->peer, step->peer_index);
    unsigned channel = channel_from(p, thread, step->peer, step->input);
    o->partner[send] = receive;
    if (step->sync)
        o->partner[receive] = send;
    note_room(o, channel, received[channel]++, receive);
    if (p->channels[channel].medium != APHI_MEDIUM_PORT)
        return;
    unsigned port = p->channels[channel].port;
    uint32_t entry = entry_of(o, step->peer, step->peer_index);
    if (newest[port] != NONE) {
        o->next[newest[port]] = entry;
        o->last[newest[port]] = 0;
    }
    newest[port] = entry;
    o->last[entry] = (uint16_t)(port + 1);
}

static void order_events(order *o)
{
    const aphi_compiled_model *p = o->at->plan;
    uint32_t *newest = aphi_alloc((p->alts->port_count + 1) * sizeof *newest);
    uint16_t *received = aphi_alloc_zero((p->channel_count + 1) * sizeof *received);
    memset(newest, 0xff, (p->alts->port_count + 1) * sizeof *newest);
    for (unsigned t = 0; t < p->thread_count; t++)
        for (unsigned i = 0; i < o->at->done[t]; i++)
            if (p->states[o->at->steps[p->threads[t].log + i].state].kind == APHI_COMPILED_RECEIVE)
                note_receive(o, t, i, newest, received);
    for (unsigned c = 0; c < p->channel_count; c++) {
        const aphi_message *front = &o->at->messages[p->channels[c].base + o->at->first[c]];
        bool empty = o->at->first[c] == o->at->end[c];
        o->fronts[c] = empty ? NONE : entry_of(o, p->channels[c].sender, front->index);
    }
    free(newest);
    free(received);
}

static void order_open(order *o, const aphi_explore_state *at)
{
    const aphi_compiled_model *p = at->plan;
    *o = (order){.at = at, .base = aphi_alloc((p->thread_count + 1) * sizeof *o->base)};
    for (size_t t = 0; t < p->thread_count; t++) {
        o->base[t] = o->node_count;
        o->node_count += 2 * (at->done[t] + 1u);
    }
    o->base[p->thread_count] = o->node_count;
    size_t bytes = o->node_count * sizeof(uint32_t);
    o->partner = aphi_alloc(bytes);
    o->room = aphi_alloc(bytes);
    o->next = aphi_alloc(bytes);
    o->stack = aphi_alloc(bytes);
    memset(o->partner, 0xff, bytes);
    memset(o->room, 0xff, bytes);
    memset(o->next, 0xff, bytes);
    o->last = aphi_alloc_zero(o->node_count * sizeof *o->last);
    o->seen = aphi_alloc(o->node_count);
    o->fronts = aphi_alloc((p->channel_count + 1) * sizeof *o->fronts);
    o->held = aphi_alloc((p->alts->port_count + 1) * sizeof *o->held);
    order_events(o);
}

static void order_close(order *o)
{
    free(o->base);
    free(o->partner);
    free(o->room);
    free(o->next);
    free(o->stack);
    free(o->last);
    free(o->seen);
    free(o->fronts);
    free(o->held);
}

static void reach(order *o, uint32_t node, size_t *count)
{
    if (node == NONE || o->seen[node])
        return;
    o->seen[node] = 1;
    o->stack[(*count)++] = node;
}

/* Everything that waits in the port is behind: its fronts are, and so is what is behind these. */
static void reach_port(order *o, unsigned port, uint32_t but, size_t *count)
{
    for (unsigned c = 0; c < o->at->plan->channel_count; c++)
        if (o->at->plan->channels[c].port == port && o->fronts[c] != but)
            reach(o, o->fronts[c], count);
}

/* Does a come before b, whatever the schedule? */
static bool before(order *o, uint32_t a, uint32_t b)
{
    size_t count = 0;
    memset(o->seen, 0, o->node_count);
    reach(o, a, &count);
    while (count && !o->seen[b]) {
        uint32_t n = o->stack[--count];
        bool ends = false;
        for (size_t t = 1; t <= o->at->plan->thread_count && !ends; t++)
            ends = n + 1 == o->base[t];
        if (!ends)
            reach(o, n + 1, &count);
        reach(o, o->partner[n], &count);
        reach(o, o->room[n], &count);
        reach(o, o->next[n], &count);
        if (o->last[n])
            reach_port(o, o->last[n] - 1u, NONE, &count);
        for (size_t i = 0; i < o->held_count; i++)
            if (o->held[i].node == n)
                reach_port(o, o->held[i].port, n, &count);
    }
    return o->seen[b];
}

/* ---- fronts ------------------------------------------------------------------------------------------------------ */

/* Can the front of this channel be the front of its port? */
static bool leads(order *o, unsigned channel)
{
    const aphi_compiled_channel *all = o->at->plan->channels;
    for (unsigned c = 0; c < o->at->plan->channel_count; c++)
        if (c != channel && all[c].port == all[channel].port && o->fronts[c] != NONE &&
            before(o, o->fronts[c], o->fronts[channel]))
            return false;
    return true;
}

static bool is_taken(const aphi_explore_state *at, unsigned channel)
{
    const aphi_compiled_channel *c = &at->plan->channels[channel];
    return aphi_compiled_find(at->plan, &at->plan->states[at->state[c->receiver]],
                          at->messages[c->base + at->first[channel]].input,
                          at->plan->threads[c->receiver].inputs <= 64);
}

static void refresh_thread(aphi_explore_state *at, order *o, unsigned thread)
{
    const aphi_compiled_thread *t = &at->plan->threads[thread];
    uint64_t found = at->candidates[thread] & ~t->ordered, bit = (uint64_t)1 << thread;
    for (uint64_t rest = at->nonempty[thread] & t->ordered; rest; rest &= rest - 1) {
        unsigned channel = t->into[__builtin_ctzll(rest)];
        if (is_taken(at, channel) && leads(o, channel))
            found |= rest & -rest;
    }
    at->candidates[thread] = found;
    at->asleep[thread] &= found;
    at->head->awake = found & ~at->asleep[thread] ? at->head->awake | bit : at->head->awake & ~bit;
}

void aphi_shared_queue_refresh(aphi_explore_state *at)
{
    order o;
    order_open(&o, at);
    for (uint64_t rest = at->queue_readers & ~at->head->ended; rest; rest &= rest - 1)
        refresh_thread(at, &o, (unsigned)__builtin_ctzll(rest));
    order_close(&o);
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

/* Ports from `port` on: each from which its owner could take something has to have something else at its front. */
static bool stuck_from(order *o, unsigned port)
{
    const aphi_explore_state *at = o->at;
    const aphi_compiled_model *p = at->plan;
    bool tempted = false, stuck = false;
    if (port == p->alts->port_count)
        return true;
    for (unsigned c = 0; c < p->channel_count; c++)
        if (p->channels[c].port == port && p->channels[c].medium == APHI_MEDIUM_PORT && o->fronts[c] != NONE)
            tempted |= at->candidates[p->channels[c].receiver] >> p->channels[c].bit & 1;
    if (!tempted)
        return stuck_from(o, port + 1);
    for (unsigned c = 0; c < p->channel_count && !stuck; c++) {
        if (p->channels[c].port != port || o->fronts[c] == NONE || is_taken(at, c) || !leads(o, c))
            continue;
        o->held[o->held_count++] = (struct held){.node = o->fronts[c], .port = (uint16_t)port};
        stuck = stuck_from(o, port + 1);
        o->held_count--;
    }
    return stuck;
}

bool aphi_shared_queue_stuck(aphi_explore_state *at)
{
    for (uint64_t rest = at->head->slept; rest; rest &= rest - 1) {
        unsigned t = (unsigned)__builtin_ctzll(rest);
        if (at->candidates[t] & ~at->plan->threads[t].ordered)
            return false;
    }
    order o;
    order_open(&o, at);
    bool stuck = stuck_from(&o, 0);
    order_close(&o);
    return stuck;
}

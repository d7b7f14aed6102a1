/* SPDX-License-Identifier: Apache-2.0
 *
 * port_queue_order.c - ports with one queue for all senders: possible fronts of the queue in a recorded sequence.
 *
 * Idea:       messages entered a queue in the order in which they were received, and the remaining messages entered
 *             after the received ones. If the message in question is first, the other remaining messages entered after
 *             it. Each of these facts gives a send one predecessor. A schedule that respects predecessors and causes is
 *             built greedily: each thread runs as far as it can. If a thread cannot finish, no such order exists.
 * Picture:    queue p: a b | c d a, then b was received. Can d be the first that remains? Then a -> b -> d -> c
 * Invariants: an event has two steps, its beginning and its end. An asynchronous message enters its queue when its send
 *             begins, which requires room. A synchronous message is in the queue from the beginning of its send until
 *             it is received.
 * Cost:       at most events times threads. */
#include "explore/sequence.h"

#include "base/memory.h"

#define NO_EVENT UINT64_MAX

typedef struct schedule {
    const aphi_port_queue_order *order;
    const uint32_t *happened;
    uint64_t front;          /* the message in question */
    uint64_t *last_received; /* by port: the send that was received last */
    uint64_t *predecessor;   /* by event, for sends: the send that entered right before it */
    uint64_t front_predecessor;
    uint32_t *steps;         /* by thread: steps done, two per event */
} schedule;

static uint64_t event_id(unsigned thread, uint32_t index)
{
    return (uint64_t)thread << 32 | index;
}

static bool has_entered(const schedule *w, uint64_t id)
{
    return id == NO_EVENT || w->steps[id >> 32] > 2 * (uint32_t)id;
}

static bool is_done(const schedule *w, uint64_t id)
{
    return w->steps[id >> 32] >= 2 * (uint32_t)id + 2;
}

/* ---- predecessors ------------------------------------------------------------------------------------------------ */

static void order_received(schedule *w, unsigned thread)
{
    const aphi_port_queue_order *l = w->order;
    for (uint32_t i = 0; i < w->happened[thread]; i++) {
        const aphi_event *e = &l->events[l->first[thread] + i];
        if (e->op != APHI_ALTS_RECEIVE || !l->shared[e->port])
            continue;
        w->predecessor[l->first[e->peer] + e->peer_index] = w->last_received[e->port];
        w->last_received[e->port] = event_id(e->peer, e->peer_index);
    }
}

/* Remaining messages entered a queue after all received ones, and after the front. */
static void order_remaining(schedule *w, unsigned thread, unsigned port)
{
    const aphi_port_queue_order *l = w->order;
    for (uint32_t i = 0; i < w->happened[thread]; i++) {
        const aphi_event *e = &l->events[l->first[thread] + i];
        if (e->op == APHI_ALTS_SEND && l->shared[e->port] && !(e->matched && e->peer_index < w->happened[e->peer]))
            w->predecessor[l->first[thread] + i] = e->port == port ? w->front : w->last_received[e->port];
    }
}

static void derive_predecessors(schedule *w, unsigned port)
{
    size_t threads = w->order->thread_count;
    for (size_t p = 0; p < w->order->port_count; p++)
        w->last_received[p] = NO_EVENT;
    for (unsigned t = 0; t < threads; t++)
        order_received(w, t);
    for (unsigned t = 0; t < threads; t++)
        order_remaining(w, t, port);
    w->front_predecessor = w->last_received[port];
}

/* ---- the schedule ------------------------------------------------------------------------------------------------ */

static bool may_enter(const schedule *w, unsigned thread, uint32_t index)
{
    const aphi_port_queue_order *l = w->order;
    uint32_t id = l->first[thread] + index;
    const aphi_event *e = id < l->first[thread + 1] ? &l->events[id] : NULL;
    if (e && e->op == APHI_ALTS_SEND && e->freed_by && !is_done(w, event_id(e->peer, e->freed_by - 1)))
        return false;
    if (event_id(thread, index) == w->front)
        return has_entered(w, w->front_predecessor);
    return e->op != APHI_ALTS_SEND || !l->shared[e->port] || has_entered(w, w->predecessor[id]);
}

static bool may_finish(const schedule *w, unsigned thread, uint32_t index)
{
    const aphi_event *e = &w->order->events[w->order->first[thread] + index];
    if (e->op == APHI_ALTS_RECEIVE)
        return has_entered(w, event_id(e->peer, e->peer_index));
    return e->op == APHI_ALTS_LOCAL || !e->sync || is_done(w, event_id(e->peer, e->peer_index));
}

/* Returns the number of steps until all events that happened are done and the front has entered its queue. */
static uint32_t steps_needed(const schedule *w, unsigned thread)
{
    bool front_is_next = w->front == event_id(thread, w->happened[thread]);
    return 2 * w->happened[thread] + front_is_next;
}

static bool advance_thread(schedule *w, unsigned thread)
{
    uint32_t *steps = &w->steps[thread], before = *steps, goal = steps_needed(w, thread);
    while (*steps < goal && (*steps % 2 ? may_finish(w, thread, *steps / 2) : may_enter(w, thread, *steps / 2)))
        ++*steps;
    return *steps > before;
}

static bool can_complete(schedule *w)
{
    bool more = true, all = true;
    while (more) {
        more = false;
        for (unsigned t = 0; t < w->order->thread_count; t++)
            more |= advance_thread(w, t);
    }
    for (unsigned t = 0; t < w->order->thread_count; t++)
        all &= w->steps[t] == steps_needed(w, t);
    return all;
}

bool aphi_port_queue_order_can_lead(const aphi_port_queue_order *l, const uint32_t *happened, unsigned thread,
                                    uint32_t send, unsigned port)
{
    schedule w = {.order = l, .happened = happened, .front = event_id(thread, send)};
    w.last_received = aphi_alloc((l->port_count + 1) * sizeof *w.last_received);
    w.predecessor = aphi_alloc((l->first[l->thread_count] + 1u) * sizeof *w.predecessor);
    w.steps = aphi_alloc_zero((l->thread_count + 1) * sizeof *w.steps);
    derive_predecessors(&w, port);
    bool leads = can_complete(&w);
    APHI_FREE_ALL(w.last_received, w.predecessor, w.steps);
    return leads;
}

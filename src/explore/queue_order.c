/* SPDX-License-Identifier: Apache-2.0
 *
 * queue_order.c - ports with one queue for all senders: could a message have been the first in its queue?
 *
 * Idea:       who stands before whom in a queue shows in what was received from it: messages entered it in the order in
 *             which they left, and all that are left entered it later. That the one in question is the first of these
 *             says that the others entered after it. All of this says "not before that one has entered", as causes do.
 *             So threads go on, each as far as it may; if one cannot come to its end, there is no such order.
 * Picture:    queue p:  a b | c d     a was received, then b; is d the first that is left? Then  a -> b -> d -> c
 * Invariants: an event is two steps: it is entered upon, and done. An asynchronous message is in its queue when its
 *             sender has entered upon the send, for which there must be room; a synchronous one stands in line from
 *             then on until it is received.
 * Cost:       events times threads, at worst. */
#include "explore/queue_order.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#define NOBODY UINT64_MAX

typedef struct walk {
    const aphi_queue_order *lines;
    const uint32_t *happened;
    uint64_t front;      /* the message in question */
    uint64_t *last;      /* by port: the send that was received last */
    uint64_t *ahead;     /* by event, of sends: what must have entered before; of the front, see front_ahead */
    uint64_t front_ahead;
    uint32_t *steps;     /* by thread: taken so far, two an event */
} walk;

static uint64_t place(unsigned thread, uint32_t index)
{
    return (uint64_t)thread << 32 | index;
}

static bool has_entered(const walk *w, uint64_t at)
{
    return at == NOBODY || w->steps[at >> 32] > 2 * (uint32_t)at;
}

static bool is_done(const walk *w, uint64_t at)
{
    return w->steps[at >> 32] >= 2 * (uint32_t)at + 2;
}

/* ---- who is before whom ------------------------------------------------------------------------------------------ */

static void follow_receives(walk *w, unsigned thread)
{
    const aphi_queue_order *l = w->lines;
    for (uint32_t i = 0; i < w->happened[thread]; i++) {
        const aphi_event *e = &l->events[l->first[thread] + i];
        if (e->op != APHI_ALTS_RECEIVE || !l->shared[e->port])
            continue;
        w->ahead[l->first[e->peer] + e->peer_index] = w->last[e->port];
        w->last[e->port] = place(e->peer, e->peer_index);
    }
}

/* What is left in a queue entered it after all that was received, and after the front. */
static void follow_rest(walk *w, unsigned thread, unsigned port)
{
    const aphi_queue_order *l = w->lines;
    for (uint32_t i = 0; i < w->happened[thread]; i++) {
        const aphi_event *e = &l->events[l->first[thread] + i];
        if (e->op == APHI_ALTS_SEND && l->shared[e->port] && !(e->matched && e->peer_index < w->happened[e->peer]))
            w->ahead[l->first[thread] + i] = e->port == port ? w->front : w->last[e->port];
    }
}

static void line_up(walk *w, unsigned port)
{
    size_t threads = w->lines->thread_count;
    for (size_t p = 0; p < w->lines->port_count; p++)
        w->last[p] = NOBODY;
    for (unsigned t = 0; t < threads; t++)
        follow_receives(w, t);
    for (unsigned t = 0; t < threads; t++)
        follow_rest(w, t, port);
    w->front_ahead = w->last[port];
}

/* ---- going on ---------------------------------------------------------------------------------------------------- */

static bool may_enter(const walk *w, unsigned thread, uint32_t index)
{
    const aphi_queue_order *l = w->lines;
    uint32_t at = l->first[thread] + index;
    const aphi_event *e = at < l->first[thread + 1] ? &l->events[at] : NULL;
    if (e && e->op == APHI_ALTS_SEND && e->waited && !is_done(w, place(e->peer, e->waited - 1)))
        return false;
    if (place(thread, index) == w->front)
        return has_entered(w, w->front_ahead);
    return e->op != APHI_ALTS_SEND || !l->shared[e->port] || has_entered(w, w->ahead[at]);
}

static bool may_finish(const walk *w, unsigned thread, uint32_t index)
{
    const aphi_event *e = &w->lines->events[w->lines->first[thread] + index];
    if (e->op == APHI_ALTS_RECEIVE)
        return has_entered(w, place(e->peer, e->peer_index));
    return e->op == APHI_ALTS_LOCAL || !e->sync || is_done(w, place(e->peer, e->peer_index));
}

/* Steps to take until all that happened is done, and the front has entered. */
static uint32_t goal_of(const walk *w, unsigned thread)
{
    bool next = w->front == place(thread, w->happened[thread]);
    return 2 * w->happened[thread] + next;
}

static bool go_on(walk *w, unsigned thread)
{
    uint32_t *steps = &w->steps[thread], before = *steps, goal = goal_of(w, thread);
    while (*steps < goal && (*steps % 2 ? may_finish(w, thread, *steps / 2) : may_enter(w, thread, *steps / 2)))
        ++*steps;
    return *steps > before;
}

static bool comes_to_its_end(walk *w)
{
    bool more = true, all = true;
    while (more) {
        more = false;
        for (unsigned t = 0; t < w->lines->thread_count; t++)
            more |= go_on(w, t);
    }
    for (unsigned t = 0; t < w->lines->thread_count; t++)
        all &= w->steps[t] == goal_of(w, t);
    return all;
}

bool aphi_queue_order_lead(const aphi_queue_order *l, const uint32_t *happened, unsigned thread, uint32_t send,
                           unsigned port)
{
    walk w = {.lines = l, .happened = happened, .front = place(thread, send)};
    w.last = aphi_alloc((l->port_count + 1) * sizeof *w.last);
    w.ahead = aphi_alloc((l->first[l->thread_count] + 1u) * sizeof *w.ahead);
    w.steps = aphi_alloc_zero((l->thread_count + 1) * sizeof *w.steps);
    line_up(&w, port);
    bool leads = comes_to_its_end(&w);
    free(w.last);
    free(w.ahead);
    free(w.steps);
    return leads;
}

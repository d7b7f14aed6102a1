/* SPDX-License-Identifier: Apache-2.0
 *
 * races.c - what each receive of a recording could have taken instead.
 *
 * Idea:       Vector clocks tell what caused what. A send is in the race set of a receive r that took another message
 *             if
 *               1. r was open to it,
 *               2. r did not cause it. For a synchronous send, which is one event with its receive, that means: r
 *                  did not cause what its thread did before,
 *               3. it was received after r, or not at all,
 *               4. the medium could have delivered it: on a port that keeps order, all that the same thread sent there
 *                  before had been received before r; where a port is one queue, there is an order of what caused
 *                  either in which the queues gave what they gave, and it is first (queue_order.c).
 *             Synchronous sends that still wait at the end are candidates, too.
 * Cost:       receives times sends to their thread, and as much again for 4; times events where a port is one queue. */
#include "execute/recording.h"

#include "base/memory.h"
#include "explore/queue_order.h"

#include <stdlib.h>
#include <string.h>

typedef struct offer { /* a send, as receives see it */
    aphi_place at;
    uint16_t port;
    uint32_t label;
    bool sync;
    uint32_t received; /* index of the receive; UINT32_MAX: not received */
    const uint32_t *before; /* clock of what made it happen, NULL: nothing did */
    uint32_t *clock;        /* of itself, NULL: it still waits */
    uint32_t behind;        /* where the last of those was received that its sender sent to the port before; 0: none */
} offer;

typedef struct finder {
    const aphi_cast *cast;
    const aphi_recording *recording;
    aphi_races *races;
    offer *offers;
    size_t offer_count, offer_capacity;
    const uint32_t *last[APHI_CAST_THREADS_MAX]; /* clock of the last event of each thread, NULL: none yet */
    size_t events_of[APHI_CAST_THREADS_MAX];
    const uint32_t **before; /* by event: clock of the one before it in its thread, NULL: none */
    uint32_t *waited;        /* by event, of a send that had to wait for room: the receive that made it, from 1 */
    aphi_queue_order lines;        /* what these three say: */
    uint32_t *first;
    aphi_event *done;
    bool *shared;
} finder;

static uint32_t *clock_of(const finder *f, size_t event)
{
    return f->races->clocks + event * f->cast->thread_count;
}

static void join(const finder *f, uint32_t *to, const uint32_t *from)
{
    for (size_t i = 0; from && i < f->cast->thread_count; i++)
        if (to[i] < from[i])
            to[i] = from[i];
}

/* ---- clocks ------------------------------------------------------------------------------------------------------ */

/* The offer of that event; the last ones are the likeliest. */
static offer *offer_at(const finder *f, aphi_place at)
{
    for (size_t i = f->offer_count; i-- > 0;)
        if (f->offers[i].at.thread == at.thread && f->offers[i].at.index == at.index)
            return &f->offers[i];
    return NULL;
}

static void add_offer(finder *f, const aphi_recorded *e, const uint32_t *before, uint32_t *clock)
{
    APHI_RESERVE(f->offers, f->offer_capacity, f->offer_count + 1);
    f->offers[f->offer_count++] = (offer){
        .at = e->at,
        .port = e->port,
        .label = e->label,
        .sync = e->sync,
        .received = e->peer.index ? e->peer.index : UINT32_MAX,
        .before = before,
        .clock = clock,
    };
}

/* A full port makes a send wait for a receive: that is a cause, too. */
static void join_room(finder *f, const aphi_recorded *e, uint32_t *clock)
{
    uint32_t capacity = f->cast->ports[e->port].capacity;
    size_t sent = 0, freed = 0;
    if (!capacity || e->sync)
        return;
    for (size_t i = 0; i < f->offer_count; i++)
        sent += f->offers[i].at.thread == e->at.thread && f->offers[i].port == e->port && !f->offers[i].sync;
    for (size_t i = 0; freed + capacity < sent + 1 && &f->recording->events[i] < e; i++) {
        const aphi_recorded *r = &f->recording->events[i];
        if (r->did == APHI_DID_RECEIVE && r->port == e->port && !r->sync && r->peer.thread == e->at.thread
            && ++freed + capacity == sent + 1) {
            join(f, clock, clock_of(f, i));
            f->waited[e - f->recording->events] = r->at.index;
        }
    }
}

static void run_clocks(finder *f)
{
    const aphi_recording *r = f->recording;
    size_t threads = f->cast->thread_count;
    APHI_RESERVE(f->races->clocks, f->races->clock_capacity, (r->event_count + 1) * threads);
    for (size_t i = 0; i < r->event_count; i++) {
        const aphi_recorded *e = &r->events[i];
        uint32_t *clock = clock_of(f, i);
        const uint32_t *before = f->before[i] = f->last[e->at.thread];
        memset(clock, 0, threads * sizeof *clock);
        join(f, clock, before);
        clock[e->at.thread] = e->at.index;
        f->last[e->at.thread] = clock;
        f->events_of[e->at.thread] = e->at.index;
        if (e->did == APHI_DID_SEND) {
            join_room(f, e, clock);
            add_offer(f, e, before, clock);
        } else if (e->did == APHI_DID_RECEIVE) {
            offer *o = offer_at(f, e->peer);
            if (o) {
                join(f, clock, o->clock);
                if (e->sync) /* one event of both threads */
                    memcpy(o->clock, clock, threads * sizeof *clock);
            }
        }
    }
}

static void add_waiting(finder *f)
{
    for (size_t i = 0; i < f->cast->thread_count; i++) {
        const aphi_standing *s = &f->recording->standings[i];
        if (s->stand != APHI_STANDS_SENDING)
            continue;
        aphi_recorded e = {.at = {(uint16_t)i, (uint32_t)f->events_of[i] + 1}, .port = s->port, .label = s->label,
                        .sync = true};
        add_offer(f, &e, f->last[i], NULL);
    }
}

/* Offers of a thread are in its order. */
static void stand_in_line(finder *f)
{
    size_t ports = f->cast->port_count;
    uint32_t *last = aphi_alloc_zero((f->cast->thread_count * ports + 1) * sizeof *last);
    for (size_t i = 0; i < f->offer_count; i++) {
        offer *o = &f->offers[i];
        uint32_t *before = &last[o->at.thread * ports + o->port];
        o->behind = *before;
        *before = o->received > *before ? o->received : *before;
    }
    free(last);
}

/* ---- races ------------------------------------------------------------------------------------------------------- */

static bool is_open(const aphi_recording *r, const aphi_recorded *e, const offer *o)
{
    for (uint32_t i = e->open; i < e->open + e->open_count; i++)
        if (r->openings[i].port == o->port
            && (r->openings[i].label == APHI_LABEL_ANY || r->openings[i].label == o->label))
            return true;
    return false;
}

static bool caused_by(const uint32_t *clock, aphi_place at)
{
    return clock && clock[at.thread] >= at.index;
}

static void add_past(const finder *f, const uint32_t *clock, uint32_t *happened)
{
    for (size_t i = 0; clock && i < f->cast->thread_count; i++)
        happened[i] = clock[i] > happened[i] ? clock[i] : happened[i];
}

/* In a queue for all, could the message be first when its receiver comes to r? */
static bool leads(const finder *f, size_t r, const offer *o)
{
    uint32_t happened[APHI_CAST_THREADS_MAX] = {0};
    add_past(f, o->sync ? o->before : o->clock, happened);
    happened[o->at.thread] = o->at.index - 1;
    add_past(f, f->before[r], happened);
    return aphi_queue_order_can_lead(&f->lines, happened, o->at.thread, o->at.index - 1, o->port);
}

/* 4. of the idea above. */
static bool deliverable(const finder *f, size_t r, const offer *o)
{
    aphi_cast_medium medium = f->cast->ports[o->port].medium;
    if (medium == APHI_CAST_UNORDERED)
        return true;
    if (o->behind >= f->recording->events[r].at.index)
        return false;
    return medium != APHI_CAST_PORT || leads(f, r, o);
}

static bool races_with(const finder *f, size_t event, const offer *o)
{
    const aphi_recorded *r = &f->recording->events[event];
    if (o->at.thread == r->peer.thread && o->at.index == r->peer.index)
        return false;
    return f->cast->ports[o->port].owner == r->at.thread && o->received > r->at.index && is_open(f->recording, r, o)
        && !caused_by(o->sync ? o->before : o->clock, r->at) && deliverable(f, event, o);
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

/* The events, thread by thread. */
static void fill_lines(finder *f)
{
    const aphi_recording *r = f->recording;
    size_t threads = f->cast->thread_count;
    f->first = aphi_alloc_zero((threads + 1) * sizeof *f->first);
    f->done = aphi_alloc_zero((r->event_count + 1) * sizeof *f->done);
    f->shared = aphi_alloc_zero((f->cast->port_count + 1) * sizeof *f->shared);
    for (size_t i = 0; i < threads; i++)
        f->first[i + 1] = f->first[i] + (uint32_t)f->events_of[i];
    for (size_t i = 0; i < f->cast->port_count; i++)
        f->shared[i] = f->cast->ports[i].medium == APHI_CAST_PORT;
    for (size_t i = 0; i < r->event_count; i++) {
        const aphi_recorded *e = &r->events[i];
        static const uint8_t ops[] = {[APHI_DID_SEND] = APHI_ALTS_SEND, [APHI_DID_RECEIVE] = APHI_ALTS_RECEIVE,
                                      [APHI_DID_LOCAL] = APHI_ALTS_LOCAL};
        f->done[f->first[e->at.thread] + e->at.index - 1] =
            (aphi_event){.op = ops[e->did], .sync = e->sync, .port = e->port, .matched = e->peer.index > 0,
                         .peer = e->peer.thread, .peer_index = e->peer.index - 1, .freed_by = f->waited[i]};
    }
    f->lines = (aphi_queue_order){.thread_count = threads, .port_count = f->cast->port_count, .first = f->first,
                            .events = f->done, .shared = f->shared};
}

static void drop(finder *f)
{
    free(f->offers);
    free(f->before);
    free(f->waited);
    free(f->first);
    free(f->done);
    free(f->shared);
}

void aphi_races_find(const aphi_cast *c, const aphi_recording *r, aphi_races *races)
{
    finder f = {.cast = c, .recording = r, .races = races};
    f.before = aphi_alloc((r->event_count + 1) * sizeof *f.before);
    f.waited = aphi_alloc_zero((r->event_count + 1) * sizeof *f.waited);
    run_clocks(&f);
    add_waiting(&f);
    stand_in_line(&f);
    fill_lines(&f);
    races->send_count = 0;
    APHI_RESERVE(races->first, races->first_capacity, r->event_count + 1);
    for (size_t i = 0; i < r->event_count; i++) {
        races->first[i] = (uint32_t)races->send_count;
        for (size_t k = 0; k < f.offer_count && r->events[i].did == APHI_DID_RECEIVE; k++)
            if (races_with(&f, i, &f.offers[k])) {
                APHI_RESERVE(races->sends, races->send_capacity, races->send_count + 1);
                races->sends[races->send_count++] = f.offers[k].at;
            }
    }
    races->first[r->event_count] = (uint32_t)races->send_count;
    drop(&f);
}

void aphi_races_free(aphi_races *races)
{
    free(races->first);
    free(races->sends);
    free(races->clocks);
    *races = (aphi_races){0};
}

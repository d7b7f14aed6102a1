/* SPDX-License-Identifier: Apache-2.0
 *
 * races.c - race sets of a recording.
 *
 * Idea:       vector clocks give the causal order. A send is in the race set of a receive r that took another message
 *             if
 *               1. r was open to it,
 *               2. r did not cause it. A synchronous send is one event with its receive, so r must
 *                  not have caused the earlier events of the sender,
 *               3. it was received after r, or not at all,
 *               4. the medium could have delivered it: on an ordered port, all earlier messages of its sender were
 *                  received before r; with one queue for all senders, the causes of r and of the send have an order
 *                  that agrees with all receives and puts the send first (port_queue_order.c).
 *             Synchronous sends that still wait at the end are candidates, too.
 * Cost:       receives times sends to their thread, twice because of 4; with shared queues, also times events. */
#include "execute/recording.h"

#include "base/memory.h"
#include "explore/sequence.h"

#include <stdlib.h>
#include <string.h>

typedef struct race_send {
    aphi_event_id id;
    uint16_t port;
    uint32_t label;
    bool sync;
    uint32_t received;         /* index of the receive; UINT32_MAX: not received */
    const uint32_t *before;    /* clock of the event before it in its thread, or NULL */
    uint32_t *clock;           /* NULL: the send still waits */
    uint32_t earlier_received; /* last receive of an earlier message of its sender to the port; 0: none */
} race_send;

typedef struct finder {
    const aphi_layout *layout;
    const aphi_recording *recording;
    aphi_races *races;
    race_send *sends;
    size_t send_count, send_capacity;
    const uint32_t *last[APHI_LAYOUT_THREADS_MAX]; /* by thread: clock of its last event, or NULL */
    size_t events_of[APHI_LAYOUT_THREADS_MAX];
    const uint32_t **before;                       /* by event: clock of the event before it in its thread, or NULL */
    uint32_t *freed_by;                            /* by event: the receive that freed the room of a send, from 1 */
    aphi_port_queue_order order;                        /* of the next three */
    uint32_t *first;
    aphi_event *queue_events;
    bool *shared;
} finder;

static uint32_t *clock_of(const finder *f, size_t event)
{
    return f->races->clocks + event * f->layout->thread_count;
}

static void join_clock(const finder *f, uint32_t *to, const uint32_t *from)
{
    for (size_t i = 0; from && i < f->layout->thread_count; i++)
        if (to[i] < from[i])
            to[i] = from[i];
}

/* ---- clocks ------------------------------------------------------------------------------------------------------ */

/* Searches backwards: recent sends are likelier. */
static race_send *find_send(const finder *f, aphi_event_id id)
{
    for (size_t i = f->send_count; i-- > 0;)
        if (aphi_event_id_equal(f->sends[i].id, id))
            return &f->sends[i];
    return NULL;
}

static void add_send(finder *f, const aphi_recorded_event *e, const uint32_t *before, uint32_t *clock)
{
    APHI_PUSH(f->sends, f->send_count, f->send_capacity,
              (race_send){.id = e->id, .port = e->port, .label = e->label, .sync = e->sync,
                          .received = e->peer.index ? e->peer.index : UINT32_MAX, .before = before, .clock = clock});
}

/* A send that waited at a full port is caused by the receive that freed room. */
static void join_freed_room(finder *f, const aphi_recorded_event *e, uint32_t *clock)
{
    uint32_t capacity = f->layout->ports[e->port].capacity;
    size_t sent = 0, freed = 0;
    if (!capacity || e->sync)
        return;
    for (size_t i = 0; i < f->send_count; i++)
        sent += f->sends[i].id.thread == e->id.thread && f->sends[i].port == e->port && !f->sends[i].sync;
    for (size_t i = 0; freed + capacity < sent + 1 && &f->recording->events[i] < e; i++) {
        const aphi_recorded_event *r = &f->recording->events[i];
        if (r->op == APHI_ALTS_RECEIVE && r->port == e->port && !r->sync && r->peer.thread == e->id.thread
            && ++freed + capacity == sent + 1) {
            join_clock(f, clock, clock_of(f, i));
            f->freed_by[e - f->recording->events] = r->id.index;
        }
    }
}

static void compute_clocks(finder *f)
{
    const aphi_recording *r = f->recording;
    size_t threads = f->layout->thread_count;
    APHI_RESERVE(f->races->clocks, f->races->clock_capacity, (r->event_count + 1) * threads);
    for (size_t i = 0; i < r->event_count; i++) {
        const aphi_recorded_event *e = &r->events[i];
        uint32_t *clock = clock_of(f, i);
        const uint32_t *before = f->before[i] = f->last[e->id.thread];
        memset(clock, 0, threads * sizeof *clock);
        join_clock(f, clock, before);
        clock[e->id.thread] = e->id.index;
        f->last[e->id.thread] = clock;
        f->events_of[e->id.thread] = e->id.index;
        if (e->op == APHI_ALTS_SEND) {
            join_freed_room(f, e, clock);
            add_send(f, e, before, clock);
        } else if (e->op == APHI_ALTS_RECEIVE) {
            race_send *o = find_send(f, e->peer);
            if (o) {
                join_clock(f, clock, o->clock);
                if (e->sync) /* a synchronous pair is one event of both threads */
                    memcpy(o->clock, clock, threads * sizeof *clock);
            }
        }
    }
}

static void add_waiting_sends(finder *f)
{
    for (size_t i = 0; i < f->layout->thread_count; i++) {
        const aphi_thread_end *s = &f->recording->thread_ends[i];
        if (s->status != APHI_THREAD_SENDING)
            continue;
        aphi_recorded_event e = {.id = {(uint16_t)i, (uint32_t)f->events_of[i] + 1}, .port = s->port, .label = s->label,
                                 .sync = true};
        add_send(f, &e, f->last[i], NULL);
    }
}

/* The sends of a thread are listed in program order. */
static void find_earlier_sends(finder *f)
{
    size_t ports = f->layout->port_count;
    uint32_t *last = aphi_alloc_zero((f->layout->thread_count * ports + 1) * sizeof *last);
    for (size_t i = 0; i < f->send_count; i++) {
        race_send *o = &f->sends[i];
        uint32_t *before = &last[o->id.thread * ports + o->port];
        o->earlier_received = *before;
        *before = o->received > *before ? o->received : *before;
    }
    free(last);
}

/* ---- conditions -------------------------------------------------------------------------------------------------- */

static bool is_open(const aphi_recording *r, const aphi_recorded_event *e, const race_send *o)
{
    for (uint32_t i = e->open; i < e->open + e->open_count; i++)
        if (r->open_items[i].port == o->port
            && (r->open_items[i].label == APHI_LABEL_ANY || r->open_items[i].label == o->label))
            return true;
    return false;
}

static bool is_caused_by(const uint32_t *clock, aphi_event_id id)
{
    return clock && clock[id.thread] >= id.index;
}

/* Returns true if the message can be first in a shared queue when its receiver reaches r. */
static bool can_lead(const finder *f, size_t r, const race_send *o)
{
    uint32_t happened[APHI_LAYOUT_THREADS_MAX] = {0};
    join_clock(f, happened, o->sync ? o->before : o->clock);
    happened[o->id.thread] = o->id.index - 1;
    join_clock(f, happened, f->before[r]);
    return aphi_port_queue_order_can_lead(&f->order, happened, o->id.thread, o->id.index - 1, o->port);
}

/* Condition 4 above. */
static bool is_deliverable(const finder *f, size_t r, const race_send *o)
{
    aphi_medium medium = f->layout->ports[o->port].medium;
    if (medium == APHI_MEDIUM_UNORDERED)
        return true;
    if (o->earlier_received >= f->recording->events[r].id.index)
        return false;
    return medium != APHI_MEDIUM_PORT || can_lead(f, r, o);
}

static bool is_race(const finder *f, size_t event, const race_send *o)
{
    const aphi_recorded_event *r = &f->recording->events[event];
    if (aphi_event_id_equal(o->id, r->peer))
        return false;
    return f->layout->ports[o->port].owner == r->id.thread && o->received > r->id.index && is_open(f->recording, r, o)
        && !is_caused_by(o->sync ? o->before : o->clock, r->id) && is_deliverable(f, event, o);
}

/* ---- race sets --------------------------------------------------------------------------------------------------- */

/* Converts the events for port_queue_order.c, thread by thread. */
static void build_queue_order(finder *f)
{
    const aphi_recording *r = f->recording;
    size_t threads = f->layout->thread_count;
    f->first = aphi_alloc_zero((threads + 1) * sizeof *f->first);
    f->queue_events = aphi_alloc_zero((r->event_count + 1) * sizeof *f->queue_events);
    f->shared = aphi_alloc_zero((f->layout->port_count + 1) * sizeof *f->shared);
    for (size_t i = 0; i < threads; i++)
        f->first[i + 1] = f->first[i] + (uint32_t)f->events_of[i];
    for (size_t i = 0; i < f->layout->port_count; i++)
        f->shared[i] = f->layout->ports[i].medium == APHI_MEDIUM_PORT;
    for (size_t i = 0; i < r->event_count; i++) {
        const aphi_recorded_event *e = &r->events[i];
        f->queue_events[f->first[e->id.thread] + e->id.index - 1] =
            (aphi_event){.op = (uint8_t)e->op, .sync = e->sync, .port = e->port, .matched = e->peer.index > 0,
                         .peer = e->peer.thread, .peer_index = e->peer.index - 1, .freed_by = f->freed_by[i]};
    }
    f->order = (aphi_port_queue_order){.thread_count = threads, .port_count = f->layout->port_count, .first = f->first,
                                  .events = f->queue_events, .shared = f->shared};
}

static void free_finder(finder *f)
{
    APHI_FREE_ALL(f->sends, f->before, f->freed_by, f->first, f->queue_events, f->shared);
}

void aphi_races_find(const aphi_layout *c, const aphi_recording *r, aphi_races *races)
{
    finder f = {.layout = c, .recording = r, .races = races};
    f.before = aphi_alloc((r->event_count + 1) * sizeof *f.before);
    f.freed_by = aphi_alloc_zero((r->event_count + 1) * sizeof *f.freed_by);
    compute_clocks(&f);
    add_waiting_sends(&f);
    find_earlier_sends(&f);
    build_queue_order(&f);
    races->send_count = 0;
    APHI_RESERVE(races->first, races->first_capacity, r->event_count + 1);
    for (size_t i = 0; i < r->event_count; i++) {
        races->first[i] = (uint32_t)races->send_count;
        for (size_t k = 0; k < f.send_count && r->events[i].op == APHI_ALTS_RECEIVE; k++)
            if (is_race(&f, i, &f.sends[k]))
                APHI_PUSH(races->sends, races->send_count, races->send_capacity, f.sends[k].id);
    }
    races->first[r->event_count] = (uint32_t)races->send_count;
    free_finder(&f);
}

void aphi_races_free(aphi_races *races)
{
    APHI_FREE_ALL(races->first, races->sends, races->clocks);
    *races = (aphi_races){0};
}

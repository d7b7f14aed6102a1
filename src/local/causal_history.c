/* SPDX-License-Identifier: Apache-2.0
 *
 * causal_history.c - recorded events with clocks, interned: one list per component, and one of clocks and free room.
 *
 * Idea:       race sets are computed at the end of a run, from their definition: the sends that a receive of the target
 *             could have taken instead, with the same causal pasts.
 * Invariants: 1. a clock has an entry for each component whose events are all recorded: the number of these events in
 *                the causal past
 *             2. a sender with limited capacity has a list of receives that freed room which is still unused, oldest
 *                first, each with its clock. A send uses the oldest. Initially the list has as many entries as the
 *                capacity
 *             3. the stamp of a message is the index of its send in the sender's list if sends are recorded, else its
 *                clock, which then has a single entry
 * Cost:       adding an event copies its list. */
#include "local/causal_history.h"

#include "base/memory.h"
#include "explore/sequence.h"

#include <stdlib.h>
#include <string.h>

/* Words of an event; the clock before it follows. */
enum { OP, SYNC, PORT, LABEL, PEER, PEER_INDEX, FREED_BY, STATE, CLOCK };
/* Words of a receive that freed room: its index in the list of its component, from 1, and its clock. */
enum { ROOM_RECEIVE, ROOM_CLOCK };

/* ---- setup ------------------------------------------------------------------------------------------------------- */

static void assign_room_slots(aphi_causal_history *h)
{
    const aphi_reduced_model *g = h->model;
    uint32_t max_capacity = 0;
    h->room_slots = aphi_alloc_zero((g->port_count * g->component_count + 1) * sizeof *h->room_slots);
    for (size_t i = 0; i < g->port_count; i++)
        for (size_t c = 0; c < g->component_count; c++)
            if (g->ports[i].capacity_of[c]) {
                h->room_slots[i * g->component_count + c] = ++h->room_slot_count;
                max_capacity = g->ports[i].capacity_of[c] > max_capacity ? g->ports[i].capacity_of[c] : max_capacity;
            }
    h->room_size = 1 + (max_capacity + 1) * (ROOM_CLOCK + h->width); /* + 1: a synchronous message frees room first */
}

void aphi_causal_history_open(aphi_causal_history *h, const aphi_reduced_model *g)
{
    *h = (aphi_causal_history){.model = g};
    for (size_t i = 0; i < g->port_count; i++)
        h->keeps_all |= g->ports[i].owner == g->target && g->ports[i].contended;
    h->width = h->keeps_all ? g->component_count : 1;
    h->event_size = CLOCK + h->width;
    assign_room_slots(h);
    h->current =
        aphi_alloc_zero((g->component_count * h->width + h->room_slot_count * h->room_size + 1) * sizeof *h->current);
}

void aphi_causal_history_close(aphi_causal_history *h)
{
    free(h->room_slots);
    free(h->current);
    aphi_intern_free(&h->events);
    aphi_intern_free(&h->clocks);
}

size_t aphi_causal_history_size(const aphi_causal_history *h)
{
    return h->model->component_count + 1;
}

/* ---- lists of events --------------------------------------------------------------------------------------------- */

static const uint32_t *events_of(const aphi_causal_history *h, const uint32_t *record, size_t c, size_t *count)
{
    size_t size;
    const uint32_t *e = aphi_intern_key(&h->events, record[c], &size);
    *count = size / sizeof *e / h->event_size;
    return e;
}

static bool is_recorded(const aphi_causal_history *h, size_t c, size_t receiver)
{
    return h->keeps_all || c == h->model->target || receiver == h->model->target;
}

static void append_event(aphi_causal_history *h, uint32_t *record, size_t c, const uint32_t *event,
                         const uint32_t *clock)
{
    size_t count, size;
    const uint32_t *e = events_of(h, record, c, &count);
    uint32_t *list = aphi_alloc((count + 1) * h->event_size * sizeof *list);
    size = count * h->event_size;
    if (size)
        memcpy(list, e, size * sizeof *list);
    memcpy(list + size, event, CLOCK * sizeof *list);
    memcpy(list + size + CLOCK, clock, h->width * sizeof *list);
    record[c] = aphi_intern_number(&h->events, list, (size + h->event_size) * sizeof *list);
    free(list);
}

/* ---- clocks ------------------------------------------------------------------------------------------------------ */

static size_t current_size(const aphi_causal_history *h)
{
    return (h->model->component_count * h->width + h->room_slot_count * h->room_size) * sizeof *h->current;
}

static void load_clocks(aphi_causal_history *h, const uint32_t *record)
{
    memcpy(h->current, aphi_intern_key(&h->clocks, record[h->model->component_count], NULL), current_size(h));
}

static void store_clocks(aphi_causal_history *h, uint32_t *record)
{
    record[h->model->component_count] = aphi_intern_number(&h->clocks, h->current, current_size(h));
}

static uint32_t *clock_of(const aphi_causal_history *h, size_t c)
{
    return h->current + c * h->width;
}

static void join_clock(const aphi_causal_history *h, uint32_t *clock, const uint32_t *other)
{
    for (size_t i = 0; i < h->width; i++)
        clock[i] = clock[i] > other[i] ? clock[i] : other[i];
}

static void count_event(const aphi_causal_history *h, size_t c, uint32_t *clock)
{
    if (h->keeps_all)
        clock[c]++;
    else if (c == h->model->target)
        clock[0]++;
}

static uint32_t known_target_events(const aphi_causal_history *h, const uint32_t *clock)
{
    return clock[h->keeps_all ? h->model->target : 0];
}

/* ---- room -------------------------------------------------------------------------------------------------------- */

static uint32_t *free_room_of(const aphi_causal_history *h, const aphi_causal_message *m)
{
    size_t room = h->room_slots[m->port * h->model->component_count + m->sender];
    return room ? h->current + h->model->component_count * h->width + (room - 1) * h->room_size : NULL;
}

/* Uses the oldest free room; returns the receive that freed it. `clock` is NULL for a synchronous send. */
static uint32_t use_room(const aphi_causal_history *h, const aphi_causal_message *m, uint32_t *clock)
{
    uint32_t *room_slots = free_room_of(h, m);
    size_t entry_size = ROOM_CLOCK + h->width;
    if (!room_slots)
        return 0;
    uint32_t receive = room_slots[1 + ROOM_RECEIVE];
    if (clock)
        join_clock(h, clock, room_slots + 1 + ROOM_CLOCK);
    room_slots[0]--;
    memmove(room_slots + 1, room_slots + 1 + entry_size, room_slots[0] * entry_size * sizeof *room_slots);
    memset(room_slots + 1 + room_slots[0] * entry_size, 0, entry_size * sizeof *room_slots);
    return receive;
}

static void make_room(const aphi_causal_history *h, const aphi_causal_message *m, size_t receive, const uint32_t *clock)
{
    uint32_t *room_slots = free_room_of(h, m);
    if (!room_slots)
        return;
    uint32_t *entry = room_slots + 1 + room_slots[0]++ * (ROOM_CLOCK + h->width);
    entry[ROOM_RECEIVE] = (uint32_t)receive;
    memcpy(entry + ROOM_CLOCK, clock, h->width * sizeof *clock);
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

void aphi_causal_history_start(aphi_causal_history *h, uint32_t *record)
{
    const aphi_reduced_model *g = h->model;
    memset(h->current, 0, current_size(h));
    for (size_t i = 0; i < g->port_count; i++)
        for (size_t c = 0; c < g->component_count; c++)
            if (g->ports[i].capacity_of[c])
                *free_room_of(h, &(aphi_causal_message){.port = (uint16_t)i, .sender = c}) = g->ports[i].capacity_of[c];
    store_clocks(h, record);
    for (size_t c = 0; c < g->component_count; c++)
        record[c] = aphi_intern_number(&h->events, "", 0);
}

void aphi_causal_history_add_local(aphi_causal_history *h, uint32_t *record, uint16_t label)
{
    size_t target = h->model->target;
    uint32_t event[CLOCK] = {[OP] = APHI_ALTS_LOCAL, [LABEL] = label};
    load_clocks(h, record);
    append_event(h, record, target, event, clock_of(h, target));
    count_event(h, target, clock_of(h, target));
    store_clocks(h, record);
}

uint32_t aphi_causal_history_add_send(aphi_causal_history *h, uint32_t *record, const aphi_causal_message *m)
{
    load_clocks(h, record);
    uint32_t *clock = clock_of(h, m->sender);
    uint32_t event[CLOCK] = {[OP] = APHI_ALTS_SEND, [PORT] = m->port, [LABEL] = m->label,
                             [PEER] = (uint32_t)m->receiver, [FREED_BY] = use_room(h, m, clock)};
    size_t stamp;
    events_of(h, record, m->sender, &stamp);
    bool recorded = is_recorded(h, m->sender, m->receiver);
    if (recorded)
        append_event(h, record, m->sender, event, clock);
    count_event(h, m->sender, clock);
    store_clocks(h, record);
    stamp = recorded ? stamp : clock[0];
    h->overflow |= stamp >= APHI_CAUSAL_STAMPS;
    return (uint32_t)stamp % APHI_CAUSAL_STAMPS;
}

/* Joins the clock of the message, which is the clock of its send. */
static void join_message(const aphi_causal_history *h, const uint32_t *record, const aphi_causal_message *m,
                         uint32_t *clock)
{
    if (!is_recorded(h, m->sender, m->receiver)) {
        join_clock(h, clock, &m->stamp);
        return;
    }
    size_t count;
    uint32_t *sent = aphi_copy(events_of(h, record, m->sender, &count) + m->stamp * h->event_size + CLOCK,
                               h->width * sizeof *sent);
    count_event(h, m->sender, sent);
    join_clock(h, clock, sent);
    free(sent);
}

static void append_receive(aphi_causal_history *h, uint32_t *record, const aphi_causal_message *m, bool sync,
                           uint32_t state, const uint32_t *clock)
{
    uint32_t event[CLOCK] = {[OP] = APHI_ALTS_RECEIVE, [SYNC] = sync, [PORT] = m->port, [LABEL] = m->label,
                             [PEER] = (uint32_t)m->sender, [PEER_INDEX] = m->stamp, [STATE] = state};
    if (is_recorded(h, m->receiver, m->receiver))
        append_event(h, record, m->receiver, event, clock);
}

void aphi_causal_history_add_receive(aphi_causal_history *h, uint32_t *record, const aphi_causal_message *m,
                                     uint32_t state)
{
    size_t count;
    load_clocks(h, record);
    uint32_t *clock = clock_of(h, m->receiver);
    append_receive(h, record, m, false, state, clock);
    join_message(h, record, m, clock);
    count_event(h, m->receiver, clock);
    events_of(h, record, m->receiver, &count);
    make_room(h, m, count, clock);
    store_clocks(h, record);
}

void aphi_causal_history_add_sync(aphi_causal_history *h, uint32_t *record, const aphi_causal_message *m,
                                  uint32_t state)
{
    size_t sent, received;
    load_clocks(h, record);
    uint32_t *receiver_clock = clock_of(h, m->receiver), *sender_clock = clock_of(h, m->sender);
    events_of(h, record, m->sender, &sent);
    events_of(h, record, m->receiver, &received);
    aphi_causal_message numbered = *m;
    numbered.stamp = (uint32_t)sent;
    uint32_t event[CLOCK] = {[OP] = APHI_ALTS_SEND, [SYNC] = 1, [PORT] = m->port, [LABEL] = m->label,
                             [PEER] = (uint32_t)m->receiver, [PEER_INDEX] = (uint32_t)received};
    append_receive(h, record, &numbered, true, state, receiver_clock);
    if (is_recorded(h, m->sender, m->receiver))
        append_event(h, record, m->sender, event, sender_clock);
    join_clock(h, receiver_clock, sender_clock);
    count_event(h, m->receiver, receiver_clock);
    count_event(h, m->sender, receiver_clock);
    memcpy(sender_clock, receiver_clock, h->width * sizeof *receiver_clock);
    make_room(h, m, received + 1, receiver_clock);
    use_room(h, m, NULL);
    store_clocks(h, record);
}

void aphi_causal_history_clear_clock(aphi_causal_history *h, uint32_t *record, size_t component)
{
    load_clocks(h, record);
    memset(clock_of(h, component), 0, h->width * sizeof *h->current);
    store_clocks(h, record);
}

/* ---- race sets --------------------------------------------------------------------------------------------------- */

/* Converts the recorded events for port_queue_order.c. Precondition: all events of all components are recorded. */
static aphi_port_queue_order build_queue_order(const aphi_causal_history *h, const uint32_t *record)
{
    const aphi_reduced_model *g = h->model;
    uint32_t *first = aphi_alloc((g->component_count + 1) * sizeof *first), total = 0;
    bool *shared = aphi_alloc_zero((g->port_count + 1) * sizeof *shared);
    aphi_event *events = NULL;
    size_t count, capacity = 0;
    for (size_t i = 0; i < g->port_count; i++)
        shared[i] = g->ports[i].contended;
    for (size_t c = 0; c < g->component_count; c++) {
        const uint32_t *e = events_of(h, record, c, &count);
        first[c] = total;
        APHI_RESERVE(events, capacity, total + count + 1);
        for (size_t i = 0; i < count; i++, e += h->event_size)
            events[total++] = (aphi_event){.op = (uint8_t)e[OP], .sync = e[SYNC], .port = (uint16_t)e[PORT],
                                           .matched = e[OP] == APHI_ALTS_RECEIVE, .peer = (uint16_t)e[PEER],
                                           .peer_index = e[PEER_INDEX], .freed_by = e[FREED_BY]};
    }
    first[g->component_count] = total;
    for (size_t c = 0; c < g->component_count; c++)
        for (uint32_t i = first[c]; i < first[c + 1]; i++)
            if (events[i].op == APHI_ALTS_RECEIVE) {
                aphi_event *send = &events[first[events[i].peer] + events[i].peer_index];
                send->matched = true;
                send->peer_index = i - first[c];
            }
    return (aphi_port_queue_order){.thread_count = g->component_count, .port_count = g->port_count, .first = first,
                              .events = events, .shared = shared};
}

typedef struct race_query {
    const aphi_causal_history *h;
    const uint32_t *record;
    const uint32_t *receive;   /* an event of the target */
    size_t index;
    aphi_race_candidate *found;
    size_t count, capacity;
} race_query;

static bool is_open(const race_query *r, uint32_t port, uint32_t label)
{
    if (r->h->available)
        return true;
    const aphi_reduced_component *comp = &r->h->model->components[r->h->model->target];
    uint32_t state = r->receive[STATE];
    for (uint32_t i = comp->first[state]; i < comp->first[state + 1]; i++)
        if (comp->moves[i].port == port && comp->moves[i].label == label)
            return true;
    return false;
}

static bool is_received_before(const race_query *r, size_t sender, size_t send)
{
    size_t count;
    const uint32_t *e = events_of(r->h, r->record, r->h->model->target, &count);
    for (size_t i = 0; i < r->index; i++, e += r->h->event_size)
        if (e[OP] == APHI_ALTS_RECEIVE && e[PEER] == sender && e[PEER_INDEX] == send)
            return true;
    return false;
}

static bool can_lead(const race_query *r, size_t sender, size_t send, uint32_t port, const uint32_t *clock)
{
    uint32_t happened[APHI_ALTS_COMPONENTS_MAX];
    if (!r->h->model->ports[port].contended)
        return true;
    memcpy(happened, clock, r->h->width * sizeof *happened);
    join_clock(r->h, happened, r->receive + CLOCK);
    aphi_port_queue_order order = build_queue_order(r->h, r->record);
    bool first = aphi_port_queue_order_can_lead(&order, happened, (unsigned)sender, (uint32_t)send, port);
    free((void *)order.first);
    free((void *)order.events);
    free((void *)order.shared);
    return first;
}

/* Adds the send, begun with the given clock, if it races. The message is the next one from its sender. */
static void add_if_racing(race_query *r, size_t sender, size_t send, uint32_t port, uint32_t label,
                          const uint32_t *clock)
{
    bool is_received_send = r->receive[PEER] == sender && r->receive[PEER_INDEX] == send;
    if (is_received_send || !is_open(r, port, label) || known_target_events(r->h, clock) > r->index ||
        !can_lead(r, sender, send, port, clock))
        return;
    APHI_PUSH(r->found, r->count, r->capacity, (aphi_race_candidate){port, label, (uint32_t)sender});
}

static void add_racing_sends(race_query *r, const uint32_t *v, size_t c, size_t port)
{
    const aphi_reduced_model *g = r->h->model;
    const aphi_reduced_move *m = &g->components[c].moves[g->components[c].first[v[c]]];
    size_t count;
    const uint32_t *e = events_of(r->h, r->record, c, &count);
    for (size_t i = 0; i < count; i++, e += r->h->event_size) {
        if (e[OP] != APHI_ALTS_SEND || e[PORT] != port || is_received_before(r, c, i))
            continue;
        add_if_racing(r, c, i, e[PORT], e[LABEL], e + CLOCK);
        if (g->ports[port].ordered)
            return;
    }
    if (g->components[c].kind[v[c]] == APHI_REDUCED_SYNC && m->port == port) {
        const uint32_t *clocks = aphi_intern_key(&r->h->clocks, r->record[g->component_count], NULL);
        add_if_racing(r, c, count, m->port, m->label, clocks + c * r->h->width);
    }
}

size_t aphi_causal_history_count(const aphi_causal_history *h, const uint32_t *record)
{
    size_t count;
    events_of(h, record, h->model->target, &count);
    return count;
}

/* Stands for the receive in which the target waits at the end: it has no partner. */
static uint32_t *make_last_receive(const aphi_causal_history *h, const uint32_t *record, const uint32_t *v)
{
    const uint32_t *clocks = aphi_intern_key(&h->clocks, record[h->model->component_count], NULL);
    uint32_t *e = aphi_alloc_zero(h->event_size * sizeof *e);
    e[OP] = APHI_ALTS_RECEIVE;
    e[PEER] = UINT32_MAX;
    e[STATE] = v[h->model->target];
    memcpy(e + CLOCK, clocks + h->model->target * h->width, h->width * sizeof *e);
    return e;
}

aphi_causal_event aphi_causal_history_event(const aphi_causal_history *h, const uint32_t *record, const uint32_t *v,
                                            size_t index, aphi_race_candidate **candidates)
{
    const aphi_reduced_model *g = h->model;
    size_t count;
    const uint32_t *e = events_of(h, record, g->target, &count) + index * h->event_size;
    uint32_t *last = index == count ? make_last_receive(h, record, v) : NULL;
    e = last ? last : e;
    race_query r = {.h = h, .record = record, .receive = e, .index = index};
    for (size_t port = 0; e[OP] == APHI_ALTS_RECEIVE && port < g->port_count; port++)
        for (size_t c = 0; g->ports[port].owner == g->target && c < g->component_count; c++)
            if (c != g->target)
                add_racing_sends(&r, v, c, port);
    *candidates = r.found;
    aphi_causal_event event = {e[OP], e[SYNC], e[PORT], e[LABEL], e[PEER], r.count};
    free(last);
    return event;
}

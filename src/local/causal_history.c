/* SPDX-License-Identifier: Apache-2.0
 *
 * causal_history.c - events with clocks, interned: a list for each component, and one of clocks and rooms.
 *
 * Idea:       race sets are found at the end of a run, from what is kept, by their definition: what a receive of the
 *             target could have taken instead, when all that happened before either happens again.
 * Invariants: 1. a clock has an entry for each component whose events are all kept: how many of them are known
 *             2. of a sender whose room is limited there is a list of receives that made room and was not used yet, the
 *                oldest first, each with its clock. A send uses the oldest. At first there are as many as there is room
 *             3. the stamp of a message whose send is kept is its place in the list of the sender; that of any other
 *                message is its clock, which has one entry then
 * Cost:       each event copies the list that it is added to. */
#include "local/causal_history.h"

#include "base/memory.h"
#include "explore/queue_order.h"

#include <stdlib.h>
#include <string.h>

/* What an event is; then the clock before it. */
enum { OP, SYNC, PORT, LABEL, PEER, PEER_INDEX, WAITED, STATE, CLOCK };
/* A receive that made room: its place in the list of its component, from 1, and its clock. */
enum { ROOM_RECEIVE, ROOM_CLOCK };

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static void place_rooms(aphi_causal_history *p)
{
    const aphi_reduced_model *g = p->ground;
    uint32_t most = 0;
    p->rooms = aphi_alloc_zero((g->port_count * g->part_count + 1) * sizeof *p->rooms);
    for (size_t i = 0; i < g->port_count; i++)
        for (size_t c = 0; c < g->part_count; c++)
            if (g->ports[i].limit[c]) {
                p->rooms[i * g->part_count + c] = ++p->room_count;
                most = g->ports[i].limit[c] > most ? g->ports[i].limit[c] : most;
            }
    p->room_size = 1 + (most + 1) * (ROOM_CLOCK + p->width); /* one more: a synchronous message makes it first */
}

void aphi_causal_open(aphi_causal_history *p, const aphi_reduced_model *g)
{
    *p = (aphi_causal_history){.ground = g};
    for (size_t i = 0; i < g->port_count; i++)
        p->whole |= g->ports[i].owner == g->target && g->ports[i].contended;
    p->width = p->whole ? g->part_count : 1;
    p->event_size = CLOCK + p->width;
    place_rooms(p);
    p->now = aphi_alloc_zero((g->part_count * p->width + p->room_count * p->room_size + 1) * sizeof *p->now);
}

void aphi_causal_close(aphi_causal_history *p)
{
    free(p->rooms);
    free(p->now);
    aphi_intern_free(&p->events);
    aphi_intern_free(&p->clocks);
}

size_t aphi_causal_size(const aphi_causal_history *p)
{
    return p->ground->part_count + 1;
}

/* ---- lists of events --------------------------------------------------------------------------------------------- */

static const uint32_t *events_of(const aphi_causal_history *p, const uint32_t *at, size_t c, size_t *count)
{
    size_t size;
    const uint32_t *e = aphi_intern_key(&p->events, at[c], &size);
    *count = size / sizeof *e / p->event_size;
    return e;
}

static bool is_kept(const aphi_causal_history *p, size_t c, size_t receiver)
{
    return p->whole || c == p->ground->target || receiver == p->ground->target;
}

static void keep(aphi_causal_history *p, uint32_t *at, size_t c, const uint32_t *event, const uint32_t *clock)
{
    size_t count, size;
    const uint32_t *e = events_of(p, at, c, &count);
    uint32_t *list = aphi_alloc((count + 1) * p->event_size * sizeof *list);
    size = count * p->event_size;
    if (size)
        memcpy(list, e, size * sizeof *list);
    memcpy(list + size, event, CLOCK * sizeof *list);
    memcpy(list + size + CLOCK, clock, p->width * sizeof *list);
    at[c] = aphi_intern_number(&p->events, list, (size + p->event_size) * sizeof *list);
    free(list);
}

/* ---- clocks ------------------------------------------------------------------------------------------------------ */

static size_t now_size(const aphi_causal_history *p)
{
    return (p->ground->part_count * p->width + p->room_count * p->room_size) * sizeof *p->now;
}

static void load(aphi_causal_history *p, const uint32_t *at)
{
    memcpy(p->now, aphi_intern_key(&p->clocks, at[p->ground->part_count], NULL), now_size(p));
}

static void store(aphi_causal_history *p, uint32_t *at)
{
    at[p->ground->part_count] = aphi_intern_number(&p->clocks, p->now, now_size(p));
}

static uint32_t *clock_of(const aphi_causal_history *p, size_t c)
{
    return p->now + c * p->width;
}

static void join(const aphi_causal_history *p, uint32_t *clock, const uint32_t *other)
{
    for (size_t i = 0; i < p->width; i++)
        clock[i] = clock[i] > other[i] ? clock[i] : other[i];
}

/* The component has done one more event. */
static void count_event(const aphi_causal_history *p, size_t c, uint32_t *clock)
{
    if (p->whole)
        clock[c]++;
    else if (c == p->ground->target)
        clock[0]++;
}

static uint32_t known_of_target(const aphi_causal_history *p, const uint32_t *clock)
{
    return clock[p->whole ? p->ground->target : 0];
}

/* ---- room -------------------------------------------------------------------------------------------------------- */

static uint32_t *rooms_of(const aphi_causal_history *p, const aphi_causal_message *m)
{
    size_t room = p->rooms[m->port * p->ground->part_count + m->sender];
    return room ? p->now + p->ground->part_count * p->width + (room - 1) * p->room_size : NULL;
}

/* The oldest room is used; returns the receive that made it. A synchronous send uses it without having waited. */
static uint32_t use_room(const aphi_causal_history *p, const aphi_causal_message *m, uint32_t *clock)
{
    uint32_t *rooms = rooms_of(p, m);
    size_t one = ROOM_CLOCK + p->width;
    if (!rooms)
        return 0;
    uint32_t receive = rooms[1 + ROOM_RECEIVE];
    if (clock)
        join(p, clock, rooms + 1 + ROOM_CLOCK);
    rooms[0]--;
    memmove(rooms + 1, rooms + 1 + one, rooms[0] * one * sizeof *rooms);
    memset(rooms + 1 + rooms[0] * one, 0, one * sizeof *rooms);
    return receive;
}

static void make_room(const aphi_causal_history *p, const aphi_causal_message *m, size_t receive, const uint32_t *clock)
{
    uint32_t *rooms = rooms_of(p, m);
    if (!rooms)
        return;
    uint32_t *fresh = rooms + 1 + rooms[0]++ * (ROOM_CLOCK + p->width);
    fresh[ROOM_RECEIVE] = (uint32_t)receive;
    memcpy(fresh + ROOM_CLOCK, clock, p->width * sizeof *clock);
}

/* ---- what happens ------------------------------------------------------------------------------------------------ */

void aphi_causal_start(aphi_causal_history *p, uint32_t *at)
{
    const aphi_reduced_model *g = p->ground;
    memset(p->now, 0, now_size(p));
    for (size_t i = 0; i < g->port_count; i++)
        for (size_t c = 0; c < g->part_count; c++)
            if (g->ports[i].limit[c])
                *rooms_of(p, &(aphi_causal_message){.port = (uint16_t)i, .sender = c}) = g->ports[i].limit[c];
    store(p, at);
    for (size_t c = 0; c < g->part_count; c++)
        at[c] = aphi_intern_number(&p->events, "", 0);
}

void aphi_causal_local(aphi_causal_history *p, uint32_t *at, uint16_t label)
{
    size_t target = p->ground->target;
    uint32_t event[CLOCK] = {[OP] = APHI_ALTS_LOCAL, [LABEL] = label};
    load(p, at);
    keep(p, at, target, event, clock_of(p, target));
    count_event(p, target, clock_of(p, target));
    store(p, at);
}

uint32_t aphi_causal_send(aphi_causal_history *p, uint32_t *at, const aphi_causal_message *m)
{
    load(p, at);
    uint32_t *clock = clock_of(p, m->sender);
    uint32_t event[CLOCK] = {[OP] = APHI_ALTS_SEND, [PORT] = m->port, [LABEL] = m->label,
                             [PEER] = (uint32_t)m->receiver, [WAITED] = use_room(p, m, clock)};
    size_t stamp;
    events_of(p, at, m->sender, &stamp);
    bool kept = is_kept(p, m->sender, m->receiver);
    if (kept)
        keep(p, at, m->sender, event, clock);
    count_event(p, m->sender, clock);
    store(p, at);
    stamp = kept ? stamp : clock[0];
    p->overflow |= stamp >= APHI_CAUSAL_STAMPS;
    return (uint32_t)stamp % APHI_CAUSAL_STAMPS;
}

/* The clock of a message is that of its send. */
static void join_message(const aphi_causal_history *p, const uint32_t *at, const aphi_causal_message *m,
                         uint32_t *clock)
{
    if (!is_kept(p, m->sender, m->receiver)) {
        join(p, clock, &m->stamp);
        return;
    }
    size_t count;
    uint32_t *sent = aphi_copy(events_of(p, at, m->sender, &count) + m->stamp * p->event_size + CLOCK,
                               p->width * sizeof *sent);
    count_event(p, m->sender, sent);
    join(p, clock, sent);
    free(sent);
}

static void keep_receive(aphi_causal_history *p, uint32_t *at, const aphi_causal_message *m, bool sync, uint32_t state,
                         const uint32_t *clock)
{
    uint32_t event[CLOCK] = {[OP] = APHI_ALTS_RECEIVE, [SYNC] = sync, [PORT] = m->port, [LABEL] = m->label,
                             [PEER] = (uint32_t)m->sender, [PEER_INDEX] = m->stamp, [STATE] = state};
    if (is_kept(p, m->receiver, m->receiver))
        keep(p, at, m->receiver, event, clock);
}

void aphi_causal_receive(aphi_causal_history *p, uint32_t *at, const aphi_causal_message *m, uint32_t state)
{
    size_t count;
    load(p, at);
    uint32_t *clock = clock_of(p, m->receiver);
    keep_receive(p, at, m, false, state, clock);
    join_message(p, at, m, clock);
    count_event(p, m->receiver, clock);
    events_of(p, at, m->receiver, &count);
    make_room(p, m, count, clock);
    store(p, at);
}

void aphi_causal_pass(aphi_causal_history *p, uint32_t *at, const aphi_causal_message *m, uint32_t state)
{
    size_t sent, received;
    load(p, at);
    uint32_t *ours = clock_of(p, m->receiver), *theirs = clock_of(p, m->sender);
    events_of(p, at, m->sender, &sent);
    events_of(p, at, m->receiver, &received);
    aphi_causal_message placed = *m;
    placed.stamp = (uint32_t)sent;
    uint32_t event[CLOCK] = {[OP] = APHI_ALTS_SEND, [SYNC] = 1, [PORT] = m->port, [LABEL] = m->label,
                             [PEER] = (uint32_t)m->receiver, [PEER_INDEX] = (uint32_t)received};
    keep_receive(p, at, &placed, true, state, ours);
    if (is_kept(p, m->sender, m->receiver))
        keep(p, at, m->sender, event, theirs);
    join(p, ours, theirs);
    count_event(p, m->receiver, ours);
    count_event(p, m->sender, ours);
    memcpy(theirs, ours, p->width * sizeof *ours);
    make_room(p, m, received + 1, ours);
    use_room(p, m, NULL);
    store(p, at);
}

void aphi_causal_forget(aphi_causal_history *p, uint32_t *at, size_t component)
{
    load(p, at);
    memset(clock_of(p, component), 0, p->width * sizeof *p->now);
    store(p, at);
}

/* ---- race sets --------------------------------------------------------------------------------------------------- */

/* Events as queue_order.h wants them, if all are kept. */
static aphi_queue_order lay_out(const aphi_causal_history *p, const uint32_t *at)
{
    const aphi_reduced_model *g = p->ground;
    uint32_t *first = aphi_alloc((g->part_count + 1) * sizeof *first), total = 0;
    bool *shared = aphi_alloc_zero((g->port_count + 1) * sizeof *shared);
    aphi_event *events = NULL;
    size_t count, capacity = 0;
    for (size_t i = 0; i < g->port_count; i++)
        shared[i] = g->ports[i].contended;
    for (size_t c = 0; c < g->part_count; c++) {
        const uint32_t *e = events_of(p, at, c, &count);
        first[c] = total;
        APHI_RESERVE(events, capacity, total + count + 1);
        for (size_t i = 0; i < count; i++, e += p->event_size)
            events[total++] = (aphi_event){.op = (uint8_t)e[OP], .sync = e[SYNC], .port = (uint16_t)e[PORT],
                                           .matched = e[OP] == APHI_ALTS_RECEIVE, .peer = (uint16_t)e[PEER],
                                           .peer_index = e[PEER_INDEX], .freed_by = e[WAITED]};
    }
    first[g->part_count] = total;
    for (size_t c = 0; c < g->part_count; c++)
        for (uint32_t i = first[c]; i < first[c + 1]; i++)
            if (events[i].op == APHI_ALTS_RECEIVE) {
                aphi_event *send = &events[first[events[i].peer] + events[i].peer_index];
                send->matched = true;
                send->peer_index = i - first[c];
            }
    return (aphi_queue_order){
        .thread_count = g->part_count, .port_count = g->port_count, .first = first, .events = events, .shared = shared};
}

typedef struct race {
    const aphi_causal_history *p;
    const uint32_t *at;
    const uint32_t *receive;   /* an event of the target */
    size_t index;
    aphi_causal_rival *found;
    size_t count, capacity;
} race;

static bool is_open(const race *r, uint32_t port, uint32_t label)
{
    const aphi_reduced_part *part = &r->p->ground->parts[r->p->ground->target];
    uint32_t state = r->receive[STATE];
    for (uint32_t i = part->first[state]; i < part->first[state + 1]; i++)
        if (part->moves[i].port == port && part->moves[i].label == label)
            return true;
    return false;
}

static bool is_received_before(const race *r, size_t sender, size_t send)
{
    size_t count;
    const uint32_t *e = events_of(r->p, r->at, r->p->ground->target, &count);
    for (size_t i = 0; i < r->index; i++, e += r->p->event_size)
        if (e[OP] == APHI_ALTS_RECEIVE && e[PEER] == sender && e[PEER_INDEX] == send)
            return true;
    return false;
}

static bool leads(const race *r, size_t sender, size_t send, uint32_t port, const uint32_t *clock)
{
    uint32_t happened[APHI_ALTS_COMPONENTS_MAX];
    if (!r->p->ground->ports[port].contended)
        return true;
    memcpy(happened, clock, r->p->width * sizeof *happened);
    join(r->p, happened, r->receive + CLOCK);
    aphi_queue_order lines = lay_out(r->p, r->at);
    bool first = aphi_queue_order_can_lead(&lines, happened, (unsigned)sender, (uint32_t)send, port);
    free((void *)lines.first);
    free((void *)lines.events);
    free((void *)lines.shared);
    return first;
}

/* A send to the target, not received before, and not behind another one of its sender; begun with that clock. */
static void look_at_send(race *r, size_t sender, size_t send, uint32_t port, uint32_t label, const uint32_t *clock)
{
    bool own = r->receive[PEER] == sender && r->receive[PEER_INDEX] == send;
    if (own || !is_open(r, port, label) || known_of_target(r->p, clock) > r->index ||
        !leads(r, sender, send, port, clock))
        return;
    APHI_RESERVE(r->found, r->capacity, r->count + 1);
    r->found[r->count++] = (aphi_causal_rival){port, label, (uint32_t)sender};
}

static void look_at_sender(race *r, const uint32_t *v, size_t c, size_t port)
{
    const aphi_reduced_model *g = r->p->ground;
    const aphi_reduced_move *m = &g->parts[c].moves[g->parts[c].first[v[c]]];
    size_t count;
    const uint32_t *e = events_of(r->p, r->at, c, &count);
    for (size_t i = 0; i < count; i++, e += r->p->event_size) {
        if (e[OP] != APHI_ALTS_SEND || e[PORT] != port || is_received_before(r, c, i))
            continue;
        look_at_send(r, c, i, e[PORT], e[LABEL], e + CLOCK);
        if (g->ports[port].ordered)
            return;
    }
    if (g->parts[c].kind[v[c]] == APHI_REDUCED_SYNC && m->port == port) {
        const uint32_t *clocks = aphi_intern_key(&r->p->clocks, r->at[g->part_count], NULL);
        look_at_send(r, c, count, m->port, m->label, clocks + c * r->p->width);
    }
}

size_t aphi_causal_count(const aphi_causal_history *p, const uint32_t *at)
{
    size_t count;
    events_of(p, at, p->ground->target, &count);
    return count;
}

aphi_causal_event aphi_causal_told(const aphi_causal_history *p, const uint32_t *at, const uint32_t *v, size_t index,
                               aphi_causal_rival **rivals)
{
    const aphi_reduced_model *g = p->ground;
    size_t count;
    const uint32_t *e = events_of(p, at, g->target, &count) + index * p->event_size;
    race r = {.p = p, .at = at, .receive = e, .index = index};
    for (size_t port = 0; e[OP] == APHI_ALTS_RECEIVE && port < g->port_count; port++)
        for (size_t c = 0; g->ports[port].owner == g->target && c < g->part_count; c++)
            if (c != g->target)
                look_at_sender(&r, v, c, port);
    *rivals = r.found;
    return (aphi_causal_event){e[OP], e[SYNC], e[PORT], e[LABEL], e[PEER], r.count};
}

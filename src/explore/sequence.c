/* SPDX-License-Identifier: Apache-2.0
 *
 * sequence.c - one complete SR-sequence: events, vector clocks, race sets.
 *
 * Idea:       the explorer logs the steps of each thread. Sends are matched with receives. Then vector clocks are
 *             computed thread by thread, each as far as the clocks on which it depends are known.
 * Invariants: 1. the two events of a synchronous pair have the same clock
 *             2. mediums have no entry in a clock. A send that waited for room in a full medium happens after the
 *                receive that freed it
 * Cost:       events times threads; a race set costs the same again for each send to a port with one queue. */
#include "explore/sequence.h"

#include "base/memory.h"

#include <string.h>

void aphi_sequence_open(aphi_sequence *s, const aphi_compiled_model *model)
{
    size_t room = model->step_capacity + 1;
    *s = (aphi_sequence){.model = model};
    s->first = aphi_alloc((model->thread_count + 1) * sizeof *s->first);
    s->events = aphi_alloc(room * sizeof *s->events);
    s->clocks = aphi_alloc(room * model->thread_count * sizeof *s->clocks);
    s->end_states = aphi_alloc(model->thread_count * sizeof *s->end_states);
    s->channel_sends = aphi_alloc((model->message_capacity + 1) * sizeof *s->channel_sends);
    s->sends_begin = aphi_alloc((model->channel_count + 1) * sizeof *s->sends_begin);
    s->sends_end = aphi_alloc((model->channel_count + 1) * sizeof *s->sends_end);
    s->races = aphi_alloc((model->message_capacity + 1) * sizeof *s->races);
    s->shared = aphi_alloc((model->alts->port_count + 1) * sizeof *s->shared);
    for (size_t p = 0; p < model->alts->port_count; p++)
        s->shared[p] = model->alts->ports[p].medium == APHI_MEDIUM_PORT;
}

void aphi_sequence_close(aphi_sequence *s)
{
    APHI_FREE_ALL(s->first, s->events, s->clocks, s->end_states, s->channel_sends, s->sends_begin, s->sends_end,
                  s->shared, s->races);
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

static aphi_event event_of(const aphi_compiled_model *p, unsigned thread, const aphi_step *step)
{
    const aphi_compiled_state *from = &p->states[step->state];
    aphi_event e = {.state = step->state, .label = from->label, .op = APHI_ALTS_LOCAL};
    if (from->kind == APHI_COMPILED_RECEIVE) {
        uint32_t input = p->threads[thread].input_base + step->input;
        e = (aphi_event){.state = step->state, .op = APHI_ALTS_RECEIVE, .sync = step->sync, .matched = true,
                         .port = p->input_ports[input], .label = p->input_labels[input], .peer = step->peer,
                         .peer_index = step->peer_index};
    } else if (from->kind != APHI_COMPILED_LOCAL) {
        e.op = APHI_ALTS_SEND;
        e.sync = from->kind == APHI_COMPILED_PASS;
        e.port = p->channels[from->channel].port;
        e.peer = p->channels[from->channel].receiver;
    }
    return e;
}

static void match_sends(aphi_sequence *s)
{
    for (unsigned t = 0; t < s->model->thread_count; t++)
        for (uint32_t i = s->first[t]; i < s->first[t + 1]; i++)
            if (s->events[i].op == APHI_ALTS_RECEIVE) {
                aphi_event *send = &s->events[s->first[s->events[i].peer] + s->events[i].peer_index];
                send->matched = true;
                send->peer_index = i - s->first[t];
            }
}

/* Lists the sends of each channel in order. A send that waits at the end is listed as the event after the last. */
static void list_sends(aphi_sequence *s)
{
    const aphi_compiled_model *p = s->model;
    for (size_t c = 0; c < p->channel_count; c++)
        s->sends_begin[c] = s->sends_end[c] = p->channels[c].base;
    for (unsigned t = 0; t < p->thread_count; t++) {
        for (uint32_t i = s->first[t]; i < s->first[t + 1]; i++)
            if (s->events[i].op == APHI_ALTS_SEND)
                s->channel_sends[s->sends_end[p->states[s->events[i].state].channel]++] = i - s->first[t];
        const aphi_compiled_state *end = &p->states[s->end_states[t]];
        if (end->kind == APHI_COMPILED_PASS)
            s->channel_sends[s->sends_end[end->channel]++] = s->first[t + 1] - s->first[t];
    }
}

/* Finds the sends that waited for room, and the receives that freed it. */
static void find_room_waits(aphi_sequence *s)
{
    const aphi_compiled_model *p = s->model;
    for (size_t c = 0; c < p->channel_count; c++) {
        const aphi_compiled_channel *channel = &p->channels[c];
        uint32_t received = 0, sent = s->sends_end[c] - s->sends_begin[c];
        if (channel->capacity == UINT32_MAX)
            continue;
        for (uint32_t i = s->first[channel->receiver]; i < s->first[channel->receiver + 1]; i++) {
            const aphi_event *e = &s->events[i];
            if (e->op != APHI_ALTS_RECEIVE || e->peer != channel->sender || e->port != channel->port)
                continue;
            uint32_t later = received++ + channel->capacity;
            uint32_t index = later < sent ? s->channel_sends[s->sends_begin[c] + later] : UINT32_MAX;
            uint32_t send = s->first[channel->sender] + index;
            if (index != UINT32_MAX && send < s->first[channel->sender + 1] && !s->events[send].sync)
                s->events[send].freed_by = i - s->first[channel->receiver] + 1;
        }
    }
}

/* ---- clocks ------------------------------------------------------------------------------------------------------ */

static uint16_t *clock_of(const aphi_sequence *s, unsigned thread, uint32_t index)
{
    return s->clocks + (size_t)(s->first[thread] + index) * s->model->thread_count;
}

static void join_clock(uint16_t *clock, const uint16_t *other, size_t n)
{
    for (size_t i = 0; i < n; i++)
        clock[i] = clock[i] > other[i] ? clock[i] : other[i];
}

/* Joins the clock of the previous event of the thread and, after a wait for room, of the receive that freed it. */
static void begin_clock(const aphi_sequence *s, unsigned thread, uint32_t index, uint16_t *clock)
{
    size_t n = s->model->thread_count;
    if (index)
        join_clock(clock, clock_of(s, thread, index - 1), n);
    const aphi_event *e = &s->events[s->first[thread] + index];
    if (e->freed_by)
        join_clock(clock, clock_of(s, e->peer, e->freed_by - 1), n);
}

/* Returns true if the clock of the event can be computed once timed[t] events of each thread t have one. */
static bool can_be_timed(const aphi_sequence *s, unsigned thread, uint32_t index, const uint32_t *timed)
{
    const aphi_event *e = &s->events[s->first[thread] + index];
    if (e->op == APHI_ALTS_LOCAL)
        return true;
    if (e->sync)
        return timed[e->peer] >= e->peer_index; /* the peer event is next or already has a clock */
    if (e->op == APHI_ALTS_RECEIVE)
        return timed[e->peer] > e->peer_index;
    return !e->freed_by || timed[e->peer] >= e->freed_by;
}

static void time_event(aphi_sequence *s, unsigned thread, uint32_t index)
{
    const aphi_event *e = &s->events[s->first[thread] + index];
    size_t n = s->model->thread_count;
    uint16_t *clock = clock_of(s, thread, index);
    memset(clock, 0, n * sizeof *clock);
    begin_clock(s, thread, index, clock);
    clock[thread] = (uint16_t)(index + 1);
    if (e->op == APHI_ALTS_RECEIVE && !e->sync)
        join_clock(clock, clock_of(s, e->peer, e->peer_index), n);
    if (e->sync) {
        begin_clock(s, e->peer, e->peer_index, clock);
        clock[e->peer] = (uint16_t)(e->peer_index + 1);
    }
}

static void time_all(aphi_sequence *s)
{
    uint32_t timed[APHI_ALTS_COMPONENTS_MAX] = {0};
    bool more = true;
    while (more) {
        more = false;
        for (unsigned t = 0; t < s->model->thread_count; t++)
            while (timed[t] < s->first[t + 1] - s->first[t] && can_be_timed(s, t, timed[t], timed)) {
                time_event(s, t, timed[t]++);
                more = true;
            }
    }
}

void aphi_sequence_load(aphi_sequence *s, const aphi_explorer *e)
{
    const aphi_compiled_model *p = s->model;
    uint32_t total = 0;
    s->number++;
    s->deadlock = false;
    for (unsigned t = 0; t < p->thread_count; t++) {
        size_t count;
        const aphi_step *steps = aphi_explorer_steps(e, t, &count);
        s->first[t] = total;
        for (size_t i = 0; i < count; i++)
            s->events[total++] = event_of(p, t, &steps[i]);
        s->end_states[t] = aphi_explorer_state(e, t);
        s->deadlock |= p->states[s->end_states[t]].kind != APHI_COMPILED_TERMINAL;
    }
    s->first[p->thread_count] = total;
    match_sends(s);
    list_sends(s);
    find_room_waits(s);
    time_all(s);
}

/* ---- races ------------------------------------------------------------------------------------------------------- */

/* Returns true if the send (or the wait at the end of its thread) cannot begin before the event has happened. */
static bool is_begun_after(const aphi_sequence *s, unsigned sender, uint32_t send, unsigned thread, uint32_t event)
{
    bool done = send < s->first[sender + 1] - s->first[sender];
    const aphi_event *e = &s->events[s->first[sender] + send];
    if (send && clock_of(s, sender, send - 1)[thread] > event)
        return true;
    return done && e->freed_by && clock_of(s, e->peer, e->freed_by - 1)[thread] > event;
}

static bool is_received_before(const aphi_sequence *s, unsigned sender, uint32_t send, uint32_t index)
{
    const aphi_event *e = &s->events[s->first[sender] + send];
    return send < s->first[sender + 1] - s->first[sender] && e->matched && e->peer_index < index;
}

/* Adds the causes of the event (or of the wait at the end of its thread) to happened[], a count by thread. */
static void add_causes(const aphi_sequence *s, unsigned thread, uint32_t index, uint32_t *happened)
{
    bool done = index < s->first[thread + 1] - s->first[thread];
    const aphi_event *e = &s->events[s->first[thread] + index];
    const uint16_t *own = index ? clock_of(s, thread, index - 1) : NULL;
    const uint16_t *room = done && e->freed_by ? clock_of(s, e->peer, e->freed_by - 1) : NULL;
    for (size_t t = 0; t < s->model->thread_count; t++) {
        happened[t] = own && own[t] > happened[t] ? own[t] : happened[t];
        happened[t] = room && room[t] > happened[t] ? room[t] : happened[t];
    }
}

/* Returns true if the send can be first in a shared queue when the thread reaches its event. */
static bool could_lead(const aphi_sequence *s, const aphi_compiled_channel *c, uint32_t send, unsigned thread,
                       uint32_t index)
{
    aphi_port_queue_order order = {.thread_count = s->model->thread_count, .port_count = s->model->alts->port_count,
                              .first = s->first, .events = s->events, .shared = s->shared};
    uint32_t happened[APHI_ALTS_COMPONENTS_MAX] = {0};
    add_causes(s, thread, index, happened);
    add_causes(s, c->sender, send, happened);
    return aphi_port_queue_order_can_lead(&order, happened, c->sender, send, c->port);
}

/* Adds the sends of one channel that the receive could have taken if it were open to them. */
static void add_concurrent_sends(aphi_sequence *s, size_t channel, unsigned thread, uint32_t index)
{
    const aphi_compiled_channel *c = &s->model->channels[channel];
    const aphi_event *r = &s->events[s->first[thread] + index];
    bool done = index < s->first[thread + 1] - s->first[thread];
    for (uint32_t i = s->sends_begin[channel]; i < s->sends_end[channel]; i++) {
        uint32_t send = s->channel_sends[i];
        if (is_received_before(s, c->sender, send, index))
            continue;
        bool own = done && r->peer == c->sender && r->peer_index == send;
        if (!own && !is_begun_after(s, c->sender, send, thread, index) &&
            (c->medium != APHI_MEDIUM_PORT || could_lead(s, c, send, thread, index)))
            s->races[s->race_count++] = (uint32_t)c->sender << 16 | send;
        if (c->medium != APHI_MEDIUM_UNORDERED)
            return; /* the later sends are behind this one in the queue */
    }
}

void aphi_sequence_find_concurrent_sends(aphi_sequence *s, unsigned thread, unsigned index)
{
    const aphi_compiled_thread *t = &s->model->threads[thread];
    s->race_count = 0;
    for (unsigned i = 0; i < t->incoming_count; i++)
        add_concurrent_sends(s, t->incoming[i], thread, index);
}

const aphi_compiled_state *aphi_sequence_race_state(const aphi_sequence *s, uint32_t race)
{
    uint32_t sender = race >> 16, send = race & 0xffff;
    bool done = send < s->first[sender + 1] - s->first[sender];
    return &s->model->states[done ? s->events[s->first[sender] + send].state : s->end_states[sender]];
}

void aphi_sequence_find_race_set(aphi_sequence *s, unsigned thread, unsigned index)
{
    const aphi_compiled_model *p = s->model;
    const aphi_compiled_state *receive = &p->states[s->events[s->first[thread] + index].state];
    size_t kept = 0;
    aphi_sequence_find_concurrent_sends(s, thread, index);
    for (size_t i = 0; i < s->race_count; i++)
        if (aphi_compiled_receive(p, receive, aphi_sequence_race_state(s, s->races[i])->input,
                                  p->threads[thread].inputs <= 64))
            s->races[kept++] = s->races[i];
    s->race_count = kept;
}

/* ---- properties -------------------------------------------------------------------------------------------------- */

/* Returns true if t can have done exactly k events when u has done exactly l. If this holds for each pair of a set of
 * threads, it holds for all of them together: these events and their causes are a prefix of the sequence. */
static bool can_coincide(const aphi_sequence *s, unsigned t, uint32_t k, unsigned u, uint32_t l)
{
    return !(k && clock_of(s, t, k - 1)[u] > l) && !(l && clock_of(s, u, l - 1)[t] > k);
}

/* Returns the number of events of the thread before it enters the state, or UINT32_MAX if it never does. (A thread
 * enters a state at most once.) */
static uint32_t events_before(const aphi_sequence *s, aphi_thread_state thread_state)
{
    uint32_t count = s->first[thread_state.thread + 1] - s->first[thread_state.thread];
    for (uint32_t i = 0; i < count; i++)
        if (s->events[s->first[thread_state.thread] + i].state == thread_state.state)
            return i;
    return s->end_states[thread_state.thread] == thread_state.state ? count : UINT32_MAX;
}

bool aphi_sequence_can_reach(const aphi_sequence *s, const aphi_thread_state *states, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t done = events_before(s, states[i]);
        if (done == UINT32_MAX)
            return false;
        for (size_t k = 0; k < i; k++)
            if (!can_coincide(s, states[i].thread, done, states[k].thread, events_before(s, states[k])))
                return false;
    }
    return true;
}

static bool is_local(const aphi_sequence *s, uint32_t event, size_t label)
{
    return s->events[event].op == APHI_ALTS_LOCAL && s->events[event].label == label;
}

static bool can_overlap(const aphi_sequence *s, size_t label, unsigned t, unsigned u)
{
    for (uint32_t i = s->first[t]; i < s->first[t + 1]; i++)
        for (uint32_t j = s->first[u]; is_local(s, i, label) && j < s->first[u + 1]; j++)
            if (is_local(s, j, label) && can_coincide(s, t, i + 1 - s->first[t], u, j + 1 - s->first[u]))
                return true;
    return false;
}

bool aphi_sequence_find_overlap(const aphi_sequence *s, size_t label, unsigned *t, unsigned *u)
{
    for (*t = 0; *t < s->model->thread_count; ++*t)
        for (*u = *t + 1; *u < s->model->thread_count; ++*u)
            if (can_overlap(s, label, *t, *u))
                return true;
    return false;
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void write_open(const aphi_compiled_model *p, const aphi_event *e, unsigned thread, aphi_buffer *out)
{
    const aphi_compiled_state *state = &p->states[e->state];
    aphi_buffer_str(out, ",\"open\":[");
    for (uint32_t i = 0; i < state->count; i++) {
        uint32_t input = p->threads[thread].input_base + p->moves[state->first + i].input;
        aphi_alts_message_json(out, i == 0, p->alts->ports[p->input_ports[input]].name,
                               p->alts->labels[p->input_labels[input]], NULL);
    }
    aphi_buffer_byte(out, ']');
}

static void write_race_set(aphi_sequence *s, unsigned thread, unsigned index, aphi_buffer *out)
{
    aphi_sequence_find_race_set(s, thread, index);
    aphi_buffer_str(out, ",\"race\":[");
    for (size_t i = 0; i < s->race_count; i++) {
        aphi_buffer_str(out, i ? ",[" : "[");
        aphi_buffer_json_text(out, s->model->alts->components[s->races[i] >> 16].name);
        aphi_buffer_format(out, ",%u]", (s->races[i] & 0xffff) + 1);
    }
    aphi_buffer_byte(out, ']');
}

static void write_clock(const aphi_sequence *s, unsigned thread, unsigned index, aphi_buffer *out)
{
    const uint16_t *clock = clock_of(s, thread, index);
    aphi_buffer_str(out, ",\"clock\":");
    for (unsigned t = 0; t < s->model->thread_count; t++)
        aphi_buffer_format(out, "%c%u", t ? ',' : '[', clock[t]);
    aphi_buffer_byte(out, ']');
}

static void write_event(aphi_sequence *s, unsigned thread, unsigned index, aphi_buffer *out, bool races)
{
    const aphi_alts *a = s->model->alts;
    const aphi_event *e = &s->events[s->first[thread] + index];
    bool local = e->op == APHI_ALTS_LOCAL;
    aphi_alts_event_json(out, e->op, e->sync, local ? "" : a->ports[e->port].name, a->labels[e->label],
                         local ? "" : a->components[e->peer].name);
    if (!local && e->matched)
        aphi_buffer_format(out, ",\"peer_index\":%u", e->peer_index + 1u);
    if (e->op == APHI_ALTS_RECEIVE) {
        write_open(s->model, e, thread, out);
        if (races)
            write_race_set(s, thread, index, out);
    }
    if (races)
        write_clock(s, thread, index, out);
    aphi_buffer_byte(out, '}');
}

void aphi_sequence_write(aphi_sequence *s, aphi_buffer *out, bool races)
{
    aphi_buffer_format(out, "{\"sequence\":%llu,\"deadlock\":%s,\"threads\":{", (unsigned long long)s->number,
                       s->deadlock ? "true" : "false");
    for (unsigned t = 0; t < s->model->thread_count; t++) {
        aphi_buffer_str(out, t ? "," : "");
        aphi_buffer_json_text(out, s->model->alts->components[t].name);
        aphi_buffer_str(out, ":[");
        for (uint32_t i = 0; i < s->first[t + 1] - s->first[t]; i++) {
            aphi_buffer_str(out, i ? "," : "");
            write_event(s, t, i, out, races);
        }
        aphi_buffer_byte(out, ']');
    }
    aphi_buffer_str(out, "}}\n");
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * sequence.c - one complete sequence: events, clocks, races.
 *
 * Idea:       the search notes what each thread did; from that, sends are matched with receives, and clocks are found
 *             by going through all threads, each as far as what it depends on is known.
 * Invariants: 1. a synchronous pair has one clock
 *             2. mediums are no threads: they have no entry in a clock. That a full one makes its sender wait orders
 *                the send after the receive that made room
 * Cost:       events times threads; of a race, as much again for each send to a port with one queue. */
#include "explore/sequence.h"

#include "base/memory.h"
#include "explore/queue_order.h"

#include <stdlib.h>
#include <string.h>

void aphi_sequence_open(aphi_sequence *s, const aphi_compiled_model *plan)
{
    size_t room = plan->log_room + 1;
    *s = (aphi_sequence){.plan = plan};
    s->first = aphi_alloc((plan->thread_count + 1) * sizeof *s->first);
    s->events = aphi_alloc(room * sizeof *s->events);
    s->clocks = aphi_alloc(room * plan->thread_count * sizeof *s->clocks);
    s->ends = aphi_alloc(plan->thread_count * sizeof *s->ends);
    s->by_channel = aphi_alloc((plan->message_room + 1) * sizeof *s->by_channel);
    s->channel_first = aphi_alloc((plan->channel_count + 1) * sizeof *s->channel_first);
    s->channel_end = aphi_alloc((plan->channel_count + 1) * sizeof *s->channel_end);
    s->races = aphi_alloc((plan->message_room + 1) * sizeof *s->races);
    s->shared = aphi_alloc((plan->alts->port_count + 1) * sizeof *s->shared);
    for (size_t p = 0; p < plan->alts->port_count; p++)
        s->shared[p] = plan->alts->ports[p].medium == APHI_MEDIUM_PORT;
}

void aphi_sequence_close(aphi_sequence *s)
{
    free(s->first);
    free(s->events);
    free(s->clocks);
    free(s->ends);
    free(s->by_channel);
    free(s->channel_first);
    free(s->channel_end);
    free(s->shared);
    free(s->races);
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

static void match(aphi_sequence *s)
{
    for (unsigned t = 0; t < s->plan->thread_count; t++)
        for (uint32_t i = s->first[t]; i < s->first[t + 1]; i++)
            if (s->events[i].op == APHI_ALTS_RECEIVE) {
                aphi_event *send = &s->events[s->first[s->events[i].peer] + s->events[i].peer_index];
                send->matched = true;
                send->peer_index = i - s->first[t];
            }
}

/* The sends of each channel, in order; one that still waits at the end is there too, as the event after the last. */
static void list_sends(aphi_sequence *s)
{
    const aphi_compiled_model *p = s->plan;
    for (size_t c = 0; c < p->channel_count; c++)
        s->channel_first[c] = s->channel_end[c] = p->channels[c].base;
    for (unsigned t = 0; t < p->thread_count; t++) {
        for (uint32_t i = s->first[t]; i < s->first[t + 1]; i++)
            if (s->events[i].op == APHI_ALTS_SEND)
                s->by_channel[s->channel_end[p->states[s->events[i].state].channel]++] = i - s->first[t];
        const aphi_compiled_state *end = &p->states[s->ends[t]];
        if (end->kind == APHI_COMPILED_PASS)
            s->by_channel[s->channel_end[end->channel]++] = s->first[t + 1] - s->first[t];
    }
}

/* Which sends had to wait for room, and for which receive. */
static void find_waits(aphi_sequence *s)
{
    const aphi_compiled_model *p = s->plan;
    for (size_t c = 0; c < p->channel_count; c++) {
        const aphi_compiled_channel *channel = &p->channels[c];
        uint32_t received = 0, sent = s->channel_end[c] - s->channel_first[c];
        if (channel->capacity == UINT32_MAX)
            continue;
        for (uint32_t i = s->first[channel->receiver]; i < s->first[channel->receiver + 1]; i++) {
            const aphi_event *e = &s->events[i];
            if (e->op != APHI_ALTS_RECEIVE || e->peer != channel->sender || e->port != channel->port)
                continue;
            uint32_t later = received++ + channel->capacity;
            uint32_t index = later < sent ? s->by_channel[s->channel_first[c] + later] : UINT32_MAX;
            uint32_t send = s->first[channel->sender] + index;
            if (index != UINT32_MAX && send < s->first[channel->sender + 1] && !s->events[send].sync)
                s->events[send].waited = i - s->first[channel->receiver] + 1;
        }
    }
}

/* ---- clocks ------------------------------------------------------------------------------------------------------ */

static uint16_t *clock_of(const aphi_sequence *s, unsigned thread, uint32_t index)
{
    return s->clocks + (size_t)(s->first[thread] + index) * s->plan->thread_count;
}

static void join(uint16_t *clock, const uint16_t *other, size_t n)
{
    for (size_t i = 0; i < n; i++)
        clock[i] = clock[i] > other[i] ? clock[i] : other[i];
}

/* What the thread knows before its event. */
static void begin_clock(const aphi_sequence *s, unsigned thread, uint32_t index, uint16_t *clock)
{
    size_t n = s->plan->thread_count;
    if (index)
        join(clock, clock_of(s, thread, index - 1), n);
    const aphi_event *e = &s->events[s->first[thread] + index];
    if (e->waited)
        join(clock, clock_of(s, e->peer, e->waited - 1), n);
}

/* Can the event be timed, when so many of each thread are? */
static bool is_due(const aphi_sequence *s, unsigned thread, uint32_t index, const uint32_t *timed)
{
    const aphi_event *e = &s->events[s->first[thread] + index];
    if (e->op == APHI_ALTS_LOCAL)
        return true;
    if (e->sync)
        return timed[e->peer] >= e->peer_index; /* the other one is next, or was timed with this one */
    if (e->op == APHI_ALTS_RECEIVE)
        return timed[e->peer] > e->peer_index;
    return !e->waited || timed[e->peer] >= e->waited;
}

static void time_event(aphi_sequence *s, unsigned thread, uint32_t index)
{
    const aphi_event *e = &s->events[s->first[thread] + index];
    size_t n = s->plan->thread_count;
    uint16_t *clock = clock_of(s, thread, index);
    memset(clock, 0, n * sizeof *clock);
    begin_clock(s, thread, index, clock);
    clock[thread] = (uint16_t)(index + 1);
    if (e->op == APHI_ALTS_RECEIVE && !e->sync)
        join(clock, clock_of(s, e->peer, e->peer_index), n);
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
        for (unsigned t = 0; t < s->plan->thread_count; t++)
            while (timed[t] < s->first[t + 1] - s->first[t] && is_due(s, t, timed[t], timed)) {
                time_event(s, t, timed[t]++);
                more = true;
            }
    }
}

void aphi_sequence_take(aphi_sequence *s, const aphi_explorer *e)
{
    const aphi_compiled_model *p = s->plan;
    uint32_t total = 0;
    s->number++;
    s->deadlock = false;
    for (unsigned t = 0; t < p->thread_count; t++) {
        size_t count;
        const aphi_step *steps = aphi_explorer_steps(e, t, &count);
        s->first[t] = total;
        for (size_t i = 0; i < count; i++)
            s->events[total++] = event_of(p, t, &steps[i]);
        s->ends[t] = aphi_explorer_state(e, t);
        s->deadlock |= p->states[s->ends[t]].kind != APHI_COMPILED_TERMINAL;
    }
    s->first[p->thread_count] = total;
    match(s);
    list_sends(s);
    find_waits(s);
    time_all(s);
}

bool aphi_sequence_before(const aphi_sequence *s, unsigned t, unsigned i, unsigned u, unsigned j)
{
    return clock_of(s, u, j)[t] > i;
}

/* ---- races ------------------------------------------------------------------------------------------------------- */

/* Could the send, or the event that the thread waits in, only be begun after the event? */
static bool follows(const aphi_sequence *s, unsigned sender, uint32_t send, unsigned thread, uint32_t event)
{
    bool done = send < s->first[sender + 1] - s->first[sender];
    const aphi_event *e = &s->events[s->first[sender] + send];
    if (send && clock_of(s, sender, send - 1)[thread] > event)
        return true;
    return done && e->waited && clock_of(s, e->peer, e->waited - 1)[thread] > event;
}

static bool is_received_before(const aphi_sequence *s, unsigned sender, uint32_t send, uint32_t index)
{
    const aphi_event *e = &s->events[s->first[sender] + send];
    return send < s->first[sender + 1] - s->first[sender] && e->matched && e->peer_index < index;
}

/* What happened before the event, or the one in which the thread waits, joined to so many events of each thread. */
static void add_past(const aphi_sequence *s, unsigned thread, uint32_t index, uint32_t *happened)
{
    bool done = index < s->first[thread + 1] - s->first[thread];
    const aphi_event *e = &s->events[s->first[thread] + index];
    const uint16_t *own = index ? clock_of(s, thread, index - 1) : NULL;
    const uint16_t *room = done && e->waited ? clock_of(s, e->peer, e->waited - 1) : NULL;
    for (size_t t = 0; t < s->plan->thread_count; t++) {
        happened[t] = own && own[t] > happened[t] ? own[t] : happened[t];
        happened[t] = room && room[t] > happened[t] ? room[t] : happened[t];
    }
}

/* In a queue for all, could the send be first when the thread comes to its event? */
static bool leads(const aphi_sequence *s, const aphi_compiled_channel *c, uint32_t send, unsigned thread,
                  uint32_t index)
{
    aphi_queue_order lines = {.thread_count = s->plan->thread_count, .port_count = s->plan->alts->port_count,
                        .first = s->first, .events = s->events, .shared = s->shared};
    uint32_t happened[APHI_ALTS_COMPONENTS_MAX] = {0};
    add_past(s, thread, index, happened);
    add_past(s, c->sender, send, happened);
    return aphi_queue_order_lead(&lines, happened, c->sender, send, c->port);
}

/* The sends of one channel that the receive could have taken, if it were open to them. */
static void offer_channel(aphi_sequence *s, size_t channel, unsigned thread, uint32_t index)
{
    const aphi_compiled_channel *c = &s->plan->channels[channel];
    const aphi_event *r = &s->events[s->first[thread] + index];
    bool done = index < s->first[thread + 1] - s->first[thread];
    for (uint32_t i = s->channel_first[channel]; i < s->channel_end[channel]; i++) {
        uint32_t send = s->by_channel[i];
        if (is_received_before(s, c->sender, send, index))
            continue;
        bool own = done && r->peer == c->sender && r->peer_index == send;
        if (!own && !follows(s, c->sender, send, thread, index) &&
            (c->medium != APHI_MEDIUM_PORT || leads(s, c, send, thread, index)))
            s->races[s->race_count++] = (uint32_t)c->sender << 16 | send;
        if (c->medium != APHI_MEDIUM_UNORDERED)
            return; /* the others are behind this one */
    }
}

void aphi_sequence_offers(aphi_sequence *s, unsigned thread, unsigned index)
{
    const aphi_compiled_thread *t = &s->plan->threads[thread];
    s->race_count = 0;
    for (unsigned i = 0; i < t->into_count; i++)
        offer_channel(s, t->into[i], thread, index);
}

const aphi_compiled_state *aphi_sequence_race_state(const aphi_sequence *s, uint32_t race)
{
    uint32_t sender = race >> 16, send = race & 0xffff;
    bool done = send < s->first[sender + 1] - s->first[sender];
    return &s->plan->states[done ? s->events[s->first[sender] + send].state : s->ends[sender]];
}

void aphi_sequence_race(aphi_sequence *s, unsigned thread, unsigned index)
{
    const aphi_compiled_model *p = s->plan;
    const aphi_compiled_state *at = &p->states[s->events[s->first[thread] + index].state];
    size_t kept = 0;
    aphi_sequence_offers(s, thread, index);
    for (size_t i = 0; i < s->race_count; i++)
        if (aphi_compiled_find(p, at, aphi_sequence_race_state(s, s->races[i])->input, p->threads[thread].inputs <= 64))
            s->races[kept++] = s->races[i];
    s->race_count = kept;
}

/* ---- properties -------------------------------------------------------------------------------------------------- */

/* Can t have done k events, and no more, when u has done l? If all pairs of some threads can, all of them can at one
 * time: together with what happened before, that is a beginning of the sequence. */
static bool coincide(const aphi_sequence *s, unsigned t, uint32_t k, unsigned u, uint32_t l)
{
    return !(k && clock_of(s, t, k - 1)[u] > l) && !(l && clock_of(s, u, l - 1)[t] > k);
}

/* How many events the thread has done when it is in the state, which it enters once at most. UINT32_MAX: it never is
 * in it. */
static uint32_t events_before(const aphi_sequence *s, aphi_standpoint at)
{
    uint32_t count = s->first[at.thread + 1] - s->first[at.thread];
    for (uint32_t i = 0; i < count; i++)
        if (s->events[s->first[at.thread] + i].state == at.state)
            return i;
    return s->ends[at.thread] == at.state ? count : UINT32_MAX;
}

bool aphi_sequence_meets(const aphi_sequence *s, const aphi_standpoint *points, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t done = events_before(s, points[i]);
        if (done == UINT32_MAX)
            return false;
        for (size_t k = 0; k < i; k++)
            if (!coincide(s, points[i].thread, done, points[k].thread, events_before(s, points[k])))
                return false;
    }
    return true;
}

static bool is_local(const aphi_sequence *s, uint32_t event, size_t label)
{
    return s->events[event].op == APHI_ALTS_LOCAL && s->events[event].label == label;
}

static bool overlaps(const aphi_sequence *s, size_t label, unsigned t, unsigned u)
{
    for (uint32_t i = s->first[t]; i < s->first[t + 1]; i++)
        for (uint32_t j = s->first[u]; is_local(s, i, label) && j < s->first[u + 1]; j++)
            if (is_local(s, j, label) && coincide(s, t, i + 1 - s->first[t], u, j + 1 - s->first[u]))
                return true;
    return false;
}

bool aphi_sequence_overlap(const aphi_sequence *s, size_t label, unsigned *t, unsigned *u)
{
    for (*t = 0; *t < s->plan->thread_count; ++*t)
        for (*u = *t + 1; *u < s->plan->thread_count; ++*u)
            if (overlaps(s, label, *t, *u))
                return true;
    return false;
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void put_text(FILE *out, const char *text)
{
    putc('"', out);
    for (; *text; text++)
        if ((unsigned char)*text < 0x20)
            fprintf(out, "\\u%04x", *text);
        else
            fprintf(out, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
    putc('"', out);
}

static void put_open(const aphi_compiled_model *p, const aphi_event *e, unsigned thread, FILE *out)
{
    const aphi_compiled_state *state = &p->states[e->state];
    fputs(",\"open\":[", out);
    for (uint32_t i = 0; i < state->count; i++) {
        uint32_t input = p->threads[thread].input_base + p->moves[state->first + i].input;
        fputs(i ? ",[" : "[", out);
        put_text(out, p->alts->ports[p->input_ports[input]].name);
        putc(',', out);
        put_text(out, p->alts->labels[p->input_labels[input]]);
        putc(']', out);
    }
    putc(']', out);
}

static void put_races(aphi_sequence *s, unsigned thread, unsigned index, FILE *out)
{
    aphi_sequence_race(s, thread, index);
    fputs(",\"race\":[", out);
    for (size_t i = 0; i < s->race_count; i++) {
        fputs(i ? ",[" : "[", out);
        put_text(out, s->plan->alts->components[s->races[i] >> 16].name);
        fprintf(out, ",%u]", (s->races[i] & 0xffff) + 1);
    }
    putc(']', out);
}

static void put_clock(const aphi_sequence *s, unsigned thread, unsigned index, FILE *out)
{
    const uint16_t *clock = clock_of(s, thread, index);
    fputs(",\"clock\":", out);
    for (unsigned t = 0; t < s->plan->thread_count; t++)
        fprintf(out, "%c%u", t ? ',' : '[', clock[t]);
    putc(']', out);
}

static void put_event(aphi_sequence *s, unsigned thread, unsigned index, FILE *out, bool races)
{
    static const char *const ops[] = {[APHI_ALTS_SEND] = "send", [APHI_ALTS_RECEIVE] = "receive",
                                      [APHI_ALTS_LOCAL] = "local"};
    const aphi_alts *a = s->plan->alts;
    const aphi_event *e = &s->events[s->first[thread] + index];
    fprintf(out, "{\"op\":\"%s\"", ops[e->op]);
    if (e->op != APHI_ALTS_LOCAL) {
        fprintf(out, ",\"sync\":%s,\"port\":", e->sync ? "true" : "false");
        put_text(out, a->ports[e->port].name);
    }
    fputs(",\"label\":", out);
    put_text(out, a->labels[e->label]);
    if (e->op != APHI_ALTS_LOCAL) {
        fputs(",\"peer\":", out);
        put_text(out, a->components[e->peer].name);
        if (e->matched)
            fprintf(out, ",\"peer_index\":%u", e->peer_index + 1u);
    }
    if (e->op == APHI_ALTS_RECEIVE) {
        put_open(s->plan, e, thread, out);
        if (races)
            put_races(s, thread, index, out);
    }
    if (races)
        put_clock(s, thread, index, out);
    putc('}', out);
}

void aphi_sequence_write(aphi_sequence *s, FILE *out, bool races)
{
    fprintf(out, "{\"sequence\":%llu,\"deadlock\":%s,\"threads\":{", (unsigned long long)s->number,
            s->deadlock ? "true" : "false");
    for (unsigned t = 0; t < s->plan->thread_count; t++) {
        if (t)
            putc(',', out);
        put_text(out, s->plan->alts->components[t].name);
        fputs(":[", out);
        for (uint32_t i = 0; i < s->first[t + 1] - s->first[t]; i++) {
            if (i)
                putc(',', out);
            put_event(s, t, i, out, races);
        }
        putc(']', out);
    }
    fputs("}}\n", out);
}

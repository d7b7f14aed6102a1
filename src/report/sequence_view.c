/* SPDX-License-Identifier: Apache-2.0
 *
 * sequence_view.c - drawings of consecutive sequences of a model, each compared with the previous one.
 *
 * Idea:       events of a sequence become events of a diagram (swimlanes.h). The common part of two sequences is a
 *             prefix of each component's events, closed under happened-before. A receive right after this part is
 *             marked as changed if it took a different message than in the previous sequence; all later events are new.
 * Invariants: 1. an event is the same only if all events that happened before it are the same */
#include "report/sequence_view.h"

#include "base/buffer.h"
#include "base/memory.h"
#include "report/swimlanes.h"

#include <stdlib.h>
#include <string.h>

struct aphi_sequence_view {
    const aphi_compiled_model *model;
    bool draws;
    const char *page_name;
    aphi_buffer page;
    aphi_terminal terminal;
    const char **lanes;
    bool *ports;             /* per component: true if it has several ports, so labels need port names */
    uint64_t count;
    /* the previous sequence */
    uint32_t *first;
    aphi_event *events;
    uint32_t *same;          /* per thread: the number of events in the common part */
};

aphi_sequence_view *aphi_sequence_view_open(const aphi_compiled_model *model, bool draws, const char *page)
{
    aphi_sequence_view *k = aphi_alloc_zero(sizeof *k);
    size_t n = model->thread_count, *owned = aphi_alloc_zero((n + 1) * sizeof *owned);
    k->model = model;
    k->draws = draws;
    k->page_name = page;
    k->terminal = aphi_terminal_of(stdout, APHI_COLOUR_AUTO);
    k->lanes = aphi_alloc((n + 1) * sizeof *k->lanes);
    k->ports = aphi_alloc_zero(n + 1);
    k->first = aphi_alloc_zero((n + 1) * sizeof *k->first);
    k->same = aphi_alloc_zero((n + 1) * sizeof *k->same);
    k->events = aphi_alloc((model->step_capacity + 1) * sizeof *k->events);
    for (size_t t = 0; t < n; t++)
        k->lanes[t] = model->alts->components[t].name;
    for (size_t p = 0; p < model->alts->port_count; p++)
        k->ports[model->alts->ports[p].owner] = ++owned[model->alts->ports[p].owner] > 1;
    free(owned);
    return k;
}

/* ---- comparison -------------------------------------------------------------------------------------------------- */

static bool is_same(const aphi_event *a, const aphi_event *b)
{
    bool paired = a->op == APHI_ALTS_RECEIVE || (a->op == APHI_ALTS_SEND && a->sync);
    bool meets = a->peer == b->peer && a->peer_index == b->peer_index;
    return a->state == b->state && a->op == b->op && (!paired || meets);
}

/* Ends a thread's common part at the first message whose other end is not common. Returns true if it got shorter. */
static bool shorten_common(aphi_sequence_view *k, const aphi_sequence *s, unsigned t)
{
    for (uint32_t i = 0; i < k->same[t]; i++) {
        const aphi_event *e = &s->events[s->first[t] + i];
        bool paired = e->op == APHI_ALTS_RECEIVE || (e->op == APHI_ALTS_SEND && e->sync);
        if (paired && e->peer_index >= k->same[e->peer]) {
            k->same[t] = i;
            return true;
        }
    }
    return false;
}

static void find_common(aphi_sequence_view *k, const aphi_sequence *s)
{
    size_t n = k->model->thread_count;
    for (size_t t = 0; t < n; t++) {
        uint32_t now = s->first[t + 1] - s->first[t], then = k->first[t + 1] - k->first[t], i = 0;
        while (i < now && i < then && is_same(&s->events[s->first[t] + i], &k->events[k->first[t] + i]))
            i++;
        k->same[t] = i;
    }
    for (bool again = true; again;) {
        again = false;
        for (unsigned t = 0; t < n; t++)
            again |= shorten_common(k, s, t);
    }
}

/* Returns the corresponding receive of the previous sequence if it took another message, or NULL. */
static const aphi_event *changed_receive(const aphi_sequence_view *k, const aphi_sequence *s, unsigned t, uint32_t i)
{
    const aphi_event *e = &s->events[s->first[t] + i], *b = &k->events[k->first[t] + i];
    if (!k->count || i != k->same[t] || e->op != APHI_ALTS_RECEIVE || i >= k->first[t + 1] - k->first[t])
        return NULL;
    return b->state == e->state && (b->peer != e->peer || b->peer_index != e->peer_index) ? b : NULL;
}

static void keep_sequence(aphi_sequence_view *k, const aphi_sequence *s)
{
    size_t n = k->model->thread_count;
    memcpy(k->first, s->first, (n + 1) * sizeof *k->first);
    memcpy(k->events, s->events, s->first[n] * sizeof *k->events);
    k->count++;
}

/* ---- texts ------------------------------------------------------------------------------------------------------- */

/* Appends a label, with its port if the receiver has several. */
static void put_label(const aphi_sequence_view *k, unsigned receiver, uint16_t port, uint16_t label, aphi_buffer *out)
{
    if (k->ports[receiver])
        aphi_buffer_format(out, "%s ", k->model->alts->ports[port].name);
    aphi_buffer_str(out, k->model->alts->labels[label]);
}

static char *label_of(const aphi_sequence_view *k, unsigned thread, const aphi_event *e)
{
    aphi_buffer out = {0};
    if (e->op == APHI_ALTS_LOCAL)
        aphi_buffer_str(&out, k->model->alts->labels[e->label]);
    else
        put_label(k, e->op == APHI_ALTS_RECEIVE ? thread : e->peer, e->port, e->label, &out);
    return aphi_buffer_text(&out);
}

/* Appends a send and its sender. A send that was not executed is found in the sender's last state. */
static void put_send(const aphi_sequence_view *k, const aphi_sequence *s, uint32_t race, aphi_buffer *out)
{
    uint32_t sender = race >> 16, index = race & 0xffff, done = s->first[sender + 1] - s->first[sender];
    uint32_t state = index < done ? s->events[s->first[sender] + index].state : s->end_states[sender];
    const aphi_compiled_channel *c = &k->model->channels[k->model->states[state].channel];
    put_label(k, c->receiver, c->port, k->model->states[state].label, out);
    aphi_buffer_format(out, " from %s", k->lanes[sender]);
}

static char *note_of(const aphi_sequence_view *k, aphi_sequence *s, unsigned t, uint32_t i)
{
    aphi_buffer out = {0};
    const aphi_event *before = changed_receive(k, s, t, i);
    if (s->events[s->first[t] + i].op != APHI_ALTS_RECEIVE)
        return NULL;
    if (before) {
        aphi_buffer_str(&out, "before: ");
        put_label(k, t, before->port, before->label, &out);
        aphi_buffer_format(&out, " from %s", k->lanes[before->peer]);
    }
    aphi_sequence_find_race_set(s, t, i);
    for (size_t j = 0; j < s->race_count; j++) {
        aphi_buffer_str(&out, j ? ", " : before ? "; race: " : "race: ");
        put_send(k, s, s->races[j], &out);
    }
    return out.n ? aphi_buffer_text(&out) : NULL;
}

/* Returns the reason why a component is blocked at the end, or NULL if it terminated. */
static char *end_of(const aphi_sequence_view *k, const aphi_sequence *s, unsigned t)
{
    const aphi_compiled_model *p = k->model;
    const aphi_compiled_state *state = &p->states[s->end_states[t]];
    aphi_buffer out = {0};
    if (state->kind == APHI_COMPILED_TERMINAL)
        return NULL;
    aphi_buffer_format(&out, "%s waits in state %u: ", k->lanes[t], s->end_states[t] - p->threads[t].base);
    if (state->kind == APHI_COMPILED_RECEIVE) {
        aphi_buffer_str(&out, "receiving ");
        for (uint32_t i = 0; i < state->count; i++) {
            uint32_t input = p->threads[t].input_base + p->moves[state->first + i].input;
            aphi_buffer_str(&out, i ? ", " : "");
            put_label(k, t, p->input_ports[input], p->input_labels[input], &out);
        }
    } else {
        const aphi_compiled_channel *c = &p->channels[state->channel];
        aphi_buffer_str(&out, state->kind == APHI_COMPILED_PASS ? "no receiver for its " : "no buffer space for its ");
        put_label(k, c->receiver, c->port, state->label, &out);
        aphi_buffer_format(&out, " to %s", k->lanes[c->receiver]);
    }
    return aphi_buffer_text(&out);
}

/* ---- the diagram ------------------------------------------------------------------------------------------------- */

static aphi_swimlanes_event event_of(const aphi_sequence_view *k, aphi_sequence *s, unsigned t, uint32_t i,
                                     size_t wrong)
{
    const aphi_event *e = &s->events[s->first[t] + i];
    aphi_swimlanes_event out = {.lane = t, .kind = e->op, .sync = e->sync, .partner = APHI_SWIMLANES_NONE,
                                .after = APHI_SWIMLANES_NONE, .label = label_of(k, t, e), .note = note_of(k, s, t, i)};
    if (e->op != APHI_ALTS_LOCAL && e->matched)
        out.partner = s->first[e->peer] + e->peer_index;
    if (e->freed_by)
        out.after = s->first[e->peer] + e->freed_by - 1;
    if (k->count)
        out.mark = i < k->same[t] ? APHI_SWIMLANES_SAME
                   : changed_receive(k, s, t, i) ? APHI_SWIMLANES_CHANGED : out.mark;
    if (e->op == APHI_ALTS_LOCAL && e->label == wrong)
        out.mark = APHI_SWIMLANES_WRONG;
    return out;
}

static void show_diagram(aphi_sequence_view *k, const aphi_swimlanes *picture)
{
    aphi_buffer out = {0};
    if (k->draws) {
        aphi_swimlanes_draw(&out, picture, &k->terminal);
        aphi_buffer_byte(&out, '\n');
        fwrite(out.data, 1, out.n, stdout);
    }
    if (k->page_name)
        aphi_swimlanes_page_add(&k->page, picture);
    aphi_buffer_free(&out);
}

void aphi_sequence_view_add(aphi_sequence_view *k, aphi_sequence *s, const char *wrong, size_t label)
{
    size_t n = k->model->thread_count, count = s->first[n];
    aphi_swimlanes_event *events = aphi_alloc((count + 1) * sizeof *events);
    char **ends = aphi_alloc((n + 1) * sizeof *ends), title[100];
    find_common(k, s);
    for (unsigned t = 0; t < n; t++) {
        ends[t] = end_of(k, s, t);
        for (uint32_t i = 0; i < s->first[t + 1] - s->first[t]; i++)
            events[s->first[t] + i] = event_of(k, s, t, i, wrong ? label : SIZE_MAX);
    }
    snprintf(title, sizeof title, "sequence %llu%s", (unsigned long long)s->number,
             s->deadlock ? ": deadlock" : "");
    show_diagram(k, &(aphi_swimlanes){.title = title, .lanes = k->lanes, .lane_count = n, .events = events,
                                      .count = count, .ends = (const char *const *)ends, .remark = wrong});
    keep_sequence(k, s);
    for (size_t i = 0; i < count; i++) {
        free((char *)events[i].label);
        free((char *)events[i].note);
    }
    for (size_t t = 0; t < n; t++)
        free(ends[t]);
    free(events);
    free(ends);
}

static bool write_page(const aphi_sequence_view *k, const char *lead)
{
    aphi_buffer page = {0};
    aphi_swimlanes_page_begin(&page, k->model->alts->name, lead);
    aphi_buffer_add(&page, k->page.data, k->page.n);
    aphi_swimlanes_page_end(&page);
    bool good = aphi_buffer_save(&page, k->page_name);
    aphi_buffer_free(&page);
    return good;
}

bool aphi_sequence_view_close(aphi_sequence_view *k, const char *lead)
{
    bool good = !k->page_name || write_page(k, lead);
    aphi_buffer_free(&k->page);
    APHI_FREE_ALL(k->lanes, k->ports, k->first, k->events, k->same, k);
    return good;
}

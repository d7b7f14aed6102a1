/* SPDX-License-Identifier: Apache-2.0
 *
 * projection.c - local sequences by projection: a table for each component, with and without race sets. */
#include "local/projection.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { OP, SYNC, PORT, LABEL, PEER, CANDIDATES, EVENT_SIZE };

void aphi_projection_open(aphi_projection *p, size_t components)
{
    *p = (aphi_projection){.count = components};
    p->by_events = aphi_alloc_zero((components + 1) * sizeof *p->by_events);
    p->by_races = aphi_alloc_zero((components + 1) * sizeof *p->by_races);
}

void aphi_projection_close(aphi_projection *p)
{
    for (size_t i = 0; i < p->count; i++) {
        aphi_intern_free(&p->by_events[i]);
        aphi_intern_free(&p->by_races[i]);
    }
    APHI_FREE_ALL(p->by_events, p->by_races, p->code);
    *p = (aphi_projection){0};
}

const uint32_t *aphi_projection_encode(aphi_projection *p, const aphi_local_event *events, size_t count, bool races,
                                       size_t *length)
{
    p->used = 0;
    for (size_t i = 0; i < count; i++) {
        const aphi_local_event *e = &events[i];
        size_t candidates = races ? e->race_count : 0;
        APHI_RESERVE(p->code, p->capacity, p->used + EVENT_SIZE + candidates * 3);
        uint32_t fields[EVENT_SIZE] = {e->op, e->sync, e->port, e->label, e->peer, (uint32_t)candidates};
        memcpy(&p->code[p->used], fields, sizeof fields);
        p->used += EVENT_SIZE;
        if (candidates)
            memcpy(&p->code[p->used], e->race, candidates * sizeof *e->race);
        p->used += candidates * 3;
    }
    *length = p->used;
    return p->code;
}

/* Returns the race set of a receive, sorted by port, label and sender, and malloc()ed. */
static size_t race_set_of(aphi_sequence *s, unsigned thread, unsigned index, aphi_race_candidate **candidates)
{
    aphi_sequence_find_race_set(s, thread, index);
    *candidates = aphi_alloc((s->race_count + 1) * sizeof **candidates);
    for (size_t i = 0; i < s->race_count; i++) {
        const aphi_compiled_state *from = aphi_sequence_race_state(s, s->races[i]);
        (*candidates)[i] =
            (aphi_race_candidate){s->model->channels[from->channel].port, from->label, s->races[i] >> 16};
    }
    return aphi_race_candidates_sort(*candidates, s->race_count);
}

static void add_thread(aphi_projection *p, aphi_sequence *s, unsigned thread)
{
    uint32_t count = s->first[thread + 1] - s->first[thread];
    aphi_local_event *events = aphi_alloc_zero((count + 1) * sizeof *events);
    for (uint32_t i = 0; i < count; i++) {
        const aphi_event *e = &s->events[s->first[thread] + i];
        events[i] = (aphi_local_event){.op = (aphi_alts_op)e->op, .label = e->label};
        if (e->op == APHI_ALTS_LOCAL)
            continue;
        events[i].sync = e->sync;
        events[i].port = e->port;
        events[i].peer = e->peer;
        if (e->op == APHI_ALTS_RECEIVE) {
            aphi_race_candidate *candidates;
            events[i].race_count = race_set_of(s, thread, i, &candidates);
            events[i].race = candidates;
        }
    }
    size_t length;
    const uint32_t *code = aphi_projection_encode(p, events, count, false, &length);
    aphi_intern_number(&p->by_events[thread], code, length * sizeof *code);
    code = aphi_projection_encode(p, events, count, true, &length);
    aphi_intern_number(&p->by_races[thread], code, length * sizeof *code);
    for (uint32_t i = 0; i < count; i++)
        free((void *)events[i].race);
    free(events);
}

void aphi_projection_add(aphi_projection *p, aphi_sequence *s)
{
    for (unsigned t = 0; t < p->count; t++)
        add_thread(p, s, t);
}

static void merge_tables(aphi_intern *to, const aphi_intern *from)
{
    for (uint32_t i = 0; i < from->count; i++) {
        size_t size;
        const void *key = aphi_intern_key(from, i, &size);
        aphi_intern_number(to, key, size);
    }
}

void aphi_projection_merge(aphi_projection *p, const aphi_projection *other)
{
    for (size_t i = 0; i < p->count; i++) {
        merge_tables(&p->by_events[i], &other->by_events[i]);
        merge_tables(&p->by_races[i], &other->by_races[i]);
    }
}

static uint32_t state_after(const aphi_alts_component *c, uint32_t state, const uint32_t *e)
{
    uint32_t i = c->first[state];
    while (e[OP] == APHI_ALTS_RECEIVE && (c->moves[i].port != e[PORT] || c->moves[i].label != e[LABEL]))
        i++;
    return c->moves[i].target;
}

bool aphi_projection_each(const aphi_projection *p, const aphi_alts *a, size_t component, bool races,
                          aphi_sequence_search_visit *visit, void *context)
{
    const aphi_intern *all = races ? &p->by_races[component] : &p->by_events[component];
    aphi_local_event *events = NULL;
    size_t capacity = 0;
    bool more = true;
    for (uint32_t i = 0; i < all->count && more; i++) {
        size_t size, n = 0;
        const uint32_t *e = aphi_intern_key(all, i, &size), *end = e + size / sizeof *e;
        for (uint32_t state = a->components[component].initial; e < end; e += EVENT_SIZE + 3 * e[CANDIDATES]) {
            APHI_RESERVE(events, capacity, n + 1);
            events[n++] = (aphi_local_event){.op = (aphi_alts_op)e[OP], .sync = e[SYNC], .port = e[PORT],
                                             .label = e[LABEL], .peer = e[PEER], .state = state,
                                             .race_count = e[CANDIDATES],
                                             .race = (const aphi_race_candidate *)(e + EVENT_SIZE)};
            state = state_after(&a->components[component], state, e);
        }
        more = visit(context, events, n);
    }
    free(events);
    return more;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * projection.c - collect local sequences in tables: a table for each component and each kind of sequence. */
#include "local/projection.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { OP, SYNC, PORT, LABEL, PEER, RIVALS, EVENT_SIZE };

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
    free(p->by_events);
    free(p->by_races);
    free(p->text);
    *p = (aphi_projection){0};
}

static int by_rival(const void *a, const void *b)
{
    const aphi_local_rival *x = a, *y = b;
    if (x->port != y->port)
        return x->port < y->port ? -1 : 1;
    if (x->label != y->label)
        return x->label < y->label ? -1 : 1;
    return x->sender < y->sender ? -1 : x->sender > y->sender;
}

static size_t sort_rivals(aphi_local_rival *rivals, size_t count)
{
    size_t kept = 0;
    qsort(rivals, count, sizeof *rivals, by_rival);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || by_rival(&rivals[i], &rivals[kept - 1]))
            rivals[kept++] = rivals[i];
    return kept;
}

const uint32_t *aphi_projection_text(aphi_projection *p, const aphi_local_event *events, size_t count, bool races,
                                     size_t *length)
{
    p->used = 0;
    for (size_t i = 0; i < count; i++) {
        const aphi_local_event *e = &events[i];
        size_t rivals = races ? e->race_count : 0;
        APHI_RESERVE(p->text, p->capacity, p->used + EVENT_SIZE + rivals * 3);
        uint32_t head[EVENT_SIZE] = {e->op, e->sync, e->port, e->label, e->peer, (uint32_t)rivals};
        memcpy(&p->text[p->used], head, sizeof head);
        p->used += EVENT_SIZE;
        if (rivals)
            memcpy(&p->text[p->used], e->race, rivals * sizeof *e->race);
        p->used += rivals * 3;
    }
    *length = p->used;
    return p->text;
}

/* The sends that race with a receive, by what they send: port, label and who. */
static size_t rivals_of(aphi_sequence *s, unsigned thread, unsigned index, aphi_local_rival **rivals)
{
    aphi_sequence_find_race_set(s, thread, index);
    *rivals = aphi_alloc((s->race_count + 1) * sizeof **rivals);
    for (size_t i = 0; i < s->race_count; i++) {
        const aphi_compiled_state *from = aphi_sequence_race_state(s, s->races[i]);
        (*rivals)[i] = (aphi_local_rival){s->model->channels[from->channel].port, from->label, s->races[i] >> 16};
    }
    return sort_rivals(*rivals, s->race_count);
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
            aphi_local_rival *rivals;
            events[i].race_count = rivals_of(s, thread, i, &rivals);
            events[i].race = rivals;
        }
    }
    size_t length;
    const uint32_t *text = aphi_projection_text(p, events, count, false, &length);
    aphi_intern_number(&p->by_events[thread], text, length * sizeof *text);
    text = aphi_projection_text(p, events, count, true, &length);
    aphi_intern_number(&p->by_races[thread], text, length * sizeof *text);
    for (uint32_t i = 0; i < count; i++)
        free((void *)events[i].race);
    free(events);
}

void aphi_projection_add(aphi_projection *p, aphi_sequence *s)
{
    for (unsigned t = 0; t < p->count; t++)
        add_thread(p, s, t);
}

static void merge(aphi_intern *to, const aphi_intern *from)
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
        merge(&p->by_events[i], &other->by_events[i]);
        merge(&p->by_races[i], &other->by_races[i]);
    }
}

static uint32_t state_after(const aphi_alts_component *c, uint32_t state, const uint32_t *e)
{
    uint32_t i = c->first[state];
    while (e[OP] == APHI_ALTS_RECEIVE && (c->moves[i].port != e[PORT] || c->moves[i].label != e[LABEL]))
        i++;
    return c->moves[i].target;
}

bool aphi_projection_walk(const aphi_projection *p, const aphi_alts *a, size_t component, bool races,
                          aphi_local_search_visit *visit, void *context)
{
    const aphi_intern *all = races ? &p->by_races[component] : &p->by_events[component];
    aphi_local_event *events = NULL;
    size_t capacity = 0;
    bool more = true;
    for (uint32_t i = 0; i < all->count && more; i++) {
        size_t size, n = 0;
        const uint32_t *e = aphi_intern_key(all, i, &size), *end = e + size / sizeof *e;
        for (uint32_t state = a->components[component].initial; e < end; e += EVENT_SIZE + 3 * e[RIVALS]) {
            APHI_RESERVE(events, capacity, n + 1);
            events[n++] = (aphi_local_event){.op = (aphi_alts_op)e[OP], .sync = e[SYNC], .port = e[PORT],
                                             .label = e[LABEL], .peer = e[PEER], .state = state,
                                             .race_count = e[RIVALS],
                                             .race = (const aphi_local_rival *)(e + EVENT_SIZE)};
            state = state_after(&a->components[component], state, e);
        }
        more = visit(context, events, n);
    }
    free(events);
    return more;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * pending.c - the pending requests, updated as the search moves over the observations, forward and back.
 *
 * Invariants: 1. `pending` is sorted by expected end where it is known, then oldest first
 *             2. moving back and forward again restores it exactly, because frames store places in it */
#include "oracle/pending.h"

/* This must be a total order because of invariant 2. */
static bool ends_before(const aph_oracle *o, uint32_t a, uint32_t b)
{
    return o->ops[a].rank != o->ops[b].rank ? o->ops[a].rank < o->ops[b].rank : a < b;
}

static void pending_add(aph_oracle *o, uint32_t request)
{
    APHI_GROW(o, o->pending, o->pending_capacity, o->pending_count + 1);
    size_t i = o->pending_count++;
    for (; i > 0 && ends_before(o, request, o->pending[i - 1]); i--)
        o->pending[i] = o->pending[i - 1];
    o->pending[i] = request;
}

static void pending_remove(aph_oracle *o, uint32_t request)
{
    size_t i = 0;
    while (o->pending[i] != request)
        i++;
    for (o->pending_count--; i < o->pending_count; i++)
        o->pending[i] = o->pending[i + 1];
}

size_t aphi_pending_held(const aph_oracle *o, int64_t connection)
{
    if (!o->rpc)
        return aph_count(aph_get(o->core.outbox, aph_int(connection)));
    size_t held = 0;
    for (size_t i = 0; i < o->pending_count; i++) {
        const aphi_request *a = &o->ops[o->pending[i]];
        held += a->connection == connection && aphi_is_taken(o, a) && !aphi_is_abandoned(o, a);
    }
    return held;
}

uint32_t aphi_pending_full_oldest(const aph_oracle *o, int64_t connection)
{
    uint32_t oldest = APHI_NONE;
    size_t held = 0;
    for (size_t i = 0; i < o->pending_count; i++) {
        const aphi_request *a = &o->ops[o->pending[i]];
        if (a->connection != connection || aphi_is_taken(o, a) || aphi_is_abandoned(o, a) || a->signal)
            continue;
        held++;
        if (oldest == APHI_NONE || a->id < o->ops[oldest].id)
            oldest = o->pending[i];
    }
    return held >= o->env.buffer ? oldest : APHI_NONE;
}

void aphi_pending_advance(aph_oracle *o)
{
    const aphi_observed_event *e = &o->events[o->at++];
    if (e->request == APHI_NONE)
        return;
    const aphi_request *a = &o->ops[e->request];
    if (e->kind == APHI_OBSERVED_REQUEST)
        pending_add(o, e->request);
    else if (e->kind == APHI_OBSERVED_ANSWER && !a->delivery)
        pending_remove(o, e->request);
    if (e->kind == APHI_OBSERVED_LOSS || aphi_is_free(a))
        aphi_set_bit(o->optional, a->slot);
}

static void step_back(aph_oracle *o)
{
    const aphi_observed_event *e = &o->events[--o->at];
    if (e->request == APHI_NONE)
        return;
    const aphi_request *a = &o->ops[e->request];
    if (e->kind == APHI_OBSERVED_REQUEST)
        pending_remove(o, e->request);
    else if (e->kind == APHI_OBSERVED_ANSWER && !a->delivery)
        pending_add(o, e->request);
    if (e->kind == APHI_OBSERVED_LOSS || aphi_is_free(a))
        aphi_clear_bit(o->optional, a->slot);
}

void aphi_pending_rewind(aph_oracle *o, uint32_t at)
{
    while (o->at > at)
        step_back(o);
}

void aphi_pending_advance_to_end(aph_oracle *o)
{
    while (o->at < o->event_count)
        aphi_pending_advance(o);
}

void aphi_pending_begin(aph_oracle *o)
{
    o->pending_count = 0;
    for (uint32_t i = 0; i < o->op_count; i++) {
        pending_add(o, i);
        if (aphi_is_free(&o->ops[i]))
            aphi_set_bit(o->optional, o->ops[i].slot);
    }
}

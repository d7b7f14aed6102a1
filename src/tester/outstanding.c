/* SPDX-License-Identifier: Apache-2.0
 *
 * outstanding.c - the outstanding requests of a run; see outstanding.h.
 *
 * Cost:       constant for each request. */
#include "tester/outstanding.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { LABELS = 1 << 16, LOADS = 1 << 12 }; /* powers of two */

void aphi_outstanding_open(aphi_outstanding *o, int64_t next_name)
{
    *o = (aphi_outstanding){.labels = aphi_alloc_zero(LABELS * sizeof *o->labels),
                            .loads = aphi_alloc_zero(LOADS * sizeof *o->loads), .next_name = next_name};
}

void aphi_outstanding_close(aphi_outstanding *o)
{
    for (size_t i = 0; i < o->peer_count; i++)
        free(o->peers[i].queue);
    free(o->peers);
    free(o->in_flight);
    free(o->labels);
    free(o->loads);
    *o = (aphi_outstanding){0};
}

void aphi_outstanding_mark(const aphi_outstanding *o)
{
    for (size_t i = 0; i < o->peer_count; i++)
        for (size_t k = 0; k < o->peers[i].count; k++) {
            aph_mark(aphi_outstanding_at(&o->peers[i], k)->message);
            aph_mark(aphi_outstanding_at(&o->peers[i], k)->part);
        }
}

/* ---- lookup ------------------------------------------------------------------------------------------------------ */

static aphi_peer *peer_at(aphi_outstanding *o, int64_t connection)
{
    size_t had = o->peer_count, capacity = had;
    if ((size_t)connection >= had) {
        APHI_RESERVE(o->peers, o->peer_count, (size_t)connection + 1);
        APHI_RESERVE(o->in_flight, capacity, o->peer_count);
        memset(o->peers + had, 0, (o->peer_count - had) * sizeof *o->peers);
        memset(o->in_flight + had, 0, (o->peer_count - had) * sizeof *o->in_flight);
    }
    return &o->peers[connection];
}

const aphi_peer *aphi_outstanding_peer(aphi_outstanding *o, int64_t connection) { return peer_at(o, connection); }

int64_t aphi_outstanding_name(aphi_outstanding *o, int64_t connection)
{
    aphi_peer *p = peer_at(o, connection);
    if (!p->is_named) {
        p->name = p->was_open ? o->next_name++ : connection;
        p->is_named = p->was_open = true;
    }
    return p->name;
}

aphi_partition_load *aphi_outstanding_load(const aphi_outstanding *o, aph_value part)
{
    return &o->loads[aph_hash(part) & (LOADS - 1)];
}

static int64_t *label_slot(const aphi_outstanding *o, int64_t label)
{
    return &o->labels[(uint64_t)label / 2 & (LABELS - 1)];
}

bool aphi_outstanding_has(const aphi_outstanding *o, int64_t label) { return *label_slot(o, label) == label; }

/* ---- changes ----------------------------------------------------------------------------------------------------- */

static void grow_queue(aphi_peer *p)
{
    size_t capacity = p->capacity ? 2 * p->capacity : 8;
    aphi_outstanding_request *queue = aphi_alloc(capacity * sizeof *queue);
    for (size_t i = 0; i < p->count; i++)
        queue[i] = *aphi_outstanding_at(p, i);
    free(p->queue);
    p->queue = queue;
    p->head = 0;
    p->capacity = capacity;
}

static void remove_label(const aphi_outstanding *o, int64_t label)
{
    if (aphi_outstanding_has(o, label))
        *label_slot(o, label) = 0;
}

void aphi_outstanding_block(aphi_outstanding *o, int64_t connection)
{
    aphi_peer *p = peer_at(o, connection);
    if (p->is_blocked)
        return;
    p->is_blocked = true;
    o->blocked += p->count;
    for (size_t i = 0; i < p->count; i++)
        remove_label(o, aphi_outstanding_at(p, i)->label);
}

static void unblock(aphi_outstanding *o, aphi_peer *p)
{
    o->blocked -= p->is_blocked ? p->count : 0;
    p->is_blocked = false;
}

void aphi_outstanding_push(aphi_outstanding *o, int64_t connection, const aphi_outstanding_request *request)
{
    aphi_peer *p = peer_at(o, connection);
    unblock(o, p);
    if (p->count == p->capacity)
        grow_queue(p);
    p->queue[(p->head + p->count++) & (p->capacity - 1)] = *request;
    o->in_flight[connection]++;
    o->count++;
    aphi_partition_load *load = aphi_outstanding_load(o, request->part);
    load->all++;
    load->alone += request->alone;
    load->latest = connection;
    *label_slot(o, request->label) = request->label;
}

bool aphi_outstanding_pop(aphi_outstanding *o, int64_t connection, bool answered, aphi_outstanding_request *request)
{
    aphi_peer *p = peer_at(o, connection);
    p->was_answered |= answered;
    unblock(o, p);
    if (!p->count)
        return false;
    *request = p->queue[p->head];
    p->head = (p->head + 1) & (p->capacity - 1);
    p->count--;
    o->in_flight[connection]--;
    o->count--;
    aphi_partition_load *load = aphi_outstanding_load(o, request->part);
    load->all--;
    load->alone -= request->alone;
    remove_label(o, request->label);
    return true;
}

int64_t aphi_outstanding_rested_ns(aphi_outstanding *o, int64_t connection, int64_t now)
{
    const aphi_peer *p = peer_at(o, connection);
    return p->was_answered && !p->count ? now - p->answered_at : -1;
}

void aphi_outstanding_note_response(aphi_outstanding *o, int64_t connection, int64_t now)
{
    peer_at(o, connection)->answered_at = now;
}

void aphi_outstanding_clear(aphi_outstanding *o)
{
    aphi_outstanding_request removed;
    for (size_t i = 0; o->count && i < o->peer_count; i++)
        while (aphi_outstanding_pop(o, (int64_t)i, false, &removed))
            continue;
}

void aphi_outstanding_retire(aphi_outstanding *o, int64_t connection, bool judged)
{
    aphi_peer *p = peer_at(o, connection);
    p->is_named = p->was_answered = p->is_shut = false;
    o->any_closed |= !judged;
}

void aphi_outstanding_shut(aphi_outstanding *o, int64_t connection) { peer_at(o, connection)->is_shut = true; }

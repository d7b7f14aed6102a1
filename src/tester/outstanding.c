/* SPDX-License-Identifier: Apache-2.0
 *
 * outstanding.c - the books of a run: what was sent and what came, in the trace and for reports; and what is owed.
 *
 * Invariants: the trace on disk has whole lines, also where the disk is full. */
#include "tester/run_internal.h"

#include "base/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- writing down ------------------------------------------------------------------------------------------------ */

void aphi_outstanding_note(aphi_run_state *r, aphi_run_event_kind what, int64_t connection, int64_t label,
                           aph_value message, uint64_t number)
{
    static const char *const words[] = {"send", "recv", "lost", "malformed", "closed", "dropped"};
    connection = aphi_outstanding_name(r, connection);
    aphi_run_log_note(&r->log, &(aphi_run_event){what, r->now - r->began, connection, label, message}, number);
    if (r->options->trace < 0)
        return;
    bool told = what <= APHI_RUN_EVENT_LOST;
    aphi_buffer_format(&r->trace, told ? "{\"conn\":%lld," : "{\"note\":{\"conn\":%lld,", (long long)connection);
    if (label)
        aphi_buffer_format(&r->trace, "\"label\":%lld,", (long long)label);
    aphi_buffer_format(&r->trace, "\"%s\":", words[what]);
    if (what == APHI_RUN_EVENT_LOST || what == APHI_RUN_EVENT_CLOSED) {
        aphi_buffer_str(&r->trace, "true");
    } else {
        size_t n;
        char *text = aph_json_text(message, &n);
        aphi_buffer_add(&r->trace, text, n);
        free(text);
    }
    aphi_buffer_format(&r->trace, "%s,\"time\":%lld}\n", told ? "" : "}", (long long)((r->now - r->began) / 1000));
}

/* A verdict without its trace could not be checked by anybody: whatever the run came to, this is what is told. */
static void give_trace_up(aphi_run_state *r, size_t written, int failure)
{
    while (written && r->trace.data[written - 1] != '\n')
        written--;
    r->trace_failed = true;
    r->ended = false;
    r->result.fault = APH_FAULT_NONE;
    bool cut = !ftruncate(r->options->trace, r->trace_size + (off_t)written);
    aphi_run_end(r, APHI_RUN_TROUBLE, "%.300s cannot be written: %s; make room, or choose another --folder%s",
                 r->options->trace_name, strerror(failure), cut ? "" : " (its last line may be torn)");
}

void aphi_outstanding_write(aphi_run_state *r)
{
    size_t at = 0;
    while (at < r->trace.n && !r->trace_failed) {
        ssize_t written = write(r->options->trace, r->trace.data + at, r->trace.n - at);
        if (written < 0 && errno != EINTR)
            give_trace_up(r, at, errno);
        else if (written > 0)
            at += (size_t)written;
    }
    r->trace_size += (off_t)at;
    r->trace.n = 0;
}

uint32_t aphi_outstanding_kind(aphi_run_state *r, aph_value request)
{
    aph_value name = aphi_request_kind(r->model, request);
    uint32_t i = 0;
    while (i < r->kind_count && r->kinds[i].name != name)
        i++;
    if (i == r->kind_count && i < APHI_KINDS_MAX - 1)
        r->kinds[r->kind_count++] = (aphi_kind){.name = name};
    return i;
}

/* ---- peers ------------------------------------------------------------------------------------------------------- */

aphi_peer *aphi_outstanding_peer(aphi_run_state *r, int64_t connection)
{
    size_t need = (size_t)connection + 1;
    if (need > r->peer_count) {
        size_t count = r->peer_count ? r->peer_count : 16;
        while (count < need)
            count *= 2;
        r->peers = aphi_realloc(r->peers, count * sizeof *r->peers);
        r->in_flight = aphi_realloc(r->in_flight, count * sizeof *r->in_flight);
        memset(r->peers + r->peer_count, 0, (count - r->peer_count) * sizeof *r->peers);
        memset(r->in_flight + r->peer_count, 0, (count - r->peer_count) * sizeof *r->in_flight);
        r->peer_count = count;
    }
    return &r->peers[connection];
}

int64_t aphi_outstanding_name(aphi_run_state *r, int64_t connection)
{
    if (connection >= APH_ACCEPTED)
        return r->model->calls_apart ? r->call : connection;
    aphi_peer *p = aphi_outstanding_peer(r, connection);
    if (!p->is_named) {
        p->name = p->was_open ? r->next_name++ : connection;
        p->is_named = p->was_open = true;
    }
    return p->name;
}

void aphi_outstanding_retire(aphi_run_state *r, int64_t connection)
{
    aphi_peer *p = aphi_outstanding_peer(r, connection);
    p->is_named = p->was_answered = false;
    r->left = true;
}

aphi_crowd *aphi_outstanding_crowd(const aphi_run_state *r, aph_value part)
{
    return &r->crowds[aph_hash(part) & (APHI_CROWDS - 1)];
}

void aphi_outstanding_push(aphi_run_state *r, int64_t connection, aphi_question a)
{
    aphi_peer *p = aphi_outstanding_peer(r, connection);
    if (p->count == p->capacity) {
        size_t capacity = p->capacity ? 2 * p->capacity : 8;
        aphi_question *queue = aphi_alloc(capacity * sizeof *queue);
        for (size_t i = 0; i < p->count; i++)
            queue[i] = p->queue[(p->head + i) & (p->capacity - 1)];
        free(p->queue);
        p->queue = queue;
        p->head = 0;
        p->capacity = capacity;
    }
    p->queue[(p->head + p->count++) & (p->capacity - 1)] = a;
    r->in_flight[connection]++;
    r->owed++;
    aphi_outstanding_crowd(r, a.part)->all++;
    aphi_outstanding_crowd(r, a.part)->alone += a.alone;
    aphi_outstanding_crowd(r, a.part)->latest = connection;
    r->waited[(uint64_t)a.label / 2 & (APHI_WAITED - 1)] = a.label;
}

bool aphi_outstanding_pop(aphi_run_state *r, int64_t connection, aphi_question *a)
{
    aphi_peer *p = aphi_outstanding_peer(r, connection);
    if (!p->count)
        return false;
    *a = p->queue[p->head];
    p->head = (p->head + 1) & (p->capacity - 1);
    p->count--;
    r->in_flight[connection]--;
    r->owed--;
    aphi_outstanding_crowd(r, a->part)->all--;
    aphi_outstanding_crowd(r, a->part)->alone -= a->alone;
    int64_t *slot = &r->waited[(uint64_t)a->label / 2 & (APHI_WAITED - 1)];
    if (*slot == a->label)
        *slot = 0;
    return true;
}

void aphi_outstanding_lose(aphi_run_state *r, int64_t connection)
{
    aphi_question a;
    while (aphi_outstanding_pop(r, connection, &a)) {
        uint64_t number = r->feed ? aphi_live_feed_lost(r->feed, aphi_outstanding_name(r, connection), a.number) : 0;
        aphi_outstanding_note(r, APHI_RUN_EVENT_LOST, connection, a.label + 1, APH_NIL, number);
    }
}

void aphi_outstanding_part(aphi_run_state *r, int64_t connection)
{
    aphi_outstanding_note(r, APHI_RUN_EVENT_CLOSED, connection, 0, APH_NIL, UINT64_MAX);
    aphi_net_hang_up(r->net, connection);
    aphi_outstanding_lose(r, connection);
    aphi_outstanding_retire(r, connection);
}

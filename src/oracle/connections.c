/* SPDX-License-Identifier: Apache-2.0
 *
 * connections.c - the openings and ends of connections.
 *
 * Idea:       the opening of a connection and its end are requests of the client: the server takes them in their order.
 *             The server ends a connection with a message, the last one in its queue of the outbox. So the search needs
 *             only a few additions:
 *             1. A break can be taken before earlier requests of its connection, which are then lost. If not even the
 *                opening was taken, the server never learns of the connection.
 *             2. A client that closes both sides causes a break if data arrives for it. So the server takes its end
 *                either as a close, or as a break.
 *             3. A server that has closed a connection takes nothing more from it: its requests count as taken.
 *             4. Messages to a client that has left are not observed. Whether it has left depends only on the
 *                observation, so it is not part of a configuration.
 * Cost:       for a configuration, the messages in the outbox times the pending requests. */
#include "oracle/connections.h"

#include "base/memory.h"
#include "oracle/pending.h"
#include "value/heap.h"

#include <stdlib.h>

static aphi_connection_state *find_state(const aph_oracle *o, int64_t connection)
{
    const uint64_t *index = aphi_int_map_find(&o->connection_index, connection);
    return index ? &o->connection_states[*index] : NULL;
}

static bool opens_itself(int64_t connection)
{
    return connection < 0 || connection >= APH_ACCEPTED;
}

static void add_state(aph_oracle *o, int64_t connection)
{
    *aphi_int_map_at(&o->connection_index, connection) = o->connection_count;
    APHI_PUSH(o->connection_states, o->connection_count, o->connection_capacity,
              (aphi_connection_state){connection, o->event_base + o->event_count, UINT64_MAX, UINT64_MAX, UINT64_MAX});
}

const char *aphi_connections_sent(aph_oracle *o, int64_t connection, aph_value message)
{
    aphi_connection_state *s = find_state(o, connection);
    if (opens_itself(connection))
        return NULL;
    if (message == APH_OPENED && s)
        return "opened twice; a connection that is opened again needs a new number";
    if (message != APH_OPENED && !s)
        return "used before it is opened";
    if (!s)
        add_state(o, connection);
    else if (s->left_at != UINT64_MAX || (s->shut_at != UINT64_MAX && message != APH_LEFT && message != APH_BROKEN))
        return "used by the client after its end";
    else if (message == APH_CLOSED)
        s->shut_at = o->event_base + o->event_count;
    else if (message == APH_LEFT || message == APH_BROKEN)
        s->left_at = o->event_base + o->event_count;
    return NULL;
}

const char *aphi_connections_received(aph_oracle *o, int64_t connection, aph_value message)
{
    aphi_connection_state *s = find_state(o, connection);
    if (opens_itself(connection))
        return NULL;
    if (!s)
        return "used before it is opened";
    if (s->left_at != UINT64_MAX)
        return "a message is observed after the client has closed the connection";
    if (s->closed_at != UINT64_MAX)
        return "a message is observed after the server has closed the connection";
    if (aphi_is_signal(message))
        s->closed_at = o->event_base + o->event_count;
    return NULL;
}

static void forget_later(uint64_t *observation, uint64_t end)
{
    if (*observation >= end)
        *observation = UINT64_MAX;
}

void aphi_connections_copy(const aph_oracle *o, aph_oracle *probe)
{
    probe->event_base = o->event_base;
    for (size_t i = 0; i < o->connection_count; i++) {
        aphi_connection_state s = o->connection_states[i];
        if (s.opened_at >= o->event_base)
            continue;
        forget_later(&s.shut_at, o->event_base);
        forget_later(&s.left_at, o->event_base);
        forget_later(&s.closed_at, o->event_base);
        *aphi_int_map_at(&probe->connection_index, s.connection) = probe->connection_count;
        APHI_PUSH(probe->connection_states, probe->connection_count, probe->connection_capacity, s);
    }
}

bool aphi_connections_is_over(const aph_oracle *o, int64_t connection)
{
    const aphi_connection_state *s = find_state(o, connection);
    return s && s->left_at != UINT64_MAX;
}

/* ---- a configuration --------------------------------------------------------------------------------------------- */

static bool has_passed(const aph_oracle *o, uint64_t observation)
{
    return observation < o->event_base + o->at;
}

bool aphi_connections_discards(const aph_oracle *o, const aphi_request *a)
{
    const aphi_connection_state *s = find_state(o, a->connection);
    return s && (has_passed(o, s->closed_at) || aphi_outbox_is_closed(&o->core, a->connection));
}

static void take_pending(aph_oracle *o, int64_t connection, uint64_t before)
{
    for (size_t i = 0; i < o->pending_count; i++) {
        const aphi_request *a = &o->ops[o->pending[i]];
        if (a->connection == connection && !a->delivery && a->id < before)
            aphi_set_bit(o->bits, a->slot);
    }
}

void aphi_connections_settle(aph_oracle *o)
{
    aph_value outbox = o->core.outbox, name, queue;
    for (size_t i = 0; outbox && aph_pair_at(outbox, i, &name, &queue); i++) {
        int64_t connection = aphi_outbox_connection(name);
        const aphi_connection_state *s = aph_kind_of(queue) == APH_ARRAY ? find_state(o, connection) : NULL;
        if (!s)
            continue;
        if (aphi_outbox_is_closed(&o->core, connection))
            take_pending(o, connection, UINT64_MAX);
        if (has_passed(o, s->left_at) || has_passed(o, s->closed_at))
            aphi_outbox_drop(&o->core, connection);
    }
}

/* ---- taking the opening or end of a connection ------------------------------------------------------------------- */

/* Returns true if the client closed its side before it closed both: the server does not notice the second close, unless
 * it is reset. */
static bool repeats_close(const aph_oracle *o, const aphi_request *a)
{
    const aphi_connection_state *s = a->message == APH_LEFT ? find_state(o, a->connection) : NULL;
    return s && s->shut_at != UINT64_MAX;
}

/* Returns true if the server has not taken a request of the connection that was sent before this one; *opening: the
 * opening is among them. */
static bool misses_earlier(const aph_oracle *o, const aphi_request *a, bool *opening)
{
    bool any = false;
    *opening = false;
    for (size_t i = 0; i < o->pending_count; i++) {
        const aphi_request *b = &o->ops[o->pending[i]];
        if (b->connection != a->connection || b->id >= a->id || aphi_is_taken(o, b))
            continue;
        any = true;
        *opening |= b->message == APH_OPENED;
    }
    return any;
}

static void add_results(aph_oracle *o, const aphi_successor *results, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool known = false;
        for (size_t k = 0; k < o->end_count; k++)
            known |= aphi_core_equal(&o->end_results[k].core, &results[i].core);
        if (!known)
            APHI_PUSH(o->end_results, o->end_count, o->end_capacity, results[i]);
    }
}

static void feed_signal(aph_oracle *o, const aphi_request *a, aph_value signal)
{
    size_t n;
    const aphi_successor *results =
        aphi_machine_feed(o->machine, &o->core, a->connection, signal, APHI_KEEP, APH_NIL, &n);
    add_results(o, results, n);
}

const aphi_successor *aphi_connections_run(aph_oracle *o, const aphi_request *a, size_t *n)
{
    bool opening, missing = misses_earlier(o, a, &opening);
    o->end_count = 0;
    if (a->message == APH_OPENED || a->message == APH_CLOSED)
        feed_signal(o, a, a->message);
    else if (!missing && repeats_close(o, a))
        APHI_PUSH(o->end_results, o->end_count, o->end_capacity, (aphi_successor){.core = o->core});
    else if (a->message == APH_LEFT && !missing)
        feed_signal(o, a, APH_CLOSED);
    o->closing_count = o->end_count;
    if (opening)
        APHI_PUSH(o->end_results, o->end_count, o->end_capacity, (aphi_successor){.core = o->core});
    else if (a->message == APH_LEFT || a->message == APH_BROKEN)
        feed_signal(o, a, APH_BROKEN);
    *n = o->end_count;
    return o->end_results;
}

bool aphi_connections_breaks(const aph_oracle *o, const aphi_request *a, const aphi_successor *result)
{
    return a->message == APH_BROKEN ||
           (a->message == APH_LEFT && result >= o->end_results + o->closing_count);
}

bool aphi_connections_is_unnoticed(const aph_oracle *o, const aphi_request *a, const aphi_successor *result)
{
    bool opening;
    if (!aphi_connections_breaks(o, a, result))
        return repeats_close(o, a);
    misses_earlier(o, a, &opening);
    return opening;
}

void aphi_connections_lose_earlier(aph_oracle *o, const aphi_request *a)
{
    take_pending(o, a->connection, a->id);
}

void aphi_connections_deinit(aph_oracle *o)
{
    aphi_int_map_deinit(&o->connection_index);
    free(o->connection_states);
    free(o->end_results);
}

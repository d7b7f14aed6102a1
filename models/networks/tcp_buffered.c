/* SPDX-License-Identifier: Apache-2.0
 *
 * tcp_buffered.c - the network tcp:N: like tcp, but a connection holds at most N messages in each direction.
 *
 * A client sends only if there is room. The server receives a request only if there is room for a response; so the
 * packets of the server are absorbed before. Openings and ends of connections take no room, and a server that has
 * closed a connection no longer waits for it. */
#include "networks.h"
#include "queues.h"

static bool is_full(aph *m, aph_value queues, bool to_server, aph_connection connection)
{
    aph_value queue = queue_of(queues, to_server, connection);
    size_t n = 0;
    for (size_t i = 0; i < aph_count(queue); i++)
        n += !is_signal(aph_packet_of(aph_at(queue, i)).message);
    return n >= *(const size_t *)aph_data(m);
}

static bool has_closed(aph_value queues, aph_connection connection)
{
    aph_value queue = queue_of(queues, false, connection);
    return aph_count(queue) && aph_packet_of(aph_at(queue, aph_count(queue) - 1)).message == APH_CLOSED;
}

static bool must_wait(aph *m, aph_value queues, aph_value packet)
{
    if (!packet)
        return false;
    aph_packet p = aph_packet_of(packet);
    return p.to_server && !is_signal(p.message) && !has_closed(queues, p.connection) &&
           is_full(m, queues, false, p.connection);
}

static aph_value ways_with_room(aph *m, aph_value queues)
{
    aph_value ways = ways_to_emit(queues), open = aph_array(0, NULL);
    for (size_t i = 0; i < aph_count(ways); i++)
        if (!must_wait(m, queues, aph_at(aph_at(ways, i), 0)))
            open = aph_push(open, aph_at(ways, i));
    return open;
}

static void step(aph *m, aph_value *queues)
{
    aph_value ways = aph_has_outgoing(m) ? APH_NIL : ways_with_room(m, *queues);
    size_t n = aph_count(ways), i = aph_pick(m, n + 1);
    if (i < n) {
        take_way(m, queues, aph_at(ways, i));
        return;
    }
    aph_packet p = aph_absorb(m);
    if (p.to_server && !is_signal(p.message) && is_full(m, *queues, true, p.connection))
        aph_never(m);
    *queues = add_packet(*queues, p);
}

static const size_t one = 1;

NETWORK(tcp_buffered) = {
    .version = APH_NETWORK_VERSION,
    .name = "tcp:N",
    .summary = "like tcp, with room for N messages in each direction of a connection",
    .step = step,
    .initial = no_queues,
    .data = &one,
};

LOADABLE

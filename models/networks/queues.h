/* SPDX-License-Identifier: Apache-2.0
 *
 * queues.h - packets in flight that keep their order: a queue for each direction of a connection.
 *
 * The state is an object: [to_server, connection] -> array of packets, oldest first. A way is an array: the packet to
 * emit, or null, and the state afterwards. */
#ifndef APH_NETWORK_QUEUES_H
#define APH_NETWORK_QUEUES_H

#include <antiphon/network.h>

static inline aph_value no_queues(const aph_network *network)
{
    (void)network;
    return aph_object();
}

static inline aph_value queue_of(aph_value queues, bool to_server, aph_connection connection)
{
    return aph_get(queues, APH_ARRAY_OF(aph_bool(to_server), aph_int(connection)));
}

static inline aph_value add_packet(aph_value queues, aph_packet p)
{
    aph_value queue = queue_of(queues, p.to_server, p.connection);
    return aph_set(queues, APH_ARRAY_OF(aph_bool(p.to_server), aph_int(p.connection)),
                   aph_push(queue ? queue : aph_array(0, NULL), aph_packet_value(p)));
}

static inline bool is_signal(aph_value message)
{
    return aph_kind_of(message) == APH_SIGNAL;
}

/* The first n packets leave the queue. */
static inline aph_value without_first(aph_value queues, aph_value name, aph_value queue, size_t n)
{
    aph_value left = aph_slice(queue, n, aph_count(queue) - n);
    return aph_count(left) ? aph_set(queues, name, left) : aph_remove(queues, name);
}

/* The end of a connection can overtake the messages before it, which are then lost. The other side observes a reset. A
 * server that has not received the opening never learns of the connection. Returns APH_NIL if no end is in flight. */
static inline aph_value way_to_break(aph_value queues, aph_value name, aph_value queue)
{
    aph_packet first = aph_packet_of(aph_at(queue, 0)), last = aph_packet_of(aph_at(queue, aph_count(queue) - 1));
    bool ends = last.message == APH_BROKEN || last.message == APH_LEFT ||
                (last.message == APH_CLOSED && !last.to_server);
    if (!ends)
        return APH_NIL;
    last.message = APH_BROKEN;
    return APH_ARRAY_OF(first.message == APH_OPENED ? APH_NIL : aph_packet_value(last), aph_remove(queues, name));
}

/* All ways to emit a packet, in an array. */
static inline aph_value ways_to_emit(aph_value queues)
{
    aph_value ways = aph_array(0, NULL), name, queue;
    for (size_t i = 0; aph_pair_at(queues, i, &name, &queue); i++) {
        ways = aph_push(ways, APH_ARRAY_OF(aph_at(queue, 0), without_first(queues, name, queue, 1)));
        aph_value way = way_to_break(queues, name, queue);
        if (way)
            ways = aph_push(ways, way);
    }
    return ways;
}

static inline void take_way(aph *m, aph_value *queues, aph_value way)
{
    if (aph_at(way, 0))
        aph_emit(m, aph_packet_of(aph_at(way, 0)));
    *queues = aph_at(way, 1);
}

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * tcp.c - the network tcp: each direction of a connection keeps the order of its messages; delays are unbounded.
 *
 * This is figure 4.9 of Li, "Testing by dualization", with the ends of connections. The packets of the server are
 * absorbed first: an earlier absorption allows all that a later one does. */
#include "networks.h"
#include "queues.h"

static void step(aph *m, aph_value *queues)
{
    aph_value ways = aph_has_outgoing(m) ? APH_NIL : ways_to_emit(*queues);
    size_t n = aph_count(ways), i = aph_pick(m, n + 1);
    if (i < n)
        take_way(m, queues, aph_at(ways, i));
    else
        *queues = add_packet(*queues, aph_absorb(m));
}

NETWORK(tcp) = {
    .version = APH_NETWORK_VERSION,
    .name = "tcp",
    .summary = "each connection keeps its order; unbounded delays",
    .step = step,
    .initial = no_queues,
};

LOADABLE

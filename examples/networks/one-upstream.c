/* SPDX-License-Identifier: Apache-2.0
 *
 * one-upstream.c - a proxy that sends the requests of all clients over one connection to the server. So the server
 * receives all requests in the order in which they were sent; each client gets its responses in order. */
#include <antiphon/network.h>

static bool follows_another(aph_value packets, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (aph_packet_of(aph_at(packets, i)).to_server)
            return true;
    return false;
}

static void step(aph *m, aph_value *packets)
{
    aph_value oldest = aph_packets_oldest(*packets);
    size_t n = aph_has_outgoing(m) ? 0 : aph_count(oldest), i = aph_pick(m, n + 1);
    if (i == n) {
        *packets = aph_packets_add(m, *packets, aph_absorb(m));
        return;
    }
    size_t at = (size_t)aph_int_of(aph_at(oldest, i));
    aph_packet p = aph_packet_of(aph_at(*packets, at));
    if (p.to_server && follows_another(*packets, at))
        aph_never(m);
    aph_emit(m, p);
    *packets = aph_packets_remove(*packets, at);
}

static const aph_network network = {
    .version = APH_NETWORK_VERSION,
    .name = "one-upstream",
    .summary = "one connection to the server, shared by all clients",
    .step = step,
};

APH_NETWORK(network)

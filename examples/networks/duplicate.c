/* SPDX-License-Identifier: Apache-2.0
 *
 * duplicate.c - a network in which a request may arrive twice. Each connection keeps its order. */
#include <antiphon/network.h>

static void step(aph *m, aph_value *packets)
{
    aph_value oldest = aph_packets_oldest(*packets);
    size_t n = aph_has_outgoing(m) ? 0 : aph_count(oldest), i = aph_pick(m, n + 1);
    if (i < n) {
        size_t at = (size_t)aph_int_of(aph_at(oldest, i));
        aph_emit(m, aph_packet_of(aph_at(*packets, at)));
        *packets = aph_packets_remove(*packets, at);
        return;
    }
    aph_packet p = aph_absorb(m);
    *packets = aph_packets_add(m, *packets, p);
    if (p.to_server && aph_kind_of(p.message) != APH_SIGNAL && aph_pick(m, 2) == 1)
        *packets = aph_push(*packets, aph_packet_value(p));
}

static const aph_network network = {
    .version = APH_NETWORK_VERSION,
    .name = "duplicate",
    .summary = "like tcp, but a request may arrive twice",
    .step = step,
};

APH_NETWORK(network)

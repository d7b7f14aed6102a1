/* SPDX-License-Identifier: Apache-2.0
 *
 * datagrams.c - a network that loses nothing and keeps no order, as datagrams in one machine often travel. */
#include <antiphon/network.h>

static void step(aph *m, aph_value *packets)
{
    size_t n = aph_has_outgoing(m) ? 0 : aph_count(*packets), at = aph_pick(m, n + 1);
    if (at < n) {
        aph_emit(m, aph_packet_of(aph_at(*packets, at)));
        *packets = aph_packets_remove(*packets, at);
    } else {
        *packets = aph_packets_add(m, *packets, aph_absorb(m));
    }
}

static const aph_network network = {
    .version = APH_NETWORK_VERSION,
    .name = "datagrams",
    .summary = "no losses, no order",
    .step = step,
};

APH_NETWORK(network)

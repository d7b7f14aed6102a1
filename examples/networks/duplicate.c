/* SPDX-License-Identifier: Apache-2.0
 *
 * duplicate.c - a network in which each request may arrive twice. Order is kept on each connection. */
#include <antiphon/network.h>

/* The state is an array of [packet, arrived before], oldest first. */
static aph_value without(aph_value items, size_t at)
{
    aph_value left = aph_slice(items, 0, at);
    for (size_t i = at + 1; i < aph_count(items); i++)
        left = aph_push(left, aph_at(items, i));
    return left;
}

static bool is_oldest(aph_value items, size_t at)
{
    aph_packet p = aph_packet_of(aph_at(aph_at(items, at), 0));
    for (size_t i = 0; i < at; i++) {
        aph_packet q = aph_packet_of(aph_at(aph_at(items, i), 0));
        if (q.to_server == p.to_server && q.connection == p.connection)
            return false;
    }
    return true;
}

static void step(aph *m, aph_value *items)
{
    size_t n = aph_has_outgoing(m) ? 0 : aph_count(*items), at = aph_pick(m, n + 1);
    if (at == n) {
        aph_packet p = aph_absorb(m);
        *items = aph_push(*items, APH_ARRAY_OF(aph_packet_value(p), aph_bool(false)));
        return;
    }
    if (!is_oldest(*items, at))
        aph_never(m);
    aph_value item = aph_at(*items, at);
    aph_packet p = aph_packet_of(aph_at(item, 0));
    aph_emit(m, p);
    if (p.to_server && !aph_truth(aph_at(item, 1)) && aph_pick(m, 2) == 1)
        *items = aph_replace(*items, at, aph_replace(item, 1, aph_bool(true)));
    else
        *items = without(*items, at);
}

static const aph_network duplicate = {
    .version = APH_NETWORK_VERSION,
    .name = "duplicate",
    .summary = "like tcp, but a request may arrive twice",
    .step = step,
};

APH_NETWORK(duplicate)

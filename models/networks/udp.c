/* SPDX-License-Identifier: Apache-2.0
 *
 * udp.c - the network udp: messages are lost, duplicated and reordered.
 *
 * The state is a sorted array of [packet, copies left]. A request arrives up to twice; a response arrives any number of
 * times, so it stays in the state. A silence means that all packets in flight are lost. */
#include "networks.h"

static aph_value without_item(aph_value items, size_t at)
{
    aph_value left = aph_slice(items, 0, at);
    for (size_t i = at + 1; i < aph_count(items); i++)
        left = aph_push(left, aph_at(items, i));
    return left;
}

/* Two equal responses in flight allow the same as one. */
static aph_value with_item(aph_value items, aph_packet p, int copies)
{
    aph_value item = APH_ARRAY_OF(aph_packet_value(p), aph_int(copies)), all;
    size_t at = 0;
    while (at < aph_count(items) && aph_compare(aph_at(items, at), item) < 0)
        at++;
    if (!p.to_server && aph_at(items, at) == item)
        return items;
    all = aph_push(aph_slice(items, 0, at), item);
    for (; at < aph_count(items); at++)
        all = aph_push(all, aph_at(items, at));
    return all;
}

static void step(aph *m, aph_value *items)
{
    size_t n = aph_has_outgoing(m) ? 0 : aph_count(*items), i = aph_pick(m, n + 1);
    if (i == n) {
        aph_packet p = aph_absorb(m);
        *items = with_item(*items, p, p.to_server ? 2 : 1);
        return;
    }
    aph_packet p = aph_packet_of(aph_at(aph_at(*items, i), 0));
    bool again = aph_at(aph_at(*items, i), 1) == aph_int(2);
    aph_emit(m, p);
    if (p.to_server)
        *items = without_item(*items, i);
    if (p.to_server && again)
        *items = with_item(*items, p, 1);
}

static bool lose_all(aph_value *items)
{
    *items = aph_array(0, NULL);
    return true;
}

NETWORK(udp) = {
    .version = APH_NETWORK_VERSION,
    .name = "udp",
    .summary = "messages are lost, duplicated and reordered",
    .step = step,
    .idle = lose_all,
};

LOADABLE

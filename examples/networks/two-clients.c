/* SPDX-License-Identifier: Apache-2.0
 *
 * two-clients.c - a network that allows two connections at a time. It closes others at once: the server does not learn
 * of them, and what their clients send is lost. */
#include <antiphon/network.h>

enum { CLIENTS_MAX = 2 };

/* The state: the packets in flight, the open connections, and those that were refused. */
static aph_value nothing(const aph_network *network)
{
    (void)network;
    return aph_record("packets", aph_array(0, NULL), "open", aph_object(), "refused", aph_object());
}

/* Silence is possible when nothing is in flight. */
static bool is_idle(aph_value *state)
{
    return aph_count(aph_field(*state, "packets")) == 0;
}

static void add(aph *m, aph_value *state, aph_packet p)
{
    *state = aph_put(*state, "packets", aph_packets_add(m, aph_field(*state, "packets"), p));
}

static void open(aph *m, aph_value *state, aph_packet p)
{
    const char *list = aph_count(aph_field(*state, "open")) < CLIENTS_MAX ? "open" : "refused";
    *state = aph_put(*state, list, aph_set(aph_field(*state, list), aph_int(p.connection), aph_bool(true)));
    if (strcmp(list, "open"))
        p = (aph_packet){.connection = p.connection, .message = APH_CLOSED};
    add(m, state, p);
}

/* Any end of a connection makes room for another one. */
static void absorb(aph *m, aph_value *state, aph_packet p)
{
    if (p.message == APH_OPENED) {
        open(m, state, p);
    } else if (!aph_has(aph_field(*state, "refused"), aph_int(p.connection))) {
        add(m, state, p);
        if (aph_kind_of(p.message) == APH_SIGNAL)
            *state = aph_put(*state, "open", aph_remove(aph_field(*state, "open"), aph_int(p.connection)));
    }
}

static void step(aph *m, aph_value *state)
{
    aph_value packets = aph_field(*state, "packets"), oldest = aph_packets_oldest(packets);
    size_t n = aph_has_outgoing(m) ? 0 : aph_count(oldest), i = aph_pick(m, n + 1);
    if (i < n) {
        size_t at = (size_t)aph_int_of(aph_at(oldest, i));
        aph_emit(m, aph_packet_of(aph_at(packets, at)));
        *state = aph_put(*state, "packets", aph_packets_remove(packets, at));
    } else {
        absorb(m, state, aph_absorb(m));
    }
}

static const aph_network network = {
    .version = APH_NETWORK_VERSION,
    .name = "two-clients",
    .summary = "at most two connections at a time",
    .step = step,
    .initial = nothing,
    .idle = is_idle,
};

APH_NETWORK(network)

/* SPDX-License-Identifier: Apache-2.0
 *
 * network_step.c - the events of a network, and a network as a model.
 *
 * Idea: to absorb is to receive, and to emit is to send (Li, "Testing by dualization", section 4.3.1), so a network is
 *       run by the same functions as a model. Its packets are values. */
#include "tree/network_step.h"

#include "tree/step.h"

aph_value aph_packet_value(aph_packet p)
{
    return APH_ARRAY_OF(aph_bool(p.to_server), aph_int(p.connection), p.message);
}

aph_packet aph_packet_of(aph_value v)
{
    return (aph_packet){aph_truth(aph_at(v, 0)), aph_int_of(aph_at(v, 1)), aph_at(v, 2)};
}

static bool is_oldest(aph_value packets, size_t at)
{
    aph_value p = aph_at(packets, at);
    for (size_t i = 0; i < at; i++) {
        aph_value q = aph_at(packets, i);
        if (aph_at(q, 0) == aph_at(p, 0) && aph_at(q, 1) == aph_at(p, 1))
            return false;
    }
    return true;
}

/* Figure 4.9, oldest_in_each_conn. */
aph_value aph_packets_oldest(aph_value packets)
{
    aph_value oldest = aph_array(0, NULL);
    for (size_t i = 0; i < aph_count(packets); i++)
        if (is_oldest(packets, i))
            oldest = aph_push(oldest, aph_int((int64_t)i));
    return oldest;
}

static bool is_of_client(aph_value packet, aph_connection connection)
{
    return aph_at(packet, 0) == aph_bool(true) && aph_at(packet, 1) == aph_int(connection);
}

static size_t count_of_client(aph_value packets, aph_connection connection)
{
    size_t n = 0;
    for (size_t i = 0; i < aph_count(packets); i++)
        n += is_of_client(aph_at(packets, i), connection);
    return n;
}

aph_value aph_packets_add(aph *m, aph_value packets, aph_packet p)
{
    bool leaves = p.to_server && (p.message == APH_LEFT || p.message == APH_BROKEN), opened = true;
    size_t lost = leaves ? aph_pick(m, count_of_client(packets, p.connection) + 1) : 0;
    if (lost)
        p.message = APH_BROKEN;
    for (size_t i = aph_count(packets); lost && i-- > 0;)
        if (is_of_client(aph_at(packets, i), p.connection)) {
            opened &= aph_at(aph_at(packets, i), 2) != APH_OPENED;
            packets = aph_packets_remove(packets, i);
            lost--;
        }
    return opened ? aph_push(packets, aph_packet_value(p)) : packets;
}

aph_value aph_packets_remove(aph_value packets, size_t at)
{
    aph_value left = aph_slice(packets, 0, at);
    for (size_t i = at + 1; i < aph_count(packets); i++)
        left = aph_push(left, aph_at(packets, i));
    return left;
}

static void expect_network(aph *m, const char *call)
{
    if (!aphi_step_is_of_network(m))
        aphi_step_miscalled(m, "%s: only for networks; a model of a server calls aph_recv, aph_send and aph_either",
                            call);
}

aph_packet aph_absorb(aph *m)
{
    expect_network(m, "aph_absorb");
    return aph_packet_of(aphi_step_perform(m, &(aph_event){.kind = APH_EVENT_RECV}));
}

void aph_emit(aph *m, aph_packet p)
{
    expect_network(m, "aph_emit");
    aphi_step_perform(m, &(aph_event){.kind = APH_EVENT_SEND, .to = p.connection, .value = aph_packet_value(p)});
}

size_t aph_pick(aph *m, size_t n)
{
    expect_network(m, "aph_pick");
    if (!n)
        aphi_step_miscalled(m, "aph_pick(0): there is no number below 0; call aph_never to abandon the branch");
    return n == 1 ? 0 : (size_t)aph_int_of(aphi_step_perform(m, &(aph_event){.kind = APH_EVENT_EITHER, .count = n}));
}

bool aph_has_outgoing(aph *m)
{
    expect_network(m, "aph_has_outgoing");
    return aph_truth(aphi_step_perform(m, &(aph_event){.kind = APH_EVENT_OTHER, .name = APHI_EVENT_OUTGOING}));
}

static aph_value initial_state(const aph_model *model)
{
    const aph_network *network = model->data;
    return network->initial ? network->initial(network) : aph_array(0, NULL);
}

aph_model aph_network_model(const aph_network *network)
{
    return (aph_model){.version = APHI_STEP_OF_NETWORK, .name = network->name, .summary = network->summary,
                       .step = network->step, .initial = initial_state, .data = network};
}

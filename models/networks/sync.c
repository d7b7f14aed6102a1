/* SPDX-License-Identifier: Apache-2.0
 *
 * sync.c - the network sync: the server receives a request when it is sent.
 *
 * A response is sent in the same moment. A client may observe it later, because it reads its connections one after
 * another. */
#include "networks.h"
#include "queues.h"

static void step(aph *m, aph_value *queues)
{
    aph_value ways = aph_has_outgoing(m) ? APH_NIL : ways_to_emit(*queues);
    size_t n = aph_count(ways), i = aph_pick(m, n + 1);
    if (i < n) {
        take_way(m, queues, aph_at(ways, i));
        return;
    }
    aph_packet p = aph_absorb(m);
    if (p.to_server)
        aph_emit(m, p);
    else
        *queues = add_packet(*queues, p);
}

NETWORK(sync) = {
    .version = APH_NETWORK_VERSION,
    .name = "sync",
    .summary = "a request is received when it is sent",
    .step = step,
    .initial = no_queues,
};

LOADABLE

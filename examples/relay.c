/* SPDX-License-Identifier: Apache-2.0
 *
 * relay.c - a server that forwards each request to an upstream server on a new connection, and returns the reply.
 *
 * Connections that the server opens have negative numbers. The tester also acts as the upstream server; `respond`
 * returns its replies. --listen sets the upstream port:
 *
 *     antiphon test examples/relay.c --listen 0 \
 *         --run 'antiphon serve examples/relay.c --port {port} --calls 127.0.0.1:{listen}'
 *
 * This command tests the model itself, run as a server. In place of it, --run takes the command of a relay.
 *
 * The state is {"open": client by upstream connection, "asked": number of requests of each client}. The number of an
 * upstream connection is computed from the client and its number of requests. If connections were numbered in order of
 * arrival, each order of independent requests would lead to a different state. */
#include <antiphon/antiphon.h>

enum { REQUESTS_MAX = 1 << 20 }; /* per client */

static void take_request(aph *m, aph_request q, aph_value *state)
{
    aph_value client = aph_int(q.from), open = aph_field(*state, "open"), asked = aph_field(*state, "asked");
    int64_t before = aph_has(asked, client) ? aph_int_of(aph_get(asked, client)) : 0;
    int64_t upstream = -(q.from * REQUESTS_MAX + before + 1);
    *state = aph_record("open", aph_set(open, aph_int(upstream), client),
                        "asked", aph_set(asked, client, aph_int(before + 1)));
    aph_send(m, upstream, q.message);
}

static void take_answer(aph *m, aph_request q, aph_value *state)
{
    aph_value own = aph_int(q.from), open = aph_field(*state, "open"), client = aph_get(open, own);
    if (!client)
        aph_never(m); /* the effect of a second reply is unspecified */
    *state = aph_put(*state, "open", aph_remove(open, own));
    aph_send(m, aph_int_of(client), q.message);
}

static void step(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    if (q.from < 0)
        take_answer(m, q, state);
    else
        take_request(m, q, state);
}

static aph_value initial(const aph_model *model)
{
    (void)model;
    return aph_record("open", aph_object(), "asked", aph_object());
}

static aph_value respond(aph_value message, uint64_t number)
{
    (void)message;
    return aph_strf("answer %llu", (unsigned long long)number);
}

static const aph_model relay = {
    .version = APH_MODEL_VERSION,
    .name = "relay",
    .summary = "each request goes upstream on a connection of its own, the answer comes back",
    .step = step,
    .initial = initial,
    .codec = &aph_codec_lines,
    .shape = APH_SHAPE([{"fresh": "string"}]),
    .respond = respond,
};
APH_MODEL(relay)

/* SPDX-License-Identifier: Apache-2.0
 *
 * greeter.c - a server that greets each client, and repeats its messages until the client sends "quit" or closes its
 * side of the connection. */
#include <antiphon/model.h>

static void step(aph *m, aph_value *state)
{
    (void)state;
    aph_request q = aph_recv(m);
    if (q.message == APH_OPENED) {
        aph_send(m, q.from, aph_str("hello"));
    } else if (q.message == APH_CLOSED || aph_str_is(q.message, "quit")) {
        aph_send(m, q.from, aph_str("bye"));
        aph_close(m, q.from);
    } else if (q.message != APH_BROKEN) {
        aph_send(m, q.from, q.message);
    }
}

static const aph_model greeter = {
    .version = APH_MODEL_VERSION,
    .name = "greeter",
    .summary = "a server that greets its clients",
    .step = step,
    .connections = true,
    .shape = "[\"ping\", \"pong\", \"quit\"]",
};
APH_MODEL(greeter)

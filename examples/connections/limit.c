/* SPDX-License-Identifier: Apache-2.0
 *
 * limit.c - a server that serves three clients at a time, and refuses others. A client learns how many are served. */
#include <antiphon/model.h>

enum { CLIENTS_MAX = 3 };

static void step(aph *m, aph_value *served)
{
    aph_request q = aph_recv(m);
    aph_value client = aph_int(q.from);
    if (q.message == APH_OPENED && aph_count(*served) == CLIENTS_MAX) {
        aph_send(m, q.from, aph_str("full"));
        aph_close(m, q.from);
    } else if (q.message == APH_OPENED) {
        *served = aph_set(*served, client, aph_bool(true));
        aph_send(m, q.from, aph_str("welcome"));
    } else if (q.message == APH_CLOSED || q.message == APH_BROKEN) {
        *served = aph_remove(*served, client);
        aph_close(m, q.from);
    } else if (aph_str_is(q.message, "quit")) {
        *served = aph_remove(*served, client);
        aph_send(m, q.from, aph_str("bye"));
        aph_close(m, q.from);
    } else {
        aph_send(m, q.from, aph_int((int64_t)aph_count(*served)));
    }
}

static const aph_model limit = {
    .version = APH_MODEL_VERSION,
    .name = "limit",
    .summary = "a server with at most three clients",
    .step = step,
    .connections = true,
    .shape = "[\"count\", \"quit\"]",
};

APH_MODEL(limit)

/* SPDX-License-Identifier: Apache-2.0
 *
 * kv.c - the key-value server of Li, "Testing by dualization", section 1.1:
 *
 *     CoFixpoint server (data: key -> value) :=
 *       request <- recv;;
 *       match request with
 *       | GET k   => send (data k);; server data
 *       | PUT k v => send Done   ;; server (data [k |-> v])
 *       end.
 *
 * The response to {"f": "get", "key": k} is the value of k, initially "". The response to {"f": "put", "key": k,
 * "value": v} is "done". */
#include <antiphon/model.h>

static void server(aph *m, aph_value *data)
{
    aph_request request = aph_recv(m);
    aph_value f = aph_field(request.message, "f");
    aph_value k = aph_field(request.message, "key");
    aph_value v = aph_field(request.message, "value");

    if (aph_str_is(f, "get") && k) {
        aph_send(m, request.from, aph_has(*data, k) ? aph_get(*data, k) : aph_str(""));
    } else if (aph_str_is(f, "put") && k && v) {
        aph_send(m, request.from, aph_str("done"));
        *data = aph_set(*data, k, v);
    } else {
        aph_unknown_request(m, "expected get with a key, or put with a key and a value");
    }
}

static const aph_model kv = {
    .version = APH_MODEL_VERSION,
    .name = "kv",
    .summary = "the key-value server of section 1.1",
    .step = server,
    .rpc = true,
};

APH_MODEL(kv)

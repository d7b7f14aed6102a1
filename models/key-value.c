/* SPDX-License-Identifier: Apache-2.0
 *
 * key-value.c - kv, a key-value server of strings; a key that is absent reads as "".
 *
 *     {"f": "get",    "key": k}                answers the value
 *     {"f": "put",    "key": k, "value": v}    answers "ok"
 *     {"f": "append", "key": k, "value": v}    answers "ok"; the value is now what it was, then v
 *     {"f": "delete", "key": k}                answers "ok"
 *
 * To store "" is to remove the key, so states that read alike are equal. */
#include "models.h"

static bool is_get(aph_value request)
{
    return aph_str_is(aph_field(request, "f"), "get");
}

static aph_value load(aph_value state, aph_value key)
{
    aph_value value = aph_get(state, key);
    return value ? value : aph_str("");
}

static aph_value store(aph_value state, aph_value key, aph_value value)
{
    return aph_count(value) == 0 ? aph_remove(state, key) : aph_set(state, key, value);
}

static aph_value string(aph *m, aph_value field, const char *reason)
{
    if (!aph_is_str(field))
        aph_unknown_request(m, reason);
    return field;
}

static void step(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    aph_value f = aph_field(q.message, "f");
    bool get = aph_str_is(f, "get"), put = aph_str_is(f, "put");
    bool append = aph_str_is(f, "append"), delete = aph_str_is(f, "delete");

    if (!get && !put && !append && !delete)
        aph_unknown_request(m, "a kv server knows \"f\": \"get\", \"put\", \"append\" and \"delete\"");
    aph_value key = string(m, aph_field(q.message, "key"), "a request needs a \"key\", a string");
    aph_value old = load(*state, key), new = aph_str("");

    if (put || append)
        new = string(m, aph_field(q.message, "value"), "a put or append needs a \"value\", a string");
    if (append)
        new = aph_concat(old, new);
    if (!get)
        *state = store(*state, key, new);
    aph_send(m, q.from, get ? old : aph_str("ok"));
}

static aph_value part(aph_value request)
{
    return aph_field(request, "key");
}

static bool reads(aph_value request, aph_value answer)
{
    (void)answer;
    return is_get(request);
}

static bool jepsen(aph_value request, aph_jepsen end, aph_value value, aph_value *answer)
{
    if (!is_get(request))
        *answer = aph_str("ok");
    else
        *answer = value ? value : aph_str("");
    return end == APH_JEPSEN_OK;
}

/* ---- what to send ------------------------------------------------------------------------------------------------ */

/* What is stored is new each time, so that an answer tells which request it saw. */
static const char shape[] = APH_SHAPE([
    {"weight": 4, "of": {"f": "get", "key": {"one of": ["a", "b", "c", "d", "e"]}}},
    {"weight": 3, "of": {"f": "put", "key": {"one of": ["a", "b", "c", "d", "e"]}, "value": {"fresh": "string"}}},
    {"weight": 2, "of": {"f": "append", "key": {"one of": ["a", "b", "c", "d", "e"]}, "value": {"fresh": "string"}}},
    {"f": "delete", "key": {"one of": ["a", "b", "c", "d", "e"]}}
]);

const aph_model aph_model_kv = {
    .version = APH_MODEL_VERSION,
    .name = "kv",
    .summary = "a key-value server of strings with get, put, append and delete",
    .step = step,
    .rpc = true,
    .part = part,
    .reads = reads,
    .jepsen = jepsen,
    .shape = shape,
};

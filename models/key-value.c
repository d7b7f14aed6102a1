/* SPDX-License-Identifier: Apache-2.0
 *
 * key-value.c - kv, a key-value server for strings; an absent key reads as "".
 *
 *     {"f": "get",    "key": k}                returns the value
 *     {"f": "put",    "key": k, "value": v}    returns "ok"
 *     {"f": "append", "key": k, "value": v}    returns "ok"; appends v to the value
 *     {"f": "delete", "key": k}                returns "ok"
 *
 * Storing "" removes the key, so indistinguishable states are equal. */
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

static aph_value string_field(aph *m, aph_value field, const char *reason)
{
    if (!aph_is_str(field))
        aph_unknown_request(m, reason);
    return field;
}

/* Executes the request and returns the response. */
static aph_value serve(aph *m, aph_value request, aph_value *state)
{
    aph_value f = aph_field(request, "f");
    bool get = aph_str_is(f, "get"), put = aph_str_is(f, "put");
    bool append = aph_str_is(f, "append"), delete = aph_str_is(f, "delete");

    if (!get && !put && !append && !delete)
        aph_unknown_request(m, "unknown \"f\"; expected \"get\", \"put\", \"append\" or \"delete\"");
    aph_value key = string_field(m, aph_field(request, "key"), "a request needs a \"key\", a string");
    aph_value old = load(*state, key), new = aph_str("");

    if (put || append)
        new = string_field(m, aph_field(request, "value"), "a put or append needs a \"value\", a string");
    if (append)
        new = aph_concat(old, new);
    if (!get)
        *state = store(*state, key, new);
    return get ? old : aph_str("ok");
}

static void step(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    aph_send(m, q.from, serve(m, q.message, state));
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

/* ---- generation -------------------------------------------------------------------------------------------------- */

/* Stored values are unique, so that a response identifies the write that it read. */
static const char shape[] = APH_SHAPE([
    {"weight": 4, "of": {"f": "get", "key": {"one of": ["a", "b", "c", "d", "e"]}}},
    {"weight": 3, "of": {"f": "put", "key": {"one of": ["a", "b", "c", "d", "e"]}, "value": {"fresh": "string"}}},
    {"weight": 2, "of": {"f": "append", "key": {"one of": ["a", "b", "c", "d", "e"]}, "value": {"fresh": "string"}}},
    {"f": "delete", "key": {"one of": ["a", "b", "c", "d", "e"]}}
]);

/* ---- mutants ----------------------------------------------------------------------------------------------------- */

static bool is(aph_value request, const char *f)
{
    return aph_str_is(aph_field(request, "f"), f);
}

static void step_append_puts(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    bool append = is(q.message, "append");
    aph_send(m, q.from, serve(m, append ? aph_put(q.message, "f", aph_str("put")) : q.message, state));
}

static void step_delete_keeps(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    aph_value before = *state;
    aph_send(m, q.from, serve(m, q.message, state));
    if (is(q.message, "delete"))
        *state = before;
}

static void step_loses_puts(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    aph_value before = *state;
    aph_send(m, q.from, serve(m, q.message, state));
    if (is(q.message, "put") && aph_one_in(m, 10))
        *state = before;
}

/* The key where a mutant keeps a stale value. */
static aph_value stale_key(aph_value key)
{
    return aph_is_str(key) ? aph_concat(aph_str("\x01"), key) : APH_NIL;
}

static void step_append_revives(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    aph_value key = aph_field(q.message, "key"), stale = stale_key(key);
    aph_value before = *state, answer = serve(m, q.message, state);
    if (is(q.message, "delete"))
        *state = store(*state, stale, load(before, key));
    else if (is(q.message, "append") && !aph_get(before, key))
        *state = store(*state, key, aph_concat(load(before, stale), load(*state, key)));
    aph_send(m, q.from, answer);
}

static void step_stale_get(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    aph_value key = aph_field(q.message, "key"), stale = stale_key(key);
    aph_value before = *state, answer = serve(m, q.message, state);
    if (!is(q.message, "get"))
        *state = store(*state, stale, load(before, key));
    else if (aph_one_in(m, 10))
        answer = load(before, stale);
    aph_send(m, q.from, answer);
}

static const aph_model *const mutants[] = {
    APH_MUTANT(.name = "append-puts", .step = step_append_puts,
               .summary = "append replaces the value"),
    APH_MUTANT(.name = "delete-keeps", .step = step_delete_keeps,
               .summary = "delete does nothing"),
    APH_MUTANT(.name = "loses-puts", .step = step_loses_puts,
               .summary = "does not store one put in ten"),
    APH_MUTANT(.name = "append-revives", .step = step_append_revives,
               .summary = "append after delete uses the old value"),
    APH_MUTANT(.name = "stale-get", .step = step_stale_get,
               .summary = "one get in ten returns the previous value"),
    NULL,
};

/* ---- the model --------------------------------------------------------------------------------------------------- */

const aph_model aph_model_kv = {
    .version = APH_MODEL_VERSION,
    .name = "kv",
    .summary = "a key-value server for strings with get, put, append and delete",
    .step = step,
    .rpc = true,
    .ignores_connections = true,
    .part = part,
    .reads = reads,
    .jepsen = jepsen,
    .shape = shape,
    .mutants = mutants,
};

/* SPDX-License-Identifier: Apache-2.0
 *
 * register.c - registers with read, write and compare-and-set, initially null.
 *
 *     {"f": "read"}                          returns the value
 * {"f": "write", "value": v}             returns "ok"; without a value it writes null, like Jepsen's :write nil
 *     {"f": "cas",   "value": [old, new]}    returns true if the value was old and is now new, else false
 *
 * "key" names a register, a string or an integer (1 and "1" are the same key); without it, the register "" is used. The
 * state maps keys to the values that are not null, so indistinguishable states are equal. */
#include "models.h"

static aph_value key_of(aph_value request)
{
    aph_value key = aph_field(request, "key");
    if (aph_is_int(key))
        return aph_strf("%lld", (long long)aph_int_of(key));
    return key ? key : aph_str("");
}

static aph_value store(aph_value state, aph_value key, aph_value value)
{
    return value ? aph_set(state, key, value) : aph_remove(state, key);
}

static bool is(aph_value request, const char *f)
{
    return aph_str_is(aph_field(request, "f"), f);
}

static bool is_pair(aph_value v)
{
    return aph_kind_of(v) == APH_ARRAY && aph_count(v) == 2;
}

/* Executes the request and returns the response. */
static aph_value serve(aph *m, aph_value request, aph_value *state)
{
    aph_value key = key_of(request), value = aph_field(request, "value"), answer = aph_str("ok");

    if (!aph_is_str(key)) {
        aph_unknown_request(m, "\"key\" must be a string or an integer");
    } else if (is(request, "read")) {
        answer = aph_get(*state, key);
    } else if (is(request, "write")) {
        *state = store(*state, key, value);
    } else if (is(request, "cas")) {
        if (!is_pair(value))
            aph_unknown_request(m, "a cas needs a \"value\" of the form [old, new]");
        bool holds = aph_get(*state, key) == aph_at(value, 0);
        if (holds)
            *state = store(*state, key, aph_at(value, 1));
        answer = aph_bool(holds);
    } else {
        aph_unknown_request(m, "unknown \"f\"; expected \"read\", \"write\" or \"cas\"");
    }
    return answer;
}

static void step(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    aph_send(m, q.from, serve(m, q.message, state));
}

static bool reads(aph_value request, aph_value answer)
{
    return is(request, "read") || (is(request, "cas") && answer == aph_bool(false));
}

/* A cas that fails with its own pair as the value was evaluated and did not match. With any other value, such as
 * :timed-out, it did not happen, like any other failed operation. */
static bool jepsen(aph_value request, aph_jepsen end, aph_value value, aph_value *answer)
{
    bool ok = end == APH_JEPSEN_OK;
    if (is(request, "cas"))
        *answer = aph_bool(ok);
    else
        *answer = is(request, "read") ? value : aph_str("ok");
    return ok || (is(request, "cas") && is_pair(value));
}

/* ---- generation -------------------------------------------------------------------------------------------------- */

/* Adds the key of one of a few registers, or sometimes no key. */
static aph_value with_key(aph_gen *g, aph_value request)
{
    aph_value key = aph_gen_oneof(g, aph_str("a"), aph_str("b"), aph_str("c"), aph_int(1), APH_NIL);
    return key ? aph_put(request, "key", key) : request;
}

/* Returns a hole for a written value. */
static aph_value gen_written(aph_gen *g)
{
    int64_t label;
    aph_value message;
    for (size_t i = aph_gen_below(g, 8); aph_gen_seen(g, i, &label, &message); i++)
        if (is(message, "write"))
            return aph_hole(label, APH_ARRAY_OF(aph_str("value")), "id");
    return APH_NIL;
}

/* Returns the old value of a compare-and-set: usually the current one. */
static aph_value gen_old(aph_gen *g, aph_value key)
{
    aph_value state = aph_gen_state(g), old = aph_get(state, key);
    if (state && !aph_is_symbolic(old) && aph_gen_weighted(g, 3, 1) == 0)
        return old;
    return gen_written(g);
}

/* Written numbers are unique, so that a response identifies the write that it read. */
static aph_value generate(aph_gen *g)
{
    static const char *const names[] = {"read", "write", "cas"};
    size_t f = aph_gen_weighted(g, 4, 3, 3);
    aph_value request = with_key(g, aph_record("f", aph_str(names[f])));
    aph_value fresh = aph_int((int64_t)aph_gen_number(g) + 1);
    if (f == 1)
        request = aph_put(request, "value", fresh);
    if (f == 2)
        request = aph_put(request, "value", APH_ARRAY_OF(gen_old(g, key_of(request)), fresh));
    return request;
}


/* ---- mutants ----------------------------------------------------------------------------------------------------- */

static void step_cas_blind(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    aph_value answer = serve(m, q.message, state);
    if (is(q.message, "cas")) {
        *state = store(*state, key_of(q.message), aph_at(aph_field(q.message, "value"), 1));
        answer = aph_bool(true);
    }
    aph_send(m, q.from, answer);
}

static void step_cas_stores(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    aph_value answer = serve(m, q.message, state);
    if (is(q.message, "cas"))
        *state = store(*state, key_of(q.message), aph_at(aph_field(q.message, "value"), 1));
    aph_send(m, q.from, answer);
}

static void step_lost_update(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    aph_value before = *state, answer = serve(m, q.message, state);
    if (*state != before && aph_one_in(m, 10))
        *state = before;
    aph_send(m, q.from, answer);
}

/* Keeps the previous value under another key. */
static void step_stale_read(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    aph_value before = *state, answer = serve(m, q.message, state);
    aph_value key = key_of(q.message), stale = aph_concat(aph_str("\x01"), key);
    if (*state != before)
        *state = store(*state, stale, aph_get(before, key));
    else if (is(q.message, "read") && aph_one_in(m, 10))
        answer = aph_get(*state, stale);
    aph_send(m, q.from, answer);
}

static const aph_model *const mutants[] = {
    APH_MUTANT(.name = "cas-blind", .step = step_cas_blind,
               .summary = "cas does not compare"),
    APH_MUTANT(.name = "cas-stores", .step = step_cas_stores,
               .summary = "a cas that returns false stores its value"),
    APH_MUTANT(.name = "lost-update", .step = step_lost_update,
               .summary = "does not store one change in ten"),
    APH_MUTANT(.name = "stale-read", .step = step_stale_read,
               .summary = "one read in ten returns the previous value"),
    NULL,
};

/* ---- the model --------------------------------------------------------------------------------------------------- */

const aph_model aph_model_register = {
    .version = APH_MODEL_VERSION,
    .name = "register",
    .summary = "registers with read, write and compare-and-set, by key",
    .step = step,
    .rpc = true,
    .ignores_connections = true,
    .part = key_of,
    .reads = reads,
    .jepsen = jepsen,
    .generate = generate,
    .mutants = mutants,
};

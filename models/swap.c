/* SPDX-License-Identifier: Apache-2.0
 *
 * swap.c - the swap server: it stores the last message and responds with the previous one.
 *
 *     MESSAGE    a string or an integer; the response is the message of the previous request, initially "000"
 *
 * This is the linear specification of Koh et al., "From C to interaction trees" (CPP 2019), figure 3: one client at a
 * time. Interleaving of clients and network delays are modelled by the environment. */
#include "models.h"

static void require(aph *m, aph_value message)
{
    if (!aph_is_str(message) && !aph_is_int(message))
        aph_unknown_request(m, "a message must be a string or an integer");
}

static void step(aph *m, aph_value *last)
{
    aph_request q = aph_recv(m);
    require(m, q.message);
    aph_send(m, q.from, *last);
    *last = q.message;
}

static aph_value initial(const aph_model *model)
{
    (void)model;
    return aph_str("000");
}

/* The server in the paper uses three-byte messages. Recorded histories may contain others. */
static const aph_codec codec = APH_CODEC_FIXED(3);

/* ---- generation -------------------------------------------------------------------------------------------------- */

/* Sends three bytes, as in the paper; sometimes bytes of an earlier message. */
static const char shape[] = APH_SHAPE([
    {"weight": 15, "of": {"fresh": "string", "length": 3}},
    {"one of": ["000", "aaa"]}
]);

/* ---- mutants ----------------------------------------------------------------------------------------------------- */

static void step_echo(aph *m, aph_value *last)
{
    aph_request q = aph_recv(m);
    require(m, q.message);
    *last = q.message;
    aph_send(m, q.from, *last);
}

static void step_forgets(aph *m, aph_value *last)
{
    aph_request q = aph_recv(m);
    require(m, q.message);
    aph_send(m, q.from, *last);
    if (!aph_one_in(m, 10))
        *last = q.message;
}

/* The state is the last two messages. */
static void step_two_behind(aph *m, aph_value *last_two)
{
    aph_request q = aph_recv(m);
    require(m, q.message);
    aph_send(m, q.from, aph_at(*last_two, 1));
    *last_two = APH_ARRAY_OF(q.message, aph_at(*last_two, 0));
}

/* The state is the last message by connection. */
static void step_by_connection(aph *m, aph_value *messages)
{
    aph_request q = aph_recv(m);
    aph_value key = aph_int(q.from);
    require(m, q.message);
    aph_send(m, q.from, aph_has(*messages, key) ? aph_get(*messages, key) : aph_str("000"));
    *messages = aph_set(*messages, key, q.message);
}

static aph_value initial_two(const aph_model *model)
{
    return APH_ARRAY_OF(initial(model), initial(model));
}

static aph_value initial_wrong(const aph_model *model)
{
    (void)model;
    return aph_str("001");
}

static const aph_model *const mutants[] = {
    APH_MUTANT(.name = "echo", .step = step_echo, .initial = initial, .codec = &codec,
               .summary = "responds with the message of the request itself"),
    APH_MUTANT(.name = "forgets", .step = step_forgets, .initial = initial, .codec = &codec,
               .summary = "does not store one message in ten"),
    APH_MUTANT(.name = "two-behind", .step = step_two_behind, .initial = initial_two, .codec = &codec,
               .summary = "responds with the message before the previous one"),
    APH_MUTANT(.name = "by-connection", .step = step_by_connection, .codec = &codec,
               .summary = "stores a message for each connection"),
    APH_MUTANT(.name = "bad-start", .step = step, .initial = initial_wrong, .codec = &codec,
               .summary = "the first response is 001"),
    NULL,
};

/* ---- the model --------------------------------------------------------------------------------------------------- */

const aph_model aph_model_swap = {
    .version = APH_MODEL_VERSION,
    .name = "swap",
    .summary = "the swap server: stores a message, responds with the previous one",
    .step = step,
    .initial = initial,
    .rpc = true,
    .ignores_connections = true,
    .shape = shape,
    .codec = &codec,
    .mutants = mutants,
};

/* SPDX-License-Identifier: Apache-2.0
 *
 * swap.c - the swap server: it keeps the last message that it got, and answers with the one before.
 *
 *     MESSAGE    a string or an integer; answers the message of the request before this one, at first "000"
 *
 * This is the linear specification of Koh et al., "From C to interaction trees" (CPP 2019), figure 3: one client at a
 * time. That real servers interleave their clients, and that the network delays, is for the environment to say. On the
 * wire a message is three bytes; recorded histories may hold others. */
#include "models.h"

static const aph_codec codec = APH_CODEC_FIXED(3);

static void require(aph *m, aph_value message)
{
    if (!aph_is_str(message) && !aph_is_int(message))
        aph_unknown_request(m, "a swap server takes a message that is a string or an integer");
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
               .summary = "answers the message that it was just sent"),
    APH_MUTANT(.name = "forgets", .step = step_forgets, .initial = initial, .codec = &codec,
               .summary = "one message in ten is not kept"),
    APH_MUTANT(.name = "two-behind", .step = step_two_behind, .initial = initial_two, .codec = &codec,
               .summary = "answers the message before the one before"),
    APH_MUTANT(.name = "by-connection", .step = step_by_connection, .codec = &codec,
               .summary = "keeps a message for each connection"),
    APH_MUTANT(.name = "bad-start", .step = step, .initial = initial_wrong, .codec = &codec,
               .summary = "the first answer is 001"),
    NULL,
};

/* ---- the model --------------------------------------------------------------------------------------------------- */

const aph_model aph_model_swap = {
    .version = APH_MODEL_VERSION,
    .name = "swap",
    .summary = "the swap server: keeps a message, answers the one before",
    .step = step,
    .initial = initial,
    .rpc = true,
    .codec = &codec,
    .mutants = mutants,
};

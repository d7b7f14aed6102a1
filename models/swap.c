/* SPDX-License-Identifier: Apache-2.0
 *
 * swap.c - the swap server: it stores the last message and responds with the previous one.
 *
 *     MESSAGE    a string or an integer; the response is the message of the previous request, initially "000"
 *
 * This is the linear specification of Koh et al., "From C to interaction trees" (CPP 2019), figure 3: one client at a
 * time. Interleaving of clients and network delays are modelled by the environment.
 *
 * There are two models with the same swap. `swap` has messages only: one request, one response, so that the search can
 * use the promise rpc. In `swap-connections`, as in the paper, the server also accepts connections, and swaps messages
 * only with clients that it has accepted. It closes a connection after its client. */
#include "models.h"

static void require(aph *m, aph_value message)
{
    if (!aph_is_str(message) && !aph_is_int(message))
        aph_unknown_request(m, "a message must be a string or an integer");
}

static void swap(aph *m, aph_request q, aph_value *last)
{
    require(m, q.message);
    aph_send(m, q.from, *last);
    *last = q.message;
}

static void step(aph *m, aph_value *last)
{
    swap(m, aph_recv(m), last);
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

/* ---- connections ------------------------------------------------------------------------------------------------- */

/* The defect of a variant. */
typedef enum defect {
    NOTHING,
    FORGETS_ON_CLOSE, /* a close resets the stored message */
    RESETS_ON_ACCEPT, /* a new connection resets the stored message */
    HANGS_UP,         /* the connection is closed after each response */
} defect;

/* The state is {"last": MESSAGE, "open": {CONNECTION: true}}. */
static void step_connections(aph *m, aph_value *state)
{
    defect wrong = *(const defect *)aph_data(m);
    aph_request q = aph_recv(m);
    aph_value name = aph_int(q.from), last = aph_field(*state, "last"), open = aph_field(*state, "open");
    if (q.message == APH_OPENED) {
        open = aph_set(open, name, aph_bool(true));
        last = wrong == RESETS_ON_ACCEPT ? aph_str("000") : last;
    } else if (q.message == APH_CLOSED || q.message == APH_BROKEN) {
        open = aph_remove(open, name);
        last = wrong == FORGETS_ON_CLOSE ? aph_str("000") : last;
        aph_close(m, q.from);
    } else {
        swap(m, q, &last);
        if (wrong == HANGS_UP)
            aph_close(m, q.from);
    }
    *state = aph_record("last", last, "open", open);
}

static aph_value initial_connections(const aph_model *model)
{
    return aph_record("last", initial(model), "open", aph_object());
}

#define VARIANT(its_name, wrong, its_defect) \
    &(const aph_model){.version = APH_MODEL_VERSION, .name = its_name, .summary = wrong, .step = step_connections, \
                       .initial = initial_connections, .data = &(const defect){its_defect}, .connections = true, \
                       .codec = &codec, .shape = shape}

static const aph_model *const mutants_connections[] = {
    VARIANT("forgets-on-close", "a close resets the stored message", FORGETS_ON_CLOSE),
    VARIANT("resets-on-accept", "a new connection resets the stored message", RESETS_ON_ACCEPT),
    VARIANT("hangs-up", "closes the connection after each response", HANGS_UP),
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

const aph_model aph_model_swap_connections = {
    .version = APH_MODEL_VERSION,
    .name = "swap-connections",
    .summary = "the swap server, with connections that open and close",
    .step = step_connections,
    .initial = initial_connections,
    .data = &(const defect){NOTHING},
    .connections = true,
    .shape = shape,
    .codec = &codec,
    .mutants = mutants_connections,
};

/* SPDX-License-Identifier: Apache-2.0
 *
 * swap.c - the swap server: it keeps the last message that it got, and answers with the one before.
 *
 *     MESSAGE    a string or an integer; answers the message of the request before this one, at first "000"
 *
 * This is the linear specification of Koh et al., "From C to interaction trees" (CPP 2019), figure 3: one client at a
 * time. That real servers interleave their clients, and that the network delays, is for the environment to say. */
#include "models.h"

static void step(aph *m, aph_value *last)
{
    aph_request q = aph_recv(m);
    if (!aph_is_str(q.message) && !aph_is_int(q.message))
        aph_unknown_request(m, "a swap server takes a message that is a string or an integer");
    aph_send(m, q.from, *last);
    *last = q.message;
}

static aph_value initial(const aph_model *model)
{
    (void)model;
    return aph_str("000");
}

/* What the server of the paper takes. Recorded histories may hold other messages. */
static const aph_codec codec = APH_CODEC_FIXED(3);

/* ---- what to send ------------------------------------------------------------------------------------------------ */

/* Three bytes, as the server of the paper takes them; now and then ones that came before. */
static const char shape[] = APH_SHAPE([
    {"weight": 15, "of": {"fresh": "string", "length": 3}},
    {"one of": ["000", "aaa"]}
]);

const aph_model aph_model_swap = {
    .version = APH_MODEL_VERSION,
    .name = "swap",
    .summary = "the swap server: keeps a message, answers the one before",
    .step = step,
    .initial = initial,
    .rpc = true,
    .codec = &codec,
    .shape = shape,
};

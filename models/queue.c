/* SPDX-License-Identifier: Apache-2.0
 *
 * queue.c - a first-in, first-out queue, initially empty.
 *
 *     {"f": "enqueue", "value": v}    answers "ok"
 *     {"f": "dequeue"}                answers the oldest value, which leaves the queue; null if there is none
 *
 * As null says that the queue is empty, it cannot be enqueued. */
#include "models.h"

static bool is(aph_value request, const char *f)
{
    return aph_str_is(aph_field(request, "f"), f);
}

static void step(aph *m, aph_value *queue)
{
    aph_request q = aph_recv(m);

    if (is(q.message, "enqueue")) {
        aph_value value = aph_field(q.message, "value");
        if (!value)
            aph_unknown_request(m, "an enqueue needs a \"value\" other than null");
        *queue = aph_push(*queue, value);
        aph_send(m, q.from, aph_str("ok"));
    } else if (is(q.message, "dequeue")) {
        aph_send(m, q.from, aph_at(*queue, 0));
        if (aph_count(*queue) > 0)
            *queue = aph_slice(*queue, 1, aph_count(*queue) - 1);
    } else {
        aph_unknown_request(m, "a queue knows \"f\": \"enqueue\" and \"dequeue\"");
    }
}

static aph_value initial(const aph_model *model)
{
    (void)model;
    return aph_array(0, NULL);
}

static bool reads(aph_value request, aph_value answer)
{
    return is(request, "dequeue") && answer == APH_NIL;
}

static bool jepsen(aph_value request, aph_jepsen end, aph_value value, aph_value *answer)
{
    *answer = is(request, "enqueue") ? aph_str("ok") : value;
    return end == APH_JEPSEN_OK;
}

/* ---- what to send ------------------------------------------------------------------------------------------------ */

static const char shape[] = APH_SHAPE([
    {"f": "enqueue", "value": {"fresh": "int"}},
    {"f": "dequeue"}
]);

const aph_model aph_model_queue = {
    .version = APH_MODEL_VERSION,
    .name = "queue",
    .summary = "a first-in, first-out queue with enqueue and dequeue",
    .step = step,
    .initial = initial,
    .rpc = true,
    .reads = reads,
    .jepsen = jepsen,
    .shape = shape,
};

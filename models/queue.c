/* SPDX-License-Identifier: Apache-2.0
 *
 * queue.c - a first-in, first-out queue, initially empty.
 *
 *     {"f": "enqueue", "value": v}    returns "ok"
 *     {"f": "dequeue"}                removes and returns the oldest value; null if there is none
 *
 * null means that the queue is empty, so it cannot be enqueued. */
#include "models.h"

static bool is(aph_value request, const char *f)
{
    return aph_str_is(aph_field(request, "f"), f);
}

/* Executes the request and returns the response. */
static aph_value serve(aph *m, aph_value request, aph_value *queue)
{
    aph_value answer = aph_str("ok");
    if (is(request, "enqueue")) {
        aph_value value = aph_field(request, "value");
        if (!value)
            aph_unknown_request(m, "an enqueue needs a \"value\" other than null");
        *queue = aph_push(*queue, value);
    } else if (is(request, "dequeue")) {
        answer = aph_at(*queue, 0);
        if (aph_count(*queue) > 0)
            *queue = aph_slice(*queue, 1, aph_count(*queue) - 1);
    } else {
        aph_unknown_request(m, "unknown \"f\"; expected \"enqueue\" or \"dequeue\"");
    }
    return answer;
}

static void step(aph *m, aph_value *queue)
{
    aph_request q = aph_recv(m);
    aph_send(m, q.from, serve(m, q.message, queue));
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

/* ---- generation -------------------------------------------------------------------------------------------------- */

enum { WAVE = 8, /* requests */ FEW = 8 /* connections */ };

/* Fills and empties the queue in waves. A long queue exposes errors that short ones do not, and emptying it reveals the
 * order of the values. Until then, each concurrent enqueue multiplies the orders to search. */
static aph_value generate(aph_gen *g)
{
    uint64_t number = aph_gen_number(g);
    bool rising = aph_gen_connections(g) <= FEW && number / WAVE % 4 == 0;
    if (aph_gen_weighted(g, rising ? 3 : 1, rising ? 1 : 3) == 1)
        return aph_record("f", aph_str("dequeue"));
    return aph_record("f", aph_str("enqueue"), "value", aph_int((int64_t)number + 1));
}

/* ---- mutants ----------------------------------------------------------------------------------------------------- */

static void step_stack(aph *m, aph_value *queue)
{
    aph_request q = aph_recv(m);
    aph_value before = *queue, answer = serve(m, q.message, queue);
    if (is(q.message, "dequeue") && aph_count(before) > 0) {
        answer = aph_at(before, aph_count(before) - 1);
        *queue = aph_slice(before, 0, aph_count(before) - 1);
    }
    aph_send(m, q.from, answer);
}

static void step_forgets(aph *m, aph_value *queue)
{
    aph_request q = aph_recv(m);
    aph_value before = *queue, answer = serve(m, q.message, queue);
    if (is(q.message, "enqueue") && aph_one_in(m, 10))
        *queue = before;
    aph_send(m, q.from, answer);
}

static void step_duplicates(aph *m, aph_value *queue)
{
    aph_request q = aph_recv(m);
    aph_value before = *queue, answer = serve(m, q.message, queue);
    if (is(q.message, "dequeue") && aph_one_in(m, 10))
        *queue = before;
    aph_send(m, q.from, answer);
}

static void step_overtakes(aph *m, aph_value *queue)
{
    aph_request q = aph_recv(m);
    if (is(q.message, "dequeue") && aph_count(*queue) > 1 && aph_one_in(m, 10)) {
        aph_value first = aph_at(*queue, 0), second = aph_at(*queue, 1);
        *queue = aph_replace(aph_replace(*queue, 0, second), 1, first);
    }
    aph_send(m, q.from, serve(m, q.message, queue));
}

static const aph_model *const mutants[] = {
    APH_MUTANT(.name = "stack", .step = step_stack, .initial = initial,
               .summary = "dequeue returns the newest value"),
    APH_MUTANT(.name = "forgets", .step = step_forgets, .initial = initial,
               .summary = "does not store one enqueue in ten"),
    APH_MUTANT(.name = "duplicates", .step = step_duplicates, .initial = initial,
               .summary = "one dequeue in ten leaves the value in the queue"),
    APH_MUTANT(.name = "overtakes", .step = step_overtakes, .initial = initial,
               .summary = "one dequeue in ten returns the second value"),
    NULL,
};

/* ---- the model --------------------------------------------------------------------------------------------------- */

const aph_model aph_model_queue = {
    .version = APH_MODEL_VERSION,
    .name = "queue",
    .summary = "a first-in, first-out queue with enqueue and dequeue",
    .step = step,
    .initial = initial,
    .rpc = true,
    .ignores_connections = true,
    .reads = reads,
    .jepsen = jepsen,
    .generate = generate,
    .mutants = mutants,
};

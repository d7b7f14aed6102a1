/* SPDX-License-Identifier: Apache-2.0
 *
 * blocking-queue.c - a queue whose clients can wait for an item, such as a list of Redis.
 *
 *     {"f": "push", "x": X}    appends an item and returns the length of the queue; the first waiting client gets the
 *                              oldest item
 *     {"f": "pop"}             removes and returns the oldest item, or null
 *     {"f": "bpop"}            the same, but waits for an item
 *
 * The response to a bpop can be sent in the step of a later push, so the model does not promise rpc. It does not
 * describe further requests of a client that waits; the tester finds this out by running it, and sends none.
 *
 *     antiphon test examples/blocking-queue.c --run './queue {port}' */
#include <antiphon/antiphon.h>

static bool is(aph_value request, const char *f) { return aph_str_is(aph_field(request, "f"), f); }

static aph_value without_first(aph_value array) { return aph_slice(array, 1, aph_count(array) - 1); }

static void step(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    aph_value items = aph_field(*state, "items"), waiting = aph_field(*state, "waiting");
    if (is(q.message, "push")) {
        aph_value item = aph_field(q.message, "x");
        aph_send(m, q.from, aph_int((int64_t)aph_count(items) + 1));
        if (aph_count(waiting)) {
            aph_send(m, aph_int_of(aph_at(waiting, 0)), item);
            waiting = without_first(waiting);
        } else {
            items = aph_push(items, item);
        }
    } else if (!is(q.message, "pop") && !is(q.message, "bpop")) {
        aph_unknown_request(m, "unknown \"f\"; expected \"push\", \"pop\" or \"bpop\"");
    } else if (aph_count(items)) {
        aph_send(m, q.from, aph_at(items, 0));
        items = without_first(items);
    } else if (is(q.message, "pop")) {
        aph_send(m, q.from, APH_NIL);
    } else {
        waiting = aph_push(waiting, aph_int(q.from));
    }
    *state = aph_record("items", items, "waiting", waiting);
}

static aph_value initial(const aph_model *model)
{
    (void)model;
    return aph_record("items", aph_array(0, NULL), "waiting", aph_array(0, NULL));
}

static const char shape[] = APH_SHAPE([
    {"weight": 2, "of": {"f": "push", "x": {"fresh": "int"}}},
    {"f": "pop"},
    {"f": "bpop"}
]);

static const aph_model blocking_queue = {
    .version = APH_MODEL_VERSION,
    .name = "blocking-queue",
    .summary = "a queue with push, pop, and a pop that waits for an item",
    .step = step,
    .initial = initial,
    .answers = true,
    .shape = shape,
};
APH_MODEL(blocking_queue)

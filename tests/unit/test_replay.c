/* SPDX-License-Identifier: Apache-2.0
 *
 * test_replay.c - the replay confirms the oracle's explanations and rejects changed ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include "models/models.h"
#include "oracle/explanation.h"
#include "oracle/replay.h"
#include "small_history.h"
#include "solve/z3.h"

static int fresh_heap(void **unused)
{
    (void)unused;
    aphi_z3_close();
    aph_heap_close();
    return 0;
}

static bool holds(const aph_model *model, const char *text, aph_value explanation, char *why, size_t why_size)
{
    small_history h = small_read(text);
    aphi_history history = small_as_history(&h);
    bool ok = aphi_replay(model, &history, explanation, why, why_size);
    free(history.events);
    return ok;
}

/* Returns the oracle's explanation, which must hold. */
static aph_value explained(const aph_model *model, const char *text)
{
    small_history h = small_read(text);
    aphi_history history = small_as_history(&h);
    aph_oracle *o = small_open(model, &(aph_oracle_options){.order = true});
    char why[200] = "";
    small_feed_all(o, &h, true);
    assert_int_equal(o->verdict, APH_PASS);
    aph_value explanation = aphi_explain(o, &history);
    assert_ptr_not_equal(explanation, APH_NIL);
    assert_false(aph_is_symbolic(explanation));
    if (!aphi_replay(model, &history, explanation, why, sizeof why))
        fail_msg("%s: %s", text, why);
    aph_oracle_close(o);
    free(history.events);
    return explanation;
}

static void rejected(const aph_model *model, const char *text, aph_value explanation, const char *part)
{
    char why[200] = "";
    if (holds(model, text, explanation, why, sizeof why))
        fail_msg("%s: what does not hold was accepted (%s)", text, part);
    if (!strstr(why, part))
        fail_msg("%s: \"%s\" does not speak of \"%s\"", text, why, part);
}

static aph_value order(size_t n, const int64_t *numbers)
{
    aph_value v = aph_array(0, NULL);
    for (size_t i = 0; i < n; i++)
        v = aph_push(v, aph_int(numbers[i]));
    return v;
}
#define ORDER(...) order(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (int64_t[]){__VA_ARGS__})

static aph_value with_order(aph_value explanation, aph_value changed)
{
    return aph_put(explanation, "order", changed);
}

static void test_true_explanations_hold(void **unused)
{
    (void)unused;
    const aph_model *r = &aph_model_register;
    explained(r, "");
    explained(r, "1>r 1<null");
    explained(r, "1>w1 2>r 2<1 1<ok");
    explained(r, "1>w1 2>w2 1<ok 2<ok 3>r 3<1 4>r 4<1");
    explained(r, "1>w5 1! 2>r 2<null 2>r 2<5");
    explained(r, "1>w1 1>r 2>w2 1<ok 1<2 2<ok");
    explained(r, "1>w5 2>r 2<5");
    explained(&aph_model_queue, "1>{\"f\":\"enqueue\",\"value\":1} 2>{\"f\":\"enqueue\",\"value\":2} 1<ok 2<ok "
                                "3>{\"f\":\"dequeue\"} 3<2 3>{\"f\":\"dequeue\"} 3<1 3>{\"f\":\"dequeue\"} 3<null");
}

static const char *const three = "1>w1 1<ok 2>w2 2<ok 3>r 3<2";

static void test_changed_orders(void **unused)
{
    (void)unused;
    const aph_model *r = &aph_model_register;
    aph_value e = explained(r, three);
    assert_ptr_equal(aph_field(e, "order"), ORDER(0, 2, 4));
    rejected(r, three, with_order(e, ORDER(2, 0, 4)), "");
    rejected(r, three, with_order(e, ORDER(0, 4, 2)), "differs from the observed");
    rejected(r, three, with_order(e, ORDER(0, 0, 2, 4)), "twice");
    rejected(r, three, with_order(e, ORDER(0, 2, 4, 4)), "twice");
    rejected(r, three, with_order(e, ORDER(0, 2)), "not explained");
    rejected(r, three, with_order(e, ORDER(0, 4)), "");
    rejected(r, three, with_order(e, aph_array(0, NULL)), "not explained");
    rejected(r, three, with_order(e, ORDER(0, 2, 5)), "not a request"); /* a response */
    rejected(r, three, with_order(e, ORDER(0, 2, 4, 99)), "not a request");
    rejected(r, three, with_order(e, ORDER(0, 2, 4, -1)), "not a request");
    rejected(r, three, with_order(e, aph_push(ORDER(0, 2, 4), aph_str("0"))), "not a request");
    rejected(r, three, with_order(e, aph_str("0 2 4")), "");
    rejected(r, three, aph_remove(e, aph_str("order")), "");
    rejected(r, three, APH_NIL, "");
    rejected(r, three, aph_array(0, NULL), "");
}

/* The values are correct, but the times are not: a request must be taken after it is sent and before its response. */
static void test_real_time_is_kept(void **unused)
{
    (void)unused;
    const aph_model *r = &aph_model_register;
    const char *text = "1>r 1<null 2>w1 2<ok 3>r 3<1";
    aph_value e = explained(r, text);
    assert_true(holds(r, text, with_order(e, ORDER(0, 2, 4)), NULL, 0));
    const char *early = "1>r 1<1 2>w1 2<ok"; /* the value was not written yet */
    rejected(r, early, with_order(e, ORDER(2, 0)), "before");
    const char *late = "2>w1 2<ok 1>r 1<null"; /* the write had ended */
    rejected(r, late, with_order(e, ORDER(2, 0)), "before");
}

static void test_a_connection_keeps_its_order(void **unused)
{
    (void)unused;
    const aph_model *r = &aph_model_register;
    const char *text = "1>w1 1>w2 1<ok 1<ok";
    aph_value e = explained(r, text);
    rejected(r, text, with_order(e, ORDER(1, 0)), "earlier one of its connection");
}

static void test_lost_requests(void **unused)
{
    (void)unused;
    const aph_model *r = &aph_model_register;
    const char *text = "1>w5 1! 2>w6 2<ok";
    aph_value e = explained(r, text);
    char why[100];
    assert_true(holds(r, text, with_order(e, ORDER(2)), why, sizeof why));
    assert_true(holds(r, text, with_order(e, ORDER(0, 2)), why, sizeof why));
    assert_true(holds(r, text, with_order(e, ORDER(2, 0)), why, sizeof why));
    rejected(r, text, with_order(e, ORDER(0)), "not explained");
    rejected(r, text, with_order(e, ORDER(0, 2, 0)), "twice");
}

static void test_other_initial_states(void **unused)
{
    (void)unused;
    const aph_model *r = &aph_model_register;
    aph_value e = explained(r, three);
    rejected(r, three, aph_put(e, "initial", aph_record("", aph_int(7))), "initial");
    rejected(r, three, aph_put(e, "initial", APH_NIL), "initial");
    rejected(r, three, aph_remove(e, aph_str("initial")), "initial");
    /* This initial state would explain an unexplained history. */
    aph_value none = aph_array(0, NULL), five = aph_record("", aph_int(5));
    rejected(r, "1>r 1<5", aph_record("initial", five, "order", ORDER(0), "choices", none), "initial");
}

/* An unknown initial state [x, y, x]; {"get": i} returns an item, {"sum": 0} all of them. */
static aph_value unknown_initial(const aph_model *model)
{
    (void)model;
    aph_value x = aph_symbol(APH_INT, 0), y = aph_symbol(APH_INT, 1);
    return aph_record("items", APH_ARRAY_OF(x, y, x));
}

static void unknown_step(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    aph_value items = aph_field(*state, "items"), get = aph_field(q.message, "get");
    aph_send(m, q.from, get ? aph_at(items, (size_t)aph_int_of(get)) : aph_add(aph_at(items, 0), aph_at(items, 1)));
}

static void test_unknown_initial_state(void **unused)
{
    (void)unused;
    const aph_model m = {.version = APH_MODEL_VERSION, .name = "unknown", .step = unknown_step,
                         .initial = unknown_initial, .rpc = true};
    const char *text = "1>{\"get\":0} 1<3 1>{\"sum\":0} 1<10";
    aph_value e = explained(&m, text), n3 = aph_int(3), n7 = aph_int(7);
    assert_ptr_equal(aph_field(e, "initial"), aph_record("items", APH_ARRAY_OF(n3, n7, n3)));
    rejected(&m, text, aph_put(e, "initial", aph_record("items", APH_ARRAY_OF(n3, n7, n7))), "initial"); /* x is x */
    rejected(&m, text, aph_put(e, "initial", aph_record("items", APH_ARRAY_OF(n3, n7))), "initial");
    rejected(&m, text, aph_put(e, "initial", APH_ARRAY_OF(n3, n7, n3)), "initial");
    rejected(&m, text, aph_put(e, "initial", aph_record("items", APH_ARRAY_OF(n7, n3, n7))),
             "differs from the observed");
}

static const char *const tagged =
    "1>{\"f\":\"put\",\"key\":\"k\",\"value\":1} 1<{\"code\":201} 2>{\"f\":\"get\",\"key\":\"k\"} "
    "2<{\"code\":200,\"value\":1,\"tag\":{\"opaque\":\"x\",\"weak\":false}} "
    "2>{\"f\":\"put\",\"key\":\"k\",\"value\":2,\"if_match\":{\"opaque\":\"x\",\"weak\":false}} 2<{\"code\":204}";

static void test_changed_choices(void **unused)
{
    (void)unused;
    const aph_model *m = &aph_model_etag_kv;
    aph_value e = explained(m, tagged), choices = aph_field(e, "choices");
    assert_ptr_equal(aph_at(choices, 0), aph_int(1)); /* a strong tag */
    assert_ptr_equal(aph_at(choices, 1), aph_str("x"));
    rejected(m, tagged, aph_put(e, "choices", aph_replace(choices, 1, aph_str("y"))), "differs from the observed");
    rejected(m, tagged, aph_put(e, "choices", aph_replace(choices, 0, aph_int(2))), "differs from the observed");
    rejected(m, tagged, aph_put(e, "choices", aph_replace(choices, 0, aph_int(3))), "range");
    rejected(m, tagged, aph_put(e, "choices", aph_replace(choices, 0, aph_int(-1))), "range");
    rejected(m, tagged, aph_put(e, "choices", aph_replace(choices, 0, aph_str("1"))), "kind");
    rejected(m, tagged, aph_put(e, "choices", aph_replace(choices, 1, aph_int(4))), "kind");
    rejected(m, tagged, aph_put(e, "choices", aph_replace(choices, 1, aph_symbol(APH_STR, 0))), "symbols");
    rejected(m, tagged, aph_put(e, "choices", aph_slice(choices, 0, 1)), "fewer choices");
    rejected(m, tagged, aph_remove(e, aph_str("choices")), "fewer choices");
}

/* The history must contain the requests of the explanation. */
static void test_another_history(void **unused)
{
    (void)unused;
    const aph_model *r = &aph_model_register;
    aph_value e = explained(r, three);
    rejected(r, "1>w1 1<ok 2>w3 2<ok 3>r 3<2", e, "differs from the observed");
    rejected(r, "1>w1 1<ok 2>w2 2<ok 3>r 3<2 4>r 4<2", e, "not explained");
    rejected(r, "1>{\"f\":\"pop\"} 1<ok 2>w2 2<ok 3>r 3<2", e, "the model stops");
}

/* The reason has the position: a number of an observation, or an index in the explanation. */
static void test_positions(void **unused)
{
    (void)unused;
    const aph_model *r = &aph_model_register;
    aph_value e = explained(r, three);
    rejected(r, three, with_order(e, ORDER(0, 4, 2)), "(observation 5)");
    rejected(r, three, with_order(e, ORDER(0, 2, 0)), "twice (observation 0)");
    rejected(r, three, with_order(e, ORDER(0, 2)), "a response is not explained (observation 5)");
    rejected(r, three, with_order(e, ORDER(0, 2, 5)), "not a request (observation 2)");
    rejected(r, "1>w1 1<ok 2>{\"f\":\"pop\"} 2<ok", with_order(e, ORDER(0, 2)), "the model stops (observation 2)");
    rejected(r, three, aph_put(e, "choices", ORDER(1, 2)), "more choices than the model makes (observation 0)");
    rejected(r, "1>w1 1>w2 1<ok 1<ok", with_order(e, ORDER(1)), "earlier one of its connection (observation 1)");
    e = explained(&aph_model_etag_kv, tagged);
    rejected(&aph_model_etag_kv, tagged, aph_put(e, "choices", aph_slice(aph_field(e, "choices"), 0, 1)),
             "fewer choices");
}

/* Receives one request, and then no more. */
static void tired_step(aph *m, aph_value *state)
{
    if (*state != aph_object())
        return;
    aph_request q = aph_recv(m);
    *state = q.message;
    aph_send(m, q.from, aph_str("ok"));
}

static void test_a_model_that_stops_receiving(void **unused)
{
    (void)unused;
    const aph_model m = {.version = APH_MODEL_VERSION, .name = "tired", .step = tired_step, .rpc = true};
    aph_value e = aph_record("initial", aph_object(), "order", ORDER(0, 2), "choices", aph_array(0, NULL));
    rejected(&m, "1>r 1<ok 1>r 1<ok", e, "the model does not take all requests in the order (observation 1)");
}

/* {"call": TEXT} sends TEXT on a connection that the server opens, and returns the response to it. */
static void caller_step(aph *m, aph_value *last)
{
    aph_request q = aph_recv(m), answer;
    *last = aph_int(*last && aph_is_int(*last) ? aph_int_of(*last) - 1 : -1);
    aph_send(m, aph_int_of(*last), aph_field(q.message, "call"));
    answer = aph_recv(m);
    if (answer.from != aph_int_of(*last))
        aph_never(m);
    aph_send(m, q.from, answer.message);
}

/* A server receives only on connections that it has opened, and that the explanation maps to the model's. */
static void test_opened_connections(void **unused)
{
    (void)unused;
    const aph_model m = {.version = APH_MODEL_VERSION, .name = "caller", .step = caller_step};
    small_history h = small_read("1>{\"call\":\"a\"} 4294967296<\"a\" 4294967296>1 1<1 "
                                 "2>{\"call\":\"b\"} 4294967297<\"b\" 4294967297>2 2<2");
    aphi_history history = small_as_history(&h);
    history.paired = false;
    aph_value opened = aph_record("4294967296", aph_int(-1), "4294967297", aph_int(-2));
    aph_value none = aph_array(0, NULL), all = ORDER(0, 2, 4, 6);
    aph_value e = aph_record("initial", aph_object(), "order", all, "choices", none, "opened", opened);
    char why[200] = "";
    if (!aphi_replay(&m, &history, e, why, sizeof why))
        fail_msg("%s", why);
    assert_false(aphi_replay(&m, &history, with_order(e, ORDER(0, 2, 6, 4)), why, sizeof why));
    assert_string_equal(why, "the server receives on a connection that it has not opened (observation 6)");
    opened = aph_record("4294967296", aph_int(-2), "4294967297", aph_int(-1));
    assert_false(aphi_replay(&m, &history, aph_put(e, "opened", opened), why, sizeof why));
    history.events[1].connection = history.events[2].connection = 2 * APH_ACCEPTED;
    opened = aph_record("8589934592", aph_int(-1), "4294967297", aph_int(-2));
    *why = '\0';
    assert_false(aphi_replay(&m, &history, aph_put(e, "opened", opened), why, sizeof why));
    assert_string_equal(why, "a connection that the server opened has another origin in the model (observation 1)");
    free(history.events);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_true_explanations_hold, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_changed_orders, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_real_time_is_kept, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_a_connection_keeps_its_order, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_lost_requests, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_other_initial_states, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_unknown_initial_state, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_changed_choices, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_another_history, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_positions, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_opened_connections, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_a_model_that_stops_receiving, fresh_heap, fresh_heap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

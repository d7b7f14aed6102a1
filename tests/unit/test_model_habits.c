/* SPDX-License-Identifier: Apache-2.0
 *
 * test_model_habits.c - which models let requests wait, found out by running them. */
#include "tester/model_habits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* "wait" gets its response when a request other than "wait" is taken; the state is the array of waiting connections. */
static bool is_waiting(aph_value waiting, int64_t connection)
{
    for (size_t i = 0; i < aph_count(waiting); i++)
        if (aph_at(waiting, i) == aph_int(connection))
            return true;
    return false;
}

static void step_waiting(aph *m, aph_value *waiting)
{
    aph_request q = aph_recv(m);
    if (aph_str_is(q.message, "wait")) {
        *waiting = aph_push(*waiting, aph_int(q.from));
        return;
    }
    aph_send(m, q.from, q.message);
    if (aph_count(*waiting)) {
        aph_send(m, aph_int_of(aph_at(*waiting, 0)), aph_str("woken"));
        *waiting = aph_slice(*waiting, 1, aph_count(*waiting) - 1);
    }
}

/* The same, but a request on a connection that waits only waits, too. */
static void step_in_order(aph *m, aph_value *waiting)
{
    aph_request q = aph_recv(m);
    if (aph_str_is(q.message, "wait") || is_waiting(*waiting, q.from)) {
        *waiting = aph_push(*waiting, aph_int(q.from));
        return;
    }
    aph_send(m, q.from, q.message);
    for (size_t i = 0; i < aph_count(*waiting); i++)
        aph_send(m, aph_int_of(aph_at(*waiting, i)), aph_str("woken"));
    *waiting = aph_array(0, NULL);
}

static void step_echo(aph *m, aph_value *state)
{
    (void)state;
    aph_request q = aph_recv(m);
    aph_send(m, q.from, q.message);
}

/* Each request is sent to all clients; there are more messages than requests. */
static void step_news(aph *m, aph_value *state)
{
    (void)state;
    aph_request q = aph_recv(m);
    for (int64_t c = 0; c < 3; c++)
        aph_send(m, c, q.message);
}

static void step_failing(aph *m, aph_value *state)
{
    (void)state;
    aph_recv(m);
    aph_unknown_request(m, "it knows none");
}

static aph_value initial(const aph_model *model)
{
    (void)model;
    return aph_array(0, NULL);
}

static void expect_habits(aph_step *step, bool rpc, bool waits, bool overtakes)
{
    const aph_model model = {.version = APH_MODEL_VERSION, .name = "m", .step = step, .initial = initial, .rpc = rpc,
                             .shape = "[\"wait\", \"a\"]"};
    aphi_model_habits habits = aphi_model_habits_find(&model);
    assert_int_equal(habits.waits, waits);
    assert_int_equal(habits.overtakes, overtakes);
}

static void test_waiting(void **state) { (void)state, expect_habits(step_waiting, false, true, true); }
static void test_in_order(void **state) { (void)state, expect_habits(step_in_order, false, true, false); }
static void test_echo(void **state) { (void)state, expect_habits(step_echo, false, false, false); }
static void test_rpc(void **state) { (void)state, expect_habits(step_echo, true, false, false); }
static void test_news(void **state) { (void)state, expect_habits(step_news, false, false, false); }
static void test_failing(void **state) { (void)state, expect_habits(step_failing, false, false, false); }

/* A connection is opened before its first request. */
static void step_knowing(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    aph_value name = aph_int(q.from);
    if (q.message == APH_OPENED) {
        aph_send(m, q.from, aph_str(aph_either(m, "hello", "welcome") ? "welcome" : "hello"));
        *state = aph_set(*state, name, aph_bool(true));
    } else if (!aph_str_is(q.message, "a") || !aph_has(*state, name)) {
        aph_unknown_request(m, "only a");
    }
}

static void test_knows(void **state)
{
    (void)state;
    const aph_model knowing = {.version = APH_MODEL_VERSION, .name = "m", .step = step_knowing, .connections = true};
    assert_true(aphi_model_habits_knows(&knowing, aph_str("a")));
    assert_false(aphi_model_habits_knows(&knowing, aph_str("")));
    const aph_model echo = {.version = APH_MODEL_VERSION, .name = "m", .step = step_echo};
    assert_true(aphi_model_habits_knows(&echo, aph_str("")));
    const aph_model failing = {.version = APH_MODEL_VERSION, .name = "m", .step = step_failing};
    assert_false(aphi_model_habits_knows(&failing, aph_str("a")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_waiting), cmocka_unit_test(test_in_order), cmocka_unit_test(test_echo),
        cmocka_unit_test(test_rpc),     cmocka_unit_test(test_news),     cmocka_unit_test(test_failing),
        cmocka_unit_test(test_knows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

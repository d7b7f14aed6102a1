/* SPDX-License-Identifier: Apache-2.0
 *
 * test_simulator.c - a model run as a server: one request and several, choices, excluded branches, faults, timers. */
#include "server/simulator.h"

#include "base/timer_heap.h"
#include "codec/codec_internal.h"
#include "models/models.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static int drop_heap(void **unused)
{
    (void)unused;
    aph_heap_close();
    return 0;
}

/* The latest sent messages, as "TO:BYTES TO:BYTES", without the codec's line ends. */
static const char *sent(const aphi_simulator *a)
{
    static char text[512];
    size_t n = 0;
    text[0] = '\0';
    for (size_t i = 0; i < a->sent_count; i++) {
        aphi_simulated_sent s = a->sent[i];
        size_t length = s.n && a->bytes.data[s.at + s.n - 1] == '\n' ? s.n - 1 : s.n;
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%lld:%.*s", i ? " " : "", (long long)s.to, (int)length,
                              a->bytes.data + s.at);
    }
    return text;
}

static aphi_simulated take(aphi_simulator *a, int64_t from, const char *json)
{
    aph_value v;
    assert_true(aph_json_read(json, strlen(json), &v, NULL));
    return aphi_simulator_take(a, from, v);
}

static void expect(aphi_simulator *a, int64_t from, const char *json, const char *expected)
{
    assert_int_equal(take(a, from, json), APHI_SIMULATED_TAKEN);
    assert_string_equal(sent(a), expected);
    aph_collect(); /* the simulator keeps the values that it needs alive */
}

static void open_and_begin(aphi_simulator *a, const aph_model *model, uint64_t seed)
{
    aphi_simulator_open(a, model, NULL, seed);
    assert_int_equal(aphi_simulator_begin(a), APHI_SIMULATED_TAKEN);
}

static void test_built_in(void **unused)
{
    (void)unused;
    aphi_simulator a;
    open_and_begin(&a, &aph_model_kv, 1);
    expect(&a, 3, "{\"f\":\"put\",\"key\":\"a\",\"value\":\"a long value of many bytes\"}", "3:\"ok\"");
    expect(&a, 4, "{\"f\":\"get\",\"key\":\"a\"}", "4:\"a long value of many bytes\"");
    assert_int_equal(take(&a, 4, "{\"f\":\"got\"}"), APHI_SIMULATED_UNKNOWN);
    assert_non_null(strstr(a.why, "unknown \"f\"; expected \"get\""));
    assert_string_equal(sent(&a), "");
    expect(&a, 4, "{\"f\":\"get\",\"key\":\"a\"}", "4:\"a long value of many bytes\"");
    aphi_simulator_close(&a);
    open_and_begin(&a, &aph_model_swap, 1);
    expect(&a, 1, "\"abc\"", "1:000");
    expect(&a, 1, "\"def\"", "1:abc");
    aphi_simulator_close(&a);
}

/* Takes two requests in each step, sends each to the other's client, and sends the total number to the second
 * client. */
static void pair_step(aph *m, aph_value *state)
{
    aph_request a = aph_recv(m);
    aph_send(m, a.from, aph_str("wait"));
    aph_request b = aph_recv(m);
    *state = aph_put(*state, "n", aph_add(aph_field(*state, "n") ? aph_field(*state, "n") : aph_int(0), aph_int(2)));
    aph_send(m, a.from, b.message);
    aph_send(m, b.from, a.message);
    aph_send(m, b.from, aph_field(*state, "n"));
}

static void test_two_receives(void **unused)
{
    (void)unused;
    static const aph_model model = {.version = APH_MODEL_VERSION, .name = "pair", .step = pair_step};
    aphi_simulator a;
    open_and_begin(&a, &model, 1);
    for (int i = 1; i <= 3; i++) {
        char second[64];
        expect(&a, 1, "\"a string of the first\"", "1:\"wait\"");
        snprintf(second, sizeof second, "1:\"b\" 2:\"a string of the first\" 2:%d", 2 * i);
        expect(&a, 2, "\"b\"", second);
    }
    aphi_simulator_close(&a);
}

/* Stores requests without a response, and sends every three of them to connection 9. */
static void quiet_step(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    *state = aph_push(*state, q.message);
    if (aph_count(*state) == 3) {
        aph_send(m, 9, *state);
        *state = aph_array(0, NULL);
    }
}

static aph_value empty_array(const aph_model *model)
{
    (void)model;
    return aph_array(0, NULL);
}

static void test_no_answer(void **unused)
{
    (void)unused;
    static const aph_model model = {
        .version = APH_MODEL_VERSION, .name = "quiet", .step = quiet_step, .initial = empty_array};
    aphi_simulator a;
    open_and_begin(&a, &model, 1);
    expect(&a, 1, "1", "");
    expect(&a, 2, "2", "");
    expect(&a, 1, "3", "9:[1,2,3]");
    expect(&a, 1, "4", "");
    aphi_simulator_close(&a);
}

/* A counter that cannot go below zero; branches with an even chosen number are excluded. */
static void never_step(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    aph_value luck = aph_choose_within(m, 1, 6, "luck");
    aph_send(m, q.from, luck);
    if (aph_int_of(luck) % 2 == 0)
        aph_never(m);
    if (aph_decide(m, aph_lt(aph_add(*state, q.message), aph_int(0)), "below zero"))
        aph_never(m);
    *state = aph_add(*state, q.message);
}

static aph_value zero(const aph_model *model)
{
    (void)model;
    return aph_int(0);
}

static void test_forbidden(void **unused)
{
    (void)unused;
    static const aph_model model = {.version = APH_MODEL_VERSION, .name = "never", .step = never_step, .initial = zero};
    aphi_simulator a;
    open_and_begin(&a, &model, 1);
    unsigned seen = 0;
    for (int i = 0; i < 100; i++) {
        assert_int_equal(take(&a, 1, "0"), APHI_SIMULATED_TAKEN);
        assert_int_equal(a.sent_count, 1);
        seen |= 1u << (a.bytes.data[0] - '0');
    }
    assert_int_equal(seen, 1u << 1 | 1u << 3 | 1u << 5);
    /* A request that cannot be taken now may be taken later. */
    assert_int_equal(take(&a, 1, "-2"), APHI_SIMULATED_NOT_NOW);
    assert_int_equal(a.sent_count, 0);
    assert_int_equal(take(&a, 2, "3"), APHI_SIMULATED_TAKEN);
    assert_int_equal(take(&a, 1, "-2"), APHI_SIMULATED_TAKEN);
    /* A branch whose sum exceeds 64 bits cannot be taken either. */
    assert_int_equal(take(&a, 1, "9223372036854775807"), APHI_SIMULATED_NOT_NOW);
    aphi_simulator_close(&a);
}

/* Responds with the unknowns of the initial state, then with the choices of the previous step. */
static void open_step(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    aph_send(m, q.from, *state);
    aph_value chosen[] = {aph_choose(m, APH_STR, "s"), aph_choose(m, APH_INT, "i"), aph_choose(m, APH_BOOL, "b"),
                          aph_choose_within(m, -1, 1, "w"), aph_int(aph_either(m, "left", "right"))};
    *state = aph_array(5, chosen);
}

static aph_value unknowns(const aph_model *model)
{
    (void)model;
    aph_value s = aph_symbol(APH_STR, 0), i = aph_symbol(APH_INT, 1);
    return APH_ARRAY_OF(s, i, aph_symbol(APH_BOOL, 2), aph_record("again", s), aph_le(i, i));
}

static const aph_model open_model = {
    .version = APH_MODEL_VERSION, .name = "open", .step = open_step, .initial = unknowns};

static void test_choices(void **unused)
{
    (void)unused;
    aphi_simulator a, twin;
    open_and_begin(&a, &open_model, 5);
    open_and_begin(&twin, &open_model, 5);
    assert_false(aph_is_symbolic(a.state));
    assert_ptr_equal(aph_field(aph_at(a.state, 3), "again"), aph_at(a.state, 0));
    unsigned within = 0, either = 0, bools = 0, repeated = 0;
    aph_value last = APH_NIL;
    for (int i = 0; i < 400; i++) {
        expect(&a, 1, "0", sent(&a));
        assert_int_equal(take(&twin, 1, "0"), APHI_SIMULATED_TAKEN);
        assert_ptr_equal(a.state, twin.state); /* the seed determines all choices */
        within |= 1u << (aph_int_of(aph_at(a.state, 3)) + 1);
        either |= 1u << aph_int_of(aph_at(a.state, 4));
        bools |= aph_truth(aph_at(a.state, 2)) ? 2 : 1;
        repeated += aph_at(a.state, 0) == last;
        last = aph_at(a.state, 0);
    }
    assert_int_equal(within, 7);
    assert_int_equal(either, 3);
    assert_int_equal(bools, 3);
    assert_in_range(repeated, 1, 100); /* values vary, but sometimes repeat */
    aphi_simulator_close(&twin);
    aphi_simulator_close(&a);
}

/* ---- faults ------------------------------------------------------------------------------------------------------ */

static int calls;

static void crash_step(aph *m, aph_value *state)
{
    (void)state;
    aph_recv(m);
    abort();
}

static void restless_step(aph *m, aph_value *state)
{
    (void)state;
    aph_send(m, 1, aph_int(1));
}

static void impure_step(aph *m, aph_value *state)
{
    (void)state;
    if (calls++ > 1)
        aph_either(m, "only the third time", "never else");
    aph_recv(m);
    aph_recv(m);
}

static void unsendable_step(aph *m, aph_value *state)
{
    (void)state;
    aph_request q = aph_recv(m);
    aph_send(m, q.from, aph_str("too long"));
}

/* If the codec cannot encode the chosen string, another string is chosen. */
static void line_step(aph *m, aph_value *state)
{
    (void)state;
    aph_request q = aph_recv(m);
    aph_send(m, q.from, aph_choose(m, APH_STR, "line"));
}

static void expect_fault(aph_step *step, const aph_codec *codec, aphi_simulated_fault fault, const char *why)
{
    const aph_model model = {.version = APH_MODEL_VERSION, .name = "wrong", .step = step, .codec = codec};
    aphi_simulator a;
    aphi_simulator_open(&a, &model, NULL, 1);
    aphi_simulated act = aphi_simulator_begin(&a);
    for (int i = 0; i < 2 && act == APHI_SIMULATED_TAKEN; i++)
        act = take(&a, 1, "\"abc\"");
    assert_int_equal(act, APHI_SIMULATED_FAULT);
    assert_int_equal(a.fault, fault);
    assert_non_null(strstr(a.why, why));
    aphi_simulator_close(&a);
}

static void test_faults(void **unused)
{
    (void)unused;
    static const aph_codec fixed = APH_CODEC_FIXED(3);
    expect_fault(restless_step, NULL, APHI_SIMULATED_STUCK, "never receives");
    calls = 0;
    expect_fault(impure_step, NULL, APHI_SIMULATED_IMPURE, "pure function");
    expect_fault(unsendable_step, &fixed, APHI_SIMULATED_UNSENT, "its codec, fixed, cannot encode: \"too long\"");
    expect_fault(crash_step, NULL, APHI_SIMULATED_CRASHED, "abort");
    aphi_simulator a;
    static const aph_model lines = {
        .version = APH_MODEL_VERSION, .name = "line", .step = line_step, .codec = &aph_codec_lines};
    open_and_begin(&a, &lines, 1);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(take(&a, 1, "\"x\""), APHI_SIMULATED_TAKEN);
    aphi_simulator_close(&a);
    static const aph_model three = {.version = APH_MODEL_VERSION, .name = "three", .step = line_step, .codec = &fixed};
    open_and_begin(&a, &three, 1);
    for (int i = 0; i < 100; i++)
        assert_int_equal(take(&a, 1, "\"x\""), APHI_SIMULATED_TAKEN);
    aphi_simulator_close(&a);
}

/* ---- timers ------------------------------------------------------------------------------------------------------ */

static void test_timer_heap(void **unused)
{
    (void)unused;
    aphi_timer_heap a = {0};
    aphi_choice c = aphi_choice_seed(1);
    aphi_timer due;
    assert_int_equal(aphi_timer_heap_when(&a), -1);
    for (uint64_t i = 0; i < 1000; i++)
        aphi_timer_heap_add(&a, (aphi_timer){.ns = aphi_choice_within(&c, 0, 50), .detail = i});
    assert_false(aphi_timer_heap_next(&a, -1, &due));
    int64_t last = -1;
    uint64_t order = 0;
    for (int i = 0; i < 1000; i++) {
        int64_t when = aphi_timer_heap_when(&a);
        assert_true(aphi_timer_heap_next(&a, 50, &due));
        assert_int_equal(due.ns, when);
        assert_true(due.ns > last || (due.ns == last && due.detail > order));
        last = due.ns;
        order = due.detail;
    }
    assert_false(aphi_timer_heap_next(&a, 50, &due));
    aphi_timer_heap_deinit(&a);
}

static void test_delay(void **unused)
{
    (void)unused;
    aphi_choice c = aphi_choice_seed(1);
    double sum = 0;
    for (int i = 0; i < 100000; i++) {
        int64_t d = aphi_delay(&c, 1000);
        assert_in_range(d, 0, 5000);
        sum += (double)d;
    }
    assert_in_range((int)(sum / 100000), 980, 1020);
    assert_int_equal(aphi_delay(&c, 0), 0);
}

/* A model that chose to wait although it could send chooses again if no request arrives, and finally sends. */
static void test_reconsider(void **unused)
{
    (void)unused;
    for (uint64_t seed = 0; seed < 20; seed++) {
        aphi_simulator a;
        size_t messages = 0;
        open_and_begin(&a, &aph_model_swap_impl, seed);
        assert_false(aphi_simulator_may_reconsider(&a));
        assert_int_equal(aphi_simulator_take(&a, 7, APH_OPENED), APHI_SIMULATED_TAKEN);
        for (int i = 0; i < 3; i++) {
            assert_int_equal(take(&a, 7, "\"x\""), APHI_SIMULATED_TAKEN);
            messages += a.sent_count;
        }
        for (int i = 0; i < 1000 && aphi_simulator_may_reconsider(&a); i++) {
            assert_int_equal(aphi_simulator_reconsider(&a), APHI_SIMULATED_TAKEN);
            messages += a.sent_count;
            aph_collect();
        }
        assert_int_equal(messages, 3);
        aphi_simulator_close(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_reconsider, drop_heap),
        cmocka_unit_test_teardown(test_built_in, drop_heap),  cmocka_unit_test_teardown(test_two_receives, drop_heap),
        cmocka_unit_test_teardown(test_no_answer, drop_heap), cmocka_unit_test_teardown(test_forbidden, drop_heap),
        cmocka_unit_test_teardown(test_choices, drop_heap),   cmocka_unit_test_teardown(test_faults, drop_heap),
        cmocka_unit_test(test_timer_heap),                        cmocka_unit_test(test_delay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

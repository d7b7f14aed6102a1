/* SPDX-License-Identifier: Apache-2.0
 *
 * test_oracle.c - verdicts on histories that are small enough to check by hand; limits, faults, and long runs.
 *
 * ../property compares verdicts with exhaustive enumeration; these tests document each rule. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include "base/random_choice.h"
#include "base/clock.h"
#include "models/models.h"
#include "oracle/partitions.h"
#include "small_history.h"
#include "solve/z3.h"

#include <malloc.h>

static int fresh_heap(void **unused)
{
    (void)unused;
    aphi_z3_close();
    aph_heap_close();
    return 0;
}

static aph_oracle *hopeless(aph_oracle_options options);

/* ---- verdicts ---------------------------------------------------------------------------------------------------- */

/* The verdict must be the same with lookahead, without it, and without the model's promises. Without lookahead, a
 * failure is reported at the last observation. */
static void has_verdict(const aph_model *model, const char *environment, const char *text, aph_verdict expected)
{
    small_history h = small_read(text);
    for (int mode = 0; mode < 4; mode++) {
        bool foreseen = mode & 1;
        aph_oracle *o =
            small_open(model, &(aph_oracle_options){.environment = environment, .ignore_promises = mode & 2});
        size_t failed = small_feed_all(o, &h, foreseen);
        if (o->verdict != expected)
            fail_msg("%s (%s%s): %s, not %s", text, foreseen ? "foreseen" : "open", mode & 2 ? ", distrust" : "",
                     aph_verdict_name(o->verdict), aph_verdict_name(expected));
        if (expected == APH_FAIL && !foreseen)
            assert_int_equal(failed, h.count - 1);
        aph_oracle_close(o);
    }
}

static void passes(const aph_model *model, const char *text)
{
    has_verdict(model, "tcp", text, APH_PASS);
}

static void fails(const aph_model *model, const char *text)
{
    has_verdict(model, "tcp", text, APH_FAIL);
}

static void test_register_by_hand(void **unused)
{
    (void)unused;
    const aph_model *r = &aph_model_register;
    passes(r, "");
    passes(r, "1>r 1<null");
    fails(r, "1>r 1<5");
    passes(r, "1>w1 1<ok 2>r 2<1");
    fails(r, "1>w1 1<ok 2>r 2<null");       /* the write had ended */
    passes(r, "1>w1 2>r 2<1 1<ok");         /* while it is pending, both values may be read */
    passes(r, "1>w1 2>r 2<null 1<ok");
    fails(r, "1>w1 2>r 2<1 2>r 2<null");    /* but not the new value first */
    passes(r, "1>w1 2>r 2<null 2>r 2<1 1<ok");
    fails(r, "1>w1 2>r 3>r 2<1 4>r 3<null 4<null"); /* 4 was sent after 2 had read the written value */
    passes(r, "1>w1 2>r 3>r 2<1 3<null 1<ok");
    passes(r, "1>w1 2>w2 1<ok 2<ok 3>r 3<1 4>r 4<1");
    passes(r, "1>w1 2>w2 1<ok 2<ok 3>r 3<2 4>r 4<2");
    fails(r, "1>w1 2>w2 1<ok 2<ok 3>r 3<1 4>r 4<2");
    fails(r, "1>w1 1<ok 2>w2 2<ok 3>r 3<1");
    fails(r, "1>w1 1<ok 1>w1 1<1"); /* not a response to a write */
    passes(r, "1>w1 1<ok 1>c12 2>c13 1<true 2<false 3>r 3<2");
    fails(r, "1>w1 1<ok 1>c12 2>c13 1<true 2<true");
    fails(r, "1>w1 1<ok 1>c12 2>c13 1<false 2<false");
    passes(r, "1>w1 1<ok 1>c12 2>c23 1<true 2<true 3>r 3<3");
}

static void test_registers_are_independent(void **unused)
{
    (void)unused;
    const aph_model *r = &aph_model_register;
    passes(r, "1>{\"f\":\"write\",\"key\":\"a\",\"value\":1} 1<ok 2>{\"f\":\"read\",\"key\":\"b\"} 2<null");
    fails(r, "1>{\"f\":\"write\",\"key\":\"a\",\"value\":1} 1<ok 2>{\"f\":\"read\",\"key\":\"a\"} 2<null");
}

#define PUT(v) "{\"f\":\"put\",\"key\":\"k\",\"value\":\"" v "\"}"
#define APPEND(v) "{\"f\":\"append\",\"key\":\"k\",\"value\":\"" v "\"}"
#define GET "{\"f\":\"get\",\"key\":\"k\"}"
#define DELETE "{\"f\":\"delete\",\"key\":\"k\"}"

static void test_kv_by_hand(void **unused)
{
    (void)unused;
    const aph_model *kv = &aph_model_kv;
    passes(kv, "1>" GET " 1<\"\"");
    passes(kv, "1>" APPEND("a") " 2>" APPEND("b") " 1<ok 2<ok 1>" GET " 1<\"ba\"");
    passes(kv, "1>" APPEND("a") " 2>" APPEND("b") " 1<ok 2<ok 1>" GET " 1<\"ab\"");
    fails(kv, "1>" APPEND("a") " 1<ok 2>" APPEND("b") " 2<ok 1>" GET " 1<\"ba\"");
    passes(kv, "1>" PUT("x") " 2>" APPEND("b") " 1<ok 2<ok 1>" GET " 1<\"x\"");
    fails(kv, "1>" PUT("x") " 2>" APPEND("b") " 1<ok 2<ok 1>" GET " 1<\"b\"");
    fails(kv, "1>" APPEND("a") " 1<ok 1>" GET " 1<\"aa\"");
    passes(kv, "1>" APPEND("a") " 2>" DELETE " 1<ok 2<ok 1>" GET " 1<\"\"");
    passes(kv, "1>" APPEND("a") " 2>" DELETE " 1<ok 2<ok 1>" GET " 1<\"a\"");
    fails(kv, "1>" APPEND("a") " 1<ok 2>" DELETE " 2<ok 1>" GET " 1<\"a\"");
}

static void test_one_connection_keeps_its_order(void **unused)
{
    (void)unused;
    const aph_model *r = &aph_model_register;
    passes(r, "1>w1 1>w2 1<ok 1<ok 2>r 2<2");
    fails(r, "1>w1 1>w2 1<ok 1<ok 2>r 2<1");
    passes(r, "1>w1 1>r 2>w2 1<ok 1<2 2<ok");
    fails(r, "1>w1 1>r 1<ok 1<null");
}

static void test_unknowns_of_the_server(void **unused)
{
    (void)unused;
    const aph_model *e = &aph_model_etag_kv;
    const char *put = "1>{\"f\":\"put\",\"key\":\"k\",\"value\":1} 1<{\"code\":201} ";
    char text[600];
    snprintf(text, sizeof text, "%s2>{\"f\":\"get\",\"key\":\"k\"} "
             "2<{\"code\":200,\"value\":1,\"tag\":{\"opaque\":\"x\",\"weak\":false}}", put);
    passes(e, text);
    strcat(text, " 2>{\"f\":\"get\",\"key\":\"k\"} "
                 "2<{\"code\":200,\"value\":1,\"tag\":{\"opaque\":\"y\",\"weak\":false}}");
    fails(e, text); /* the tag was x */
    snprintf(text, sizeof text, "%s"
             "1>{\"f\":\"put\",\"key\":\"k\",\"value\":2,\"if_match\":{\"opaque\":\"x\",\"weak\":false}} "
             "1<{\"code\":412} 2>{\"f\":\"get\",\"key\":\"k\"} "
             "2<{\"code\":200,\"value\":1,\"tag\":{\"opaque\":\"x\",\"weak\":false}}", put);
    fails(e, text); /* the tag that did not match cannot have been x */
}

/* ---- lost responses --------------------------------------------------------------------------------------------- */

static void test_lost_requests(void **unused)
{
    (void)unused;
    const aph_model *r = &aph_model_register;
    passes(r, "1>w5 1! 2>r 2<5");
    passes(r, "1>w5 1! 2>r 2<null");
    passes(r, "1>w5 1! 2>r 2<null 2>r 2<5"); /* the write may be taken at any later time */
    fails(r, "1>w5 1! 2>r 2<5 2>r 2<null");
    passes(r, "1>w5 1! 2>w6 2<ok 2>r 2<5");
    fails(r, "1>w5 1! 2>w6 2<ok 2>r 2<5 2>r 2<6"); /* the write is taken only once */
    fails(r, "2>r 2<null 1>w5 1! 2>r 2<6");
    passes(r, "1>w5 1! 1>w6 1<ok 2>r 2<6");
    passes(r, "1>w5 2>r 2<5"); /* the history ends before the response */
}

/* The response to a lost request that was taken is discarded, and no other one. */
static void test_lost_responses(void **unused)
{
    (void)unused;
    const aph_model *r = &aph_model_register;
    passes(r, "1>w5 2>r 2<5 1! 1>r 1<5");
    passes(r, "1>w5 1>w6 2>r 2<6 1! 1<ok 1>r 1<6");
    fails(r, "1>w5 2>r 2<5 2>w6 2<ok 1! 3>r 3<5");
    uint64_t lost;
    aph_oracle *o = small_open(r, &(aph_oracle_options){0});
    aph_oracle_sent(o, 1, small_message("w5", 2), NULL, &lost);
    aph_oracle_sent(o, 1, small_message("r", 1), NULL, NULL);
    aph_oracle_sent(o, 2, small_message("r", 1), NULL, NULL);
    assert_int_equal(aph_oracle_received(o, 2, aph_int(5)), APH_PASS);
    assert_int_equal(aph_oracle_lost(o, lost), APH_PASS);
    assert_int_equal(aph_oracle_lost(o, lost), APH_PASS); /* once is enough */
    assert_int_equal(aph_oracle_lost(o, 99), APH_PASS);   /* there is no such request */
    assert_int_equal(aphi_oracle_lost_oldest(o, 7), APH_PASS);
    assert_int_equal(aph_oracle_received(o, 1, aph_int(6)), APH_FAIL);
    assert_int_equal(aph_oracle_lost(o, lost), APH_FAIL);
    assert_int_equal(aphi_oracle_lost_oldest(o, 1), APH_FAIL);
    aph_oracle_close(o);
    o = hopeless((aph_oracle_options){.time_ms = 1});
    assert_int_equal(o->verdict, APH_UNKNOWN);
    assert_int_equal(aph_oracle_lost(o, 0), APH_UNKNOWN);
    assert_int_equal(aphi_oracle_lost_oldest(o, 1), APH_UNKNOWN);
    aph_oracle_close(o);
}

/* The oldest request of a connection is lost: its response is not expected any more. */
static void test_lost_oldest(void **unused)
{
    (void)unused;
    aph_oracle *o = small_open(&aph_model_register, &(aph_oracle_options){0});
    aph_oracle_sent(o, 1, small_message("w5", 2), NULL, NULL);
    assert_int_equal(aphi_oracle_lost_oldest(o, 1), APH_PASS);
    aph_oracle_sent(o, 1, small_message("r", 1), NULL, NULL);
    assert_int_equal(aph_oracle_received(o, 1, aph_int(5)), APH_PASS);
    aph_oracle_close(o);
    /* In a lossy environment, a loss proves nothing: a wrong message is still rejected. */
    o = small_open(&aph_model_register, &(aph_oracle_options){.environment = "udp"});
    aph_oracle_sent(o, 1, small_message("w5", 2), NULL, NULL);
    assert_int_equal(aphi_oracle_lost_oldest(o, 1), APH_PASS);
    assert_int_equal(aph_oracle_received(o, 1, aph_int(5)), APH_FAIL);
    aph_oracle_close(o);
}

/* Twelve writes are lost. If a read refutes a guessed order of the other writes, another order is tried before the lost
 * writes. A lost write is tried only for a value that no other request wrote. */
static void test_many_lost_requests(void **unused)
{
    (void)unused;
    char text[4096] = "";
    for (int i = 0; i < 12; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%d>{\"f\":\"write\",\"value\":%d} %d! ",
                 20 + i, 50 + i, 20 + i);
    for (int i = 0; i < 12; i++)
        strcat(text, "1>w1 2>w2 3>w3 3<ok 2<ok 1<ok 4>r 4<3 5>r 5<3 ");
    small_history h = small_read(text);
    aph_oracle *o = small_open(&aph_model_register, &(aph_oracle_options){0});
    small_feed_all(o, &h, true);
    assert_int_equal(o->verdict, APH_PASS);
    assert_true(o->configurations < 1000);
    assert_int_equal(o->lost_max, 0);
    aph_oracle_close(o);

    strcat(text, "4>r 4<57 5>r 5<53 ");
    h = small_read(text);
    o = small_open(&aph_model_register, &(aph_oracle_options){0});
    small_feed_all(o, &h, true);
    assert_int_equal(o->verdict, APH_PASS);
    assert_int_equal(o->lost_max, 2);
    aph_oracle_close(o);
    fails(&aph_model_register, "1>w5 1! 3>w6 3! 2>r 2<6 2>r 2<5 2>r 2<6");
}

/* ---- environments ------------------------------------------------------------------------------------------------ */

static void test_environments(void **unused)
{
    (void)unused;
    const aph_model *r = &aph_model_register;
    has_verdict(r, "tcp", "1>w1 2>r 1<ok 2<null", APH_PASS);
    has_verdict(r, "sync", "1>w1 2>r 1<ok 2<1", APH_PASS);
    has_verdict(r, "sync", "1>w1 2>r 1<ok 2<null", APH_FAIL); /* the write was taken when it was sent */
    has_verdict(r, "sync", "1>w1 2>r 2<1 1<ok", APH_PASS);
    has_verdict(r, NULL, "1>w1 2>r 1<ok 2<null", APH_PASS); /* the default is tcp */
    /* With room for one request on a connection, the first of connection 1 was taken, and before it the write. */
    has_verdict(r, "tcp:1", "1>c12 2>w1 3>c34 4>c45 5>c56 6>c67 7>c78 8>c89 1>r 2<ok 1<true 1<2 "
                "3<false 4<false 5<false 6<false 7<false 8<false", APH_PASS);
    char error[100] = "";
    assert_null(aph_oracle_open(r, &(aph_oracle_options){.environment = "pigeon"}, error, sizeof error));
    assert_non_null(strstr(error, "pigeon"));
}

/* ---- faults ------------------------------------------------------------------------------------------------------ */

static aph_fault fault_of(const aph_model *model, aph_oracle_options options, const char *text, const char *part)
{
    /* A promise about responses is used and verified only with lookahead. */
    small_history h = small_read(text);
    aph_oracle *o = small_open(model, &options);
    const char *message;
    small_feed_all(o, &h, model->reads != NULL);
    aph_fault fault = aph_oracle_fault(o, &message);
    assert_int_equal(o->verdict, fault ? APH_UNKNOWN : APH_PASS);
    if (part && !strstr(message, part))
        fail_msg("%s: \"%s\" does not contain \"%s\"", text, message, part);
    aph_oracle_close(o);
    return fault;
}

static void test_bad_input(void **unused)
{
    (void)unused;
    const aph_model *r = &aph_model_register;
    aph_oracle_options plain = {0};
    assert_int_equal(fault_of(r, plain, "1>{\"f\":\"pop\"} 1<ok", "pop"), APH_FAULT_REQUEST);
    assert_int_equal(fault_of(r, plain, "1>{\"f\":\"cas\"} 1<ok", "value"), APH_FAULT_REQUEST);
    assert_int_equal(fault_of(r, plain, "1<ok", "connection 1"), APH_FAULT_ANSWER);
    assert_int_equal(fault_of(r, plain, "1>r 1<null 1<null", "response without a request"), APH_FAULT_ANSWER);
    assert_int_equal(fault_of(r, plain, "1>r 2<null", "connection 2"), APH_FAULT_ANSWER);
    assert_int_equal(fault_of(r, plain, "1>r 1<null", NULL), APH_FAULT_NONE);
}

static int64_t calls;

static void impure_step(aph *m, aph_value *state)
{
    (void)state;
    aph_request q = aph_recv(m);
    aph_send(m, q.from, aph_int(calls++));
}

/* The runs have the same results, but not the same choices. */
static void impure_choice_step(aph *m, aph_value *state)
{
    (void)state;
    aph_request q = aph_recv(m);
    aph_choose(m, APH_INT, calls++ % 2 ? "odd" : "even");
    aph_send(m, q.from, aph_str("ok"));
}

static void twice_step(aph *m, aph_value *state)
{
    (void)state;
    aph_request q = aph_recv(m);
    aph_send(m, q.from, aph_str("ok"));
    aph_send(m, q.from, aph_str("ok"));
}

static void elsewhere_step(aph *m, aph_value *state)
{
    (void)state;
    aph_request q = aph_recv(m);
    aph_send(m, q.from + 1, aph_str("ok"));
}

static void pair_step(aph *m, aph_value *state)
{
    (void)state;
    aph_request a = aph_recv(m), b = aph_recv(m);
    aph_send(m, a.from, aph_str("ok"));
    aph_send(m, b.from, aph_str("ok"));
}

static void silent_step(aph *m, aph_value *state)
{
    (void)state;
    aph_recv(m);
}

static void restless_step(aph *m, aph_value *state)
{
    (void)m;
    *state = aph_int(aph_is_int(*state) ? aph_int_of(*state) + 1 : 0);
}

static void counting_step(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    *state = aph_int(aph_is_int(*state) ? aph_int_of(*state) + 1 : 1);
    aph_send(m, q.from, aph_str("ok"));
}

static bool all_read(aph_value request, aph_value answer)
{
    (void)request;
    (void)answer;
    return true;
}

static void test_impure_models_are_found(void **unused)
{
    (void)unused;
    const aph_model impure = {.version = APH_MODEL_VERSION, .name = "impure", .step = impure_step, .rpc = true};
    calls = 0;
    const char *text = "1>1 1<0 1>1 1<1 1>1 1<2 1>1 1<3";
    assert_int_equal(fault_of(&impure, (aph_oracle_options){0}, text, "two runs"), APH_FAULT_IMPURE);
    const aph_model choice = {.version = APH_MODEL_VERSION, .name = "impure", .step = impure_choice_step, .rpc = true};
    assert_int_equal(fault_of(&choice, (aph_oracle_options){0}, "1>1 1<ok", "two runs"), APH_FAULT_IMPURE);
}

static void test_broken_promises_are_found(void **unused)
{
    (void)unused;
    aph_step *steps[] = {twice_step, elsewhere_step, pair_step, silent_step};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        const aph_model model = {.version = APH_MODEL_VERSION, .name = "false", .step = steps[i], .rpc = true};
        assert_int_equal(fault_of(&model, (aph_oracle_options){0}, "1>1 2>1 1<ok", "rpc"), APH_FAULT_PROMISE);
    }
    const aph_model counting = {.version = APH_MODEL_VERSION, .name = "false", .step = counting_step, .rpc = true,
                                .reads = all_read};
    assert_int_equal(fault_of(&counting, (aph_oracle_options){0}, "1>1 1<ok 1>1 1<ok", "is a read"), APH_FAULT_PROMISE);
}

static void test_ignored_promises_are_not_used(void **unused)
{
    (void)unused;
    aph_oracle_options no_promises = {.ignore_promises = true};
    const aph_model twice = {.version = APH_MODEL_VERSION, .name = "false", .step = twice_step, .rpc = true};
    assert_int_equal(fault_of(&twice, no_promises, "1>1 1<\"ok\" 1<\"ok\" 2>1 2<\"ok\"", NULL), APH_FAULT_NONE);
    const aph_model counting = {.version = APH_MODEL_VERSION, .name = "false", .step = counting_step, .rpc = true,
                                .reads = all_read};
    assert_int_equal(fault_of(&counting, no_promises, "1>1 1<ok 1>1 1<ok", NULL), APH_FAULT_NONE);
}

static void test_models_that_are_not_rpc(void **unused)
{
    (void)unused;
    const aph_model twice = {.version = APH_MODEL_VERSION, .name = "twice", .step = twice_step};
    const aph_model elsewhere = {.version = APH_MODEL_VERSION, .name = "elsewhere", .step = elsewhere_step};
    const aph_model pair = {.version = APH_MODEL_VERSION, .name = "pair", .step = pair_step};
    passes(&twice, "1>1 1<ok 1<ok");
    fails(&twice, "1>1 1<ok 1<ok 1<ok");
    fails(&twice, "1<ok");
    passes(&elsewhere, "1>1 2<ok");
    fails(&elsewhere, "1>1 1<ok");
    fails(&pair, "1>1 1<ok");
    passes(&pair, "1>1 2>1 2<ok 1<ok");
    fails(&pair, "1>1 2>1 2<ok 1<ok 3>1 3<ok");
}

static void test_a_model_that_never_receives(void **unused)
{
    (void)unused;
    const aph_model restless = {.version = APH_MODEL_VERSION, .name = "restless", .step = restless_step};
    char error[200] = "";
    assert_null(aph_oracle_open(&restless, &(aph_oracle_options){0}, error, sizeof error));
    assert_non_null(strstr(error, "never receives"));
}

/* Every second step receives nothing. */
static void resting_step(aph *m, aph_value *state)
{
    bool rested = *state == aph_bool(true);
    *state = aph_bool(!rested);
    if (!rested)
        return;
    aph_request q = aph_recv(m);
    aph_send(m, q.from, q.message);
}

static void test_steps_without_a_request(void **unused)
{
    (void)unused;
    const aph_model resting = {.version = APH_MODEL_VERSION, .name = "resting", .step = resting_step, .rpc = true};
    passes(&resting, "1>1 1<1 2>2 1>3 2<2 1<3");
    fails(&resting, "1>1 1<1 2>2 2<1");
}

static void test_nothing_is_added_after_the_end(void **unused)
{
    (void)unused;
    aph_oracle *o = small_open(&aph_model_register, &(aph_oracle_options){0});
    small_history h = small_read("1>r 1<5 1>w5 1<ok");
    small_feed_all(o, &h, false);
    assert_int_equal(o->verdict, APH_FAIL);
    assert_int_equal(aph_oracle_stats_of(o).requests, 1);
    assert_int_equal(aph_oracle_stats_of(o).answers, 1);
    aph_oracle_close(o);
}

/* Each of many connections has its own queue of requests, and the tables of an oracle are freed. */
static void test_many_connections(void **unused)
{
    (void)unused;
    enum { N = 300 };
    size_t before = 0;
    for (int times = 0; times < 20; times++) {
        aph_oracle *o = small_open(&aph_model_register, &(aph_oracle_options){0});
        for (int64_t i = 0; i < N; i++) {
            aph_oracle_sent(o, 7 * i, aph_record("f", aph_str("write"), "value", aph_int(i)), NULL, NULL);
            aph_oracle_sent(o, 7 * i, aph_record("f", aph_str("read")), NULL, NULL);
        }
        for (int64_t i = N; i-- > 0;) {
            assert_int_equal(aph_oracle_received(o, 7 * i, aph_str("ok")), APH_PASS);
            assert_int_equal(aph_oracle_received(o, 7 * i, aph_int(i)), APH_PASS);
        }
        aph_oracle_sent(o, 3, aph_record("f", aph_str("read")), NULL, NULL);
        assert_int_equal(aph_oracle_received(o, 3, aph_int(0)), APH_PASS);
        aph_oracle_close(o);
        aph_collect();
        if (times == 0)
            before = mallinfo2().uordblks;
    }
    assert_true(mallinfo2().uordblks < before + 500000);
}

/* ---- models that distinguish connections ------------------------------------------------------------------------- */

/* Only connection 2 gets another response. */
static void partial_step(aph *m, aph_value *state)
{
    (void)state;
    aph_request q = aph_recv(m);
    aph_send(m, q.from, q.from == 2 ? aph_str("two") : aph_str("ok"));
}

/* The same request on another connection has its own response, even in the same state. */
static void test_connections_are_compared(void **unused)
{
    (void)unused;
    const aph_model partial = {.version = APH_MODEL_VERSION, .name = "partial", .step = partial_step, .rpc = true};
    passes(&partial, "1>1 1<ok 3>1 3<ok 2>1 2<\"two\"");
    fails(&partial, "1>1 1<ok 3>1 3<ok 2>1 2<ok");
    aph_oracle *o = small_open(&aph_model_register, &(aph_oracle_options){0});
    small_history h = small_read("1>w1 1<ok 2>w2 2<ok 1>r 1<2");
    small_feed_all(o, &h, true);
    assert_int_equal(o->verdict, APH_PASS);
    assert_false(aphi_machine_tells_apart(o->machine));
    aph_oracle_close(o);
}

/* The responses of a connection are observed in order, also if connections are known to differ. */
static void test_responses_of_a_distinguished_connection(void **unused)
{
    (void)unused;
    aph_oracle *o = small_open(&aph_model_register, &(aph_oracle_options){.tell_apart = true});
    small_history h = small_read("1>w1 1>c12 1>r 2>r 2<2 1<ok 1<true 1<2");
    small_feed_all(o, &h, false);
    assert_int_equal(o->verdict, APH_PASS);
    aph_oracle_close(o);
}

/* "x" changes the state, the other request shows the connection. */
static void who_step(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    if (aph_str_is(q.message, "x"))
        *state = q.message;
    aph_send(m, q.from, aph_str_is(q.message, "who") ? aph_int(q.from) : aph_str("ok"));
}

static aph_verdict ask(aph_oracle *o, const char *request, aph_value answer)
{
    aph_lookahead known = {.future = APH_FUTURE_ANSWER, .answer = answer, .order = o->requests, .alone = true};
    aph_oracle_sent(o, 1, aph_str(request), &known, NULL);
    return aph_oracle_received(o, 1, answer);
}

/* Two lost requests were interchanged in an earlier window. When the model is found to distinguish connections, a
 * failure is certain only if both were on the same connection. */
static void test_interchanged_requests(void **unused)
{
    (void)unused;
    const aph_model who = {.version = APH_MODEL_VERSION, .name = "who", .step = who_step, .rpc = true};
    const int64_t pairs[][2] = {{7, 8}, {8, 7}, {8, 8}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        aph_oracle *o = small_open(&who, &(aph_oracle_options){.patient = true});
        aph_lookahead lost = {.future = APH_FUTURE_LOST};
        aph_oracle_sent(o, pairs[i][0], aph_str("x"), &lost, NULL);
        aph_oracle_sent(o, pairs[i][1], aph_str("x"), &lost, NULL);
        for (int n = 0; n < APHI_WINDOW_MIN; n++)
            assert_int_equal(ask(o, "nothing", aph_str("ok")), APH_PASS);
        assert_true(o->event_base > 0);
        assert_int_equal(ask(o, "who", aph_int(1)), APH_PASS);
        assert_true(o->tells_apart);
        bool certain = pairs[i][0] == pairs[i][1];
        assert_int_equal(ask(o, "nothing", aph_str("wrong")), certain ? APH_FAIL : APH_UNKNOWN);
        assert_int_equal(aph_oracle_limit(o), certain ? APH_LIMIT_NONE : APH_LIMIT_WINDOW);
        aph_oracle_close(o);
    }
}

/* ---- connections that the server opened -------------------------------------------------------------------------- */

/* {"call": TEXT} calls another server, and returns its response. */
static void caller_step(aph *m, aph_value *open)
{
    aph_request q = aph_recv(m);
    if (q.from < 0) {
        aph_send(m, aph_int_of(aph_get(*open, aph_int(q.from))), q.message);
        *open = aph_remove(*open, aph_int(q.from));
        return;
    }
    int64_t number = -1;
    while (aph_has(*open, aph_int(number)))
        number--;
    *open = aph_set(*open, aph_int(number), aph_int(q.from));
    aph_send(m, number, aph_field(q.message, "call"));
}

/* Connections that the server opened: it sends first, and receives the response to its own message. */
static void test_opened_connections(void **unused)
{
    (void)unused;
    const aph_model m = {.version = APH_MODEL_VERSION, .name = "caller", .step = caller_step};
    has_verdict(&m, "tcp", "1>{\"call\":\"a\"} 4294967296<\"a\" 4294967296>1 1<1", APH_PASS);
    has_verdict(&m, "tcp", "1>{\"call\":\"a\"} 4294967296<\"b\"", APH_FAIL);
    has_verdict(&m, "tcp", "1>{\"call\":\"a\"} 4294967296<\"a\" 4294967296>1 1<2", APH_FAIL);
    has_verdict(&m, "tcp", "1>{\"call\":\"a\"} 2>{\"call\":\"b\"} 4294967296<\"b\" 4294967297<\"a\" "
                "4294967297>1 4294967296>2 2<2 1<1", APH_PASS);
    has_verdict(&m, "tcp", "1>{\"call\":\"a\"} 2>{\"call\":\"b\"} 4294967296<\"b\" 4294967297<\"a\" "
                "4294967297>1 4294967296>2 2<1", APH_FAIL);
    has_verdict(&m, "tcp", "1>{\"call\":\"a\"} 2>{\"call\":\"a\"} 4294967300<\"a\" 4294967299<\"a\" "
                "4294967299>1 4294967300>2 2<1 1<2", APH_PASS);
    has_verdict(&m, "tcp", "1>{\"call\":\"a\"} 4294967296<\"a\" 4294967297<\"a\"", APH_FAIL);
}

/* {"call": TEXT, "at": ORIGIN} sends TEXT to the origin, and returns its response. */
static void router_step(aph *m, aph_value *open)
{
    aph_request q = aph_recv(m);
    if (q.from < 0) {
        aph_send(m, aph_int_of(aph_get(*open, aph_int(q.from))), q.message);
        *open = aph_remove(*open, aph_int(q.from));
        return;
    }
    int64_t number = aph_to_origin(-1 - q.from, aph_int_of(aph_field(q.message, "at")));
    *open = aph_set(*open, aph_int(number), aph_int(q.from));
    aph_send(m, number, aph_field(q.message, "call"));
}

static void test_origin_numbers(void **unused)
{
    (void)unused;
    const int64_t last = -(INT64_C(1) << 56);
    const int64_t numbers[] = {-1, -2, -70000, last + 1, last};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        for (int64_t origin = 0; origin < APH_ORIGINS_MAX; origin++) {
            int64_t number = aph_to_origin(numbers[i], origin);
            assert_true(number < 0);
            assert_int_equal(aph_origin_of(number), origin);
            assert_int_equal(aph_without_origin(number), numbers[i]);
        }
    assert_int_equal(aph_to_origin(-7, 0), -7);
    assert_int_equal(aph_origin_of(APH_ACCEPTED), 0);
    assert_int_equal(aph_origin_of(2 * APH_ACCEPTED - 1), 0);
    assert_int_equal(aph_origin_of(2 * APH_ACCEPTED), 1);
}

/* Origin 1 begins at 8589934592. A connection at another origin than the model's is not explained. */
static void test_origins(void **unused)
{
    (void)unused;
    const aph_model m = {.version = APH_MODEL_VERSION, .name = "router", .step = router_step};
    aph_model apart = m;
    apart.calls_apart = true;
    const aph_model *models[] = {&m, &apart};
    for (size_t i = 0; i < 2; i++) {
        has_verdict(models[i], "tcp", "1>{\"call\":\"a\",\"at\":0} 4294967296<\"a\" 4294967296>1 1<1", APH_PASS);
        has_verdict(models[i], "tcp", "1>{\"call\":\"a\",\"at\":1} 8589934592<\"a\" 8589934592>1 1<1", APH_PASS);
        has_verdict(models[i], "tcp", "1>{\"call\":\"a\",\"at\":0} 8589934592<\"a\"", APH_FAIL);
        has_verdict(models[i], "tcp", "1>{\"call\":\"a\",\"at\":1} 4294967296<\"a\"", APH_FAIL);
        /* Equal messages to both origins: only the origin shows which response belongs to which client. */
        has_verdict(models[i], "tcp", "1>{\"call\":\"a\",\"at\":0} 2>{\"call\":\"a\",\"at\":1} 8589934593<\"a\" "
                    "4294967296<\"a\" 8589934593>1 4294967296>2 2<1 1<2", APH_PASS);
        has_verdict(models[i], "tcp", "1>{\"call\":\"a\",\"at\":0} 2>{\"call\":\"a\",\"at\":1} 8589934593<\"a\" "
                    "4294967296<\"a\" 8589934593>1 4294967296>2 2<2", APH_FAIL);
        has_verdict(models[i], "tcp", "1>{\"call\":\"a\",\"at\":1} 2>{\"call\":\"a\",\"at\":1} 8589934593<\"a\" "
                    "8589934592<\"a\" 8589934593>1 8589934592>2 2<2 1<1", APH_PASS);
    }
}

/* ---- limits ------------------------------------------------------------------------------------------------------ */

/* Concurrent appends, then a value that no order gives: each of the 18! orders leads to another state. */
static aph_oracle *hopeless(aph_oracle_options options)
{
    aph_oracle *o = small_open(&aph_model_kv, &options);
    enum { N = 18 };
    for (int i = 0; i < N; i++)
        aph_oracle_sent(o, i, aph_record("f", aph_str("append"), "key", aph_str("k"), "value", aph_strf("%c", 'a' + i)),
                        NULL, NULL);
    for (int i = 0; i < N; i++)
        aph_oracle_received(o, i, aph_str("ok"));
    aph_oracle_sent(o, 99, aph_record("f", aph_str("get"), "key", aph_str("k")), NULL, NULL);
    aph_oracle_received(o, 99, aph_str("the appends do not give this"));
    return o;
}

static void test_time_limit_inside_a_search(void **unused)
{
    (void)unused;
    int64_t begin = aphi_clock_ns();
    aph_oracle *o = hopeless((aph_oracle_options){.time_ms = 200});
    int64_t took_ms = (aphi_clock_ns() - begin) / 1000000;
    assert_int_equal(o->verdict, APH_UNKNOWN);
    assert_int_equal(aph_oracle_limit(o), APH_LIMIT_TIME);
    assert_int_equal(aph_oracle_fault(o, NULL), APH_FAULT_NONE);
    assert_true(took_ms >= 190 && took_ms < 60000);
    aph_oracle_close(o);
}

static void test_memory_limit(void **unused)
{
    (void)unused;
    aph_oracle *o = hopeless((aph_oracle_options){.memory = 16 << 20, .time_ms = 30000});
    assert_int_equal(o->verdict, APH_UNKNOWN);
    assert_int_equal(aph_oracle_limit(o), APH_LIMIT_MEMORY);
    assert_true(aph_oracle_stats_of(o).bytes < 64 << 20);
    aph_oracle_close(o);
}

/* Decides whether the number is a sum of three cubes. For 114 this is an open problem. */
static aph_value sum_of_cubes(aph *m)
{
    aph_value sum = aph_int(0);
    for (int i = 0; i < 3; i++) {
        aph_value x = aph_choose(m, APH_INT, "x");
        sum = aph_add(sum, aph_mul(x, aph_mul(x, x)));
    }
    return sum;
}

static void cubes_step(aph *m, aph_value *state)
{
    (void)state;
    aph_request q = aph_recv(m);
    aph_send(m, q.from, aph_bool(aph_decide(m, aph_eq(sum_of_cubes(m), q.message), "three cubes")));
}

static void sums_step(aph *m, aph_value *state)
{
    (void)state;
    aph_request q = aph_recv(m);
    aph_send(m, q.from, sum_of_cubes(m));
}

static void test_solver_limit(void **unused)
{
    (void)unused;
    const aph_model cubes = {.version = APH_MODEL_VERSION, .name = "cubes", .step = cubes_step, .rpc = true};
    aph_oracle *o = small_open(&cubes, &(aph_oracle_options){.solver_ms = 100});
    small_history h = small_read("1>114 1<true");
    small_feed_all(o, &h, false);
    assert_int_equal(o->verdict, APH_UNKNOWN);
    assert_int_equal(aph_oracle_limit(o), APH_LIMIT_SOLVER);
    assert_true(aph_oracle_stats_of(o).solver_calls > 0);
    aph_oracle_close(o);
    /* The observed sum is compared with the sent one when it arrives. */
    const aph_model sums = {.version = APH_MODEL_VERSION, .name = "sums", .step = sums_step};
    o = small_open(&sums, &(aph_oracle_options){.solver_ms = 100});
    h = small_read("1>0 1<114");
    small_feed_all(o, &h, false);
    assert_int_equal(o->verdict, APH_UNKNOWN);
    assert_int_equal(aph_oracle_limit(o), APH_LIMIT_SOLVER);
    aph_oracle_close(o);
}

/* ---- long runs --------------------------------------------------------------------------------------------------- */

enum { CLIENTS = 4 };

/* A register with `clients` clients, each of which always has a pending request. */
static void run_long(bool foreseen, unsigned reads_of_10, size_t clients, size_t operations)
{
    aph_oracle *o = small_open(&aph_model_register, &(aph_oracle_options){0});
    aphi_choice c = aphi_choice_seed(11);
    aph_value answers[CLIENTS] = {0}, now = APH_NIL; /* small integers are not on the heap, so need no root */
    bool asked[CLIENTS] = {false};
    size_t window_most = 0, bytes_early = 0, bytes_late = 0;
    for (size_t i = 0; i < operations; i++) {
        size_t client = i % clients;
        if (asked[client])
            assert_int_equal(aph_oracle_received(o, (int64_t)client, answers[client]), APH_PASS);
        asked[client] = true;
        /* The request is taken at once, so the test knows the response, but the oracle does not. */
        aph_value message = aph_record("f", aph_str("read"));
        answers[client] = now;
        if (!aphi_choice_chance(&c, reads_of_10, 10)) {
            now = aph_int((int64_t)(i % 5));
            message = aph_record("f", aph_str("write"), "value", now);
            answers[client] = aph_str("ok");
        }
        aph_lookahead known = {.future = APH_FUTURE_ANSWER, .answer = answers[client], .order = i};
        assert_int_equal(aph_oracle_sent(o, (int64_t)client, message, foreseen ? &known : NULL, NULL), APH_PASS);
        aph_oracle_stats s = aph_oracle_stats_of(o);
        window_most = s.window > window_most ? s.window : window_most;
        size_t *bytes = i < operations / 5 ? &bytes_early : &bytes_late;
        *bytes = s.bytes > *bytes ? s.bytes : *bytes;
    }
    assert_int_equal(aph_oracle_stats_of(o).requests, operations);
    aph_oracle_close(o);
    aph_collect();
    if (window_most >= 20000 || bytes_late >= 2 * bytes_early + 1000000)
        fail_msg("%s, %u reads in 10, %zu clients: a window of %zu, %zu bytes", foreseen ? "foreseen" : "open",
                 reads_of_10, clients, window_most, bytes_late);
}

static void test_the_window_stays_bounded(void **unused)
{
    (void)unused;
    run_long(true, 5, 1, 50000);
    run_long(false, 5, 1, 50000);
    run_long(true, 0, 2, 50000);
    run_long(false, 5, 2, 50000);
}

/* With many pending requests at all times, there is never just a single configuration. */
static void test_the_window_stays_bounded_under_load(void **unused)
{
    (void)unused;
    run_long(true, 5, 4, 50000);
}

/* Concurrent writes and reads of 0, 1, 2 ..., then a read of an old value. */
static aph_oracle *read_old(bool patient)
{
    aph_oracle *o = small_open(&aph_model_register, &(aph_oracle_options){.patient = patient});
    enum { N = 10000 };
    for (int i = 0; i < N; i++) {
        aph_oracle_sent(o, 1, aph_record("f", aph_str("write"), "value", aph_int(i)), NULL, NULL);
        aph_oracle_sent(o, 2, aph_record("f", aph_str("read")), NULL, NULL);
        aph_oracle_received(o, 1, aph_str("ok"));
        assert_int_equal(aph_oracle_received(o, 2, aph_int(i)), APH_PASS);
    }
    aph_oracle_sent(o, 2, aph_record("f", aph_str("read")), NULL, NULL);
    aph_oracle_received(o, 2, aph_int(N - 2));
    return o;
}

static void test_a_failure_after_a_long_past(void **unused)
{
    (void)unused;
    aph_oracle *o = read_old(true);
    assert_int_equal(o->verdict, APH_FAIL);
    aph_oracle_close(o);
    /* Without `patient`, the oracle may drop explanations, but then the limit is APH_LIMIT_WINDOW. */
    o = read_old(false);
    assert_int_not_equal(o->verdict, APH_PASS);
    if (o->verdict == APH_UNKNOWN)
        assert_int_equal(aph_oracle_limit(o), APH_LIMIT_WINDOW);
    aph_oracle_close(o);
}

/* A lost write is pending during a long run. It may still be taken, but the window is trimmed. */
static void test_a_lost_request_in_a_long_run(void **unused)
{
    (void)unused;
    for (int patient = 0; patient < 2; patient++) {
        aph_oracle *o = small_open(&aph_model_register, &(aph_oracle_options){.patient = patient});
        uint64_t lost;
        aph_oracle_sent(o, 9, small_message("w9", 2), NULL, &lost);
        aph_oracle_lost(o, lost);
        for (int i = 0; i < 2 * APHI_WINDOW_MIN; i++) {
            aph_oracle_sent(o, 1, small_message("w1", 2), NULL, NULL);
            assert_int_equal(aph_oracle_received(o, 1, aph_str("ok")), APH_PASS);
            assert_true(aph_oracle_stats_of(o).window < 3 * APHI_WINDOW_MIN);
        }
        aph_oracle_sent(o, 1, small_message("r", 1), NULL, NULL);
        assert_int_equal(aph_oracle_received(o, 1, aph_int(2)), patient ? APH_FAIL : APH_UNKNOWN);
        assert_int_equal(aph_oracle_limit(o), patient ? APH_LIMIT_NONE : APH_LIMIT_WINDOW);
        aph_oracle_close(o);
    }
}

/* Four clients always have a pending request, and lost writes are observed: they are removed with the oldest frames. */
static void test_observed_losses_under_load(void **unused)
{
    (void)unused;
    enum { OPERATIONS = 20000 };
    aph_oracle *o = small_open(&aph_model_register, &(aph_oracle_options){0});
    aph_value answers[CLIENTS] = {0}, now = APH_NIL; /* small integers are not on the heap, so need no root */
    for (int64_t i = 0; i < OPERATIONS; i++) {
        int64_t client = i % CLIENTS;
        if (i >= CLIENTS)
            assert_int_equal(aph_oracle_received(o, client, answers[client]), APH_PASS);
        if (i % 50 == 0) {
            uint64_t lost;
            now = aph_int(1000 + i);
            aph_oracle_sent(o, CLIENTS + i, aph_record("f", aph_str("write"), "value", now), NULL, &lost);
            assert_int_equal(aph_oracle_lost(o, lost), APH_PASS);
        }
        bool reads = i % 50 < 5 || i % 3;
        answers[client] = reads ? now : aph_str("ok");
        now = reads ? now : aph_int(i % 7);
        aph_oracle_sent(o, client, reads ? aph_record("f", aph_str("read"))
                                         : aph_record("f", aph_str("write"), "value", now), NULL, NULL);
        assert_true(aph_oracle_stats_of(o).window < 20000);
    }
    assert_true(o->dropped);
    assert_true(o->pending_count < 100);
    aph_oracle_close(o);
}

/* A partition that is opened again remembers that explanations were dropped: a failure is not certain. */
static void test_resumed(void **unused)
{
    (void)unused;
    for (int dropped = 0; dropped < 2; dropped++) {
        aph_oracle *o = small_open(&aph_model_register, &(aph_oracle_options){0});
        aphi_core core = o->core;
        aphi_oracle_resume(o, &core, dropped);
        small_history h = small_read("1>r 1<5");
        small_feed_all(o, &h, false);
        assert_int_equal(o->verdict, dropped ? APH_UNKNOWN : APH_FAIL);
        assert_int_equal(aph_oracle_limit(o), dropped ? APH_LIMIT_WINDOW : APH_LIMIT_NONE);
        aph_oracle_close(o);
    }
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/* Probes and closed partitions free their memory. */
static void test_memory_is_freed(void **unused)
{
    (void)unused;
    enum { PROBES = 20000, OPENINGS = 500 };
    const aph_model twice = {.version = APH_MODEL_VERSION, .name = "twice", .step = twice_step};
    aph_oracle *o = small_open(&twice, &(aph_oracle_options){0});
    assert_true(aph_oracle_stats_of(o).bytes < 1 << 20);
    aph_oracle_sent(o, 1, aph_int(1), NULL, NULL);
    aph_oracle_received(o, 1, aph_str("ok"));
    size_t before = 0;
    for (int i = 0; i < PROBES; i++) {
        assert_int_equal(aphi_oracle_may_be_quiet(o), APH_FAIL);
        before = i == 10 ? mallinfo2().uordblks : before;
    }
    assert_true(mallinfo2().uordblks < before + 500000);
    aph_oracle_close(o);
    for (int i = 0; i < OPENINGS; i++) {
        char error[200];
        aphi_partitions_close(aphi_partitions_open(&twice, &(aph_oracle_options){0}, error, sizeof error));
        before = i == 10 ? mallinfo2().uordblks : before;
    }
    assert_true(mallinfo2().uordblks < before + 500000);
}

/* ---- promises that reduce the search ----------------------------------------------------------------------------- */

/* Counters: {"add": name} returns "ok"; {"get": name} returns the count. Adds to different counters commute. */
static void counters_step(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    aph_value add = aph_field(q.message, "add"), name = add ? add : aph_field(q.message, "get");
    aph_value is = aph_has(*state, name) ? aph_get(*state, name) : aph_int(0);
    if (add)
        *state = aph_set(*state, name, aph_add(is, aph_int(1)));
    aph_send(m, q.from, add ? aph_str("ok") : is);
}

static bool counters_commute(aph_value a, aph_value b)
{
    bool both_add = aph_field(a, "add") && aph_field(b, "add");
    aph_value of_a = aph_field(a, "add") ? aph_field(a, "add") : aph_field(a, "get");
    aph_value of_b = aph_field(b, "add") ? aph_field(b, "add") : aph_field(b, "get");
    return both_add || of_a != of_b;
}

static const char *const counters_good =
    "1>{\"add\":\"a\"} 2>{\"add\":\"b\"} 3>{\"add\":\"c\"} 4>{\"add\":\"d\"} "
    "5>{\"get\":\"a\"} 5<1 5>{\"get\":\"b\"} 5<0 "
    "5>{\"get\":\"d\"} 5<1 1<ok 2<ok 3<ok 4<ok 5>{\"get\":\"b\"} 5<1 5>{\"get\":\"c\"} 5<1";
static const char *const counters_bad =
    "1>{\"add\":\"a\"} 2>{\"add\":\"b\"} 3>{\"add\":\"c\"} 4>{\"add\":\"d\"} "
    "5>{\"get\":\"a\"} 5<1 5>{\"get\":\"b\"} 5<0 "
    "5>{\"get\":\"d\"} 5<1 5>{\"get\":\"a\"} 5<0";

static uint64_t visits_of(const aph_model *model, const char *text, aph_verdict expected)
{
    small_history h = small_read(text);
    aph_oracle *o = small_open(model, &(aph_oracle_options){0});
    small_feed_all(o, &h, true);
    assert_int_equal(o->verdict, expected);
    uint64_t visits = aph_oracle_stats_of(o).configurations;
    aph_oracle_close(o);
    return visits;
}

/* A read at the end shows the order of two writes of x at the start. In between are writes in unknown orders, on
 * connections that make their keys depend on each other; none of these writes is relevant to the failure. */
static void test_reasons_far_back(void **unused)
{
    (void)unused;
    enum { ROUNDS = 16 };
    char text[8192] = "1>{\"f\":\"write\",\"key\":\"x\",\"value\":1} 2>{\"f\":\"write\",\"key\":\"x\",\"value\":2} "
                      "1<ok 2<ok ";
    for (int i = 0; i < ROUNDS; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text),
                 "3>{\"f\":\"write\",\"key\":%d,\"value\":1} 3>{\"f\":\"write\",\"key\":%d,\"value\":1} "
                 "4>{\"f\":\"write\",\"key\":%d,\"value\":2} 3<ok 4<ok 3<ok ", i, i + ROUNDS, i);
    strcat(text, "5>{\"f\":\"read\",\"key\":\"x\"} 5<1");
    assert_true(visits_of(&aph_model_register, text, APH_PASS) < 20 * ROUNDS);
}

static void test_commuting_requests(void **unused)
{
    (void)unused;
    const aph_model plain = {.version = APH_MODEL_VERSION, .name = "counters", .step = counters_step, .rpc = true};
    aph_model commuting = plain;
    commuting.commute = counters_commute;
    passes(&commuting, counters_good);
    fails(&commuting, counters_bad);
    visits_of(&plain, counters_good, APH_PASS);
    visits_of(&commuting, counters_good, APH_PASS);
    uint64_t without = visits_of(&plain, counters_bad, APH_FAIL), with = visits_of(&commuting, counters_bad, APH_FAIL);
    assert_true(with < without);
}

/* A write goes to one copy; it reaches the other one before any later request. Reads use the other copy. */
static void copies_step(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    aph_value written = aph_field(*state, "written"), copied = aph_field(*state, "copied");
    if (written != copied && aph_either(m, "not yet copied", "copied") == 1)
        copied = written;
    if (aph_field(q.message, "write"))
        written = aph_field(q.message, "write");
    aph_send(m, q.from, aph_field(q.message, "write") ? aph_str("ok") : copied ? copied : aph_str("none"));
    *state = aph_record("written", written ? written : aph_str("none"), "copied", copied ? copied : aph_str("none"));
}

/* Nothing shows the choices of the steps, so n requests have 2^n explanations, which lead to n states. */
static void test_choices_that_nothing_shows(void **unused)
{
    (void)unused;
    enum { WRITES = 100 };
    const aph_model copies = {.version = APH_MODEL_VERSION, .name = "copies", .step = copies_step, .rpc = true};
    const char *const environments[] = {"sync", "tcp", "tcp:1"};
    for (int mode = 0; mode < 12; mode++) {
        const char *environment = environments[mode % 3];
        aph_oracle *o = small_open(&copies, &(aph_oracle_options){.environment = environment, .time_ms = 60000,
                                                                  .ignore_promises = mode / 3 & 1,
                                                                  .patient = mode >= 6});
        for (int i = 1; i <= WRITES; i++) {
            aph_lookahead known = {.future = APH_FUTURE_ANSWER, .answer = aph_str("ok"), .order = 2 * (uint64_t)i};
            aph_oracle_sent(o, 1, aph_record("write", aph_int(i)), &known, NULL);
            assert_int_equal(aph_oracle_received(o, 1, aph_str("ok")), APH_PASS);
        }
        aph_oracle_sent(o, 1, aph_record("read", aph_bool(true)), NULL, NULL);
        aph_verdict verdict = aph_oracle_received(o, 1, aph_int(-1));
        uint64_t visited = aph_oracle_stats_of(o).configurations;
        if (verdict != APH_FAIL || visited > 2 * WRITES * WRITES)
            fail_msg("%s: %s after %llu configurations", environment, aph_verdict_name(verdict),
                     (unsigned long long)visited);
        aph_oracle_close(o);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_register_by_hand, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_registers_are_independent, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_kv_by_hand, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_one_connection_keeps_its_order, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_unknowns_of_the_server, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_lost_requests, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_lost_responses, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_lost_oldest, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_many_lost_requests, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_environments, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_bad_input, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_impure_models_are_found, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_broken_promises_are_found, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_ignored_promises_are_not_used, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_models_that_are_not_rpc, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_a_model_that_never_receives, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_steps_without_a_request, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_nothing_is_added_after_the_end, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_connections_are_compared, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_responses_of_a_distinguished_connection, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_interchanged_requests, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_opened_connections, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_origin_numbers, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_origins, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_many_connections, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_time_limit_inside_a_search, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_memory_limit, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_solver_limit, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_the_window_stays_bounded, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_the_window_stays_bounded_under_load, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_a_failure_after_a_long_past, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_a_lost_request_in_a_long_run, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_observed_losses_under_load, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_resumed, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_memory_is_freed, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_reasons_far_back, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_commuting_requests, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_choices_that_nothing_shows, fresh_heap, fresh_heap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * test_evidence.c - the blamed observation is the first without an explanation, and the list of responses that were
 * allowed instead is complete. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include "models/models.h"
#include "oracle/evidence.h"
#include "small_history.h"
#include "solve/z3.h"
#include "tree/step_guard.h"

enum { VISITS = 100000 };

static int fresh_heap(void **unused)
{
    (void)unused;
    aphi_z3_close();
    aph_heap_close();
    return 0;
}

/* The allowed responses, sorted. */
static aph_value allowed_of(const aph_oracle *probe)
{
    aph_value sorted = aph_array(0, NULL), set = aph_object(), key, item;
    for (size_t i = 0; i < probe->allowed_count; i++)
        set = aph_set(set, APH_ARRAY_OF(probe->allowed[i].answer), probe->allowed[i].answer);
    for (size_t i = 0; aph_pair_at(set, i, &key, &item); i++)
        sorted = aph_push(sorted, item);
    return sorted;
}

static void assert_json(aph_value v, const char *expected)
{
    char *text = aph_json_text(v, NULL);
    assert_string_equal(text, expected);
    free(text);
}

/* blamed and failed are indices of observations; losses are not counted. */
static void blames(const aph_model *model, const char *text, size_t blamed, size_t failed, const char *allowed)
{
    small_history h = small_read(text);
    aph_oracle *o = small_open(model, &(aph_oracle_options){0});
    size_t at = small_feed_all(o, &h, true);
    assert_int_equal(o->verdict, APH_FAIL);
    if (failed != SIZE_MAX)
        assert_int_equal(at, failed);
    aphi_evidence e = aphi_evidence_open(o, VISITS);
    assert_true(e.found);
    assert_int_equal(e.event, blamed);
    assert_non_null(e.probe);
    assert_true(e.all_allowed);
    assert_json(allowed_of(e.probe), allowed);
    aphi_evidence_close(&e);
    aph_oracle_close(o);
}

static void test_allowed_responses(void **unused)
{
    (void)unused;
    const aph_model *r = &aph_model_register;
    blames(r, "1>r 1<5", 1, 1, "[null]");
    blames(r, "1>w1 1<ok 2>r 2<2", 3, 3, "[1]");
    blames(r, "1>w1 2>w2 3>r 3<9 1<ok 2<ok", 3, 3, "[1,2,null]");
    blames(r, "1>w1 2>w2 1<ok 3>r 3<9 2<ok", 4, 4, "[1,2]");
    blames(r, "1>w1 1<ok 2>c12 2<false", 3, 3, "[true]");
    blames(r, "1>w1 1<ok 2>c12 3>c13 2<true 3<true", 5, SIZE_MAX, "[false]");
    blames(r, "1>w1 1! 2>r 2<2", 2, SIZE_MAX, "[1,null]");
    blames(r, "1>w1 1<\"no\"", 1, 1, "[\"ok\"]");
}

/* The read needs the write, and lookahead knows that the response to the write is wrong. So the oracle fails at the
 * read, but the response to the read is not to blame. */
static void test_lookahead_fails_earlier(void **unused)
{
    (void)unused;
    blames(&aph_model_register, "1>w1 2>r 2<1 1<5", 3, 2, "[\"ok\"]");
    blames(&aph_model_register, "1>w1 2>r 2<1 3>r 3<1 4>r 4<1 1<5", 7, 2, "[\"ok\"]");
}

/* An observation in the middle of a longer history. */
static void test_in_the_middle(void **unused)
{
    (void)unused;
    blames(&aph_model_register, "1>w1 1<ok 1>r 1<1 2>w2 3>r 3<1 2<ok 3>r 3<1 1>w7 1<ok 3>r 3<3", 9, SIZE_MAX, "[2]");
}

static void test_unknowns_are_shown(void **unused)
{
    (void)unused;
    blames(&aph_model_etag_kv,
           "1>{\"f\":\"put\",\"key\":\"k\",\"value\":1} 1<{\"code\":201} "
           "1>{\"f\":\"get\",\"key\":\"k\"} 1<{\"code\":500}", 3, 3,
           "[{\"code\":200,\"tag\":{\"opaque\":{\"?\":0,\"sort\":\"string\"},\"weak\":false},\"value\":1},"
           "{\"code\":200,\"tag\":{\"opaque\":{\"?\":0,\"sort\":\"string\"},\"weak\":true},\"value\":1},"
           "{\"code\":200,\"value\":1}]");
}

/* A model without rpc, so its responses do not belong to requests. */
static void echo_step(aph *m, aph_value *state)
{
    (void)state;
    aph_request q = aph_recv(m);
    aph_send(m, q.from, q.message);
    aph_send(m, q.from, aph_str("end"));
}

static void test_models_that_are_not_rpc(void **unused)
{
    (void)unused;
    const aph_model echo = {.version = APH_MODEL_VERSION, .name = "echo", .step = echo_step};
    blames(&echo, "1>1 1<1 1<2", 2, 2, "[\"end\"]");
    blames(&echo, "1>1 2>2 2<2 1<7 2<\"end\"", 3, 3, "[1]");
}

/* `reasons` is the rationale of each allowed response, in the order of discovery. */
static void is_because(const aph_model *model, const char *text, bool no_promises, const char *reasons)
{
    small_history h = small_read(text);
    aph_oracle *o = small_open(model, &(aph_oracle_options){.ignore_promises = no_promises});
    small_feed_all(o, &h, true);
    assert_int_equal(o->verdict, APH_FAIL);
    aphi_evidence e = aphi_evidence_open(o, VISITS);
    assert_true(e.found && e.all_allowed);
    aph_value all = aph_array(0, NULL);
    for (size_t i = 0; i < e.probe->allowed_count; i++)
        all = aph_push(all, aphi_rationale(e.probe, &e.probe->allowed[i]));
    assert_json(all, reasons);
    aphi_evidence_close(&e);
    aph_oracle_close(o);
}

#define PUT1 "1>{\"f\":\"put\",\"key\":\"k\",\"value\":1} 1<{\"code\":201} "
#define PUT_IF_X "1>{\"f\":\"put\",\"key\":\"k\",\"value\":2,\"if_match\":{\"opaque\":\"x\",\"weak\":false}} "

static void test_rationale(void **unused)
{
    (void)unused;
    for (int no_promises = 0; no_promises < 2; no_promises++) {
        /* The tag was never observed: it may match or not. The first path to each response is returned. */
        is_because(&aph_model_etag_kv, PUT1 PUT_IF_X "1<{\"code\":500}", no_promises,
                   "[[{\"clause\":\"RFC 9110 13.1.1\"}],"
                   "[{\"clause\":\"RFC 9110 13.1.1\",\"decision\":\"If-Match: tags match\",\"value\":true},"
                   "{\"choice\":\"no tag\",\"clause\":\"RFC 9110 8.8.3\"}]]");
        is_because(&aph_model_etag_kv,
                   PUT1 "1>{\"f\":\"get\",\"key\":\"k\"} "
                        "1<{\"code\":200,\"value\":1,\"tag\":{\"opaque\":\"t\",\"weak\":false}} "
                   PUT_IF_X "1<{\"code\":204}", no_promises,
                   "[[{\"clause\":\"RFC 9110 13.1.1\",\"decision\":\"If-Match: tags match\",\"value\":false},"
                   "{\"clause\":\"RFC 9110 13.1.1\"}]]");
        is_because(&aph_model_register, "1>r 1<5", no_promises, "[[]]"); /* the model has no named decisions */
    }
}

/* Makes a choice before the request arrives, then sends two messages. The rationale is that of the unobserved
 * message. */
static void wordy_step(aph *m, aph_value *state)
{
    (void)state;
    aph_clause(m, "0");
    int shout = aph_either(m, "low", "loud");
    aph_request q = aph_recv(m);
    aph_clause(m, "1");
    aph_send(m, q.from, q.message);
    aph_decide(m, aph_bool(true), NULL);
    aph_clause(m, "2");
    aph_value word = aph_choose(m, APH_INT, "number");
    aph_clause(m, "3");
    aph_send(m, q.from, shout ? aph_str("end") : word);
    aph_either(m, "nobody", "knows");
}

static void test_rationale_of_a_later_message(void **unused)
{
    (void)unused;
    const aph_model wordy = {.version = APH_MODEL_VERSION, .name = "wordy", .step = wordy_step};
    is_because(&wordy, "1>1 2>2 2<2 1<7", false,
               "[[{\"choice\":\"low\",\"clause\":\"0\"},{\"clause\":\"1\"}]]");
    is_because(&wordy, "1>1 2>2 1<1 2<2 1<7 1>3 1<3 1<\"no\"", false,
               "[[{\"choice\":\"low\",\"clause\":\"0\"},{\"choice\":\"number\",\"clause\":\"2\"},{\"clause\":\"3\"}],"
               "[{\"choice\":\"loud\",\"clause\":\"0\"},{\"choice\":\"number\",\"clause\":\"2\"},{\"clause\":\"3\"}]]");
}

static void test_after_a_long_history(void **unused)
{
    (void)unused;
    aph_oracle *o = small_open(&aph_model_register, &(aph_oracle_options){.patient = true});
    enum { N = 20000 };
    for (int i = 0; i < N; i++) {
        aph_lookahead ok = {.future = APH_FUTURE_ANSWER, .answer = aph_str("ok"), .order = 0};
        aph_lookahead back = {.future = APH_FUTURE_ANSWER, .answer = aph_int(i), .order = 1};
        aph_oracle_sent(o, 1, aph_record("f", aph_str("write"), "value", aph_int(i)), &ok, NULL);
        aph_oracle_sent(o, 2, aph_record("f", aph_str("read")), &back, NULL);
        aph_oracle_received(o, 1, aph_str("ok"));
        assert_int_equal(aph_oracle_received(o, 2, aph_int(i)), APH_PASS);
    }
    aph_lookahead wrong = {.future = APH_FUTURE_ANSWER, .answer = aph_int(3), .order = 0};
    aph_oracle_sent(o, 2, aph_record("f", aph_str("read")), &wrong, NULL);
    assert_int_equal(aph_oracle_received(o, 2, aph_int(3)), APH_FAIL);
    assert_true(o->event_base > 0); /* the window was trimmed */
    aphi_evidence e = aphi_evidence_open(o, 10 * VISITS);
    assert_true(e.found);
    assert_int_equal(o->event_base + e.event, 4 * N + 1);
    assert_ptr_equal(allowed_of(e.probe), APH_ARRAY_OF(aph_int(N - 1)));
    aphi_evidence_close(&e);
    aph_oracle_close(o);
}

/* More requests than bits in a word are pending from before the window until after the failure. Every other one has
 * read the first value, and is taken before the window. */
static void test_pending_since_before_the_window(void **unused)
{
    (void)unused;
    enum { N = 3000, WAITING = 140 };
    aph_value read = aph_record("f", aph_str("read"));
    aph_oracle *o = small_open(&aph_model_register, &(aph_oracle_options){.patient = true});
    for (int64_t i = 0; i < WAITING; i++)
        aph_oracle_sent(o, 100 + i, read, &(aph_lookahead){.future = APH_FUTURE_ANSWER, .order = 2 * N + (uint64_t)i,
                                                           .answer = aph_int(i % 2 ? 0 : N - 1)}, NULL);
    for (int64_t i = 0; i < N; i++) {
        aph_lookahead ok = {.future = APH_FUTURE_ANSWER, .answer = aph_str("ok"), .order = (uint64_t)i};
        aph_oracle_sent(o, 1, aph_record("f", aph_str("write"), "value", aph_int(i)), &ok, NULL);
        assert_int_equal(aph_oracle_received(o, 1, aph_str("ok")), APH_PASS);
    }
    assert_true(o->event_base > 0 && o->base_count == WAITING && o->words > 2);
    for (int64_t i = 0; i < WAITING - 2; i++)
        assert_int_equal(aph_oracle_received(o, 100 + i, aph_int(i % 2 ? 0 : N - 1)), APH_PASS);
    aph_lookahead wrong = {.future = APH_FUTURE_ANSWER, .answer = aph_int(3), .order = 3 * N};
    aph_oracle_sent(o, 2, read, &wrong, NULL);
    assert_int_equal(aph_oracle_received(o, 2, aph_int(3)), APH_FAIL);
    aphi_evidence e = aphi_evidence_open(o, VISITS);
    assert_true(e.found);
    assert_int_equal(o->event_base + e.event, WAITING + 2 * N + WAITING - 2 + 1);
    assert_json(allowed_of(e.probe), "[2999]");
    aphi_evidence_close(&e);
    aph_oracle_close(o);
}

static void test_limits_are_reported(void **unused)
{
    (void)unused;
    enum { N = 7 }; /* each order of the appends gives another state */
    aph_oracle *o = small_open(&aph_model_kv, &(aph_oracle_options){0});
    aph_value ok = aph_str("ok"), get = aph_record("f", aph_str("get"), "key", aph_str("k"));
    for (int i = 0; i < N; i++)
        aph_oracle_sent(o, i, aph_record("f", aph_str("append"), "key", aph_str("k"), "value", aph_strf("%d", i)),
                        &(aph_lookahead){.future = APH_FUTURE_ANSWER, .answer = ok, .order = (uint64_t)i}, NULL);
    for (int i = 0; i < N; i++)
        aph_oracle_received(o, i, ok);
    aph_oracle_sent(o, N, get, &(aph_lookahead){.future = APH_FUTURE_ANSWER, .answer = ok, .order = N}, NULL);
    assert_int_equal(aph_oracle_received(o, N, ok), APH_FAIL);
    aphi_evidence e = aphi_evidence_open(o, 50);
    assert_false(e.found && e.all_allowed);
    aphi_evidence_close(&e);
    aph_oracle_close(o);
}

/* Each subset of the writes is a configuration, but few of them are visited. */
static void test_visits_are_limited(void **unused)
{
    (void)unused;
    enum { N = 10, FEW = 20 };
    aph_oracle *o = small_open(&aph_model_register, &(aph_oracle_options){0});
    for (int64_t i = 0; i < N; i++)
        aph_oracle_sent(o, i, aph_record("f", aph_str("write"), "value", aph_int(i)), NULL, NULL);
    aph_oracle_sent(o, N, aph_record("f", aph_str("read")), NULL, NULL);
    assert_int_equal(aph_oracle_received(o, N, aph_int(99)), APH_FAIL);
    aphi_evidence e = aphi_evidence_open(o, FEW);
    assert_true(e.found && !e.all_allowed);
    assert_true(o->configurations > 1000 && e.probe->configurations < 1000);
    aphi_evidence_close(&e);
    aph_oracle_close(o);
}

/* The time of the check is up between the failure and the search for the evidence. */
static void test_time_is_up(void **unused)
{
    (void)unused;
    static volatile sig_atomic_t stop;
    small_history h = small_read("1>w1 1<ok 1>r 1<2");
    aph_oracle_options options = {.ignore_promises = true, .time_ms = 1000000};
    aph_oracle *o = small_open(&aph_model_register, &options);
    small_feed_all(o, &h, false);
    assert_int_equal(o->verdict, APH_FAIL);
    stop = 1;
    aphi_guard_watch(&stop);
    while (!aphi_guard_expired())
        ;
    aphi_evidence e = aphi_evidence_open(o, VISITS);
    assert_null(e.probe);
    aphi_evidence_close(&e);
    aphi_guard_watch(NULL);
    aph_oracle_close(o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_allowed_responses, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_lookahead_fails_earlier, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_in_the_middle, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_unknowns_are_shown, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_models_that_are_not_rpc, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_rationale, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_rationale_of_a_later_message, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_after_a_long_history, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_pending_since_before_the_window, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_limits_are_reported, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_visits_are_limited, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_time_is_up, fresh_heap, fresh_heap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

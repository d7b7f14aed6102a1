/* SPDX-License-Identifier: Apache-2.0
 *
 * test_oracle_feed.c - the verdict on a live run does not depend on when observations are fed to the oracle. */
#include "tester/oracle_feed.h"

#include "base/clock.h"
#include "tests/support/compare.h"
#include "tests/support/odd_models.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const int64_t MS = 1000000;

static void mark_history(void *context)
{
    const history *h = context;
    for (size_t i = 0; i < h->count; i++)
        aph_mark(h->seen[i].message);
}

/* Outstanding requests, oldest first, by connection. */
typedef struct open_requests {
    uint64_t number[HISTORY_CONNECTIONS][64];
    size_t count[HISTORY_CONNECTIONS];
} open_requests;

static uint64_t oldest(open_requests *open, int64_t connection)
{
    if (!open->count[connection])
        return APHI_NO_REQUEST;
    uint64_t first = open->number[connection][0];
    for (size_t i = 1; i < open->count[connection]; i++)
        open->number[connection][i - 1] = open->number[connection][i];
    open->count[connection]--;
    return first;
}

static void observe(aphi_oracle_feed *w, const history_seen *s, open_requests *open, int64_t now)
{
    if (s->sent)
        open->number[s->connection][open->count[s->connection]++] =
            aphi_oracle_feed_sent(w, s->connection, s->message, now);
    else
        aphi_oracle_feed_received(w, s->connection, s->message, oldest(open, s->connection));
}

/* Returns the verdict if the history is observed live at a random pace, and the oracle is fed from time to time. */
static aph_verdict judge_live(const aph_model *model, const history *h, bool whole, aphi_choice *c)
{
    char error[200];
    aph_oracle_options options = {.environment = "tcp", .whole = whole};
    aphi_oracle_feed *w = aphi_oracle_feed_open(model, NULL, &options, model->rpc, error, sizeof error);
    assert_non_null(w);
    open_requests open = {.count = {0}};
    int64_t now = aphi_clock_ns();
    aph_root_add(mark_history, (void *)h);
    for (size_t i = 0; i < h->count; i++) {
        observe(w, &h->seen[i], &open, now);
        if (aphi_choice_chance(c, 1, 3))
            now += (int64_t)aphi_choice_below(c, 30) * MS;
        if (aphi_choice_chance(c, 1, 2))
            aphi_oracle_feed_advance(w, now, aphi_choice_chance(c, 1, 2) ? UINT64_MAX : aphi_choice_below(c, 3));
        if (aphi_choice_chance(c, 1, 8))
            aph_collect();
    }
    /* For a request that is alone on its connection, a lost response is equivalent to one that never arrives. */
    for (int64_t i = 0; model->rpc && i < HISTORY_CONNECTIONS; i++)
        if (open.count[i] == 1 && aphi_choice_chance(c, 1, 2))
            aphi_oracle_feed_lost(w, i, oldest(&open, i));
    aph_verdict verdict = aphi_oracle_feed_advance_all(w, now);
    assert_true(verdict != APH_PASS || aphi_oracle_feed_waiting(w) == 0);
    aph_root_remove(mark_history, (void *)h);
    aphi_oracle_feed_close(w);
    return verdict;
}

/* Returns true if no connection ever has two requests in flight; then partitions can be checked separately. */
static bool is_one_at_a_time(const history *h)
{
    size_t open[HISTORY_CONNECTIONS] = {0};
    for (size_t i = 0; i < h->count; i++) {
        size_t *n = &open[h->seen[i].connection];
        *n = h->seen[i].sent ? *n + 1 : 0;
        if (*n > 1)
            return false;
    }
    return true;
}

static void same_as_at_once(const subject *s, size_t cases)
{
    size_t passed = 0, failed = 0;
    for (size_t i = 0; i < cases; i++) {
        aphi_choice c = aphi_choice_seed(compare_seed() * 1000000 + i);
        history_shape shape = history_random_shape(&c, s);
        history h = {0};
        history_make(&h, s, shape, &c);
        if (aphi_choice_chance(&c, 1, 2))
            history_mutate(&h, s, shape, &c);
        aph_verdict expected = compare_judge(s->model, &h, "tcp", COMPARE_LIVE).verdict;
        bool whole = !is_one_at_a_time(&h) || aphi_choice_chance(&c, 1, 2);
        aph_verdict verdict = judge_live(s->model, &h, whole, &c);
        if (verdict != expected) {
            history_print(&h);
            fail_msg("%s, history %zu: %d if told late, %d at once", s->model->name, i, (int)verdict, (int)expected);
        }
        passed += verdict == APH_PASS;
        failed += verdict == APH_FAIL;
        history_deinit(&h);
    }
    assert_true(passed >= cases / 20 && failed >= cases / 20);
}

static void test_paired(void **unused)
{
    (void)unused;
    same_as_at_once(&subject_kv, compare_cases(3000));
    same_as_at_once(&subject_register, compare_cases(3000));
    same_as_at_once(&subject_etag_kv, compare_cases(1000));
    same_as_at_once(&subject_fickle, compare_cases(2000));
}

static void test_not_paired(void **unused)
{
    (void)unused;
    same_as_at_once(&subject_chatty, compare_cases(2000));
    same_as_at_once(&subject_relay, compare_cases(2000));
}

static aph_value request_of(const char *f)
{
    return aph_record("f", aph_str(f), "key", aph_str("k"), "value", aph_str("v"));
}

/* A request waits for its end for a limited time; earlier observations are fed before it. */
static void test_waits(void **unused)
{
    (void)unused;
    char error[200];
    aph_oracle_options options = {.environment = "tcp"};
    aphi_oracle_feed *w = aphi_oracle_feed_open(subject_kv.model, NULL, &options, true, error, sizeof error);
    assert_non_null(w);
    int64_t begin = aphi_clock_ns();
    uint64_t put = aphi_oracle_feed_sent(w, 1, request_of("put"), begin);
    assert_int_equal(aphi_oracle_feed_advance(w, begin + MS, UINT64_MAX), APH_PASS);
    assert_int_equal(aphi_oracle_feed_waiting(w), 1);
    uint64_t get = aphi_oracle_feed_sent(w, 2, aph_record("f", aph_str("get"), "key", aph_str("k")), begin + MS);
    aphi_oracle_feed_received(w, 2, aph_str("v"), get);
    aphi_oracle_feed_advance(w, begin + 2 * MS, UINT64_MAX);
    assert_int_equal(aphi_oracle_feed_waiting(w), 3); /* in order */
    assert_int_equal(aphi_oracle_feed_advance(w, begin + 1000 * MS, UINT64_MAX), APH_PASS);
    assert_int_equal(aphi_oracle_feed_waiting(w), 0);
    assert_int_equal(aphi_oracle_feed_last(w), 2);
    aphi_oracle_feed_lost(w, 1, put);
    assert_int_equal(aphi_oracle_feed_advance(w, begin + 1001 * MS, UINT64_MAX), APH_PASS);
    /* After the failure, no more observations are fed. */
    get = aphi_oracle_feed_sent(w, 2, aph_record("f", aph_str("get"), "key", aph_str("k")), begin + 1002 * MS);
    aphi_oracle_feed_received(w, 2, aph_str("never stored"), get);
    assert_int_equal(aphi_oracle_feed_advance(w, begin + 1003 * MS, UINT64_MAX), APH_FAIL);
    aphi_oracle_feed_sent(w, 2, request_of("put"), begin + 1004 * MS);
    assert_int_equal(aphi_oracle_feed_advance_all(w, begin + 2000 * MS), APH_FAIL);
    aphi_oracle_feed_close(w);
}

/* The ring grows if more observations wait than it can hold, and each end still finds its request. */
static void test_grows(void **unused)
{
    (void)unused;
    enum { MANY = 3000 };
    char error[200];
    aph_oracle_options options = {.environment = "tcp"};
    aphi_oracle_feed *w = aphi_oracle_feed_open(subject_kv.model, NULL, &options, true, error, sizeof error);
    assert_non_null(w);
    int64_t begin = aphi_clock_ns();
    for (int i = 0; i < MANY; i++) {
        aph_value get = aph_record("f", aph_str("get"), "key", aph_strf("k%d", i % 50));
        assert_int_equal(aphi_oracle_feed_sent(w, i, get, begin), i);
    }
    for (int i = MANY; i-- > 0;)
        aphi_oracle_feed_received(w, i, aph_str(""), (uint64_t)i);
    assert_int_equal(aphi_oracle_feed_waiting(w), 2 * MANY);
    assert_int_equal(aphi_oracle_feed_advance(w, begin, UINT64_MAX), APH_PASS);
    assert_int_equal(aphi_oracle_feed_waiting(w), 0);
    aphi_oracle_feed_close(w);
}

/* Concurrent appends have many orders, none of which gives the value that is read: a second is enough to find out. */
static void test_limit(void **unused)
{
    (void)unused;
    enum { N = 6 };
    char error[200];
    aph_oracle_options options = {.environment = "tcp", .memory = 1 << 30};
    aphi_oracle_feed *w = aphi_oracle_feed_open(subject_kv.model, NULL, &options, true, error, sizeof error);
    assert_non_null(w);
    int64_t begin = aphi_clock_ns();
    for (int i = 0; i < N; i++)
        aphi_oracle_feed_sent(w, i, aph_record("f", aph_str("append"), "key", aph_str("k"), "value",
                                               aph_strf("%d", i)), begin);
    for (int i = 0; i < N; i++)
        aphi_oracle_feed_received(w, i, aph_str("ok"), (uint64_t)i);
    uint64_t get = aphi_oracle_feed_sent(w, N, aph_record("f", aph_str("get"), "key", aph_str("k")), begin);
    aphi_oracle_feed_received(w, N, aph_str("none of them"), get);
    assert_int_equal(aphi_oracle_feed_advance_all(w, begin), APH_FAIL);
    assert_true(aphi_partitions_stats(aphi_oracle_feed_partitions(w)).configurations > 1000);
    aphi_oracle_feed_close(w);
}

/* Without rpc, observations are judged together, so that later responses show the order of the requests. */
static void test_held(void **unused)
{
    (void)unused;
    char error[200];
    size_t n;
    aph_oracle_options options = {.environment = "tcp"};
    aphi_oracle_feed *w = aphi_oracle_feed_open(subject_chatty.model, NULL, &options, false, error, sizeof error);
    assert_non_null(w);
    assert_true(aphi_partitions_all(aphi_oracle_feed_partitions(w), &n)->oracle->held);
    assert_int_equal(n, 1);
    aphi_oracle_feed_close(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paired),
        cmocka_unit_test(test_not_paired),
        cmocka_unit_test(test_waits),
        cmocka_unit_test(test_grows),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_held),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

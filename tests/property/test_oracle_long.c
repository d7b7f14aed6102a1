/* SPDX-License-Identifier: Apache-2.0
 *
 * test_oracle_long.c - on a long history, the oracle trims its window and still rejects one wrong response near
 * the end. */
#include "tests/support/compare.h"
#include "tests/support/histories.h"

#include "models/models.h"
#include "oracle/search.h"

#include <antiphon/oracle.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* WINDOW_MOST limits the window of an oracle without `patient`, for histories of any length. */
enum { CONNECTIONS = 6, WINDOW_MOST = 3000, REQUESTS_FEW = 2000, REQUESTS_MANY = 20000, REQUESTS_LEAST = 1600 };

static aph_value key(aphi_choice *c)
{
    return aph_strf("%c", "xyz"[aphi_choice_below(c, 3)]);
}

static aph_value register_request(aphi_choice *c)
{
    static const char *const operations[] = {"read", "write", "cas"};
    uint64_t f = aphi_choice_below(c, 3);
    aph_value q = aph_record("f", aph_str(operations[f]), "key", key(c));
    aph_value a = aph_int(aphi_choice_within(c, 1, 5)), b = aph_int(aphi_choice_within(c, 1, 5));
    return f == 0 ? q : aph_put(q, "value", f == 1 ? a : APH_ARRAY_OF(a, b));
}

static aph_value kv_request(aphi_choice *c)
{
    static const char *const operations[] = {"get", "get", "put", "append", "delete"};
    uint64_t f = aphi_choice_below(c, 5);
    aph_value q = aph_record("f", aph_str(operations[f]), "key", key(c));
    return f == 2 || f == 3 ? aph_put(q, "value", aph_strf("%d", (int)aphi_choice_below(c, 10))) : q;
}

/* The queue stays short, because the order of its values is observed only when they are removed. */
static aph_value queue_request(aphi_choice *c)
{
    aph_value value = aph_int(aphi_choice_within(c, 1, 99));
    return aphi_choice_chance(c, 2, 3) ? aph_record("f", aph_str("dequeue"))
                                       : aph_record("f", aph_str("enqueue"), "value", value);
}

static aph_value impossible(aphi_choice *c)
{
    (void)c;
    return aph_str("impossible");
}

/* Each request has a response, and connections do not pipeline. So the end of a request is the next event on its
 * connection. */
static size_t end_of(const history *h, size_t i)
{
    size_t k = i + 1;
    while (h->seen[k].sent || h->seen[k].connection != h->seen[i].connection)
        k++;
    return k;
}

static aph_verdict judge(const aph_model *model, const history *h, aph_oracle_options options, bool foresight)
{
    char error[200];
    size_t widest = 0;
    aph_verdict v = APH_PASS;
    aph_oracle *o = aph_oracle_open(model, &options, error, sizeof error);
    assert_non_null(o);
    for (size_t i = 0; i < h->count && v == APH_PASS; i++) {
        const history_seen *seen = &h->seen[i];
        if (seen->sent) {
            size_t end = end_of(h, i);
            aph_lookahead known = {.future = APH_FUTURE_ANSWER, .answer = h->seen[end].message, .order = end,
                                   .alone = true};
            v = aph_oracle_sent(o, seen->connection, seen->message, foresight ? &known : NULL, NULL);
        } else {
            v = aph_oracle_received(o, seen->connection, seen->message);
        }
        size_t window = aph_oracle_stats_of(o).window;
        widest = window > widest ? window : widest;
    }
    printf("%s, %s%s: %zu observations, %s, window up to %zu\n", model->name, foresight ? "with lookahead" : "live",
           options.ignore_promises ? ", without promises" : "", h->count, aph_verdict_name(v), widest);
    assert_true(v != APH_UNKNOWN || aph_oracle_limit(o) == APH_LIMIT_WINDOW);
    assert_true(options.patient || widest <= WINDOW_MOST);
    assert_true(options.patient || o->pending_count <= WINDOW_MOST / 2); /* also for requests without an end */
    aph_oracle_close(o);
    return v;
}

static void expect_all(const aph_model *model, const history *h, aph_oracle_options options, aph_verdict expected)
{
    for (int foresight = options.ignore_promises ? 0 : 1; foresight >= 0; foresight--) {
        aph_verdict v = judge(model, h, options, foresight);
        /* An oracle that dropped explanations reports unknown, not fail. */
        assert_true(v == expected || (!options.patient && expected == APH_FAIL && v == APH_UNKNOWN));
    }
}

static void mark_history(void *context)
{
    const history *h = context;
    for (size_t i = 0; i < h->count; i++)
        aph_mark(h->seen[i].message);
}

static void run(const aph_model *model, aph_value (*request)(aphi_choice *c), size_t usual, aph_oracle_options options)
{
    size_t scaled = compare_cases(usual), requests = scaled < REQUESTS_LEAST ? REQUESTS_LEAST : scaled;
    aphi_choice c = aphi_choice_seed(7);
    subject s = {model, NULL, request, impossible, 0, NULL};
    history h = {0};
    history_shape shape = {.requests = requests, .connections = CONNECTIONS, .whole = true, .paired = true};
    history_make(&h, &s, shape, &c);
    assert_int_equal(h.count, 2 * requests);
    aph_root_add(mark_history, &h);
    expect_all(model, &h, options, APH_PASS);
    size_t wrong = h.count - 20;
    while (h.seen[wrong].sent)
        wrong++;
    h.seen[wrong].message = impossible(&c);
    expect_all(model, &h, options, APH_FAIL);
    aph_root_remove(mark_history, &h);
    history_deinit(&h);
    aph_collect();
}

static void run_long(const aph_model *model, aph_value (*request)(aphi_choice *c))
{
    run(model, request, REQUESTS_FEW, (aph_oracle_options){.patient = true});
    run(model, request, REQUESTS_FEW, (aph_oracle_options){.ignore_promises = true});
    run(model, request, REQUESTS_MANY, (aph_oracle_options){0});
}

static void long_register(void **state)
{
    (void)state;
    run_long(&aph_model_register, register_request);
}

static void long_kv(void **state)
{
    (void)state;
    run_long(&aph_model_kv, kv_request);
}

static void long_queue(void **state)
{
    (void)state;
    run_long(&aph_model_queue, queue_request);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(long_register), cmocka_unit_test(long_kv),
                                       cmocka_unit_test(long_queue)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

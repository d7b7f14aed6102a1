/* SPDX-License-Identifier: Apache-2.0
 *
 * test_derivation.c - on random histories, the derivation decides as exhaustive enumeration does, over networks that
 * are programs: those with names, and three of the examples. compare.c also compares both with the oracle. */
#include "derive/derivation.h"
#include "tests/support/compare.h"
#include "tests/support/derived.h"
#include "tests/support/enumerate_network.h"
#include "tests/support/odd_models.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { REQUESTS_MOST = 4 };

/* Returns false if the deciders disagree. */
static bool compare_history(const subject *s, const history *h, const char *name, const aph_network *network,
                            compare_count *count)
{
    enumerated e = enumerate_network(s, h, network);
    derived_result d = derived_decide(s, h, network, (derived_options){.live = h->count % 2});
    count->histories++;
    count->valid += e.explained;
    count->invalid += !e.explained;
    count->slow += d.verdict != DERIVED_GIVES_UP;
    if (d.verdict == DERIVED_GIVES_UP || ((d.verdict == DERIVED_ACCEPTS) == e.explained && d.reached == e.reached))
        return true;
    printf("%s over %s: the derivation says %s at observation %zu, enumeration %s at %zu\n", s->model->name, name,
           d.verdict == DERIVED_ACCEPTS ? "pass" : "fail", d.reached, e.explained ? "pass" : "fail", e.reached);
    history_print(h);
    return false;
}

static bool compare_over(const subject *s, const char *name, size_t histories)
{
    aph_loaded_network loaded;
    aph_load_error error;
    compare_count count = {0};
    history h = {0};
    bool same = true;
    if (!aph_network_load(name, &loaded, &error)) {
        printf("%s\n", error.message);
        return false;
    }
    for (size_t i = 0; i < histories && same; i++) {
        aphi_choice c = aphi_choice_seed(compare_seed() * 1000003 + i);
        history_shape shape = {.requests = 2 + aphi_choice_below(&c, REQUESTS_MOST - 1),
                               .connections = 1 + (unsigned)aphi_choice_below(&c, 2), .pipelining = 2,
                               .whole = aphi_choice_chance(&c, 1, 2), .quiets = aphi_choice_chance(&c, 1, 4)};
        if (i % 64 == 0)
            aph_collect();
        history_make(&h, s, shape, &c);
        if (aphi_choice_chance(&c, 3, 5))
            history_mutate(&h, s, shape, &c);
        same = compare_history(s, &h, name, loaded.network, &count);
    }
    printf("%s over %s: %zu histories, %zu valid, %zu invalid, %zu decided by both\n", s->model->name, name,
           count.histories, count.valid, count.invalid, count.slow);
    history_deinit(&h);
    aph_network_unload(&loaded);
    return same && count.valid * 20 >= count.histories && count.invalid * 20 >= count.histories &&
           count.slow * 10 >= count.histories * 9;
}

/* Sanitizers slow the derivation down; compare_cases keeps at least 500 cases for them, which is too many here. */
#if defined(__SANITIZE_ADDRESS__)
enum { PERCENT = 20 };
#else
enum { PERCENT = 60 };
#endif

static void compare_models(const char *network, size_t histories)
{
    assert_true(compare_over(&subject_register, network, compare_cases(histories * PERCENT / 100)));
    assert_true(compare_over(&subject_lock, network, compare_cases(histories * PERCENT / 100)));
    assert_true(compare_over(&subject_greeter, network, compare_cases(histories * PERCENT / 100)));
    assert_true(compare_over(&subject_dice, network, compare_cases(histories * PERCENT / 100)));
}

static void tcp(void **state)
{
    (void)state;
    compare_models("tcp", 500);
    compare_models("tcp:1", 500);
    compare_models("sync", 500);
}

static void datagrams(void **state)
{
    (void)state;
    compare_models("examples/networks/datagrams.c", 500);
}

static void duplicate(void **state)
{
    (void)state;
    compare_models("examples/networks/duplicate.c", 300);
}

static void one_upstream(void **state)
{
    (void)state;
    compare_models("examples/networks/one-upstream.c", 500);
}

/* A live tester decides again and again while no message arrives. */
static void waiting(void **state)
{
    (void)state;
    aph_loaded_network loaded;
    aph_load_error error;
    assert_true(aph_network_load("examples/networks/datagrams.c", &loaded, &error));
    aphi_derivation *d = aphi_derivation_open(subject_greeter.model, loaded.network, &(aphi_derivation_options){0});
    aphi_derivation_sent(d, 1, 1, APH_OPENED);
    assert_int_equal(aphi_derivation_decide(d), APH_PASS);
    uint64_t events = aphi_derivation_stats_of(d).events;
    for (size_t i = 0; i < 30000; i++)
        assert_int_equal(aphi_derivation_decide(d), APH_PASS);
    assert_int_equal(aphi_derivation_stats_of(d).events, events);
    aphi_derivation_received(d, 2, 1, aph_str("not a greeting"));
    assert_int_equal(aphi_derivation_decide(d), APH_FAIL);
    aphi_derivation_close(d);
    aph_network_unload(&loaded);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(tcp), cmocka_unit_test(datagrams), cmocka_unit_test(duplicate),
                                       cmocka_unit_test(one_upstream), cmocka_unit_test(waiting)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

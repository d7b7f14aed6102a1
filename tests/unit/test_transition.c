/* SPDX-License-Identifier: Apache-2.0
 *
 * test_transition.c - the results of single requests: cached, counted by branch, none after a fault. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "oracle/transition.h"

/* ["get", n] is a read: a free choice leaves the state unchanged, or replaces it. ["broken", n] has a path with two
 * responses. */
static void step(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    unsigned taken = (unsigned)aph_either(m, "same", "one", "two", "three");
    if (aph_str_is(aph_at(q.message, 0), "broken") && taken == 1)
        aph_send(m, q.from, aph_str("ok"));
    *state = taken ? aph_int(taken) : *state;
    aph_send(m, q.from, aph_str("ok"));
}

static bool reads(aph_value request, aph_value answer)
{
    (void)answer;
    return aph_str_is(aph_at(request, 0), "get");
}

static const aph_model plain = {.version = APH_MODEL_VERSION, .name = "choices", .step = step, .rpc = true};
static const aph_model reading = {.version = APH_MODEL_VERSION, .name = "choices", .step = step, .rpc = true,
                                  .reads = reads};

static size_t feed(aphi_machine *m, const char *f, int64_t n, aphi_send_mode mode)
{
    size_t count;
    const aphi_successor *results = aphi_machine_start(m, &count);
    aphi_core core = results[0].core;
    aphi_machine_feed(m, &core, 1, APH_ARRAY_OF(aph_str(f), aph_int(n)), mode, aph_str("ok"), &count);
    return count;
}

/* A request that was just fed is not run again. */
static void test_cached(void **unused)
{
    (void)unused;
    aphi_machine *m = aphi_machine_open(&plain, true, false, 0);
    assert_int_equal(feed(m, "get", 1, APHI_EXPECT), 4);
    uint64_t steps = aphi_machine_steps(m);
    assert_true(steps > 0);
    assert_int_equal(feed(m, "get", 1, APHI_EXPECT), 4);
    assert_int_equal(aphi_machine_steps(m), steps);
    assert_true(aphi_machine_bytes(m) < 1 << 20);
    aphi_machine_close(m);
}

/* If a read can leave the state unchanged, its other paths are not run. */
static void test_reads(void **unused)
{
    (void)unused;
    enum { N = 100 };
    aphi_machine *m = aphi_machine_open(&reading, true, false, 0);
    for (int i = 0; i < N; i++)
        assert_int_equal(feed(m, "get", i, APHI_EXPECT), 1);
    assert_true(aphi_machine_steps(m) < 3 * N); /* on a stand-in, on the connection, and some to check purity */
    assert_false(aphi_machine_tells_apart(m));
    aphi_machine_close(m);
}

/* A fault on one path discards the results of the others. */
static void test_fault(void **unused)
{
    (void)unused;
    const aphi_send_mode modes[] = {APHI_EXPECT, APHI_KEEP, APHI_DROP};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        aphi_machine *m = aphi_machine_open(&plain, true, false, 0);
        assert_int_equal(feed(m, "broken", 1, modes[i]), 0);
        assert_int_equal(aphi_machine_fault(m, NULL), APH_FAULT_PROMISE);
        aphi_machine_close(m);
    }
}

/* Branches are counted only on demand. */
static void test_counts(void **unused)
{
    (void)unused;
    aphi_machine *m = aphi_machine_open(&plain, true, false, 0);
    feed(m, "get", 1, APHI_KEEP);
    assert_int_equal(aph_count(aphi_machine_branches(m)), 0);
    aphi_machine_count_branches(m);
    assert_int_equal(feed(m, "get", 2, APHI_KEEP), 4);
    assert_int_equal(aph_count(aphi_machine_branches(m)), 4);
    assert_true(aph_int_of(aph_field(aphi_machine_branches(m), "two")) > 0);
    assert_false(aphi_machine_undecided(m));
    aphi_machine_close(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cached), cmocka_unit_test(test_reads),
                                       cmocka_unit_test(test_fault), cmocka_unit_test(test_counts)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    aph_heap_close();
    return failed;
}

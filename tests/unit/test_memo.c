/* SPDX-License-Identifier: Apache-2.0
 *
 * test_memo.c - refuted configurations are recognized, and so are those that took more optional requests; no
 * others are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "base/random_choice.h"
#include "oracle/memo.h"

static int fresh_heap(void **unused)
{
    (void)unused;
    aph_heap_close();
    return 0;
}

static bool seen(const aphi_memo *m, uint64_t at, aphi_core core, uint64_t taken, uint64_t optional)
{
    aphi_parts reason = 0;
    return aphi_memo_seen(m, at, &core, &taken, &optional, &reason);
}

static uint32_t add(aphi_memo *m, uint64_t at, aphi_core core, uint64_t taken, uint64_t optional)
{
    return aphi_memo_add(m, at, &core, &taken, &optional);
}

static void test_every_part_counts(void **unused)
{
    (void)unused;
    aphi_memo m = {0};
    aphi_memo_clear(&m, 1);
    aphi_core core = {.state = aph_int(1), .answers = aph_int(2), .store = aph_int(3), .outbox = aph_int(4)};
    assert_false(seen(&m, 7, core, 5, 0));
    add(&m, 7, core, 5, 0);
    assert_true(seen(&m, 7, core, 5, 0));
    assert_false(seen(&m, 8, core, 5, 0));
    assert_false(seen(&m, 7, core, 4, 0));
    assert_false(seen(&m, 7, core, 7, 0));
    aphi_core others[4] = {core, core, core, core};
    others[0].state = others[1].answers = others[2].store = others[3].outbox = aph_int(9);
    for (int i = 0; i < 4; i++)
        assert_false(seen(&m, 7, others[i], 5, 0));
    aphi_memo_clear(&m, 1);
    assert_false(seen(&m, 7, core, 5, 0));
    aphi_memo_deinit(&m);
}

/* A configuration that took fewer optional requests subsumes one that took more. */
static void test_optional_requests(void **unused)
{
    (void)unused;
    aphi_memo m = {0};
    aphi_memo_clear(&m, 1);
    aphi_core core = {.state = aph_str("s")};
    const uint64_t must = 1, may = 2 | 4 | 8;
    add(&m, 0, core, must | 2, may);
    assert_true(seen(&m, 0, core, must | 2, may));
    assert_true(seen(&m, 0, core, must | 2 | 8, may));
    assert_false(seen(&m, 0, core, must, may));
    assert_false(seen(&m, 0, core, must | 4, may));
    assert_false(seen(&m, 0, core, 2, may)); /* the required request was not taken */
    add(&m, 0, core, must, may);
    assert_true(seen(&m, 0, core, must | 4, may));
    aphi_memo_deinit(&m);
}

static void test_reasons(void **unused)
{
    (void)unused;
    aphi_memo m = {0};
    aphi_memo_clear(&m, 1);
    aphi_core a = {.state = aph_int(1)}, b = {.state = aph_int(2)};
    uint64_t none = 0;
    aphi_parts reason = 0;
    uint32_t entry = add(&m, 0, a, 0, 0);
    add(&m, 0, b, 0, 0);
    assert_true(aphi_memo_seen(&m, 0, &a, &none, &none, &reason));
    assert_true(reason == APHI_ANY_PART);
    m.entries[entry].reason = 4;
    assert_true(aphi_memo_seen(&m, 0, &a, &none, &none, &reason));
    assert_true(reason == 4);
    assert_true(aphi_memo_seen(&m, 0, &b, &none, &none, &reason));
    assert_true(reason == APHI_ANY_PART);
    aphi_memo_deinit(&m);
}

/* Compares the memo table with a plain list, for several sizes of the table and of the bit rows. */
static void test_against_a_plain_list(void **unused)
{
    (void)unused;
    enum { N = 3000, WORDS = 3 };
    aphi_memo m = {0};
    aphi_choice c = aphi_choice_seed(12);
    static struct { uint64_t at, state, bits[WORDS]; } list[N];
    const uint64_t optional[WORDS] = {6, 0, 1};
    unsigned hits = 0, misses = 0;
    aphi_memo_clear(&m, WORDS);
    for (size_t n = 0; n < N; n++) {
        list[n].at = aphi_choice_below(&c, 3);
        list[n].state = aphi_choice_below(&c, 4);
        for (int w = 0; w < WORDS; w++)
            list[n].bits[w] = aphi_choice_below(&c, 8);
        bool expected = false;
        for (size_t k = 0; k < n && !expected; k++) {
            expected = list[k].at == list[n].at && list[k].state == list[n].state;
            for (int w = 0; w < WORDS; w++)
                expected = expected && (list[k].bits[w] | (list[n].bits[w] & optional[w])) == list[n].bits[w];
        }
        aphi_core core = {.state = aph_int((int64_t)list[n].state)};
        aphi_parts reason;
        assert_int_equal(aphi_memo_seen(&m, list[n].at, &core, list[n].bits, optional, &reason), expected);
        *(expected ? &hits : &misses) += 1;
        aphi_memo_add(&m, list[n].at, &core, list[n].bits, optional);
    }
    assert_true(hits > 300 && misses > 300);
    assert_int_equal(m.count, N);
    assert_true(aphi_memo_bytes(&m) >= N * (sizeof *m.entries + WORDS * sizeof *m.bits));
    aphi_memo_deinit(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_every_part_counts, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_optional_requests, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_reasons, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_against_a_plain_list, fresh_heap, fresh_heap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

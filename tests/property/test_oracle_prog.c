/* SPDX-License-Identifier: Apache-2.0
 *
 * test_oracle_prog.c - on random programs in Prog, the oracle's verdicts equal those of enumeration, of the validator
 * of figure 3.1, and of the derivation of chapter 4. */
#include "models/prog.h"
#include "tests/support/compare.h"
#include "tests/support/derived.h"
#include "tests/support/enumerate.h"
#include "tests/support/validator.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { QUERIES_MOST = 4 };

static aph_value request(aphi_choice *c)
{
    return aph_int(aphi_choice_within(c, -3, 3));
}

static aph_value answer(aphi_choice *c)
{
    return aph_int(aphi_choice_within(c, -4, 4));
}

static history_shape shape_of(aphi_choice *c, bool sequential)
{
    return (history_shape){.requests = 1 + aphi_choice_below(c, QUERIES_MOST), .connections = sequential ? 1 : 2,
                           .pipelining = (unsigned)aphi_choice_below(c, 3),
                           .sequential = sequential, .whole = sequential, .paired = true};
}

/* The validator takes queries and responses as pairs. */
static bool agrees_with_validator(const validator_program *p, const subject *s, const history *h)
{
    int64_t pairs[QUERIES_MOST][2];
    size_t reached, n = 0;
    for (size_t i = 0; i + 1 < h->count; i += 2, n++) {
        pairs[n][0] = aph_int_of(h->seen[i].message);
        pairs[n][1] = aph_int_of(h->seen[i + 1].message);
    }
    bool accepted = validator_accepts(p, n, pairs, &reached);
    enumerated e = enumerate(s, h, ENUMERATE_SYNC);
    /* Enumeration counts observations. The failing observation is a response, or a query without a response. */
    if (accepted == e.explained && e.reached / 2 == reached)
        return true;
    printf("the validator accepts %zu of %zu answers; enumeration reaches observation %zu\n", reached, n, e.reached);
    return false;
}

/* Returns true if each request has a response. The deciders differ on a request without a response if the result is
 * undefined. */
static bool is_whole(const history *h)
{
    size_t sent = 0;
    for (size_t i = 0; i < h->count; i++)
        sent += h->seen[i].sent;
    return 2 * sent == h->count;
}

static bool compare_program(uint64_t seed, bool sequential, history *h, compare_count *count)
{
    static validator_program p;
    aphi_choice c = aphi_choice_seed(seed);
    aph_prog_error error;
    validator_random_program(&p, &c);
    aph_model *model = aph_prog_read(p.text, strlen(p.text), "random", &error);
    assert_non_null(model);
    subject s = {.model = model, .request = request, .answer = answer, .requests_most = QUERIES_MOST};
    history_shape shape = shape_of(&c, sequential);
    history_make(h, &s, shape, &c);
    if (aphi_choice_chance(&c, 1, 2))
        history_mutate(h, &s, shape, &c);
    bool same = true;
    if (!sequential || is_whole(h))
        same = !compare_one(&s, h, aphi_choice_chance(&c, 1, 4), count) &&
               (!sequential || agrees_with_validator(&p, &s, h));
    if (!same) {
        printf("%s", p.text);
        history_print(h);
    }
    aph_prog_free(model);
    return same;
}

static void compare_programs(const char *name, size_t programs, bool sequential)
{
    compare_count count = {0};
    history h = {0};
    bool same = true;
    int64_t start = aphi_clock_ns();
    for (size_t i = 0; count.histories < programs && same; i++) {
        if (i % 256 == 0)
            aph_collect();
        same = compare_program(compare_seed() * 1000003 + i, sequential, &h, &count);
    }
    history_deinit(&h);
    bool enough = compare_report(name, &count);
    printf("  %.1f s\n", (double)(aphi_clock_ns() - start) / 1e9);
    assert_true(same);
    assert_true(enough);
}

static void one_query_at_a_time(void **state)
{
    (void)state;
    compare_programs("one query at a time", compare_cases(100000), true);
}

static void two_clients(void **state)
{
    (void)state;
    compare_programs("two clients", compare_cases(10000), false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_query_at_a_time), cmocka_unit_test(two_clients)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

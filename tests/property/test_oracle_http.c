/* SPDX-License-Identifier: Apache-2.0
 *
 * test_oracle_http.c - the promises and announcements of the model http change no verdict: valid and
 * invalid histories with many concurrent requests for two resources have the same verdict with and without them.
 *
 * Enumeration of HTTP servers is infeasible. So verdicts are compared with those of the oracle without promises, which
 * the other tests in this folder compare with enumeration. */
#include "tests/support/compare.h"
#include "tests/support/odd_models.h"

#include "models/models.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A server with even odds refuses half of the requests. Repeating the choice makes refusals rare. */
static void make_until_served(history *h, const subject *s, history_shape shape, aphi_choice *c)
{
    for (int i = 0; i < 20; i++) {
        size_t refused = 0;
        h->count = 0;
        history_make(h, s, shape, c);
        for (size_t k = 0; k < h->count; k++)
            refused += !h->seen[k].sent && aph_int_of(aph_field(h->seen[k].message, "status")) >= 400;
        if (4 * refused <= h->count / 2)
            return;
    }
}

/* The verdict with all promises must equal the verdict of `other` in the same mode. */
static void compare_with(const subject *s, const aph_model *other, compare_mode how, const history *h,
                         compare_count *count)
{
    static const compare_mode modes[] = {COMPARE_LOOKAHEAD, COMPARE_TRIM}; /* the modes with lookahead */
    aph_verdict plain = compare_judge(other, h, "tcp", how).verdict;
    count->histories++;
    count->valid += plain == APH_PASS;
    count->invalid += plain == APH_FAIL;
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        aph_verdict verdict = compare_judge(s->model, h, "tcp", modes[i]).verdict;
        count->judged++;
        if (verdict != plain) {
            history_print(h);
            fail_msg("mode %d: %s, and without promises %s", modes[i], aph_verdict_name(verdict),
                     aph_verdict_name(plain));
        }
    }
}

static void same_verdicts(const subject *s, const aph_model *other, compare_mode how, size_t histories)
{
    compare_count count = {0};
    for (size_t i = 0; i < histories; i++) {
        aphi_choice c = aphi_choice_seed(compare_seed() + i);
        history_shape shape = history_random_shape(&c, s);
        history h = {0};
        make_until_served(&h, s, shape, &c);
        if (i % 2)
            history_mutate(&h, s, shape, &c);
        compare_with(s, other, how, &h, &count);
        history_deinit(&h);
        if (i % 256 == 0)
            aph_collect();
    }
    assert_true(compare_report(s->model->name, &count));
}

static subject subject_of(const aph_model *model, unsigned requests_most)
{
    subject s = subject_http;
    s.model = model;
    s.requests_most = requests_most;
    return s;
}

/* Sets all waivers if `waived`; announcements must take waivers into account. */
static aph_model model_of(bool waived)
{
    aph_model model = aph_model_http;
    for (size_t i = 0; waived && model.waivers[i].name; i++)
        model.waived |= (uint64_t)1 << i;
    return model;
}

/* The promise `reads`: a read only fixes open choices. */
static void reads_change_no_verdict(void **unused)
{
    (void)unused;
    for (int waived = 0; waived < 2; waived++) {
        aph_model model = model_of(waived), other = model;
        other.reads = NULL;
        subject s = subject_of(&model, 7);
        same_verdicts(&s, &other, COMPARE_LOOKAHEAD, compare_cases(5000));
    }
}

static void without_promises(void **unused)
{
    (void)unused;
    for (int waived = 0; waived < 2; waived++) {
        aph_model model = model_of(waived);
        subject s = subject_of(&model, waived ? 3 : 4);
        same_verdicts(&s, &model, COMPARE_IGNORE_PROMISES, compare_cases(waived ? 40 : 80));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(reads_change_no_verdict), cmocka_unit_test(without_promises)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

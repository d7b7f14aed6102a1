/* SPDX-License-Identifier: Apache-2.0
 *
 * test_oracle_http.c - the promises and announcements of the model http change no verdict: valid and
 * invalid histories with many concurrent requests for two resources have the same verdict with and without them.
 *
 * Enumeration of HTTP servers is infeasible. So verdicts are compared with those of the oracle without promises, which
 * the other tests in this folder compare with enumeration. */
#include "tests/support/compare.h"

#include "models/models.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *const strings[] = {"x", "y", "z", NULL};

static aph_value any_string(aphi_choice *c) { return aph_str(strings[aphi_choice_below(c, 3)]); }

static aph_value any_tag(aphi_choice *c)
{
    return aph_record("opaque", any_string(c), "weak", aph_bool(aphi_choice_chance(c, 1, 2)));
}

static aph_value any_tags(aphi_choice *c)
{
    if (aphi_choice_chance(c, 1, 6))
        return aph_str("*");
    aph_value tag = any_tag(c);
    return aphi_choice_chance(c, 1, 2) ? APH_ARRAY_OF(tag) : APH_ARRAY_OF(tag, any_tag(c));
}

static aph_value with_conditions(aph_value request, aphi_choice *c)
{
    static const char *const tags[] = {"if-match", "if-none-match"};
    static const char *const dates[] = {"if-unmodified-since", "if-modified-since"};
    for (int i = 0; i < 2; i++) {
        if (aphi_choice_chance(c, 1, 3))
            request = aph_put(request, tags[i], any_tags(c));
        if (aphi_choice_chance(c, 1, 8))
            request = aph_put(request, dates[i], aph_int((int64_t)aphi_choice_below(c, 2)));
    }
    return request;
}

static aph_value any_request(aphi_choice *c)
{
    static const char *const methods[] = {"GET", "GET", "HEAD", "PUT", "PUT", "PUT", "DELETE", "POST"};
    const char *method = methods[aphi_choice_below(c, 8)];
    aph_value request = aph_record("method", aph_str(method), "target",
                                   aph_str(aphi_choice_chance(c, 1, 4) ? "/b" : "/a"));
    if (!strcmp(method, "PUT") || !strcmp(method, "POST"))
        request = aph_put(request, "body", aph_str(aphi_choice_chance(c, 1, 2) ? "ab" : "abc"));
    if (!strcmp(method, "GET") && aphi_choice_chance(c, 1, 4))
        request = aph_put(request, "range", APH_ARRAY_OF(aph_int(1), aph_int(2)));
    return with_conditions(request, c);
}

static aph_value any_answer(aphi_choice *c)
{
    static const int statuses[] = {200, 201, 204, 304, 404, 412, 412, 500};
    aph_value answer = aph_record("status", aph_int(statuses[aphi_choice_below(c, 8)]), "body",
                                  aph_str(aphi_choice_chance(c, 1, 2) ? "" : "ab"));
    if (aphi_choice_chance(c, 1, 2))
        answer = aph_put(answer, "tag", any_tag(c));
    return aphi_choice_chance(c, 1, 4) ? aph_put(answer, "modified", aph_int(1)) : answer;
}

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
    return (subject){.model = model, .strings = strings, .request = any_request, .answer = any_answer,
                     .requests_most = requests_most};
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

/* SPDX-License-Identifier: Apache-2.0
 *
 * test_promises.c - the verdicts of a check on short histories equal those of enumeration: for models with true
 * promises, for models that compare connections in C, and for models with false promises, unless the promise is
 * reported. */
#include "tests/support/compare.h"
#include "tests/support/odd_models.h"

#include <antiphon/check.h>

#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- checking a history ------------------------------------------------------------------------------------------ */

/* The caller frees the text. */
static char *text_of(const history *h, size_t *size)
{
    char *text;
    FILE *f = open_memstream(&text, size);
    for (size_t i = 0; i < h->count; i++) {
        fprintf(f, "{\"conn\":%lld,\"%s\":", (long long)h->seen[i].connection, h->seen[i].sent ? "send" : "recv");
        aph_json_write(f, h->seen[i].message);
        fputs("}\n", f);
    }
    fclose(f);
    return text;
}

static aph_check_result *check_history(const aph_model *model, const history *h)
{
    size_t size;
    char *text = text_of(h, &size);
    aph_check_result *r = aph_check_memory(model, text, size, NULL);
    free(text);
    return r;
}

typedef struct count {
    size_t valid, invalid, blamed;
} count;

/* Returns true if the verdict is right, or if the promise is reported as false. */
static bool is_right(const aph_check_result *r, bool explained, const char *promise, count *n)
{
    if (r->verdict == APH_CHECK_ERROR && promise && r->error == APH_CHECK_MODEL_PROMISE) {
        n->blamed++;
        return strstr(r->message, promise) != NULL;
    }
    return r->verdict == (explained ? APH_CHECK_PASS : APH_CHECK_FAIL) ||
           (explained && r->verdict == APH_CHECK_VACUOUS);
}

/* promise: the one that is false, or NULL. */
static count check_histories(const subject *s, size_t histories, const char *promise)
{
    count n = {0};
    history h = {0};
    for (size_t i = 0; i < histories; i++) {
        aphi_choice c = aphi_choice_seed(compare_seed() * 1000003 + i);
        history_shape shape = history_random_shape(&c, s);
        if (i % 64 == 0)
            aph_collect();
        history_make(&h, s, shape, &c);
        if (aphi_choice_chance(&c, 3, 5))
            history_mutate(&h, s, shape, &c);
        if (!h.count)
            continue;
        bool explained = enumerate(s, &h, ENUMERATE_TCP).explained;
        aph_check_result *r = check_history(s->model, &h);
        if (!is_right(r, explained, promise, &n)) {
            printf("%s: %s: %s, but enumeration says %s\n", s->model->name, aph_check_verdict_name(r->verdict),
                   r->message, explained ? "pass" : "fail");
            history_print(&h);
            fail();
        }
        *(explained ? &n.valid : &n.invalid) += 1;
        aph_check_result_free(r);
    }
    history_deinit(&h);
    printf("%s: %zu valid, %zu invalid, %zu with a false promise\n", s->model->name, n.valid, n.invalid, n.blamed);
    return n;
}

static void true_promises(void **state)
{
    (void)state;
    const subject *const all[] = {&subject_register, &subject_kv,       &subject_queue, &subject_swap,
                                  &subject_etag_kv,  &subject_counters, &subject_dice,  &subject_fickle};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        check_histories(all[i], compare_cases(400), NULL);
}

/* ---- comparisons of connections ---------------------------------------------------------------------------------- */

static bool is(aph_value request, const char *f)
{
    return aph_str_is(aph_field(request, "f"), f);
}

/* A register for odd connections and one for even ones; or for connection 1 and for all others. */
static void keep_by_connection(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    bool ranked = *(const bool *)aph_data(m);
    aph_value name = aph_str((ranked ? q.from == 1 : q.from % 2 == 1) ? "this" : "that"), old = aph_get(*state, name);
    if (is(q.message, "put"))
        *state = aph_set(*state, name, aph_field(q.message, "value"));
    aph_send(m, q.from, is(q.message, "put") ? aph_str("ok") : old);
}

static aph_value make_request(aphi_choice *c)
{
    static const char *const names[] = {"put", "get", "get", "swap", "total"};
    aph_value q = aph_record("f", aph_str(names[aphi_choice_below(c, 5)]), "key", aph_int(aphi_choice_chance(c, 1, 3)));
    return is(q, "put") || is(q, "swap") ? aph_put(q, "value", aph_int(aphi_choice_within(c, 1, 2))) : q;
}

static aph_value make_answer(aphi_choice *c)
{
    uint64_t at = aphi_choice_below(c, 5);
    return at == 0 ? aph_str("ok") : at == 1 ? APH_NIL : aph_int((int64_t)at - 2);
}

static void comparisons_of_connections(void **state)
{
    (void)state;
    static const bool ranked[] = {false, true};
    for (size_t i = 0; i < 2; i++) {
        aph_model model = {.version = APH_MODEL_VERSION, .name = ranked[i] ? "by rank" : "by remainder",
                           .step = keep_by_connection, .rpc = true, .data = &ranked[i]};
        check_histories(&(subject){&model, NULL, make_request, make_answer, 0, NULL}, compare_cases(600), NULL);
    }
}

/* ---- false promises ---------------------------------------------------------------------------------------------- */

/* A register for each key, and a total of all writes. */
static void count_writes(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    aph_value key = aph_field(q.message, "key"), old = aph_get(*state, key), total = aph_field(*state, "total");
    if (is(q.message, "put") || is(q.message, "swap"))
        *state = aph_put(aph_set(*state, key, aph_field(q.message, "value")), "total",
                         aph_add(total ? total : aph_int(0), aph_int(1)));
    aph_send(m, q.from, is(q.message, "put")                ? aph_str("ok")
                        : is(q.message, "total") && !total ? aph_int(0)
                        : is(q.message, "total")           ? total
                                                           : old);
}

static aph_value part_of(aph_value request)
{
    return aph_field(request, "key");
}

static bool writes_commute(aph_value a, aph_value b)
{
    return aph_field(a, "f") == aph_field(b, "f");
}

static bool all_but_puts_read(aph_value request, aph_value answer)
{
    (void)answer;
    return !is(request, "put");
}

static void false_promises(void **state)
{
    (void)state;
    const aph_model base = {.version = APH_MODEL_VERSION, .step = count_writes, .rpc = true};
    aph_model parts = base, commutes = base, reads = base;
    parts.name = "false part", parts.part = part_of;
    commutes.name = "false commute", commutes.commute = writes_commute;
    reads.name = "false reads", reads.reads = all_but_puts_read;
    const struct {
        const aph_model *model;
        const char *promise;
    } all[] = {{&parts, ".part"}, {&commutes, ".commute"}, {&reads, "read"}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        subject s = {all[i].model, NULL, make_request, make_answer, 0, NULL};
        assert_true(check_histories(&s, compare_cases(600), all[i].promise).blamed > 20);
    }
}

/* Without rpc: some requests must be taken late, although the model promises that this is never necessary. */
static void false_eager(void **state)
{
    (void)state;
    aph_model model = {.version = APH_MODEL_VERSION, .name = "false eager", .step = count_writes, .eager = true};
    subject s = {&model, NULL, make_request, make_answer, 0, NULL};
    assert_true(check_histories(&s, compare_cases(600), ".eager").blamed > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(true_promises), cmocka_unit_test(comparisons_of_connections),
                                       cmocka_unit_test(false_promises), cmocka_unit_test(false_eager)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

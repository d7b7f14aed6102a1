/* SPDX-License-Identifier: Apache-2.0
 *
 * test_scripts.c - random scripts read back as written; random holes evaluate to values that loose evaluation
 * allows, and to the result of strict evaluation if there is one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "script/expression.h"
#include "script/script.h"
#include "unit/random_value.h"

static int fresh_heap(void **unused)
{
    (void)unused;
    aph_heap_close();
    return 0;
}

/* ---- scripts ----------------------------------------------------------------------------------------------------- */

static aph_value random_path(aphi_choice *c)
{
    aph_value path = aph_array(0, NULL);
    for (uint64_t n = aphi_choice_below(c, 4); n; n--) {
        aph_value index = aph_int((int64_t)aphi_choice_below(c, 4));
        path = aph_push(path, aphi_choice_chance(c, 1, 2) ? index : random_bytes(c, 2));
    }
    return path;
}

static aph_value random_send(aphi_choice *c, unsigned depth)
{
    static const char *const functions[] = {"id", "weakened", ""};
    if (aphi_choice_chance(c, 1, 3))
        return aph_hole(1 + (int64_t)aphi_choice_below(c, 40), random_path(c), functions[aphi_choice_below(c, 3)]);
    if (depth && aphi_choice_chance(c, 1, 2))
        return APH_ARRAY_OF(random_send(c, depth - 1), aph_record("x", random_send(c, depth - 1)));
    aph_value v = random_value(c, 2);
    char error[300];
    return v && aphi_expression_is_sound(v, error, sizeof error) ? v : aph_int(1);
}

static aphi_action random_action(aphi_choice *c, int64_t label)
{
    aphi_action a = {.label = label, .connection = (int64_t)aphi_choice_below(c, 1000)};
    a.wait = (aphi_wait)aphi_choice_below(c, label > 1 ? 4 : 1);
    if (a.wait == APHI_WAIT_ANSWER)
        a.waits_for = 2 + 2 * (int64_t)aphi_choice_below(c, (uint64_t)(label - 1) / 2);
    if (a.wait == APHI_WAIT_PAUSE)
        a.waits_for = (int64_t)aphi_choice_below(c, 100000);
    if (aphi_choice_chance(c, 1, 8))
        return a;
    a.send = random_send(c, 3);
    a.chunk = (uint32_t)(aphi_choice_bits(c) >> (32 + aphi_choice_below(c, 32)));
    return a;
}

static aphi_script random_script(aphi_choice *c)
{
    aphi_script s = {.seed = aphi_choice_bits(c)};
    snprintf(s.model, sizeof s.model, "%s", aphi_choice_chance(c, 1, 2) ? "etag-kv" : "a \"name\"\n");
    strcpy(s.environment, "sync");
    int64_t label = -1;
    for (uint64_t n = aphi_choice_below(c, 12); n; n--) {
        label += 2 + 2 * (int64_t)aphi_choice_below(c, 3);
        aphi_action a = random_action(c, label);
        aphi_script_add(&s, &a);
    }
    return s;
}

static void assert_same(const aphi_script *a, const aphi_script *b)
{
    assert_string_equal(a->model, b->model);
    assert_string_equal(a->environment, b->environment);
    assert_int_equal(a->seed, b->seed);
    assert_int_equal(a->count, b->count);
    for (size_t i = 0; i < a->count; i++) {
        const aphi_action *x = &a->actions[i], *y = &b->actions[i];
        assert_ptr_equal(x->send, y->send);
        assert_true(x->label == y->label && x->connection == y->connection && x->chunk == y->chunk);
        assert_true(x->wait == y->wait && x->waits_for == y->waits_for);
    }
}

static void test_round_trip(void **unused)
{
    (void)unused;
    char path[] = "/tmp/antiphon-scripts-XXXXXX", error[500];
    close(mkstemp(path));
    for (uint64_t seed = 0; seed < 3000; seed++) {
        aphi_choice c = aphi_choice_seed(seed);
        aphi_script s = random_script(&c), again;
        size_t n;
        char *text = aphi_script_text(&s, &n);
        if (!aphi_script_parse("text", text, n, &again, error, sizeof error))
            fail_msg("seed %d: %s", (int)seed, error);
        assert_same(&s, &again);
        aphi_script_free(&again);
        if (seed % 100 == 0) {
            assert_true(aphi_script_write(path, &s, error, sizeof error));
            assert_true(aphi_script_read(path, &again, error, sizeof error));
            assert_same(&s, &again);
            aphi_script_free(&again);
        }
        free(text);
        aphi_script_free(&s);
    }
    unlink(path);
}

/* After a byte is removed or added, a script is still valid or gives an error with a line number. */
static void test_damage(void **unused)
{
    (void)unused;
    unsigned errors = 0;
    for (uint64_t seed = 0; seed < 3000; seed++) {
        aphi_choice c = aphi_choice_seed(seed);
        aphi_script s = random_script(&c), again;
        size_t n;
        char *text = aphi_script_text(&s, &n), error[500] = "";
        text[aphi_choice_below(&c, n)] = (char)aphi_choice_bits(&c);
        if (aphi_script_parse("text", text, n, &again, error, sizeof error)) {
            aphi_script_free(&again);
        } else {
            errors++;
            assert_true(strncmp(error, "text:", 5) == 0 && atoi(error + 5) >= 1);
            assert_true((size_t)atoi(error + 5) <= s.count + 2);
        }
        free(text);
        aphi_script_free(&s);
    }
    assert_true(errors > 1000);
}

/* ---- holes ------------------------------------------------------------------------------------------------------- */

/* Returns true if some choice of elements leads along the path to v. If `strict`, only the named elements are
 * followed. */
static bool allows(aph_value message, aph_value path, size_t at, bool strict, aph_value v, bool *any)
{
    if (at == aph_count(path)) {
        *any = true;
        return message == v;
    }
    aph_value part = aph_at(path, at);
    bool allowed = false;
    if (aph_is_str(part))
        return aph_kind_of(message) == APH_OBJECT && aph_has(message, part) &&
               allows(aph_get(message, part), path, at + 1, strict, v, any);
    for (size_t i = 0; aph_kind_of(message) == APH_ARRAY && i < aph_count(message); i++)
        if (!strict || i == (size_t)aph_int_of(part))
            allowed = allows(aph_at(message, i), path, at + 1, strict, v, any) || allowed;
    return allowed;
}

static void check_hole(const aphi_labelled *seen, int64_t label, aph_value path, unsigned of[3])
{
    aph_value v = aphi_expression_fill(aph_hole(label, path, "id"), seen, NULL), message;
    int64_t other;
    bool any = false, allowed = false;
    if (aphi_labelled_find(seen, label)) {
        message = *aphi_labelled_find(seen, label);
        allowed = allows(message, path, 0, true, v, &any);
        of[0] += any;
        if (!any)
            allowed = allows(message, path, 0, false, v, &any);
    }
    if (!any) {
        for (size_t i = 0; aphi_labelled_latest(seen, i, &other, &message); i++)
            allowed = allows(message, path, 0, false, v, &any) || allowed;
        of[any ? 1 : 2]++;
    }
    assert_true(any ? allowed : v == APH_NIL);
}

static void test_holes(void **unused)
{
    (void)unused;
    unsigned of[3] = {0};
    for (uint64_t seed = 0; seed < 20000; seed++) {
        aphi_choice c = aphi_choice_seed(seed);
        aphi_labelled *seen = aphi_labelled_open(16);
        for (int64_t label = 1; label < 9; label++)
            if (aphi_choice_chance(&c, 3, 4))
                aphi_labelled_add(seen, label, random_value(&c, 3));
        for (int i = 0; i < 4; i++)
            check_hole(seen, 1 + (int64_t)aphi_choice_below(&c, 9), random_path(&c), of);
        aphi_labelled_close(seen);
        if (seed % 1000 == 0)
            aph_collect();
    }
    assert_true(of[0] > 1000 && of[1] > 1000 && of[2] > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_round_trip, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_damage, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_holes, fresh_heap, fresh_heap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

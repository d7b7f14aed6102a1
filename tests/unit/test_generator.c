/* SPDX-License-Identifier: Apache-2.0
 *
 * test_generator.c - actions: waits end, no connection starves, the depth is used, a seed reproduces a run. A clerk
 * simulates the server: it responds "ok" at any speed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include "base/memory.h"
#include "generate/generator_api.h"
#include "models/models.h"
#include "value/heap.h"

static int fresh_heap(void **unused)
{
    (void)unused;
    aph_heap_close();
    return 0;
}

/* ---- a clerk ----------------------------------------------------------------------------------------------------- */

enum { CONNECTIONS_MAX = 1000, DEPTH = 4, LABELS = 1 << 17 };

typedef struct clerk {
    aphi_generator *generator;
    aphi_labelled *seen;
    size_t connections;
    uint32_t in_flight[CONNECTIONS_MAX];
    int64_t queue[CONNECTIONS_MAX][DEPTH]; /* labels in flight, oldest first */
    bool sent[LABELS], flying[LABELS];     /* by label */
    bool open[CONNECTIONS_MAX], shut[CONNECTIONS_MAX];
    bool has_signals;                      /* the model receives openings and ends */
    bool silent[CONNECTIONS_MAX];          /* the connection never gets a response */
    aph_value branches;
    aphi_choice choice;
    unsigned answers_in_8;                 /* probability, in eighths, of a response on a connection after an action */
} clerk;

static clerk *clerk_open(const aph_model *model, uint64_t seed, size_t connections, unsigned answers_in_8)
{
    char error[300];
    clerk *k = aphi_alloc_zero(sizeof *k);
    k->seen = aphi_labelled_open(256);
    k->generator = aphi_generator_open(model, seed, connections, DEPTH, error, sizeof error);
    if (!k->generator)
        fail_msg("%s", error);
    k->connections = connections;
    k->has_signals = model->connections;
    k->choice = aphi_choice_seed(seed);
    k->answers_in_8 = answers_in_8;
    return k;
}

static void clerk_close(clerk *k)
{
    aphi_generator_close(k->generator);
    aphi_labelled_close(k->seen);
    free(k);
}

static bool answer(clerk *k, size_t c)
{
    if (k->in_flight[c] == 0 || k->silent[c])
        return false;
    aphi_labelled_add(k->seen, k->queue[c][0] + 1, aph_str("ok"));
    k->flying[k->queue[c][0]] = false;
    k->in_flight[c]--;
    memmove(k->queue[c], k->queue[c] + 1, k->in_flight[c] * sizeof k->queue[c][0]);
    return true;
}

static void answer_everything(clerk *k)
{
    for (size_t c = 0; c < k->connections; c++)
        while (answer(k, c))
            ;
}

/* Makes the condition of the wait true. Returns false if that is impossible. */
static bool wait_for(clerk *k, const aphi_action *a)
{
    if (a->wait == APHI_WAIT_QUIET)
        answer_everything(k);
    if (a->wait == APHI_WAIT_PAUSE)
        assert_in_range(a->waits_for, 50, 2000);
    if (a->wait != APHI_WAIT_ANSWER)
        return true;
    assert_true(a->waits_for % 2 == 0 && a->waits_for > 0 && a->waits_for < a->label);
    assert_true(k->sent[a->waits_for - 1]);
    while (k->flying[a->waits_for - 1]) {
        bool any = false;
        for (size_t c = 0; c < k->connections && k->flying[a->waits_for - 1]; c++)
            any = answer(k, c) || any;
        if (!any)
            return false;
    }
    return true;
}

/* Opens or ends a connection of a model that receives this. Requests in flight at an end get no response. */
static void carry_out_signal(clerk *k, size_t c, aph_value signal)
{
    assert_true(signal == APH_OPENED ? !k->open[c] : k->open[c]);
    assert_false(signal == APH_CLOSED && k->shut[c]);
    k->shut[c] = signal == APH_CLOSED;
    k->open[c] = signal == APH_OPENED || signal == APH_CLOSED;
    while (!k->open[c] && k->in_flight[c] > 0)
        k->flying[k->queue[c][--k->in_flight[c]]] = false;
}

static void carry_out(clerk *k, const aphi_action *a)
{
    size_t c = (size_t)a->connection;
    char error[300];
    if (k->has_signals && (!a->send || aphi_is_signal(a->send))) {
        carry_out_signal(k, c, a->send);
        return;
    }
    assert_false(k->shut[c]);
    if (!a->send) {
        assert_true(k->open[c] && k->in_flight[c] == 0 && a->wait == APHI_WAIT_NOTHING);
        k->open[c] = false;
        return;
    }
    if (!aphi_expression_is_sound(a->send, error, sizeof error))
        fail_msg("%s", error);
    assert_true(k->in_flight[c] < DEPTH);
    assert_true(aphi_expression_newest(a->send) < a->label);
    k->open[c] = true;
    k->sent[a->label] = k->flying[a->label] = true;
    k->queue[c][k->in_flight[c]++] = a->label;
    aphi_labelled_add(k->seen, a->label, aphi_expression_fill(a->send, k->seen, NULL));
}

static void answer_some(clerk *k)
{
    for (int i = 0; i < 4; i++)
        if (aphi_choice_chance(&k->choice, k->answers_in_8, 8))
            answer(k, aphi_choice_below(&k->choice, k->connections));
}

/* Performs the next action. The returned label is 0 if the action waits forever. */
static aphi_action act_before_answers(clerk *k)
{
    aphi_knowledge known = {.seen = k->seen, .in_flight = k->in_flight, .connections = k->connections,
                            .branches = k->branches};
    aphi_action a = aphi_generator_next(k->generator, &known);
    assert_true(a.label % 2 == 1 && a.label < LABELS && a.connection >= 0 && (size_t)a.connection < k->connections);
    assert_true(a.chunk <= 3);
    if (!wait_for(k, &a))
        return (aphi_action){0};
    carry_out(k, &a);
    return a;
}

static aphi_action act(clerk *k)
{
    aphi_action a = act_before_answers(k);
    if (a.label)
        answer_some(k);
    return a;
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

/* Checks properties of runs of all built-in models. */
static void test_actions(void **unused)
{
    (void)unused;
    size_t models_count;
    const aph_model *const *models = aph_models(&models_count);
    unsigned waits[4] = {0}, closes = 0, chunks = 0, pairs = 0;
    for (size_t m = 0; m < models_count; m++)
        for (unsigned speed = 0; speed <= 8; speed += 4) {
            clerk *k = clerk_open(models[m], m + speed, speed == 4 ? 1 : 10, speed);
            int64_t last = -1;
            for (int i = 0; i < 3000; i++) {
                aphi_action a = act(k);
                assert_int_equal(a.label, last + 2);
                waits[a.wait]++;
                closes += !a.send;
                chunks += a.chunk > 0;
                pairs += a.wait == APHI_WAIT_ANSWER && a.waits_for == last + 1;
                last = a.label;
                if (i % 500 == 0)
                    aph_collect();
            }
            clerk_close(k);
        }
    assert_true(waits[APHI_WAIT_NOTHING] > 5000 && waits[APHI_WAIT_ANSWER] > 5000);
    assert_true(waits[APHI_WAIT_QUIET] > 0 && waits[APHI_WAIT_PAUSE] > 20);
    assert_true(closes > 10 && chunks > 500 && pairs > 2000);
}

static void test_no_connection_starves(void **unused)
{
    (void)unused;
    static const size_t counts[] = {1, 2, 7, 100, 1000};
    for (size_t n = 0; n < sizeof counts / sizeof *counts; n++)
        for (uint64_t seed = 0; seed < 4; seed++) {
            size_t connections = counts[n], longest = 0;
            clerk *k = clerk_open(&aph_model_kv, seed, connections, (unsigned)seed * 2);
            size_t *used = aphi_alloc_zero(connections * sizeof *used);
            size_t actions = 8000 + 20 * connections;
            for (size_t i = 1; i <= actions; i++) {
                size_t c = (size_t)act(k).connection;
                longest = i - used[c] > longest ? i - used[c] : longest;
                used[c] = i;
            }
            for (size_t c = 0; c < connections; c++)
                longest = actions - used[c] > longest ? actions - used[c] : longest;
            assert_true(longest <= 9 * connections + 70);
            free(used);
            clerk_close(k);
        }
}

/* Actions wait for a connection that the server neglects, so that the run detects it. */
static void test_neglect_is_detected(void **unused)
{
    (void)unused;
    clerk *k = clerk_open(&aph_model_kv, 3, 10, 8);
    k->silent[4] = true;
    int actions = 0;
    while (act(k).label != 0 && actions < 2000)
        actions++;
    assert_true(actions < 2000);
    clerk_close(k);
}

static void test_depth_is_used(void **unused)
{
    (void)unused;
    clerk *k = clerk_open(&aph_model_kv, 5, 10, 0);
    uint32_t most = 0;
    for (int i = 0; i < 2000; i++) {
        uint32_t sum = 0;
        act(k);
        for (size_t c = 0; c < k->connections; c++)
            sum += k->in_flight[c];
        most = sum > most ? sum : most;
    }
    assert_true(most >= 10 * DEPTH / 2);
    clerk_close(k);
}

static void test_same_seed(void **unused)
{
    (void)unused;
    size_t models_count, equal = 0;
    const aph_model *const *models = aph_models(&models_count);
    for (size_t m = 0; m < models_count; m++) {
        clerk *a = clerk_open(models[m], 11, 5, 4), *b = clerk_open(models[m], 11, 5, 4);
        clerk *c = clerk_open(models[m], 12, 5, 4);
        for (int i = 0; i < 1000; i++) {
            aphi_action x = act(a), y = act(b), z = act(c);
            assert_ptr_equal(aphi_action_value(&x), aphi_action_value(&y));
            equal += aphi_action_value(&x) == aphi_action_value(&z);
        }
        clerk_close(a);
        clerk_close(b);
        clerk_close(c);
    }
    assert_true(equal < 500);
}

/* After the response to a put, a get of the same key is sent on another connection. */
static void test_get_after_put(void **unused)
{
    (void)unused;
    clerk *k = clerk_open(&aph_model_kv, 1, 10, 4);
    aphi_action before = act(k);
    unsigned found = 0;
    for (int i = 0; i < 1000; i++) {
        aphi_action a = act(k);
        found += a.send && before.send && a.wait == APHI_WAIT_ANSWER && a.waits_for == before.label + 1 &&
                 a.connection != before.connection && aph_str_is(aph_field(before.send, "f"), "put") &&
                 aph_str_is(aph_field(a.send, "f"), "get") &&
                 aph_field(a.send, "key") == aph_field(before.send, "key");
        before = a;
    }
    assert_true(found >= 20);
    clerk_close(k);
}

/* A connection never has requests for different partitions in flight, but may have several for one partition. */
static void test_partitions_are_kept_apart(void **unused)
{
    (void)unused;
    const aph_model *const models[] = {&aph_model_kv, &aph_model_register, &aph_model_etag_kv};
    for (int m = 0; m < 3; m++) {
        clerk *k = clerk_open(models[m], 1, 5, 3);
        aph_value parts[5][DEPTH + 1];
        unsigned deep = 0;
        aphi_generator_keep_apart(k->generator);
        for (int i = 0; i < 3000; i++) {
            aphi_action a = act_before_answers(k);
            if (a.send) {
                size_t n = k->in_flight[a.connection];
                aph_value part = models[m]->part(a.send);
                for (size_t p = 0; p + 1 < n; p++)
                    assert_ptr_equal(part, parts[a.connection][p]);
                parts[a.connection][n - 1] = part;
                deep += n > 1;
            }
            answer_some(k);
        }
        assert_true(deep > 100);
        clerk_close(k);
    }
}

/* ---- generators in C --------------------------------------------------------------------------------------------- */

static aph_value gen_bad(aph_gen *g)
{
    switch (aph_gen_number(g)) {
    case 0: return aph_gen_below(g, 2) ? APH_NIL : aph_str("good");
    case 1: return aph_gen_below(g, 2) ? aph_symbol(APH_INT, 0) : aph_str("good");
    default: return aph_hole(1, aph_array(0, NULL), "nonsense");
    }
}

static void test_faulty_generator(void **unused)
{
    (void)unused;
    aph_model model = {.version = APH_MODEL_VERSION, .name = "bad", .generate = gen_bad};
    clerk *k = clerk_open(&model, 1, 1, 8);
    aphi_knowledge known = {.seen = k->seen, .in_flight = k->in_flight, .connections = 1};
    assert_ptr_equal(aphi_generator_next(k->generator, &known).send, aph_str("good"));
    assert_ptr_equal(aphi_generator_next(k->generator, &known).send, aph_str("good"));
    assert_int_equal(aphi_generator_next(k->generator, &known).label, 0);
    assert_non_null(strstr(aphi_generator_error(k->generator), "nonsense"));
    clerk_close(k);
    model = (aph_model){.version = APH_MODEL_VERSION, .name = "nothing", .shape = "[{\"one of\": [null]}]"};
    k = clerk_open(&model, 1, 1, 8);
    known = (aphi_knowledge){.seen = k->seen};
    assert_int_equal(aphi_generator_next(k->generator, &known).label, 0);
    assert_string_equal(aphi_generator_error(k->generator),
                        "shape of the model nothing: it returns null, which cannot be sent");
    clerk_close(k);
    char error[300];
    model = (aph_model){.version = APH_MODEL_VERSION, .name = "bad"};
    assert_null(aphi_generator_open(&model, 1, 1, 1, error, sizeof error));
    assert_non_null(strstr(error, ".shape"));
    model.shape = "[5";
    assert_null(aphi_generator_open(&model, 1, 1, 1, error, sizeof error));
    assert_non_null(strstr(error, "model bad: shape, line 1"));
}

static aph_value gen_kinds(aph_gen *g)
{
    static const char *const kinds[] = {"a", "b", "c", "d"};
    return aph_record("f", aph_str(kinds[aph_gen_weighted(g, 97, 1, 1, 1)]));
}

static aph_value gen_holes(aph_gen *g)
{
    aph_value f = aph_hole(2, aph_array(0, NULL), "id");
    return aph_record("f", aph_gen_number(g) < 500 ? aph_str("early") : aph_gen_below(g, 2) ? f : aph_str("late"));
}

/* The kinds of requests are known before any request is sent, except kinds that depend on a hole. */
static void test_possible_kinds(void **unused)
{
    (void)unused;
    aph_model model = {.version = APH_MODEL_VERSION, .name = "kinds", .generate = gen_kinds};
    assert_int_equal(aph_count(aphi_generator_kinds(&model)), 4);
    model.generate = gen_holes;
    aph_value kinds = aphi_generator_kinds(&model);
    assert_true(aph_count(kinds) == 2 && aph_has(kinds, aph_str("early")) && aph_has(kinds, aph_str("late")));
    model = (aph_model){.version = APH_MODEL_VERSION, .name = "shape",
                        .shape = "[{\"f\": \"get\"}, {\"f\": {\"one of\": [\"put\", \"del\"]}}]"};
    assert_int_equal(aph_count(aphi_generator_kinds(&model)), 3);
}

/* An action that waits for a relabelled one waits for its new label; later labels are greater. */
static void test_relabelled(void **unused)
{
    (void)unused;
    aph_model model = {.version = APH_MODEL_VERSION, .name = "kinds", .generate = gen_kinds};
    clerk *k = clerk_open(&model, 1, 3, 8);
    aphi_knowledge known = {.seen = k->seen, .in_flight = k->in_flight, .connections = k->connections};
    aphi_action first = aphi_generator_next(k->generator, &known);
    int64_t label = aphi_generator_rename(k->generator, first.connection, first.label);
    assert_true(label > first.label);
    aphi_action second = aphi_generator_next(k->generator, &known);
    assert_true(aphi_generator_is_calm(k->generator));
    assert_int_equal(second.wait, APHI_WAIT_ANSWER);
    assert_int_equal(second.waits_for, label + 1);
    assert_true(second.label > label);
    clerk_close(k);
}

static aph_value gen_values(aph_gen *g)
{
    if (aph_gen_below(g, 2))
        return aph_record("f", aph_str("put"), "body", aph_int((int64_t)aph_gen_number(g)));
    return aph_record("f", aph_str("del"), "tag", aph_hole(2, aph_array(0, NULL), "id"));
}

/* Lists frequent values with their neighbouring fields; omits rare values and values that depend on a hole. */
static void test_frequent_values(void **unused)
{
    (void)unused;
    aph_model model = {.version = APH_MODEL_VERSION, .name = "values", .generate = gen_values};
    aph_value values = aphi_generator_values(&model), f = aph_field(values, "f");
    assert_int_equal(aph_count(f), 2);
    for (size_t i = 0; i < 2; i++) {
        bool put = aph_str_is(aph_at(aph_at(f, i), 0), "put");
        aph_value beside = aph_at(aph_at(f, i), 1);
        assert_true(aph_has(beside, aph_str("body")) == put && aph_has(beside, aph_str("tag")) == !put);
    }
    assert_int_equal(aph_count(aph_field(values, "body")), 0);
    assert_int_equal(aph_count(aph_field(values, "tag")), 0);
}

/* Each silence comes after an abort or a close, and there are no more than were added. */
static void test_silences(void **unused)
{
    (void)unused;
    aph_model model = {.version = APH_MODEL_VERSION, .name = "opens", .connections = true, .generate = gen_kinds};
    clerk *k = clerk_open(&model, 3, 4, 8);
    aphi_generator_add_silences(k->generator, 3);
    unsigned silences = 0, aborts = 0;
    aph_value before = APH_OPENED;
    for (int i = 0; i < 2000; i++) {
        aphi_action a = aphi_generator_next(k->generator, &(aphi_knowledge){.seen = k->seen, .connections = 4,
                                                                            .in_flight = k->in_flight});
        if (a.wait == APHI_WAIT_SILENCE) {
            silences++;
            aborts += before == APH_BROKEN;
            assert_true(before == APH_BROKEN || before == APH_NIL);
        }
        before = a.send;
    }
    assert_int_equal(silences, 3);
    assert_true(aborts);
    clerk_close(k);
}

/* A kind that led to a new branch becomes more frequent. */
static void test_kinds_are_weighted(void **unused)
{
    (void)unused;
    aph_model model = {.version = APH_MODEL_VERSION, .name = "kinds", .generate = gen_kinds};
    clerk *k = clerk_open(&model, 1, 1, 8);
    unsigned plain = 0, liked = 0;
    for (int i = 0; i < 20000; i++) {
        aphi_action a = act(k);
        plain += a.send && !aph_str_is(aph_field(a.send, "f"), "a");
    }
    clerk_close(k);
    k = clerk_open(&model, 1, 1, 8); /* a run changes over time, so both measurements start a new run */
    k->branches = aph_object();
    for (int i = 0; i < 20000; i++) {
        aphi_action a = act(k);
        if (!a.send || aph_str_is(aph_field(a.send, "f"), "a"))
            continue;
        liked++;
        k->branches = aph_set(k->branches, aph_strf("branch %d", i), aph_int(1));
    }
    assert_true(plain < 4000 && liked > plain + plain / 8);
    clerk_close(k);
}

static void test_generator_api(void **unused)
{
    (void)unused;
    aphi_labelled *seen = aphi_labelled_open(16);
    aphi_knowledge known = {.seen = seen, .state = aph_int(5), .connections = 4};
    aph_gen g = {.known = &known, .choice = aphi_choice_seed(1), .connection = 3, .number = 9, .wish = aph_int(6)};
    int64_t label;
    aph_value message;
    unsigned of[3] = {0};
    for (int i = 0; i < 1000; i++)
        of[aph_gen_weighted(&g, 90, 0, 10)]++;
    assert_true(of[0] > 800 && of[1] == 0 && of[2] > 50);
    assert_true(aph_gen_weighted(&g, 0, 0) < 2);
    assert_true(aph_gen_below(&g, 1) == 0);
    aph_value one = aph_gen_oneof(&g, aph_int(1), aph_int(2));
    assert_true(one == aph_int(1) || one == aph_int(2));
    assert_ptr_equal(aph_gen_state(&g), aph_int(5));
    assert_int_equal(aph_gen_connection(&g), 3);
    assert_int_equal(aph_gen_connections(&g), 4);
    assert_ptr_equal(aph_gen_wish(&g), aph_int(6));
    assert_int_equal(aph_gen_number(&g), 9);
    assert_false(aph_gen_seen(&g, 0, &label, &message));
    assert_ptr_equal(aph_gen_hole(&g, APH_ARRAY_OF(aph_str("a")), "id"), APH_NIL);
    aphi_labelled_add(seen, 1, aph_record("a", aph_int(1)));
    assert_ptr_equal(aph_gen_hole(&g, APH_ARRAY_OF(aph_str("a")), "id"), APH_NIL);
    aphi_labelled_add(seen, 2, aph_record("a", aph_int(1)));
    assert_ptr_equal(aph_gen_hole(&g, APH_ARRAY_OF(aph_str("a")), "f"), aph_hole(2, APH_ARRAY_OF(aph_str("a")), "f"));
    assert_true(aph_gen_seen(&g, 1, &label, &message) && label == 1);
    aphi_labelled_close(seen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_actions, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_no_connection_starves, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_neglect_is_detected, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_depth_is_used, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_same_seed, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_get_after_put, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_partitions_are_kept_apart, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_faulty_generator, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_possible_kinds, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_relabelled, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_frequent_values, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_silences, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_kinds_are_weighted, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_generator_api, fresh_heap, fresh_heap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

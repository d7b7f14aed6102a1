/* SPDX-License-Identifier: Apache-2.0
 *
 * test_sequence_search.c - local sequences found by local search and by projection, on random models.
 *
 * The projection visits every complete sequence of the model (test_explore.c compares these with a naive enumeration)
 * and projects it onto each component. Race sets are computed from their definition. */
#include "compare.h"
#include "random_alts.h"
#include "local/projection.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MODELS = 3000, FORKS_MAX = 20000 };

typedef struct compared {
    size_t models, several, sequences, raced;
} compared;

typedef struct collector {
    aphi_projection projection;
    aphi_sequence sequence;
} collector;

static bool collect(void *context, aphi_explorer *e)
{
    collector *c = context;
    aphi_sequence_load(&c->sequence, e);
    aphi_projection_add(&c->projection, &c->sequence);
    return true;
}

typedef struct membership {
    aphi_projection *projection;
    aphi_intern *set;
    bool races;
    size_t unexpected, found;
} membership;

static bool check_membership(void *context, const aphi_local_event *events, size_t count)
{
    membership *m = context;
    size_t length, before = m->set->count;
    const uint32_t *code = aphi_projection_encode(m->projection, events, count, m->races, &length);
    aphi_intern_number(m->set, code, length * sizeof *code);
    m->unexpected += m->set->count > before;
    m->found++;
    return true;
}

static void compare_component(const aphi_alts *a, collector *c, size_t component, bool races, uint64_t seed,
                              compared *sum)
{
    aphi_sequence_search *l = aphi_sequence_search_open(a, component, (aphi_sequence_search_options){.races = races});
    aphi_intern *set = races ? &c->projection.by_races[component] : &c->projection.by_events[component];
    size_t expected = set->count;
    membership m = {.projection = &c->projection, .set = set, .races = races};
    assert_int_equal(aphi_sequence_search_outcome(l), APHI_SEQUENCE_SEARCH_DONE);
    assert_true(aphi_sequence_search_each(l, check_membership, &m));
    if (m.unexpected || m.found != expected || aphi_sequence_search_count(l) != expected)
        fail_msg("seed %llx, component %zu, races %d: %zu by projection; %zu found, %zu of them unexpected",
                 (unsigned long long)seed, component, races, expected, m.found, m.unexpected);
    sum->several += expected > 1;
    sum->sequences += expected;
    sum->raced += races && expected > c->projection.by_events[component].count;
    aphi_sequence_search_close(l);
}

static void compare_model(const aphi_alts *a, const aphi_compiled_model *model, uint64_t seed, compared *sum)
{
    collector c;
    aphi_projection_open(&c.projection, a->component_count);
    aphi_sequence_open(&c.sequence, model);
    aphi_explorer *e = aphi_explorer_open(model, collect, &c);
    assert_true(aphi_explorer_begin(e, NULL));
    if (aphi_explorer_run(e, FORKS_MAX)) {
        sum->models++;
        for (size_t i = 0; i < a->component_count; i++) {
            compare_component(a, &c, i, false, seed, sum);
            compare_component(a, &c, i, true, seed, sum);
        }
    }
    aphi_explorer_close(e);
    aphi_sequence_close(&c.sequence);
    aphi_projection_close(&c.projection);
}

static void compare(random_shape shape)
{
    compared sum = {0};
    const size_t models = compare_cases(MODELS);
    uint64_t seed = 0x9e3779b97f4a7c15u + shape.mediums * 7 + shape.sync;
    for (size_t attempts = 0; sum.models < models && attempts < 2 * models; attempts++) {
        uint64_t at = seed;
        char why[300] = "";
        aphi_alts a;
        aphi_compiled_model model;
        random_alts(&a, shape, &seed);
        if (aphi_alts_check(&a, why, sizeof why) || !aphi_compiled_model_build(&model, &a, why, sizeof why))
            fail_msg("seed %llx: %s", (unsigned long long)at, why);
        compare_model(&a, &model, at, &sum);
        aphi_compiled_model_free(&model);
        aphi_alts_free(&a);
    }
    print_message("%zu models, %zu sequences, %zu times several, %zu times more with race sets\n", sum.models,
                  sum.sequences, sum.several, sum.raced);
    assert_int_equal(sum.models, models);
    assert_true(sum.several > models / 4 && sum.raced > 0); /* otherwise the test is meaningless */
}

static void asynchronous_pairs(void **state)
{
    (void)state;
    compare((random_shape){4, 4, 2, 8, APHI_MEDIUM_PAIR, 0, false});
}

static void mixed_pairs(void **state)
{
    (void)state;
    compare((random_shape){5, 4, 2, 7, APHI_MEDIUM_PAIR, 4, false});
}

static void synchronous(void **state)
{
    (void)state;
    compare((random_shape){5, 4, 2, 8, APHI_MEDIUM_PAIR, 12, false});
}

static void unordered(void **state)
{
    (void)state;
    compare((random_shape){4, 3, 2, 7, APHI_MEDIUM_UNORDERED, 3, false});
}

static void queues(void **state)
{
    (void)state;
    compare((random_shape){4, 3, 2, 7, APHI_MEDIUM_PORT, 0, false});
}

static void synchronous_queues(void **state)
{
    (void)state;
    compare((random_shape){4, 3, 2, 7, APHI_MEDIUM_PORT, 4, false});
}

/* Tests merging and independence with models in which many receives lead to the same state. */
static void flat(void **state)
{
    (void)state;
    compare((random_shape){5, 6, 1, 7, APHI_MEDIUM_PAIR, 1, true});
}

/* Most ports have one sender, so components form clusters, whose steps may be taken alone. */
static void clusters(void **state)
{
    (void)state;
    compare((random_shape){6, 9, 1, 6, APHI_MEDIUM_PAIR, 0, true});
}

static void all_mediums(void **state)
{
    (void)state;
    compare((random_shape){5, 4, 2, 7, 3, 3, false});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(asynchronous_pairs), cmocka_unit_test(mixed_pairs), cmocka_unit_test(synchronous),
        cmocka_unit_test(unordered),          cmocka_unit_test(queues),      cmocka_unit_test(synchronous_queues),
        cmocka_unit_test(flat),               cmocka_unit_test(clusters),    cmocka_unit_test(all_mediums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

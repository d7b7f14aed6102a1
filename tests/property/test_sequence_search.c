/* SPDX-License-Identifier: Apache-2.0
 *
 * test_sequence_search.c - local sequences found by local search and by projection, on random models.
 *
 * The projection visits every complete sequence of the model (test_explore.c compares these with a naive enumeration)
 * and projects it onto each component. Race sets are computed from their definition. */
#include "base/memory.h"
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

enum { WAITS = 99 }; /* instead of an event's op: the component waits at the end */

typedef struct words {
    uint32_t *items;
    size_t count, capacity;
} words;

typedef struct collector {
    aphi_projection projection;
    aphi_sequence sequence;
    aphi_intern *available; /* by component: sequences with the messages available at each receive */
    words code;
} collector;

/* ---- available messages ------------------------------------------------------------------------------------------ */

static void put_word(words *w, uint32_t word)
{
    APHI_PUSH(w->items, w->count, w->capacity, word);
}

static void put_event(words *w, const aphi_local_event *e)
{
    const uint32_t fields[] = {e->op, e->sync, e->port, e->label, e->peer, (uint32_t)e->race_count};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        put_word(w, fields[i]);
    for (size_t i = 0; i < e->race_count; i++) {
        put_word(w, e->race[i].port);
        put_word(w, e->race[i].label);
        put_word(w, e->race[i].sender);
    }
}

/* Adds an event with the messages that are available at the receive with this index, sorted. */
static void put_available(collector *c, unsigned thread, uint32_t index, aphi_local_event e)
{
    aphi_sequence *s = &c->sequence;
    aphi_sequence_find_concurrent_sends(s, thread, index);
    aphi_race_candidate *candidates = aphi_alloc((s->race_count + 1) * sizeof *candidates);
    for (size_t i = 0; i < s->race_count; i++) {
        const aphi_compiled_state *from = aphi_sequence_race_state(s, s->races[i]);
        candidates[i] = (aphi_race_candidate){s->model->channels[from->channel].port, from->label, s->races[i] >> 16};
    }
    e.race = candidates;
    e.race_count = aphi_race_candidates_sort(candidates, s->race_count);
    put_event(&c->code, &e);
    free(candidates);
}

static void add_with_available(collector *c, unsigned thread)
{
    aphi_sequence *s = &c->sequence;
    uint32_t count = s->first[thread + 1] - s->first[thread];
    c->code.count = 0;
    for (uint32_t i = 0; i < count; i++) {
        const aphi_event *e = &s->events[s->first[thread] + i];
        aphi_local_event event = {.op = (aphi_alts_op)e->op, .label = e->label};
        if (e->op != APHI_ALTS_LOCAL)
            event = (aphi_local_event){(aphi_alts_op)e->op, e->sync, e->port, e->label, e->peer, 0, NULL, 0};
        if (e->op == APHI_ALTS_RECEIVE)
            put_available(c, thread, i, event);
        else
            put_event(&c->code, &event);
    }
    if (s->model->states[s->end_states[thread]].kind == APHI_COMPILED_RECEIVE)
        put_available(c, thread, count, (aphi_local_event){.op = (aphi_alts_op)WAITS});
    aphi_intern_number(&c->available[thread], c->code.items, c->code.count * sizeof *c->code.items);
}

static bool is_receive_state(const aphi_alts_component *c, uint32_t state)
{
    return c->first[state] < c->first[state + 1] && c->moves[c->first[state]].op == APHI_ALTS_RECEIVE;
}

typedef struct available_membership {
    words code;
    aphi_intern *set;
    const aphi_alts_component *component;
    size_t unexpected, found;
} available_membership;

static bool check_available(void *context, const aphi_local_event *events, size_t count)
{
    available_membership *m = context;
    size_t before = m->set->count;
    m->code.count = 0;
    for (size_t i = 0; i < count; i++)
        put_event(&m->code, &events[i]);
    if (is_receive_state(m->component, events[count].state)) {
        aphi_local_event end = {.op = (aphi_alts_op)WAITS, .race = events[count].race,
                                .race_count = events[count].race_count};
        put_event(&m->code, &end);
    }
    aphi_intern_number(m->set, m->code.items, m->code.count * sizeof *m->code.items);
    m->unexpected += m->set->count > before;
    m->found++;
    return true;
}

static void compare_available(const aphi_alts *a, collector *c, size_t component, uint64_t seed)
{
    aphi_sequence_search *l =
        aphi_sequence_search_open(a, component, (aphi_sequence_search_options){.races = true, .available = true});
    size_t expected = c->available[component].count;
    available_membership m = {.set = &c->available[component], .component = &a->components[component]};
    assert_int_equal(aphi_sequence_search_outcome(l), APHI_SEQUENCE_SEARCH_DONE);
    assert_true(aphi_sequence_search_each(l, check_available, &m));
    if (m.unexpected || m.found != expected)
        fail_msg("seed %llx, component %zu, available messages: %zu by projection; %zu found, %zu of them unexpected",
                 (unsigned long long)seed, component, expected, m.found, m.unexpected);
    free(m.code.items);
    aphi_sequence_search_close(l);
}

/* ---- events and race sets ---------------------------------------------------------------------------------------- */

static bool collect(void *context, aphi_explorer *e)
{
    collector *c = context;
    aphi_sequence_load(&c->sequence, e);
    aphi_projection_add(&c->projection, &c->sequence);
    for (unsigned t = 0; t < c->projection.count; t++)
        add_with_available(c, t);
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
    collector c = {.available = aphi_alloc_zero(a->component_count * sizeof *c.available)};
    aphi_projection_open(&c.projection, a->component_count);
    aphi_sequence_open(&c.sequence, model);
    aphi_explorer *e = aphi_explorer_open(model, collect, &c);
    assert_true(aphi_explorer_begin(e, NULL));
    if (aphi_explorer_run(e, FORKS_MAX)) {
        sum->models++;
        for (size_t i = 0; i < a->component_count; i++) {
            compare_component(a, &c, i, false, seed, sum);
            compare_component(a, &c, i, true, seed, sum);
            compare_available(a, &c, i, seed);
        }
    }
    aphi_explorer_close(e);
    aphi_sequence_close(&c.sequence);
    aphi_projection_close(&c.projection);
    for (size_t i = 0; i < a->component_count; i++)
        aphi_intern_free(&c.available[i]);
    free(c.available);
    free(c.code.items);
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

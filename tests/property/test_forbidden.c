/* SPDX-License-Identifier: Apache-2.0
 *
 * test_forbidden.c - simultaneous states of components, computed from sequences and by a naive enumeration.
 *
 * The naive enumeration takes all steps in every order, with real queues, and marks the pairs and
 * triples of component states that it reaches together. */
#include "compare.h"
#include "random_alts.h"
#include "base/intern.h"
#include "explore/sequence.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MODELS = 4000, COMPONENTS = 4, STATES = 8, IN_TRANSIT = 32, GLOBAL_STATES_MAX = 20000, FORKS_MAX = 5000 };

typedef struct reached {
    bool pair[COMPONENTS][STATES][COMPONENTS][STATES];
    bool triple[STATES][STATES][STATES];     /* states of the first three components */
} reached;

/* ---- naive enumeration ------------------------------------------------------------------------------------------- */

typedef struct message {
    uint8_t sender, port, label, waits;      /* waits: the send is synchronous and in a queue */
} message;

typedef struct global_state {
    uint8_t state[COMPONENTS], count;
    message transit[IN_TRANSIT];             /* in the order of sending */
} global_state;

typedef struct naive {
    const aphi_alts *a;
    aphi_intern states;
    reached *reached;
} naive;

static const aphi_alts_move *move_of(const naive *n, const global_state *w, size_t t)
{
    return &n->a->components[t].moves[n->a->components[t].first[w->state[t]]];
}

static bool is_deliverable(const naive *n, const global_state *w, size_t i)
{
    aphi_medium medium = n->a->ports[w->transit[i].port].medium;
    for (size_t j = 0; j < i && medium != APHI_MEDIUM_UNORDERED; j++)
        if (w->transit[j].port == w->transit[i].port &&
            (medium == APHI_MEDIUM_PORT || w->transit[j].sender == w->transit[i].sender))
            return false;
    return true;
}

static void visit(naive *n, const global_state *w);

static void send(naive *n, const global_state *w, size_t t, const aphi_alts_move *m)
{
    size_t own = 0, capacity = n->a->ports[m->port].capacity;
    global_state next = *w;
    for (size_t i = 0; i < w->count; i++) {
        if (w->transit[i].sender == t && w->transit[i].waits)
            return;
        own += w->transit[i].sender == t && w->transit[i].port == m->port;
    }
    if (!m->sync && capacity && own >= capacity)
        return;
    assert_true(w->count < IN_TRANSIT);
    next.transit[next.count++] = (message){(uint8_t)t, (uint8_t)m->port, (uint8_t)m->label, m->sync};
    if (!m->sync)
        next.state[t] = (uint8_t)m->target;
    visit(n, &next);
}

static void receive(naive *n, const global_state *w, size_t t, const aphi_alts_move *m)
{
    for (size_t i = 0; i < w->count; i++) {
        message x = w->transit[i];
        if (x.port != m->port || x.label != m->label || !is_deliverable(n, w, i))
            continue;
        global_state next = *w;
        next.count--;
        memmove(next.transit + i, next.transit + i + 1, (next.count - i) * sizeof *next.transit);
        memset(next.transit + next.count, 0, sizeof *next.transit);
        next.state[t] = (uint8_t)m->target;
        if (x.waits)
            next.state[x.sender] = (uint8_t)move_of(n, w, x.sender)->target;
        visit(n, &next);
    }
}

static void mark_reached(const naive *n, const global_state *w)
{
    for (size_t t = 0; t < n->a->component_count; t++)
        for (size_t u = 0; u < n->a->component_count; u++)
            n->reached->pair[t][w->state[t]][u][w->state[u]] = true;
    n->reached->triple[w->state[0]][w->state[1]][w->state[2]] = true;
}

static void visit(naive *n, const global_state *w)
{
    size_t before = n->states.count;
    if (before > GLOBAL_STATES_MAX || aphi_intern_number(&n->states, w, sizeof *w) < before)
        return;
    mark_reached(n, w);
    for (size_t t = 0; t < n->a->component_count; t++) {
        const aphi_alts_component *c = &n->a->components[t];
        for (uint32_t i = c->first[w->state[t]]; i < c->first[w->state[t] + 1]; i++) {
            const aphi_alts_move *m = &c->moves[i];
            if (m->op == APHI_ALTS_SEND) {
                send(n, w, t, m);
            } else if (m->op == APHI_ALTS_RECEIVE) {
                receive(n, w, t, m);
            } else {
                global_state next = *w;
                next.state[t] = (uint8_t)m->target;
                visit(n, &next);
            }
        }
    }
}

/* ---- by sequences ------------------------------------------------------------------------------------------------ */

typedef struct collector {
    aphi_sequence sequence;
    reached *reached;
} collector;

static bool can_reach(const aphi_sequence *s, size_t count, const unsigned *threads, const uint32_t *states)
{
    aphi_thread_state points[3];
    for (size_t i = 0; i < count; i++)
        points[i] = (aphi_thread_state){threads[i], s->model->threads[threads[i]].base + states[i]};
    return aphi_sequence_can_reach(s, points, count);
}

static void collect_pairs(const aphi_sequence *s, reached *set, unsigned t, unsigned u)
{
    const aphi_compiled_thread *threads = s->model->threads;
    for (uint32_t i = 0; i < threads[t].states; i++)
        for (uint32_t k = 0; k < threads[u].states; k++)
            if (can_reach(s, 1 + (t != u), (unsigned[]){t, u}, (uint32_t[]){i, k}) && (t != u || i == k))
                set->pair[t][i][u][k] = true;
}

static bool collect(void *context, aphi_explorer *e)
{
    collector *c = context;
    aphi_sequence *s = &c->sequence;
    const aphi_compiled_thread *threads = s->model->threads;
    aphi_sequence_load(s, e);
    for (unsigned t = 0; t < s->model->thread_count; t++)
        for (unsigned u = 0; u < s->model->thread_count; u++)
            collect_pairs(s, c->reached, t, u);
    for (uint32_t i = 0; i < threads[0].states; i++)
        for (uint32_t j = 0; j < threads[1].states; j++)
            for (uint32_t k = 0; k < threads[2].states; k++)
                if (can_reach(s, 3, (unsigned[]){0, 1, 2}, (uint32_t[]){i, j, k}))
                    c->reached->triple[i][j][k] = true;
    return true;
}

/* ---- test -------------------------------------------------------------------------------------------------------- */

typedef struct totals {
    size_t models, reachable, unreachable;      /* numbers of triples */
} totals;

static void compare_model(const aphi_alts *a, const aphi_compiled_model *model, uint64_t seed, totals *sum)
{
    reached *by_sequences = calloc(1, sizeof *by_sequences), *found = calloc(1, sizeof *found);
    naive n = {.a = a, .reached = found};
    collector c = {.reached = by_sequences};
    aphi_sequence_open(&c.sequence, model);
    aphi_explorer *e = aphi_explorer_open(model, collect, &c);
    assert_true(aphi_explorer_begin(e, NULL));
    global_state start = {0};
    for (size_t t = 0; t < a->component_count; t++)
        start.state[t] = (uint8_t)a->components[t].initial;
    visit(&n, &start);
    if (n.states.count <= GLOBAL_STATES_MAX && aphi_explorer_run(e, FORKS_MAX)) {
        if (memcmp(by_sequences, found, sizeof *by_sequences))
            fail_msg("seed %llx: different simultaneous states", (unsigned long long)seed);
        sum->models++;
        for (size_t i = 0; i < sizeof found->triple; i++)
            *(((bool *)found->triple)[i] ? &sum->reachable : &sum->unreachable) += 1;
    }
    aphi_explorer_close(e);
    aphi_sequence_close(&c.sequence);
    aphi_intern_free(&n.states);
    free(by_sequences);
    free(found);
}

static void simultaneous_states(void **state)
{
    (void)state;
    totals sum = {0};
    const size_t models = compare_cases(MODELS);
    uint64_t seed = 0x2545f4914f6cdd1du;
    for (size_t attempts = 0; sum.models < models && attempts < 4 * models; attempts++) {
        uint64_t at = seed;
        char why[300] = "";
        aphi_alts a;
        aphi_compiled_model model;
        random_alts(&a, (random_shape){COMPONENTS, 4, 2, STATES - 2, 3, 4, false}, &seed);
        if (a.component_count >= 3) {
            if (aphi_alts_check(&a, why, sizeof why) || !aphi_compiled_model_build(&model, &a, why, sizeof why))
                fail_msg("seed %llx: %s", (unsigned long long)at, why);
            compare_model(&a, &model, at, &sum);
            aphi_compiled_model_free(&model);
        }
        aphi_alts_free(&a);
    }
    print_message("%zu models, %zu times three states at one time\n", sum.models, sum.reachable);
    assert_int_equal(sum.models, models);
    assert_true(sum.reachable > 8 * models && sum.unreachable > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(simultaneous_states)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

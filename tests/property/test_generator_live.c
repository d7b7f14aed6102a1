/* SPDX-License-Identifier: Apache-2.0
 *
 * test_generator_live.c - generated requests against simulated servers: the built-in models behind a network with
 * random delays are never rejected; servers with small errors are rejected after a few messages.
 *
 * The run is simulated: messages travel in order on each connection, and a wait delivers messages until it ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <antiphon/oracle.h>
#include "base/memory.h"
#include "concrete.h"
#include "generate/generator.h"
#include "models/models.h"

static int fresh_heap(void **unused)
{
    (void)unused;
    aph_heap_close();
    return 0;
}

/* ---- a world ----------------------------------------------------------------------------------------------------- */

enum { CONNECTIONS_MAX = 16, DEPTH = 2, SEEDS = 8, MESSAGES = 600 };

typedef struct world {
    subject server;
    concrete x;
    aph_oracle *oracle;
    const aph_model *model;
    aphi_generator *generator;
    aphi_labelled *seen;
    aphi_choice choice;
    size_t connections;
    uint32_t in_flight[CONNECTIONS_MAX];
    int64_t labels[CONNECTIONS_MAX][DEPTH]; /* in flight, oldest first */
    aph_value sent[CONNECTIONS_MAX][DEPTH]; /* the messages with these labels */
    aph_value wire[CONNECTIONS_MAX];        /* requests in flight to the server */
    uint64_t messages;
    aph_verdict verdict;
} world;

static void mark_world(void *context)
{
    world *w = context;
    aph_mark(w->x.state);
    aph_mark(w->x.answers);
    aph_mark(w->x.mail);
    for (size_t c = 0; c < w->connections; c++) {
        aph_mark(w->wire[c]);
        for (size_t i = 0; i < w->in_flight[c]; i++)
            aph_mark(w->sent[c][i]);
    }
}

static size_t pick(void *context, size_t n)
{
    return aphi_choice_below(context, n);
}

static const char *const opaque_tags[] = {"t1", "t2", "t3", "t4", "t5", "t6", "t7", "t8", "t9", NULL};

static void world_open(world *w, const aph_model *model, const aph_model *server, size_t connections, uint64_t seed)
{
    char error[300];
    *w = (world){.model = model, .server = {.model = server, .strings = opaque_tags}, .connections = connections,
                 .choice = aphi_choice_seed(seed), .seen = aphi_labelled_open(256)};
    w->oracle = aph_oracle_open(model, &(aph_oracle_options){0}, error, sizeof error);
    w->generator = aphi_generator_open(model, seed, connections, DEPTH, error, sizeof error);
    assert_non_null(w->generator);
    for (size_t c = 0; c < connections; c++)
        w->wire[c] = aph_array(0, NULL);
    assert_true(concrete_begin(&w->x, &w->server, pick, &w->choice));
    aph_root_add(mark_world, w);
}

static void world_close(world *w)
{
    aph_root_remove(mark_world, w);
    aphi_generator_close(w->generator);
    aphi_labelled_close(w->seen);
    aph_oracle_close(w->oracle);
}

static bool arrive_at_server(world *w, size_t c)
{
    aph_value wire = w->wire[c];
    if (aph_count(wire) == 0)
        return false;
    while (!concrete_feed(&w->x, &w->server, (int64_t)c, aph_at(wire, 0), pick, &w->choice))
        ;
    w->wire[c] = aph_slice(wire, 1, aph_count(wire) - 1);
    return true;
}

static bool arrive_at_client(world *w, size_t c)
{
    aph_value message;
    if (!concrete_mail(&w->x, (int64_t)c, &message))
        return false;
    concrete_take_mail(&w->x, (int64_t)c);
    aphi_labelled_add(w->seen, w->labels[c][0] + 1, message);
    w->in_flight[c]--;
    memmove(w->labels[c], w->labels[c] + 1, w->in_flight[c] * sizeof w->labels[c][0]);
    memmove(w->sent[c], w->sent[c] + 1, w->in_flight[c] * sizeof w->sent[c][0]);
    w->messages++;
    w->verdict = aph_oracle_received(w->oracle, (int64_t)c, message);
    return true;
}

/* Delivers a message. Returns false if none is in flight. */
static bool pass_time(world *w)
{
    size_t first = aphi_choice_below(&w->choice, w->connections);
    bool answers = aphi_choice_chance(&w->choice, 1, 2);
    for (int side = 0; side < 2; side++, answers = !answers)
        for (size_t i = 0; i < w->connections; i++) {
            size_t c = (first + i) % w->connections;
            if (answers ? arrive_at_client(w, c) : arrive_at_server(w, c))
                return true;
        }
    return false;
}

static bool is_in_flight(const world *w, int64_t label)
{
    for (size_t c = 0; c < w->connections; c++)
        for (size_t i = 0; i < w->in_flight[c]; i++)
            if (w->labels[c][i] == label)
                return true;
    return false;
}

static void wait_for(world *w, const aphi_action *a)
{
    while (a->wait == APHI_WAIT_QUIET && w->verdict == APH_PASS && pass_time(w))
        ;
    while (a->wait == APHI_WAIT_ANSWER && w->verdict == APH_PASS && is_in_flight(w, a->waits_for - 1))
        if (!pass_time(w))
            fail_msg("the answer %d never comes", (int)a->waits_for);
}

/* Returns true if a request to the same partition is in flight on another connection, and one of the two must be
 * alone. */
static bool meets(const world *w, size_t connection, aph_value message)
{
    const aph_model *m = w->model;
    for (size_t c = 0; m->alone && c < w->connections; c++)
        for (size_t i = 0; c != connection && i < w->in_flight[c]; i++)
            if (m->part(w->sent[c][i]) == m->part(message) && (m->alone(message) || m->alone(w->sent[c][i])))
                return true;
    return false;
}

static void act(world *w)
{
    aphi_knowledge known = {.seen = w->seen, .in_flight = w->in_flight, .connections = w->connections};
    aphi_action a = aphi_generator_next(w->generator, &known);
    size_t c = (size_t)a.connection;
    wait_for(w, &a);
    if (!a.send || w->verdict != APH_PASS)
        return;
    aph_value message = aphi_expression_fill(a.send, w->seen, w->model->functions);
    while (meets(w, c, message) && w->verdict == APH_PASS)
        pass_time(w);
    w->sent[c][w->in_flight[c]] = message;
    w->wire[c] = aph_push(w->wire[c], message);
    w->labels[c][w->in_flight[c]++] = a.label;
    aphi_labelled_add(w->seen, a.label, message);
    w->messages++;
    w->verdict = aph_oracle_sent(w->oracle, a.connection, message, NULL, NULL);
    for (uint64_t n = aphi_choice_below(&w->choice, 4); n && w->verdict == APH_PASS; n--)
        pass_time(w);
}

/* ---- correct servers --------------------------------------------------------------------------------------------- */

static void test_models_are_accepted(void **unused)
{
    (void)unused;
    size_t n;
    const aph_model *const *models = aph_models(&n);
    for (size_t m = 0; m < n; m++)
        for (uint64_t seed = 0; models[m]->rpc && seed < SEEDS; seed++) {
            world w;
            const char *why = "";
            world_open(&w, models[m], models[m], 1 + seed % 4, seed);
            while (w.messages < MESSAGES && w.verdict == APH_PASS)
                act(&w);
            aph_fault fault = aph_oracle_fault(w.oracle, &why);
            if (w.verdict != APH_PASS || fault != APH_FAULT_NONE)
                fail_msg("%s, seed %d: %s %s", models[m]->name, (int)seed, aph_verdict_name(w.verdict), why);
            world_close(&w);
        }
}

/* ---- wrong servers ----------------------------------------------------------------------------------------------- */

static bool is(aph_value request, const char *f)
{
    return aph_str_is(aph_field(request, "f"), f);
}

/* Figure 6.3: a value for one key is stored under another. */
static void kv_other_target(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    aph_value key = aph_field(q.message, "key"), old = aph_get(*state, key);
    old = old ? old : aph_str("");
    if (is(q.message, "put"))
        *state = aph_set(*state, aph_str_is(key, "c") ? aph_str("d") : key, aph_field(q.message, "value"));
    else if (is(q.message, "append"))
        *state = aph_set(*state, key, aph_concat(old, aph_field(q.message, "value")));
    else if (is(q.message, "delete"))
        *state = aph_remove(*state, key);
    aph_send(m, q.from, is(q.message, "get") ? old : aph_str("ok"));
}

/* A delete has no effect. */
static void kv_no_delete(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    aph_value key = aph_field(q.message, "key"), old = aph_get(*state, key);
    old = old ? old : aph_str("");
    if (is(q.message, "put"))
        *state = aph_set(*state, key, aph_field(q.message, "value"));
    else if (is(q.message, "append"))
        *state = aph_set(*state, key, aph_concat(old, aph_field(q.message, "value")));
    aph_send(m, q.from, is(q.message, "get") ? old : aph_str("ok"));
}

/* A compare-and-set stores the value whether or not the comparison holds. */
static void register_careless_cas(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    aph_value key = aph_field(q.message, "key"), value = aph_field(q.message, "value");
    key = key ? key : aph_str("");
    aph_value old = aph_get(*state, key), answer = aph_str("ok");
    if (is(q.message, "read"))
        answer = old;
    if (is(q.message, "cas"))
        answer = aph_bool(old == aph_at(value, 0));
    if (!is(q.message, "read"))
        *state = aph_set(*state, key, is(q.message, "cas") ? aph_at(value, 1) : value);
    aph_send(m, q.from, answer);
}

/* With three or more requests, the last is served first. */
static void queue_impatient(aph *m, aph_value *queue)
{
    aph_request q = aph_recv(m);
    size_t n = aph_count(*queue);
    if (aph_kind_of(*queue) != APH_ARRAY)
        *queue = aph_array(0, NULL);
    if (is(q.message, "enqueue")) {
        *queue = aph_push(*queue, aph_field(q.message, "value"));
        aph_send(m, q.from, aph_str("ok"));
        return;
    }
    aph_send(m, q.from, n >= 3 ? aph_at(*queue, n - 1) : aph_at(*queue, 0));
    if (n)
        *queue = n >= 3 ? aph_slice(*queue, 0, n - 1) : aph_slice(*queue, 1, n - 1);
}

/* Each connection has its own memory. */
static void swap_apart(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    aph_value last = aph_get(*state, aph_int(q.from));
    aph_send(m, q.from, last ? last : aph_str("000"));
    *state = aph_set(*state, aph_int(q.from), q.message);
}

/* The first letter of every eighth message is lost. */
static void swap_leaky(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    aph_value last = aph_field(*state, "last"), count = aph_field(*state, "count");
    int64_t n = count ? aph_int_of(count) : 1;
    aph_send(m, q.from, last ? last : aph_str("000"));
    last = n % 8 ? q.message : aph_concat(aph_str("0"), aph_substr(q.message, 1, 2));
    *state = aph_record("last", last, "count", aph_int(n + 1));
}

static aph_value etag_of(aph_value resource)
{
    return aph_record("opaque", aph_strf("tag %d", (int)aph_int_of(aph_field(resource, "value"))), "weak",
                      aph_bool(false));
}

/* Mutant 18: the server sends an unmodified resource, or ignores a precondition of PUT. */
static void etag_careless(aph *m, aph_value *state, bool gets, bool puts)
{
    aph_request q = aph_recv(m);
    aph_value key = aph_field(q.message, "key"), resource = aph_get(*state, key);
    aph_value none = aph_field(q.message, "if_none_match"), match = aph_field(q.message, "if_match");
    aph_value tag = resource ? etag_of(resource) : APH_NIL;
    if (is(q.message, "get") && !resource)
        aph_send(m, q.from, aph_record("code", aph_int(404)));
    else if (is(q.message, "get") && gets && aph_field(none, "opaque") == aph_field(tag, "opaque"))
        aph_send(m, q.from, aph_record("code", aph_int(304), "tag", tag));
    else if (is(q.message, "get"))
        aph_send(m, q.from, aph_record("code", aph_int(200), "value", aph_field(resource, "value"), "tag", tag));
    else if (puts && match && match != tag)
        aph_send(m, q.from, aph_record("code", aph_int(412)));
    else {
        aph_send(m, q.from, aph_record("code", aph_int(resource ? 204 : 201)));
        *state = aph_set(*state, key, aph_record("value", aph_field(q.message, "value")));
    }
}

static void etag_always_200(aph *m, aph_value *state)
{
    etag_careless(m, state, false, true);
}

static void etag_always_puts(aph *m, aph_value *state)
{
    etag_careless(m, state, true, false);
}

typedef struct wrong_server {
    const aph_model *model;
    aph_model server;
    uint64_t most; /* limit of the median number of messages until a rejection */
} wrong_server;

static int by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The number of messages until each run rejects, sorted. */
static void reject(const wrong_server *s, size_t connections, uint64_t messages[SEEDS])
{
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        world w;
        world_open(&w, s->model, &s->server, connections, seed);
        while (w.verdict == APH_PASS && w.messages < 20000)
            act(&w);
        if (w.verdict != APH_FAIL)
            fail_msg("%s on %d connections, seed %d: %s after %d messages", s->server.name, (int)connections, (int)seed,
                     aph_verdict_name(w.verdict), (int)w.messages);
        messages[seed] = w.messages;
        world_close(&w);
    }
    qsort(messages, SEEDS, sizeof *messages, by_size);
}

static void test_wrong_servers_are_rejected(void **unused)
{
    (void)unused;
    static const wrong_server servers[] = {
        {&aph_model_kv, {.name = "other target", .step = kv_other_target}, 120},
        {&aph_model_kv, {.name = "no delete", .step = kv_no_delete}, 120},
        {&aph_model_register, {.name = "careless cas", .step = register_careless_cas}, 120},
        {&aph_model_queue, {.name = "impatient", .step = queue_impatient}, 120},
        {&aph_model_swap, {.name = "apart", .step = swap_apart}, 40},
        {&aph_model_swap, {.name = "leaky", .step = swap_leaky}, 40},
        {&aph_model_etag_kv, {.name = "always 200", .step = etag_always_200}, 120},
        {&aph_model_etag_kv, {.name = "always puts", .step = etag_always_puts}, 120},
    };
    static const size_t connections[] = {2, 8};
    for (size_t i = 0; i < sizeof servers / sizeof *servers; i++)
        for (size_t n = 0; n < 2; n++) {
            uint64_t messages[SEEDS];
            reject(&servers[i], connections[n], messages);
            printf("%-14s %d connections: %3d to %4d messages, median %3d\n", servers[i].server.name,
                   (int)connections[n], (int)messages[0], (int)messages[SEEDS - 1], (int)messages[SEEDS / 2]);
            assert_true(messages[SEEDS / 2] <= servers[i].most);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_models_are_accepted, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_wrong_servers_are_rejected, fresh_heap, fresh_heap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

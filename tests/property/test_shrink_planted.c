/* SPDX-License-Identifier: Apache-2.0
 *
 * test_shrink_planted.c - failures of planted bugs in 500 random requests are shrunk to the needed requests.
 *
 * The server and its network are simulated: requests and responses have random delays, and stay in order on each
 * connection. Each response has a random tag. A bug needs k requests in order, 2 <= k <= 6, and causes a failure always
 * or with some probability:
 *   chain   each request needs the tag of the previous response
 *   order   each request has its own key; a "reset" in between starts again
 *   mixed   like order, but the last request needs the tag of the first response
 *   race    like order, but the last two requests must be in flight at the same time, on two connections */
#include "shrink/shrink.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include "base/random_choice.h"
#include "script/expression.h"

enum { REQUESTS = 500, CONNECTIONS = 10, KEYS = 24, K_MAX = 6, REPETITIONS = 100 };

typedef enum { CHAIN, ORDER, MIXED, RACE } kind;

typedef struct in_flight {
    int64_t label, connection, arrives, answered; /* times: request at the server, response at the tester */
    aph_value message, answer;
    bool served, delivered;
} in_flight;

typedef struct world {
    kind planted;
    size_t k;
    unsigned shows_in_100;
    aphi_choice chance; /* different in each run */
    uint64_t runs;
    /* state of one run */
    int64_t now;
    in_flight flights[REQUESTS + K_MAX];
    size_t count;
    aphi_labelled *seen;
    int64_t free_at[CONNECTIONS], back_at[CONNECTIONS]; /* when the last message of a connection arrives */
    size_t stage;
    aph_value stage_tags[K_MAX + 1];
    int64_t last_stage_at, last_stage_connection, failed_at;
} world;

/* ---- the server -------------------------------------------------------------------------------------------------- */

static void advance(world *w, in_flight *f)
{
    w->stage++;
    w->stage_tags[w->stage] = aph_field(f->answer, "tag");
    w->last_stage_at = f->answered; /* in flight until then */
    w->last_stage_connection = f->connection;
    if (w->stage < w->k)
        return;
    if (aphi_choice_below(&w->chance, 100) < w->shows_in_100)
        w->failed_at = f->answered;
    w->stage = 0;
}

static bool is_next(const world *w, const in_flight *f)
{
    if (!aph_str_is(aph_field(f->message, "f"), "step"))
        return false;
    if (aph_field(f->message, "key") != aph_strf("k%zu", w->stage))
        return false;
    bool last = w->stage + 1 == w->k;
    aph_value tag = aph_field(f->message, "tag");
    switch (w->planted) {
    case CHAIN: return w->stage == 0 || tag == w->stage_tags[w->stage];
    case ORDER: return true;
    case MIXED: return !last || tag == w->stage_tags[1];
    case RACE: return !last || (f->arrives < w->last_stage_at && f->connection != w->last_stage_connection);
    }
    return false;
}

static void serve(world *w, in_flight *f)
{
    f->served = true;
    f->answer = aph_record("tag", aph_int(aphi_choice_within(&w->chance, 1, INT64_C(1) << 40)), "for",
                           aph_field(f->message, "key"));
    if (is_next(w, f))
        advance(w, f);
    else if (w->planted == ORDER && aph_str_is(aph_field(f->message, "f"), "reset"))
        w->stage = 0;
}

/* ---- the network ------------------------------------------------------------------------------------------------- */

/* A random time after `then` and after earlier messages on the connection. */
static int64_t later(world *w, int64_t then, int64_t *before)
{
    int64_t at = then + aphi_choice_within(&w->chance, 5, 60);
    if (at <= *before)
        at = *before + 1;
    return *before = at;
}

static void send_request(world *w, const aphi_action *a)
{
    size_t c = (size_t)a->connection % CONNECTIONS;
    in_flight *f = &w->flights[w->count++];
    *f = (in_flight){.label = a->label, .connection = a->connection};
    f->message = aphi_expression_fill(a->send, w->seen, NULL);
    f->arrives = later(w, w->now, &w->free_at[c]);
    f->answered = later(w, f->arrives, &w->back_at[c]);
    aphi_labelled_add(w->seen, a->label, f->message);
}

/* Processes the events before `until` in order. */
static void pass_time(world *w, int64_t until)
{
    for (;;) {
        in_flight *next = NULL;
        for (size_t i = 0; i < w->count; i++) {
            in_flight *f = &w->flights[i];
            if (f->delivered)
                continue;
            int64_t at = f->served ? f->answered : f->arrives;
            if (at <= until && (!next || at < (next->served ? next->answered : next->arrives)))
                next = f;
        }
        if (!next)
            break;
        if (!next->served) {
            serve(w, next);
            continue;
        }
        aphi_labelled_add(w->seen, next->label + 1, next->answer);
        next->delivered = true;
        *next = w->flights[--w->count];
    }
    w->now = until;
}

static void wait_as_told(world *w, const aphi_action *a)
{
    int64_t until = w->now + 1;
    for (size_t i = 0; i < w->count; i++) {
        const in_flight *f = &w->flights[i];
        bool awaited = a->wait == APHI_WAIT_QUIET || (a->wait == APHI_WAIT_ANSWER && f->label + 1 == a->waits_for);
        if (awaited && f->answered > until)
            until = f->answered;
    }
    if (a->wait == APHI_WAIT_PAUSE)
        until += a->waits_for;
    pass_time(w, until);
}

static int run(void *context, const aphi_script *script)
{
    world *w = context;
    w->runs++;
    w->now = w->failed_at = 0;
    w->count = w->stage = 0;
    memset(w->free_at, 0, sizeof w->free_at);
    memset(w->back_at, 0, sizeof w->back_at);
    w->seen = aphi_labelled_open(256);
    size_t taken = 0;
    while (taken < script->count && (w->failed_at == 0 || w->now < w->failed_at)) {
        wait_as_told(w, &script->actions[taken]);
        if (script->actions[taken].send != APH_NIL)
            send_request(w, &script->actions[taken]);
        taken++;
    }
    pass_time(w, w->now + 100000);
    aphi_labelled_close(w->seen);
    if (w->runs % 64 == 0)
        aph_collect();
    return w->failed_at ? (int)taken : 0;
}

/* ---- scripts ----------------------------------------------------------------------------------------------------- */

static aph_value tag_of(int64_t label) { return aph_hole(label, APH_ARRAY_OF(aph_str("tag")), "id"); }

static aphi_action random_action(aphi_choice *c, int64_t label)
{
    static const char *const names[] = {"get", "put", "step", "reset"};
    size_t name = aphi_choice_below(c, 100) < 2 ? 3 : aphi_choice_below(c, 3);
    int key =
        (int)aphi_choice_within(c, name == 2 ? K_MAX : 0, KEYS - 1); /* not a key of the bug */
    aph_value m = aph_record("f", aph_str(names[name]), "key", aph_strf("k%d", key));
    if (aphi_choice_chance(c, 1, 2))
        m = aph_put(m, "value", aph_int(aphi_choice_within(c, -1000, 1000)));
    if (aphi_choice_chance(c, 1, 3) && label > 1) {
        m = aph_put(m, "tag", tag_of(2 * (int64_t)(1 + aphi_choice_below(c, (uint64_t)label / 2))));
    }
    aphi_action a = {.label = label, .connection = aphi_choice_within(c, 0, CONNECTIONS - 1), .send = m};
    if (aphi_choice_chance(c, 1, 5))
        a.chunk = 1;
    if (aphi_choice_chance(c, 1, 3) && label > 1) {
        a.wait = APHI_WAIT_ANSWER;
        a.waits_for = 2 * (int64_t)(1 + aphi_choice_below(c, (uint64_t)label / 2));
    }
    return a;
}

/* Replaces random requests with those that the bug needs. */
static void plant(const world *w, aphi_script *s, aphi_choice *c)
{
    size_t at = 20 + aphi_choice_below(c, 50), first = 0, before = 0;
    for (size_t j = 0; j < w->k; j++) {
        aphi_action *a = &s->actions[at];
        bool last = j + 1 == w->k;
        a->send = aph_record("f", aph_str("step"), "key", aph_strf("k%zu", j), "value", aph_int((int64_t)(100 + j)));
        if (w->planted == CHAIN && j > 0)
            a->send = aph_put(a->send, "tag", tag_of(s->actions[before].label + 1));
        if (w->planted == MIXED && last)
            a->send = aph_put(a->send, "tag", tag_of(s->actions[first].label + 1));
        if (w->planted == RACE && last)
            a->wait = APHI_WAIT_NOTHING;
        if (w->planted == RACE && last)
            a->connection = (s->actions[before].connection + 1) % CONNECTIONS;
        for (size_t i = before + 1; i < at && j > 0; i++) { /* no reset in between */
            aph_value *send = &s->actions[i].send;
            if (aph_str_is(aph_field(*send, "f"), "reset"))
                *send = aph_put(*send, "f", aph_str("get"));
        }
        if (j == 0)
            first = at;
        before = at;
        at += w->planted == RACE && j + 2 == w->k ? 1 : 10 + aphi_choice_below(c, 60);
    }
}

static aphi_script random_script(const world *w, aphi_choice *c)
{
    aphi_script s = {.model = "planted", .environment = "tcp"};
    for (int i = 0; i < REQUESTS; i++) {
        aphi_action a = random_action(c, 2 * i + 1);
        aphi_script_add(&s, &a);
    }
    plant(w, &s, c);
    return s;
}

/* ---- the property ------------------------------------------------------------------------------------------------ */

static int compare_counts(const void *a, const void *b)
{
    unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
    return (x > y) - (x < y);
}

typedef struct figures {
    unsigned reached, minimal, always, runs[REPETITIONS];
    size_t over; /* total number of actions above k */
} figures;

static void mark_script(void *context) { aphi_script_mark(context); }

static void shrink_one(world *w, uint64_t seed, figures *f, size_t i)
{
    aphi_choice c = aphi_choice_seed(seed);
    w->chance = aphi_choice_seed(seed ^ 0x5eed);
    aphi_script failing = {0};
    aph_root_add(mark_script, &failing);
    do { /* like a tester, until a run fails */
        aphi_script_free(&failing);
        failing = random_script(w, &c);
    } while (run(w, &failing) == 0);
    w->runs = 0;
    aphi_shrunk got = aphi_shrink(&failing, run, &(aphi_shrink_options){.context = w});
    assert_int_equal(got.runs, w->runs);
    f->reached += got.script.count <= w->k;
    f->over += got.script.count > w->k ? got.script.count - w->k : 0;
    f->minimal += got.minimal;
    f->always += got.reproduced == got.confirmed;
    f->runs[i] = (unsigned)got.runs;
    for (size_t k = 1; k < got.script.count; k++) {
        assert_true(got.script.actions[k - 1].label < got.script.actions[k].label);
    }
    aph_root_remove(mark_script, &failing);
    aphi_script_free(&failing);
    aphi_script_free(&got.script);
    aph_collect();
}

static void shrinks(kind planted, unsigned shows_in_100, unsigned runs_median_max)
{
    static const char *const names[] = {"chain", "order", "mixed", "race"};
    world w = {.planted = planted, .shows_in_100 = shows_in_100};
    figures f = {0};
    for (size_t i = 0; i < REPETITIONS; i++) {
        w.k = 2 + i % 5;
        shrink_one(&w, 1000 * (uint64_t)planted + i, &f, i);
    }
    qsort(f.runs, REPETITIONS, sizeof *f.runs, compare_counts);
    print_message(
        "%s, shows in %u of 100: at most k requests in %u of %u, %zu too many in all; minimal %u, always fails "
        "%u; runs: median %u, nine in ten %u, most %u\n",
        names[planted], shows_in_100, f.reached, REPETITIONS, f.over, f.minimal, f.always, f.runs[REPETITIONS / 2],
        f.runs[REPETITIONS * 9 / 10], f.runs[REPETITIONS - 1]);
    assert_true(f.reached >= 95);
    assert_true(f.runs[REPETITIONS / 2] <= runs_median_max);
}

static void test_chain(void **unused)
{
    (void)unused;
    shrinks(CHAIN, 100, 300);
}
static void test_order(void **unused)
{
    (void)unused;
    shrinks(ORDER, 100, 300);
}
static void test_mixed(void **unused)
{
    (void)unused;
    shrinks(MIXED, 100, 300);
}
static void test_race(void **unused)
{
    (void)unused;
    shrinks(RACE, 100, 2000);
}
static void test_chain_sometimes(void **unused)
{
    (void)unused;
    shrinks(CHAIN, 30, 2000);
}
static void test_order_sometimes(void **unused)
{
    (void)unused;
    shrinks(ORDER, 30, 2000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chain), cmocka_unit_test(test_order),           cmocka_unit_test(test_mixed),
        cmocka_unit_test(test_race),  cmocka_unit_test(test_chain_sometimes), cmocka_unit_test(test_order_sometimes),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    aph_heap_close();
    return failed;
}

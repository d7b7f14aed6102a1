/* SPDX-License-Identifier: Apache-2.0
 *
 * test_shrink.c - the minimal script for failures that are defined by a predicate on scripts. */
#include "shrink/shrink.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <time.h>
#include "base/random_choice.h"
#include "script/expression.h"
#include "shrink/shrink_internal.h"

/* ---- scripts as text --------------------------------------------------------------------------------------------- */

static aphi_script parse(const char *lines)
{
    char text[4000], error[300];
    int n =
        snprintf(text, sizeof text, "{\"antiphon\":1,\"script\":\"t\",\"environment\":\"tcp\",\"seed\":1}\n%s", lines);
    aphi_script s;
    if (!aphi_script_parse("script", text, (size_t)n, &s, error, sizeof error))
        fail_msg("%s", error);
    return s;
}

static void is_script(const aphi_script *s, const char *lines)
{
    char *text = aphi_script_text(s, NULL);
    assert_string_equal(strchr(text, '\n') + 1, lines);
    free(text);
}

/* ---- failures ---------------------------------------------------------------------------------------------------- */

typedef struct failure {
    bool (*fails)(const aphi_script *s, size_t *taken);
    uint64_t runs, stop_at;
    unsigned in_100; /* probability of failure in percent; 0 means 100 */
    int64_t run_ns;
    aphi_choice chance;
    bool says_taken;
    unsigned steps;
    size_t half;            /* number of actions */
    uint64_t runs_to_half;  /* number of runs until at most `half` actions were left; 0: never */
    aph_value values; /* frequent values of fields */
} failure;

static int run_candidate(void *context, const aphi_script *s)
{
    failure *f = context;
    f->runs++;
    if (f->run_ns)
        nanosleep(&(struct timespec){.tv_nsec = f->run_ns}, NULL);
    if (f->runs == f->stop_at)
        return -1;
    size_t taken = 1;
    bool fails = f->fails(s, &taken) && (!f->in_100 || aphi_choice_below(&f->chance, 100) < f->in_100);
    aph_collect(); /* the needed actions must survive */
    return fails ? (int)(f->says_taken ? taken : 1) : 0;
}

static void count_step(void *context, const char *what, const aphi_script *best)
{
    failure *f = context;
    assert_true(strlen(what) > 0);
    assert_true(best->count > 0);
    f->steps++;
    if (best->count <= f->half && !f->runs_to_half)
        f->runs_to_half = f->runs;
}

static void mark_script(void *context) { aphi_script_mark(context); }

static void mark_values(void *context) { aph_mark(((failure *)context)->values); }

static aph_value itself(aph_value v) { return v; }

static aphi_shrunk shrink(failure *f, const char *lines)
{
    static const aph_function functions[] = {{"weakened", itself}, {"changed", itself}, {0}};
    aphi_script s = parse(lines);
    aph_root_add(mark_script, &s);
    aph_root_add(mark_values, f);
    aphi_shrunk got = aphi_shrink(&s, run_candidate, &(aphi_shrink_options){.context = f, .step = count_step,
                                                                  .values = f->values, .functions = functions});
    aph_root_remove(mark_values, f);
    aph_root_remove(mark_script, &s);
    assert_int_equal(got.runs, f->runs);
    aphi_script_free(&s);
    return got;
}

static void shrinks_to(bool (*fails)(const aphi_script *, size_t *), const char *lines, const char *expected)
{
    failure f = {.fails = fails};
    aphi_shrunk got = shrink(&f, lines);
    is_script(&got.script, expected);
    assert_true(got.minimal);
    assert_int_equal(got.confirmed, 10);
    assert_int_equal(got.reproduced, 10);
    aphi_script_free(&got.script);
}

static const aphi_action *find_action(const aphi_script *s, const char *name, size_t *i)
{
    for (; *i < s->count; ++*i) {
        if (aph_str_is(aph_field(s->actions[*i].send, "f"), name))
            return &s->actions[(*i)++];
    }
    return NULL;
}

/* ---- removal ----------------------------------------------------------------------------------------------------- */

static bool a_then_b(const aphi_script *s, size_t *taken)
{
    *taken = 0;
    return find_action(s, "a", taken) && find_action(s, "b", taken);
}

static void test_removes_requests(void **unused)
{
    (void)unused;
    const char *lines = "{\"label\":1,\"conn\":0,\"send\":{\"f\":\"b\"}}\n"
                        "{\"label\":3,\"conn\":0,\"send\":{\"f\":\"a\",\"more\":[1,2]}}\n"
                        "{\"label\":5,\"conn\":0,\"close\":true,\"wait\":\"quiet\"}\n"
                        "{\"label\":7,\"conn\":4,\"send\":{\"f\":\"c\"},\"chunk\":1}\n"
                        "{\"label\":9,\"conn\":7,\"send\":{\"f\":\"b\"},\"wait\":{\"pause_us\":100}}\n"
                        "{\"label\":11,\"conn\":7,\"send\":{\"f\":\"a\"}}\n";
    shrinks_to(a_then_b, lines,
               "{\"label\":3,\"conn\":0,\"send\":{\"f\":\"a\"}}\n{\"label\":9,\"conn\":0,\"send\":{\"f\":\"b\"}}\n");
}

/* Two of 2,000 requests are needed; fewer runs suffice if a run reports where it failed. */
static uint64_t runs_for_many(bool says_taken)
{
    failure f = {.fails = a_then_b, .says_taken = says_taken};
    aphi_script s = {.environment = "tcp"};
    for (int64_t i = 0; i < 2000; i++) {
        const char *name = i == 700 ? "a" : i == 1100 ? "b" : "c";
        aphi_script_add(&s, &(aphi_action){.label = 2 * i + 1,
                                           .connection = i % 7,
                                           .send = aph_record("f", aph_str(name), "n", aph_int(i))});
    }
    aph_root_add(mark_script, &s);
    aphi_shrunk got = aphi_shrink(&s, run_candidate, &(aphi_shrink_options){.context = &f});
    aph_root_remove(mark_script, &s);
    is_script(&got.script, "{\"label\":1401,\"conn\":0,\"send\":{\"f\":\"a\"}}\n"
                           "{\"label\":2201,\"conn\":0,\"send\":{\"f\":\"b\"}}\n");
    aphi_script_free(&got.script);
    aphi_script_free(&s);
    return got.runs;
}

static void test_many_requests(void **unused)
{
    (void)unused;
    uint64_t reported = runs_for_many(true), unreported = runs_for_many(false);
    print_message("2,000 requests: %d runs, %d if it is not known where it failed\n", (int)reported, (int)unreported);
    assert_true(reported < unreported);
    assert_true(unreported < 150);
}

/* Each of the two is needed because of the other: "open" without "shut" fails. */
static bool balanced(const aphi_script *s, size_t *taken)
{
    size_t opens = 0, shuts = 0, i = 0;
    while (find_action(s, "open", &i))
        opens++;
    for (i = 0; find_action(s, "shut", &i);)
        shuts++;
    *taken = s->count;
    i = 0;
    return opens == shuts && find_action(s, "x", &i);
}

static void test_removes_pairs(void **unused)
{
    (void)unused;
    shrinks_to(balanced,
               "{\"label\":1,\"conn\":0,\"send\":{\"f\":\"open\"}}\n{\"label\":3,\"conn\":0,\"send\":{\"f\":\"x\"}}\n"
               "{\"label\":5,\"conn\":0,\"send\":{\"f\":\"shut\"}}\n",
               "{\"label\":3,\"conn\":0,\"send\":{\"f\":\"x\"}}\n");
}

/* ---- connections, writes, waits ---------------------------------------------------------------------------------- */

static bool on_two_connections(const aphi_script *s, size_t *taken)
{
    *taken = 0;
    const aphi_action *a = find_action(s, "a", taken);
    const aphi_action *b = a ? find_action(s, "b", taken) : NULL;
    return b && a->connection != b->connection && b->chunk == 2;
}

static void test_connections_and_writes(void **unused)
{
    (void)unused;
    shrinks_to(
        on_two_connections,
        "{\"label\":1,\"conn\":3,\"send\":{\"f\":\"a\"},\"chunk\":1}\n{\"label\":3,\"conn\":9,\"send\":{\"f\":\"c\"}}\n"
        "{\"label\":5,\"conn\":5,\"send\":{\"f\":\"b\"},\"chunk\":2}\n",
        "{\"label\":1,\"conn\":0,\"send\":{\"f\":\"a\"}}\n{\"label\":5,\"conn\":1,\"send\":{\"f\":\"b\"},\"chunk\":2}"
        "\n");
}

/* The second request must not be sent before the response to the first. */
static bool waits(const aphi_script *s, size_t *taken)
{
    *taken = 0;
    const aphi_action *a = find_action(s, "a", taken);
    const aphi_action *b = a ? find_action(s, "b", taken) : NULL;
    for (size_t i = 0; b && i < s->count && &s->actions[i] <= b; i++) {
        const aphi_action *between = &s->actions[i];
        if (between <= a || between->wait == APHI_WAIT_NOTHING)
            continue;
        if (between->wait != APHI_WAIT_ANSWER || between->waits_for > a->label)
            return true;
    }
    return false;
}

/* The second request must be sent after a silence. */
static bool is_after_silence(const aphi_script *s, size_t *taken)
{
    bool silent = false;
    *taken = 0;
    const aphi_action *a = find_action(s, "a", taken);
    const aphi_action *b = a ? find_action(s, "b", taken) : NULL;
    for (size_t i = 0; b && i < s->count && &s->actions[i] <= b; i++)
        silent |= &s->actions[i] > a && s->actions[i].wait == APHI_WAIT_SILENCE;
    return silent;
}

/* Silences are kept when the requests are sent one at a time, and dropped if they are not needed. */
static void test_silences(void **unused)
{
    (void)unused;
    shrinks_to(is_after_silence,
               "{\"label\":1,\"conn\":0,\"send\":{\"f\":\"a\"}}\n"
               "{\"label\":3,\"conn\":1,\"send\":{\"f\":\"c\"},\"wait\":\"silence\"}\n"
               "{\"label\":5,\"conn\":1,\"send\":{\"f\":\"d\"},\"wait\":\"silence\"}\n"
               "{\"label\":7,\"conn\":0,\"send\":{\"f\":\"b\"}}\n",
               "{\"label\":1,\"conn\":0,\"send\":{\"f\":\"a\"}}\n"
               "{\"label\":7,\"conn\":0,\"send\":{\"f\":\"b\"},\"wait\":\"silence\"}\n");
}

static void test_waits(void **unused)
{
    (void)unused;
    const char *expected = "{\"label\":1,\"conn\":0,\"send\":{\"f\":\"a\"}}\n"
                           "{\"label\":7,\"conn\":0,\"send\":{\"f\":\"b\"},\"wait\":{\"answer\":2}}\n";
    shrinks_to(waits, /* the wait of a removed action moves to the next action */
               "{\"label\":1,\"conn\":0,\"send\":{\"f\":\"a\"}}\n"
               "{\"label\":3,\"conn\":1,\"send\":{\"f\":\"c\"}}\n"
               "{\"label\":5,\"conn\":1,\"send\":{\"f\":\"d\"},\"wait\":{\"answer\":4}}\n"
               "{\"label\":7,\"conn\":2,\"send\":{\"f\":\"b\"}}\n",
               expected);
    shrinks_to(waits,
               "{\"label\":1,\"conn\":0,\"send\":{\"f\":\"a\"}}\n"
               "{\"label\":5,\"conn\":0,\"close\":true,\"wait\":\"quiet\"}\n"
               "{\"label\":7,\"conn\":2,\"send\":{\"f\":\"b\"},\"wait\":{\"pause_us\":1000}}\n",
               expected);
}

/* Fails only while both are in flight: no wait may be added. */
static bool at_once(const aphi_script *s, size_t *taken) { return a_then_b(s, taken) && !waits(s, taken); }

static void test_no_waits(void **unused)
{
    (void)unused;
    shrinks_to(at_once,
               "{\"label\":1,\"conn\":0,\"send\":{\"f\":\"c\"}}\n"
               "{\"label\":3,\"conn\":1,\"send\":{\"f\":\"a\"},\"wait\":{\"answer\":2}}\n"
               "{\"label\":5,\"conn\":0,\"send\":{\"f\":\"b\"}}\n",
               "{\"label\":3,\"conn\":0,\"send\":{\"f\":\"a\"}}\n{\"label\":5,\"conn\":0,\"send\":{\"f\":\"b\"}}\n");
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

/* A put of at least 17, then a get of the same key, which is a string of at least two bytes. */
static bool same_key(const aphi_script *s, size_t *taken)
{
    *taken = 0;
    const aphi_action *put = find_action(s, "put", taken);
    const aphi_action *get = put ? find_action(s, "get", taken) : NULL;
    aph_value key = put ? aph_field(put->send, "key") : APH_NIL, value = put ? aph_field(put->send, "value") : APH_NIL;
    return get && aph_field(get->send, "key") == key && aph_is_str(key) && aph_count(key) >= 2 && aph_is_int(value) &&
           aph_int_of(value) >= 17;
}

static void test_simplifies_values(void **unused)
{
    (void)unused;
    shrinks_to(
        same_key,
        "{\"label\":1,\"conn\":0,\"send\":{\"f\":\"put\",\"key\":\"path/"
        "to\",\"value\":123456,\"who\":{\"x\":[true]}}}\n"
        "{\"label\":3,\"conn\":0,\"send\":{\"f\":\"get\",\"key\":\"path/to\",\"if\":{\"$\":[2,[\"tag\"],\"id\"]}}}\n",
        "{\"label\":1,\"conn\":0,\"send\":{\"f\":\"put\",\"key\":\"aa\",\"value\":17}}\n"
        "{\"label\":3,\"conn\":0,\"send\":{\"f\":\"get\",\"key\":\"aa\"}}\n");
}

/* The get has a field "tag"; if the tag has a hole, a put must precede it. */
static bool has_tag(const aphi_script *s, size_t *taken)
{
    *taken = 0;
    const aphi_action *put = find_action(s, "put", taken);
    const aphi_action *get = put ? find_action(s, "get", taken) : NULL;
    return get && aph_has(get->send, aph_str("tag")) && !aph_is_int(aph_field(get->send, "tag"));
}

static bool has_hole(const aphi_script *s, size_t *taken)
{
    size_t i = 0;
    if (!has_tag(s, taken))
        return false;
    return aphi_expression_is_hole(aph_field(find_action(s, "get", &i)->send, "tag"));
}

static void test_holes(void **unused)
{
    (void)unused;
    const char *lines =
        "{\"label\":1,\"conn\":0,\"send\":{\"f\":\"put\"}}\n{\"label\":3,\"conn\":0,\"send\":{\"f\":\"post\"}}\n"
        "{\"label\":5,\"conn\":0,\"send\":{\"f\":\"get\",\"tag\":{\"$\":[4,[\"tag\"],\"id\"]}}}\n";
    shrinks_to(has_tag, lines, /* a constant, if that suffices */
               "{\"label\":1,\"conn\":0,\"send\":{\"f\":\"put\"}}\n"
               "{\"label\":5,\"conn\":0,\"send\":{\"f\":\"get\",\"tag\":\"\"}}\n");
    shrinks_to(has_hole, lines, /* the hole referred to a removed message */
               "{\"label\":1,\"conn\":0,\"send\":{\"f\":\"put\"}}\n"
               "{\"label\":5,\"conn\":0,\"send\":{\"f\":\"get\",\"tag\":{\"$\":[2,[\"tag\"],\"id\"]}}}\n");
}

/* ---- failures that do not always show, or not at all ------------------------------------------------------------- */

static const char *const three =
    "{\"label\":1,\"conn\":0,\"send\":{\"f\":\"a\"}}\n{\"label\":3,\"conn\":0,\"send\":{\"f\":\"c\"}}\n"
    "{\"label\":5,\"conn\":0,\"send\":{\"f\":\"b\"}}\n";

static void test_flaky_failure(void **unused)
{
    (void)unused;
    unsigned right = 0;
    for (uint64_t seed = 0; seed < 50; seed++) {
        failure f = {.fails = a_then_b, .in_100 = 40, .chance = {seed}};
        aphi_shrunk got = shrink(&f, three);
        right += got.script.count == 2;
        assert_true(got.reproduced < got.confirmed);
        aphi_script_free(&got.script);
    }
    assert_true(right >= 47);
}

/* If the budget allows few runs, they are spent on removing actions. */
static void test_slow_runs(void **unused)
{
    (void)unused;
    aphi_script s = {0};
    for (int i = 0; i < 500; i++) {
        const char *what = i == 120 ? "a" : i == 380 ? "b" : "c";
        aph_value send = aph_record("f", aph_str(what), "x", aph_int(i));
        aphi_script_add(&s, &(aphi_action){.label = 2 * i + 1, .connection = i % 7, .send = send});
    }
    aph_root_add(mark_script, &s);
    failure f = {.fails = a_then_b, .says_taken = true, .run_ns = 20000000, .half = 250};
    aphi_shrunk got = aphi_shrink(&s, run_candidate, &(aphi_shrink_options){.context = &f, .step = count_step,
                                                                  .budget_ns = 40 * f.run_ns});
    aph_root_remove(mark_script, &s);
    assert_in_range(f.runs_to_half, 1, 6);
    assert_true(got.script.count <= 250);
    aphi_script_free(&s);
    aphi_script_free(&got.script);
}

static bool never(const aphi_script *s, size_t *taken)
{
    (void)s, (void)taken;
    return false;
}

static void test_not_reproducible(void **unused)
{
    (void)unused;
    failure f = {.fails = never};
    aphi_shrunk got = shrink(&f, three);
    is_script(&got.script, three);
    assert_false(got.minimal);
    assert_int_equal(got.reproduced, 0);
    assert_true(got.runs < 200);
    aphi_script_free(&got.script);
    aphi_script nothing = {0};
    got = aphi_shrink(&nothing, run_candidate, &(aphi_shrink_options){.context = &f});
    assert_int_equal(got.script.count, 0);
    aphi_script_free(&got.script);
}

static void test_stop(void **unused)
{
    (void)unused;
    for (uint64_t at = 1; at < 12; at++) {
        failure f = {.fails = a_then_b, .stop_at = at};
        aphi_shrunk got = shrink(&f, three);
        assert_int_equal(got.runs, at);
        assert_false(got.minimal);
        assert_int_equal(got.failed, at > 1);
        assert_int_equal(got.reproduced, got.confirmed); /* a stopped run does not count as passing */
        size_t taken;
        assert_true(a_then_b(&got.script, &taken)); /* the best script so far */
        aphi_script_free(&got.script);
    }
}

static void test_budget(void **unused)
{
    (void)unused;
    failure f = {.fails = a_then_b, .run_ns = 10000000};
    aphi_script s = parse("{\"label\":1,\"conn\":0,\"send\":{\"f\":\"a\",\"x\":[1,2,{\"y\":\"zzz\"}],\"n\":1000}}\n"
                          "{\"label\":3,\"conn\":1,\"send\":{\"f\":\"c\",\"x\":[\"zzz\"],\"n\":2000}}\n"
                          "{\"label\":5,\"conn\":2,\"send\":{\"f\":\"b\",\"x\":[\"yyy\",3,4],\"n\":3000}}\n");
    aph_root_add(mark_script, &s);
    aphi_shrunk got = aphi_shrink(&s, run_candidate, &(aphi_shrink_options){.context = &f, .budget_ns = 250000000,
                                                                            .confirm = 3});
    aph_root_remove(mark_script, &s);
    assert_false(got.minimal);
    assert_true(got.ns < 2000000000);
    assert_true(got.runs <= 26);
    assert_true(got.reproduced > 0); /* there is time left to reproduce */
    assert_int_equal(got.confirmed, got.reproduced);
    aphi_script_free(&got.script);
    aphi_script_free(&s);
}

/* ---- substitution ------------------------------------------------------------------------------------------------ */

/* A read of an old or a written resource fails; an erase with a body also fails. */
static bool read_or_odd(const aphi_script *s, size_t *taken)
{
    for (size_t i = 0; i < s->count; i++) {
        aph_value m = s->actions[i].send, key = aph_field(m, "key");
        *taken = i + 1;
        if (aph_str_is(aph_field(m, "f"), "erase") && aph_field(m, "body"))
            return true;
        if (!aph_str_is(aph_field(m, "f"), "read"))
            continue;
        bool there = aph_str_is(key, "old");
        for (size_t k = 0; k < i; k++)
            there = there || (aph_str_is(aph_field(s->actions[k].send, "f"), "write") &&
                              aph_field(s->actions[k].send, "key") == key && aph_field(s->actions[k].send, "body"));
        if (there)
            return true;
    }
    return false;
}

#define WRITE_READ \
    "{\"label\":1,\"conn\":0,\"send\":{\"body\":0,\"f\":\"write\",\"key\":\"k\"}}\n" \
    "{\"label\":3,\"conn\":0,\"send\":{\"f\":\"read\",\"key\":\"k\"}}\n"

static void exchanges_to(bool (*fails)(const aphi_script *, size_t *), const char *lines, const char *values,
                         const char *expected)
{
    failure f = {.fails = fails};
    assert_true(aph_json_read(values, strlen(values), &f.values, NULL));
    aphi_shrunk got = shrink(&f, lines);
    is_script(&got.script, expected);
    assert_true(got.minimal);
    aphi_script_free(&got.script);
}

/* The write is not needed if the resource exists; but values that never occur together are not combined. */
static void test_exchanges(void **unused)
{
    (void)unused;
    exchanges_to(read_or_odd, WRITE_READ,
                 "{\"key\":[[\"k\",{\"f\":true,\"key\":true,\"body\":true}],[\"old\",{\"f\":true,\"key\":true}]]}",
                 "{\"label\":3,\"conn\":0,\"send\":{\"f\":\"read\",\"key\":\"old\"}}\n");
    exchanges_to(read_or_odd, WRITE_READ,
                 "{\"f\":[[\"erase\",{\"f\":true,\"key\":true}],[\"read\",{\"f\":true,\"key\":true}]]}",
                 "{\"label\":1,\"conn\":0,\"send\":{\"body\":0,\"f\":\"write\",\"key\":\"\"}}\n"
                 "{\"label\":3,\"conn\":0,\"send\":{\"f\":\"read\",\"key\":\"\"}}\n");
}

static bool has_value(const aphi_script *s, size_t i, const char *what)
{
    return aph_str_is(aph_field(s->actions[i].send, "f"), what);
}

/* The tag of the second write is weak, like a weakened tag; the tag of an old resource is always weak. */
static bool weak_tag_of(const aphi_script *s, size_t *taken, const char *known)
{
    size_t writes = 0;
    for (size_t i = 0; i < s->count; i++) {
        aph_value m = s->actions[i].send, function = aph_at(aph_field(aph_field(m, "tag"), "$"), 2);
        bool made = aph_str_is(function, "weakened") && (!known || aph_str_is(aph_field(m, "key"), known));
        *taken = i + 1;
        if (known && !aph_field(m, "key"))
            continue;
        writes += has_value(s, i, "write");
        if (has_value(s, i, "read") && function && writes && (writes > 1 || made))
            return true;
    }
    return false;
}

static bool weak_tag(const aphi_script *s, size_t *taken) { return weak_tag_of(s, taken, NULL); }

static bool weak_tag_of_old(const aphi_script *s, size_t *taken) { return weak_tag_of(s, taken, "old"); }

/* Another function on the tag replaces a write, perhaps with another resource in all requests. */
static void test_exchanges_functions(void **unused)
{
    (void)unused;
#define WRITE(label, key) "{\"label\":" label ",\"conn\":0,\"send\":{\"f\":\"write\"" key "}}\n"
#define READ(key, function) \
    "{\"label\":5,\"conn\":0,\"send\":{\"f\":\"read\"" key ",\"tag\":{\"$\":[4,[\"tag\"],\"" function "\"]}}}\n"
#define KEY(k) ",\"key\":\"" k "\""
    static const char values[] = "{\"key\":[[\"k\",{\"f\":true,\"key\":true,\"tag\":true}],"
                                 "[\"old\",{\"f\":true,\"key\":true,\"tag\":true}]]}";
    static const char lines[] = WRITE("1", KEY("k")) WRITE("3", KEY("k")) READ(KEY("k"), "id");
    exchanges_to(weak_tag, lines, values, WRITE("3", "") READ("", "weakened"));
    exchanges_to(weak_tag_of_old, lines, values, WRITE("3", KEY("")) READ(KEY("old"), "weakened"));
#undef KEY
#undef READ
#undef WRITE
}

/* A read with a date later than any resource, or with a tag that no resource has. */
static bool condition(const aphi_script *s, size_t *taken)
{
    for (size_t i = 0; i < s->count; i++) {
        aph_value m = s->actions[i].send;
        *taken = i + 1;
        bool since = aph_field(m, "since") != APH_NIL, match = aph_field(m, "match") != APH_NIL;
        if (has_value(s, i, "read") && ((i > 0 && since) || (match && !since)))
            return true;
    }
    return false;
}

/* A condition may be replaced by another, but a field that all requests have is kept. */
static void test_exchanges_fields(void **unused)
{
    (void)unused;
    static const char lines[] = "{\"label\":1,\"conn\":0,\"send\":{\"f\":\"write\",\"key\":\"\"}}\n"
                                "{\"label\":3,\"conn\":0,\"send\":{\"f\":\"read\",\"key\":\"\",\"since\":0}}\n";
    exchanges_to(condition, lines,
                 "{\"match\":[[\"x\",{\"f\":true,\"key\":true,\"match\":true}]],"
                 "\"since\":[[1,{\"f\":true,\"key\":true,\"since\":true}]]}",
                 "{\"label\":3,\"conn\":0,\"send\":{\"f\":\"read\",\"match\":\"\"}}\n");
    exchanges_to(condition, lines,
                 "{\"match\":[[\"x\",{\"f\":true,\"match\":true,\"since\":true}]]}",
                 "{\"label\":1,\"conn\":0,\"send\":{}}\n"
                 "{\"label\":3,\"conn\":0,\"send\":{\"f\":\"read\",\"since\":0}}\n");
}

static bool looks(const aphi_script *s, size_t *taken)
{
    *taken = 1;
    return has_value(s, 0, "look") || has_value(s, 0, "get") || has_value(s, 0, "ask");
}

/* Values become simpler, and never more complex. */
static void test_exchanges_for_simpler_values(void **unused)
{
    (void)unused;
    static const char values[] = "{\"f\":[[\"ask\",{\"f\":true}],[\"look\",{\"f\":true}],[\"get\",{\"f\":true}]]}";
#define SAYS(what) "{\"label\":1,\"conn\":0,\"send\":{\"f\":\"" what "\"}}\n"
    exchanges_to(looks, SAYS("look"), values, SAYS("ask"));
    exchanges_to(looks, SAYS("get"), values, SAYS("ask"));
    exchanges_to(looks, SAYS("ask"), values, SAYS("ask"));
#undef SAYS
}

static void test_relevance(void **unused)
{
    (void)unused;
    aphi_script s =
        parse("{\"label\":1,\"conn\":0,\"send\":{\"f\":\"put\",\"key\":\"b\"}}\n"
              "{\"label\":3,\"conn\":0,\"send\":{\"f\":\"put\",\"key\":\"c\"}}\n"
              "{\"label\":5,\"conn\":0,\"send\":{\"f\":\"put\",\"key\":\"a\",\"value\":99}}\n"
              "{\"label\":7,\"conn\":0,\"send\":{\"f\":\"put\",\"key\":\"d\",\"value\":99}}\n"
              "{\"label\":9,\"conn\":0,\"send\":{\"f\":\"get\",\"key\":\"a\",\"tag\":{\"$\":[4,[],\"id\"]}}}\n"
              "{\"label\":11,\"conn\":0,\"close\":true}\n");
    aphi_script_slice levels[6];
    aphi_script_slice_guess(&s, levels);
    const aphi_script_slice expected[] = {APHI_SLICE_NONE,    APHI_SLICE_REFERS, APHI_SLICE_SHARES,
                                       APHI_SLICE_DISTANT, APHI_SLICE_REFERS, APHI_SLICE_NONE};
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(levels[i], expected[i]);
    aphi_script_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_removes_requests),
        cmocka_unit_test(test_many_requests),
        cmocka_unit_test(test_removes_pairs),
        cmocka_unit_test(test_connections_and_writes),
        cmocka_unit_test(test_silences),
        cmocka_unit_test(test_waits),
        cmocka_unit_test(test_no_waits),
        cmocka_unit_test(test_simplifies_values),
        cmocka_unit_test(test_holes),
        cmocka_unit_test(test_flaky_failure),
        cmocka_unit_test(test_slow_runs),
        cmocka_unit_test(test_not_reproducible),
        cmocka_unit_test(test_stop),
        cmocka_unit_test(test_budget),
        cmocka_unit_test(test_exchanges),
        cmocka_unit_test(test_exchanges_functions),
        cmocka_unit_test(test_exchanges_fields),
        cmocka_unit_test(test_exchanges_for_simpler_values),
        cmocka_unit_test(test_relevance),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    aph_heap_close();
    return failed;
}

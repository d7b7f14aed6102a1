/* SPDX-License-Identifier: Apache-2.0
 *
 * test_run_page.c - the page of a run: its size, its content security policy, and the escaping of data.
 *
 *   test_run_page FOLDER    write sample pages for tests/cli/run_page.sh, which opens them in a browser */
#include "base/memory.h"
#include "report/run_page.h"
#include "report/message_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static aph_value json(const char *text)
{
    aph_value v = APH_NIL;
    aph_json_error error;
    if (!aph_json_read(text, strlen(text), &v, &error)) {
        fprintf(stderr, "%s: %s\n", text, error.message);
        abort();
    }
    return v;
}

/* ---- samples ----------------------------------------------------------------------------------------------------- */

/* A shrunk counterexample: three connections, three requests. */
static void counterexample(aphi_run_diagram *t)
{
    static aphi_run_event m[6];
    m[0] = (aphi_run_event){APHI_RUN_EVENT_SENT, 0, 0, 1, json("{\"f\":\"put\",\"key\":\"a\",\"value\":1}")};
    m[1] = (aphi_run_event){APHI_RUN_EVENT_SENT, 31000, 1, 3, json("{\"f\":\"put\",\"key\":\"a\",\"value\":2}")};
    m[2] = (aphi_run_event){APHI_RUN_EVENT_RECEIVED, 120000, 0, 2, json("\"ok\"")};
    m[3] = (aphi_run_event){APHI_RUN_EVENT_RECEIVED, 151999, 1, 4, json("\"ok\"")};
    m[4] = (aphi_run_event){APHI_RUN_EVENT_SENT, 310000, 2, 5, json("{\"f\":\"get\",\"key\":\"a\"}")};
    m[5] = (aphi_run_event){APHI_RUN_EVENT_RECEIVED, 420000, 2, 6,
                         json("{\"value\":0,\"version\":9007199254740993,\"found\":true,\"tags\":[\"x\",\"y\"],"
                              "\"written_by\":{\"connection\":1}}")};
    *t = (aphi_run_diagram){
        .title = "kv at 127.0.0.1:4711", .verdict = "fail",
        .headline = "nothing explains the answer #6 on connection 2",
        .events = m, .count = 6, .failing = 5, .ns = 1532000000,
        .run = json("{\"messages\":6,\"seed\":7,\"model\":\"kv\",\"environment\":\"tcp\",\"target\":\"127.0.0.1:4711\","
                    "\"to_reject_ns\":1200000,\"shrinking_ns\":331000000,\"reproduces\":\"10 of 10\"}"),
        .allowed = json("[{\"answer\":{\"value\":1},\"clauses\":[\"RFC 9110 9.3.1\"],\"state\":{\"a\":1},"
                        "\"order\":[3,1,5]},"
                        "{\"answer\":{\"value\":2},\"clauses\":[\"RFC 9110 9.3.1\",\"RFC 9110 9.3.4\"],"
                        "\"state\":{\"a\":2},\"order\":[1,3,5]}]"),
        .branches = json("{\"get: found\":3,\"get: not found\":0,\"put: new\":1201,\"put: replaces\":88}"),
        .script = json("[{\"label\":1,\"conn\":0,\"send\":{\"f\":\"put\",\"key\":\"a\",\"value\":1}},"
                       "{\"label\":3,\"conn\":1,\"send\":{\"f\":\"put\",\"key\":\"a\",\"value\":2}},"
                       "{\"label\":5,\"conn\":2,\"send\":{\"f\":\"get\",\"key\":{\"$\":[1,[\"key\"],\"id\"]}},"
                       "\"wait\":{\"answer\":2}}]"),
        .replay = "antiphon replay .antiphon/kv-1.jsonl --target 127.0.0.1:4711",
    };
}

#define HOSTILE                                                                                                        \
    "</script><img src=http://evil.invalid/x onerror=\"document.title='owned'\"><script>alert(1)</script>]]>"          \
    "<!--<script>&lt;javascript:alert(2)\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xae'\"`${1}\\\\u003c\1\33[2J\x7f"

/* A server that sends markup. */
static void hostile(aphi_run_diagram *t)
{
    static aphi_run_event m[12];
    static char bytes[10240], spaced[] = HOSTILE;
    memset(bytes, '<', sizeof bytes);
    aph_value bad = aph_bytes(HOSTILE "\xff\xfe\xc3(\0end", sizeof HOSTILE + 8);
    aph_value object = aph_set(aph_set(aph_object(), bad, bad), aph_str("f"), bad);
    m[0] = (aphi_run_event){APHI_RUN_EVENT_SENT, 0, -1, 1, bad};
    m[1] = (aphi_run_event){APHI_RUN_EVENT_RECEIVED, 1000, -1, 2, object};
    m[2] = (aphi_run_event){APHI_RUN_EVENT_MALFORMED, 2000, INT64_MAX, 4, bad};
    m[3] = (aphi_run_event){APHI_RUN_EVENT_RECEIVED, 3000, 1, INT64_MAX, aph_bytes(bytes, sizeof bytes)};
    m[4] = (aphi_run_event){APHI_RUN_EVENT_DROPPED, 4000, 1, 0, bad};
    m[5] = (aphi_run_event){APHI_RUN_EVENT_LOST, 4000, 1, 6, APH_NIL};
    m[6] = (aphi_run_event){APHI_RUN_EVENT_CLOSED, 5000, -1, 7, APH_NIL};
    *t = (aphi_run_diagram){
        .title = spaced, .verdict = "malformed", .headline = HOSTILE "\xff", .replay = HOSTILE,
        .events = m, .count = 7, .failing = 2,
        .run = aph_set(aph_record("seed", bad, "x", object), bad, bad),
        .allowed = APH_ARRAY_OF(aph_record("answer", bad, "clauses", APH_ARRAY_OF(bad, object), "state", object,
                                           "order", APH_ARRAY_OF(aph_int(1), bad))),
        .branches = aph_set(aph_set(aph_object(), bad, aph_int(0)), aph_str("__proto__"), aph_int(3)),
        .script = APH_ARRAY_OF(aph_record("label", aph_int(1), "send", bad, "wait", aph_str("quiet"))),
    };
}

/* A long run over 100 connections. If `various`, all messages differ. */
static void long_run(aphi_run_diagram *t, size_t n, bool various)
{
    aphi_run_event *m = aphi_alloc(n * sizeof *m);
    for (size_t i = 0; i < n; i++) {
        int64_t pair = (int64_t)i / 2, key = pair * 7919 % 50;
        bool sent = i % 2 == 0;
        aph_value k = various ? aph_strf("a key that is long and, with %zu in it, like no other", i)
                              : aph_strf("key%d", (int)key);
        m[i] = (aphi_run_event){sent ? APHI_RUN_EVENT_SENT : APHI_RUN_EVENT_RECEIVED, (int64_t)i * 42000,
                                pair * 31 % 100, sent ? 2 * pair + 1 : 2 * pair + 2,
                                sent      ? aph_record("f", aph_str("put"), "key", k, "value", aph_int(pair % 20))
                                : various ? k
                                          : aph_str("ok")};
    }
    counterexample(t);
    t->events = m;
    t->count = n;
    t->failing = n - 1 - n / 1000;
    t->script = APH_NIL;
}

static void long_run_free(aphi_run_diagram *t)
{
    free((void *)(uintptr_t)t->events);
}

/* ---- pages ------------------------------------------------------------------------------------------------------- */

static char *page_of(const aphi_run_diagram *t, size_t *n)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, n);
    assert_true(aphi_run_page_write(out, t));
    fclose(out);
    return text;
}

/* The data of a page: well-formed, without characters that an HTML parser would interpret. */
static aph_value data_of(char *page)
{
    const char *begin = strstr(page, "id=\"data\">");
    assert_non_null(begin);
    begin += strlen("id=\"data\">");
    size_t n = strcspn(begin, "<");
    assert_memory_equal(begin + n, "</script>\n<script>", strlen("</script>\n<script>"));
    for (size_t i = 0; i < n; i++)
        assert_false(strchr(">&'", begin[i]) || ((unsigned char)begin[i] < ' ' && begin[i] != '\n'));
    assert_null(memmem(begin, n, "\xe2\x80\xa8", 3));
    assert_null(memmem(begin, n, "\xe2\x80\xa9", 3));
    aph_value v = APH_NIL;
    aph_json_error error = {0};
    if (!aph_json_read(begin, n, &v, &error))
        fail_msg("%s at %.80s", error.message, begin + error.offset);
    return v;
}

static void test_counterexample(void **state)
{
    (void)state;
    aphi_run_diagram t;
    size_t n;
    counterexample(&t);
    char *page = page_of(&t, &n);
    aph_value data = data_of(page);
    assert_non_null(strstr(page, "default-src 'none'; script-src 'sha256-"));
    assert_null(strstr(page, "unsafe"));
    assert_true(aph_str_is(aph_field(data, "verdict"), "fail"));
    assert_true(aph_field(data, "texts")
                == APH_ARRAY_OF(aph_str("{\"found\":true,\"tags\":[\"x\",\"y\"],\"value\":0,"
                                        "\"version\":9007199254740993,\"written_by\":{\"connection\":1}}"),
                                aph_str("get \"a\""), aph_str("\"ok\""), aph_str("put \"a\" 2"),
                                aph_str("put \"a\" 1")));
    assert_true(aph_str_is(aph_field(data, "rows"), "s0,1,0,4;s1,2,v,3;r0,-1,2h,2;r1,2,v,2;s2,1,4f,1;r2,1,32,0"));
    assert_true(aph_field(data, "waits") == json("{\"5\":\"response #2\"}"));
    assert_true(aph_at(aph_field(data, "facts"), 0) == json("[\"took\",\"1.53 s\"]"));
    free(page);
}

/* Unknowns and their conditions. */
static void test_unknowns(void **state)
{
    (void)state;
    aphi_run_diagram t;
    size_t n;
    counterexample(&t);
    char *page = page_of(&t, &n);
    assert_true(aph_str_is(aph_field(data_of(page), "unknowns"), ""));
    free(page);
    t.allowed = json("[{\"answer\":{\"?\":0,\"sort\":\"int\"},\"given\":[{\"<\":[{\"?\":0,\"sort\":\"int\"},5]}]}]");
    page = page_of(&t, &n);
    aph_value data = data_of(page), first = aph_at(aph_field(data, "allowed"), 0);
    assert_true(aph_str_is(aph_field(first, "answer"), "?0"));
    assert_true(aph_str_is(aph_field(first, "given"), "(?0 < 5)"));
    assert_true(aph_str_is(aph_field(data, "unknowns"), APHI_MESSAGE_UNKNOWNS "."));
    free(page);
}

static void test_hostile(void **state)
{
    (void)state;
    aphi_run_diagram t;
    size_t n;
    hostile(&t);
    char *page = page_of(&t, &n);
    aph_value data = data_of(page);
    assert_null(strstr(page, "<img"));
    assert_null(strstr(page, "\xff"));
    assert_int_equal(aph_count(aph_field(data, "texts")), 7);
    assert_non_null(strstr(page, "\\\\xff\\\\xfe\\\\xc3("));
    free(page);
}

/* The page is below the size limit for any run, and contains all small messages. */
static void test_sizes(void **state)
{
    (void)state;
    static const struct { size_t count; bool various; } runs[] = {{100000, false}, {100000, true}, {300000, false}};
    for (size_t i = 0; i < COUNT(runs); i++) {
        aphi_run_diagram t;
        size_t n;
        long_run(&t, runs[i].count, runs[i].various);
        char *page = page_of(&t, &n);
        aph_value data = data_of(page);
        int64_t first = aph_int_of(aph_field(data, "first"));
        print_message("%zu messages, %s: %zu bytes, %lld left out\n", t.count,
                      runs[i].various ? "all different" : "small", n, (long long)first);
        assert_true(n < APHI_RUN_PAGE_BYTES);
        assert_true(i == 0 ? first == 0 : first > 0 && first < (int64_t)t.failing);
        free(page);
        long_run_free(&t);
    }
}

/* A page with the largest value of every parameter is below the size limit. */
static void test_worst(void **state)
{
    (void)state;
    enum { MANY = 3000 };
    static aphi_run_event m[MANY];
    aphi_run_diagram t;
    size_t n;
    aph_value items[MANY], branches = aph_object(), facts = aph_object();
    char *bytes = aphi_alloc(20000);
    memset(bytes, '<', 20000);
    for (size_t i = 0; i < MANY; i++) {
        memcpy(bytes, &i, sizeof i);
        aph_value v = aph_bytes(bytes, 20000);
        m[i] = (aphi_run_event){APHI_RUN_EVENT_RECEIVED, (int64_t)i, (int64_t)i, (int64_t)i, v};
        items[i] = aph_record("answer", v, "state", v, "clauses", APH_ARRAY_OF(v, v), "label", aph_int((int64_t)i),
                              "wait", aph_str("quiet"), "send", v);
        branches = aph_set(branches, v, aph_int(0));
        facts = aph_set(facts, v, v);
    }
    bytes[19999] = '\0';
    memset(bytes, '&', 100);
    t = (aphi_run_diagram){.title = bytes, .verdict = bytes, .headline = bytes, .replay = bytes, .events = m,
                        .count = MANY, .failing = MANY / 2, .allowed = aph_array(MANY, items),
                        .script = aph_array(MANY, items), .branches = branches, .run = facts};
    char *page = page_of(&t, &n);
    data_of(page);
    print_message("%zu bytes\n", n);
    assert_true(n < APHI_RUN_PAGE_BYTES);
    free(page);
    free(bytes);
}

static void test_nothing(void **state)
{
    (void)state;
    aphi_run_diagram t = {.title = "x", .verdict = "dead", .failing = APHI_RUN_DIAGRAM_NONE};
    size_t n;
    char *page = page_of(&t, &n);
    data_of(page);
    free(page);
    FILE *full = fopen("/dev/full", "w");
    if (full) {
        assert_false(aphi_run_page_write(full, &t));
        fclose(full);
    }
}

static int write_samples(const char *folder)
{
    static const char *const names[] = {"small", "hostile", "long", "various", "dead"};
    for (size_t i = 0; i < COUNT(names); i++) {
        aphi_run_diagram t = {.title = "x", .verdict = "dead", .headline = "refused", .failing = APHI_RUN_DIAGRAM_NONE};
        if (i == 0)
            counterexample(&t);
        else if (i == 1)
            hostile(&t);
        else if (i < 4)
            long_run(&t, 100000, i == 3);
        char path[4096];
        snprintf(path, sizeof path, "%s/%s.html", folder, names[i]);
        FILE *out = fopen(path, "w");
        bool written = out && aphi_run_page_write(out, &t);
        if (i == 2 || i == 3)
            long_run_free(&t);
        if (!written || fclose(out)) {
            perror(path);
            return 1;
        }
    }
    aph_heap_close();
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counterexample), cmocka_unit_test(test_unknowns),
        cmocka_unit_test(test_hostile), cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_worst),          cmocka_unit_test(test_nothing),
    };
    return argc > 1 ? write_samples(argv[1]) : cmocka_run_group_tests(tests, NULL, NULL);
}

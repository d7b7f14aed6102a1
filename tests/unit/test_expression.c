/* SPDX-License-Identifier: Apache-2.0
 *
 * test_expression.c - J-expressions: the dissertation's examples, loose evaluation, labelled messages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include "script/expression.h"

static int fresh_heap(void **unused)
{
    (void)unused;
    aph_heap_close();
    return 0;
}

static aph_value json(const char *text)
{
    aph_value v;
    aph_json_error error;
    if (!aph_json_read(text, strlen(text), &v, &error))
        fail_msg("%s in %s", error.message, text);
    return v;
}

static void assert_json(aph_value v, const char *text)
{
    char *is = aph_json_text(v, NULL);
    if (v != json(text))
        fail_msg("%s is not %s", is, text);
    free(is);
}

static aph_value mode_add_write(aph_value mode)
{
    return aph_is_int(mode) ? aph_add(mode, aph_int(200)) : mode;
}

static const aph_function functions[] = {{"mode_add_write", mode_add_write}, {0}};

/* Figure 5.8 and e5. Indices start at 0 here. */
static void test_chmod(void **unused)
{
    (void)unused;
    aphi_labelled *seen = aphi_labelled_open(16);
    aphi_labelled_add(seen, 1, json("{\"command\":\"ls\"}"));
    aphi_labelled_add(seen, 3, json("{\"command\":\"ls\"}"));
    aphi_labelled_add(seen, 4, json("{\"files\":[{\"name\":\"foo\",\"mode\":755},{\"name\":\"bar\",\"mode\":500}],"
                                    "\"exitCode\":0}"));
    aphi_labelled_add(seen, 2, json("{\"files\":[{\"name\":\"x\",\"mode\":1}],\"exitCode\":0}"));
    aph_value e5 = json("{\"command\":\"chmod\",\"args\":[{\"$\":[4,[\"files\",1,\"mode\"],\"mode_add_write\"]},"
                        "{\"$\":[4,[\"files\",1,\"name\"],\"id\"]}]}");
    char error[200];
    assert_true(aphi_expression_check(e5, functions, error, sizeof error));
    assert_json(aphi_expression_fill(e5, seen, functions), "{\"command\":\"chmod\",\"args\":[700,\"bar\"]}");
    assert_int_equal(aphi_expression_newest(e5), 4);
    aphi_labelled_close(seen);
}

static aph_value value_at(const char *message, const char *path)
{
    aph_value found = aph_str("nothing");
    aphi_path_find(json(message), json(path), &found);
    return found;
}

static const char j2[] = "[{\"foo\":21},{\"bar\":22}]";
static const char j3[] = "[{\"bar\":31},{\"baz\":32},{\"foo\":33}]";

static void test_loose_paths(void **unused)
{
    (void)unused;
    assert_json(value_at(j2, "[2,\"bar\"]"), "22");
    assert_json(value_at(j3, "[2,\"bar\"]"), "31");
    assert_json(value_at(j3, "[9000000000000000000,\"foo\"]"), "33");
    assert_json(value_at(j3, "[0,\"qux\"]"), "\"nothing\"");
    assert_json(value_at("[]", "[0]"), "\"nothing\"");
    assert_json(value_at("{\"a\":null}", "[\"a\"]"), "null");
    assert_json(value_at("null", "[]"), "null");
    assert_json(value_at("null", "[\"a\"]"), "\"nothing\"");
    assert_json(value_at("\"text\"", "[0]"), "\"nothing\"");
    assert_json(value_at("{\"0\":1}", "[0]"), "\"nothing\"");
    /* Picks the nearest element; of two, the earlier one. */
    assert_json(value_at("[1,2,3]", "[7]"), "3");
    assert_json(value_at("[{\"a\":1},{},{},{},{\"a\":2},{},{\"a\":3}]", "[5,\"a\"]"), "2");
    assert_json(value_at("[{\"a\":1},{},{\"a\":3}]", "[1,\"a\"]"), "1");
    assert_json(value_at("[[],[{\"a\":[]}],[{\"a\":[5]}]]", "[0,3,\"a\",0]"), "5");
}

/* t1 and t2 in section 5.3.2. */
static void test_loose_labels(void **unused)
{
    (void)unused;
    aph_value hole = json("{\"$\":[6,[1,\"foo\"],\"id\"]}");
    aphi_labelled *t1 = aphi_labelled_open(16), *t2 = aphi_labelled_open(16);
    aphi_labelled_add(t1, 1, json("\"q1\""));
    aphi_labelled_add(t1, 2, json(j2));
    aphi_labelled_add(t1, 5, json("\"q2\""));
    assert_json(aphi_expression_fill(hole, t1, NULL), "21");
    aphi_labelled_add(t2, 3, json("\"q1\""));
    aphi_labelled_add(t2, 4, json(j3));
    aphi_labelled_add(t2, 5, json("\"q2\""));
    aphi_labelled_add(t2, 6, json("{\"foo\":7}"));
    assert_json(aphi_expression_fill(hole, t2, NULL), "33");
    aphi_labelled_close(t1);
    aphi_labelled_close(t2);
}

static void test_substitute_messages(void **unused)
{
    (void)unused;
    aphi_labelled *seen = aphi_labelled_open(16);
    aph_value answer = json("{\"$\":[20,[\"k\"],\"id\"]}"), request = json("{\"$\":[21,[\"k\"],\"id\"]}");
    assert_json(aphi_expression_fill(answer, seen, NULL), "null");
    aphi_labelled_add(seen, 1, json("{\"k\":1}"));
    assert_json(aphi_expression_fill(answer, seen, NULL), "1");
    aphi_labelled_add(seen, 2, json("{\"k\":2}"));
    aphi_labelled_add(seen, 6, json("{\"k\":6}"));
    aphi_labelled_add(seen, 4, json("{\"k\":4}"));
    aphi_labelled_add(seen, 7, json("{\"k\":7}"));
    assert_json(aphi_expression_fill(answer, seen, NULL), "4");
    assert_json(aphi_expression_fill(request, seen, NULL), "7");
    aphi_labelled_add(seen, 20, json("{\"k\":null}"));
    assert_json(aphi_expression_fill(answer, seen, NULL), "null");
    aphi_labelled_close(seen);
}

static void test_values_without_holes_are_unchanged(void **unused)
{
    (void)unused;
    aphi_labelled *seen = aphi_labelled_open(16);
    static const char *const texts[] = {
        "null", "1", "\"$\"", "{\"$\":1,\"b\":2}", "{\"f\":\"get\",\"key\":[1,{\"x\":[]}]}",
        "{\"$\":5}", "{\"$\":[1,[],5]}", "{\"$\":[0,[],\"id\"]}", "{\"$\":[1,[-1],\"id\"]}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_ptr_equal(aphi_expression_fill(json(texts[i]), seen, NULL), json(texts[i]));
    /* A value that fills a hole is not evaluated again. */
    aphi_labelled_add(seen, 2, json("{\"$\":[2,[],\"id\"]}"));
    assert_json(aphi_expression_fill(json("[0,{\"$\":[2,[],\"id\"]}]"), seen, NULL), "[0,{\"$\":[2,[],\"id\"]}]");
    aphi_labelled_close(seen);
}

static void test_check(void **unused)
{
    (void)unused;
    char error[200] = "";
    aph_value good = json("[{\"a\":{\"$\":[1,[],\"id\"]}},{\"$\":1,\"b\":2}]");
    assert_true(aphi_expression_check(good, NULL, error, sizeof error));
    assert_false(aphi_expression_check(json("[{\"a\":{\"$\":[1,[],\"up\"]}}]"), functions, error, sizeof error));
    assert_non_null(strstr(error, "\"up\""));
    assert_true(aphi_expression_is_sound(json("[{\"a\":{\"$\":[1,[],\"up\"]}}]"), error, sizeof error));
    static const char *const bad[] = {"{\"$\":5}", "[{\"$\":[1,[]]}]", "{\"a\":{\"$\":[1,\"x\",\"id\"]}}",
                                      "{\"$\":[1,[-1],\"id\"]}", "{\"$\":[-2,[],\"id\"]}", "{\"$\":[1,[],null]}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_false(aphi_expression_is_sound(json(bad[i]), error, sizeof error));
        assert_non_null(strstr(error, "is not a hole"));
    }
    assert_false(aphi_expression_is_sound(APH_ARRAY_OF(aph_symbol(APH_INT, 1)), error, sizeof error));
    assert_non_null(strstr(error, "symbol"));
    assert_int_equal(aphi_expression_newest(json("[1,{\"a\":2}]")), 0);
    assert_ptr_equal(aph_hole(4, APH_ARRAY_OF(aph_str("tag")), "id"), json("{\"$\":[4,[\"tag\"],\"id\"]}"));
}

static void test_latest_messages_are_kept(void **unused)
{
    (void)unused;
    enum { N = 1000, CAPACITY = 100 };
    aphi_labelled *seen = aphi_labelled_open(CAPACITY);
    int64_t label;
    aph_value message;
    assert_false(aphi_labelled_latest(seen, 0, &label, &message));
    assert_ptr_equal(aphi_labelled_find(seen, 1), NULL);
    for (int64_t i = 1; i <= N; i++) {
        aphi_labelled_add(seen, i * 7 % N * 3, aph_strf("message number %d", (int)i));
        aph_collect();
    }
    for (size_t i = 0; i < CAPACITY; i++) {
        int64_t number = N - (int64_t)i;
        assert_true(aphi_labelled_latest(seen, i, &label, &message));
        assert_int_equal(label, number * 7 % N * 3);
        assert_ptr_equal(message, aph_strf("message number %d", (int)number));
        assert_non_null(aphi_labelled_find(seen, label));
        assert_ptr_equal(*aphi_labelled_find(seen, label), message);
    }
    assert_false(aphi_labelled_latest(seen, 128, &label, &message));
    assert_null(aphi_labelled_find(seen, 21)); /* the first message was dropped */
    aphi_labelled_add(seen, 300, aph_int(1));
    aphi_labelled_add(seen, 300, aph_int(2));
    assert_ptr_equal(*aphi_labelled_find(seen, 300), aph_int(2));
    aphi_labelled_close(seen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_chmod, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_loose_paths, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_loose_labels, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_substitute_messages, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_values_without_holes_are_unchanged, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_check, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_latest_messages_are_kept, fresh_heap, fresh_heap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

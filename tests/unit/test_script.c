/* SPDX-License-Identifier: Apache-2.0
 *
 * test_script.c - scripts on disk read back as written; errors have line numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "script/script.h"

#include <antiphon/model.h>

static int fresh_heap(void **unused)
{
    (void)unused;
    aph_heap_close();
    return 0;
}

static const char whole[] =
    "{\"antiphon\":1,\"script\":\"kv\",\"environment\":\"tcp\",\"seed\":7}\n"
    "{\"label\":1,\"conn\":0,\"send\":{\"f\":\"put\",\"key\":\"a\",\"value\":1}}\n"
    "{\"label\":3,\"conn\":1,\"send\":{\"f\":\"get\",\"key\":{\"$\":[1,[\"key\"],\"id\"]}},\"wait\":{\"answer\":2}}\n"
    "{\"label\":5,\"conn\":1,\"close\":true,\"wait\":\"quiet\"}\n"
    "{\"label\":7,\"conn\":0,\"send\":\"abc\",\"chunk\":1,\"wait\":{\"pause_us\":500}}\n"
    "{\"label\":9,\"conn\":2,\"open\":true}\n"
    "{\"label\":11,\"conn\":2,\"shut\":true,\"wait\":\"quiet\"}\n"
    "{\"label\":13,\"conn\":2,\"abort\":true}\n"
    "{\"label\":15,\"conn\":2,\"open\":true,\"wait\":\"silence\"}\n";

static void test_text(void **unused)
{
    (void)unused;
    aphi_script s;
    char error[300];
    if (!aphi_script_parse("x", whole, sizeof whole - 1, &s, error, sizeof error))
        fail_msg("%s", error);
    assert_string_equal(s.model, "kv");
    assert_string_equal(s.environment, "tcp");
    assert_int_equal(s.seed, 7);
    assert_int_equal(s.count, 8);
    assert_int_equal(s.actions[7].wait, APHI_WAIT_SILENCE);
    assert_ptr_equal(s.actions[4].send, APH_OPENED);
    assert_ptr_equal(s.actions[5].send, APH_CLOSED);
    assert_ptr_equal(s.actions[6].send, APH_BROKEN);
    assert_int_equal(s.actions[1].wait, APHI_WAIT_ANSWER);
    assert_int_equal(s.actions[1].waits_for, 2);
    assert_int_equal(s.actions[2].wait, APHI_WAIT_QUIET);
    assert_ptr_equal(s.actions[2].send, APH_NIL);
    assert_int_equal(s.actions[3].chunk, 1);
    assert_int_equal(s.actions[3].wait, APHI_WAIT_PAUSE);
    assert_int_equal(s.actions[3].waits_for, 500);
    size_t n;
    char *text = aphi_script_text(&s, &n);
    assert_string_equal(text, whole);
    assert_int_equal(n, sizeof whole - 1);
    aphi_script copy = aphi_script_copy(&s);
    aphi_script_add(&copy, &s.actions[0]);
    assert_int_equal(copy.count, 9);
    assert_int_equal(s.count, 8);
    aphi_script_mark(&copy);
    free(text);
    aphi_script_free(&copy);
    aphi_script_free(&s);
}

static void test_short_headers(void **unused)
{
    (void)unused;
    aphi_script s;
    char error[300];
    static const char text[] = "{\"antiphon\":1,\"script\":\"\"}";
    assert_true(aphi_script_parse("x", text, sizeof text - 1, &s, error, sizeof error));
    assert_string_equal(s.environment, "tcp");
    assert_int_equal(s.count, 0);
    aphi_script_free(&s);
}

#define HEADER "{\"antiphon\":1,\"script\":\"kv\"}\n"

static void test_errors(void **unused)
{
    (void)unused;
#define FIFTY "0123456789012345678901234567890123456789012345678/"
#define LONG_NAME FIFTY FIFTY FIFTY FIFTY FIFTY FIFTY ".c"
    static const struct {
        const char *text, *place, *what;
    } cases[] = {
        {"", "f:1: ", "column 1"},
        {"\n", "f:1: ", ""},
        {"[]", "f:1: ", "must be a JSON object"},
        {"{\"antiphon\":1}", "f:1: ", "not a script"},
        {"{\"antiphon\":2,\"script\":\"kv\"}", "f:1: ", "only 1"},
        {"{\"antiphon\":1,\"script\":\"a\",\"environment\":\"tpc\"}", "f:1: ", "no environment named \"tpc\""},
        {"{\"antiphon\":1,\"script\":5}", "f:1: ", "\"script\" must be a string"},
        {"{\"antiphon\":1,\"script\":\"a\\u0000b\"}", "f:1: ", "\"script\" must be a string"},
        {"{\"antiphon\":1,\"script\":\"kv\",\"environment\":\"" LONG_NAME "\"}", "f:1: ", "at most 255 bytes"},
        {"{\"antiphon\":1,\"script\":\"kv\",\"seed\":\"x\"}", "f:1: ", "\"seed\""},
        {"{\"antiphon\":1,\"script\":\"kv\",\"speed\":1}", "f:1: ", "unknown field \"speed\""},
        {HEADER "\n", "f:2: ", ""},
        {HEADER "{\"label\":1,\"conn\":0,\"send\":1}\n{\"label\":", "f:3: ", "column 1"},
        {HEADER "{\"conn\":0,\"send\":1}", "f:2: ", "\"label\" must be an integer"},
        {HEADER "{\"label\":2,\"conn\":0,\"send\":1}", "f:2: ", "odd"},
        {HEADER "{\"label\":1,\"conn\":0,\"send\":1}\n{\"label\":1,\"conn\":0,\"send\":1}", "f:3: ",
         "labels must rise"},
        {HEADER "{\"label\":1,\"send\":1}", "f:2: ", "\"conn\""},
        {HEADER "{\"label\":1,\"conn\":-1,\"send\":1}", "f:2: ", "\"conn\""},
        {HEADER "{\"label\":1,\"conn\":100000000,\"send\":1}", "f:2: ", "\"conn\" must be an integer from 0 to 65535"},
        {HEADER "{\"label\":1,\"conn\":0}", "f:2: ", "needs one of"},
        {HEADER "{\"label\":1,\"conn\":0,\"close\":false}", "f:2: ", "needs one of"},
        {HEADER "{\"label\":1,\"conn\":0,\"send\":null}", "f:2: ", "null cannot be sent"},
        {HEADER "{\"label\":1,\"conn\":0,\"send\":1,\"close\":true}", "f:2: ", "needs one of"},
        {HEADER "{\"label\":1,\"conn\":0,\"open\":true,\"abort\":true}", "f:2: ", "needs one of"},
        {HEADER "{\"label\":1,\"conn\":0,\"open\":true,\"chunk\":1}", "f:2: ", "needs a \"send\""},
        {HEADER "{\"label\":1,\"conn\":0,\"send\":{\"$\":1}}", "f:2: ", "is not a hole"},
        {HEADER "{\"label\":1,\"conn\":0,\"send\":1,\"chunk\":0}", "f:2: ", "\"chunk\""},
        {HEADER "{\"label\":1,\"conn\":0,\"close\":true,\"chunk\":1}", "f:2: ", "needs a \"send\""},
        {HEADER "{\"label\":1,\"conn\":0,\"send\":1,\"wait\":\"long\"}", "f:2: ", "\"wait\" must be"},
        {HEADER "{\"label\":1,\"conn\":0,\"send\":1,\"wait\":{\"answer\":2,\"x\":1}}", "f:2: ", "\"wait\" must be"},
        {HEADER "{\"label\":5,\"conn\":0,\"send\":1,\"wait\":{\"answer\":3}}", "f:2: ", "even"},
        {HEADER "{\"label\":1,\"conn\":0,\"send\":1,\"wait\":{\"answer\":2}}", "f:2: ", "never ends"},
        {HEADER "{\"label\":1,\"conn\":0,\"send\":1,\"wait\":{\"pause_us\":-1}}", "f:2: ", "\"pause_us\""},
        {HEADER "{\"label\":1,\"conn\":0,\"send\":1,\"time\":1}", "f:2: ", "unknown field \"time\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        aphi_script s;
        char error[300] = "";
        assert_false(aphi_script_parse("f", cases[i].text, strlen(cases[i].text), &s, error, sizeof error));
        if (strncmp(error, cases[i].place, strlen(cases[i].place)) != 0 || !strstr(error, cases[i].what))
            fail_msg("case %zu: %s", i, error);
        assert_int_equal(s.count, 0);
        assert_null(s.actions);
    }
}

static size_t files_in(const char *folder)
{
    size_t n = 0;
    DIR *d = opendir(folder);
    while (readdir(d))
        n++;
    closedir(d);
    return n - 2;
}

static void test_files(void **unused)
{
    (void)unused;
    char folder[] = "/tmp/antiphon-script-XXXXXX", path[80], error[300], missing[100];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/one", folder);
    snprintf(missing, sizeof missing, "%s/none/one", folder);
    aphi_script s, again;
    assert_true(aphi_script_parse("x", whole, sizeof whole - 1, &s, error, sizeof error));
    for (int i = 0; i < 2; i++) {
        assert_true(aphi_script_write(path, &s, error, sizeof error));
        assert_int_equal(files_in(folder), 1);
        assert_true(aphi_script_read(path, &again, error, sizeof error));
        assert_int_equal(again.count, s.count);
        aphi_script_free(&again);
    }
    assert_false(aphi_script_write(missing, &s, error, sizeof error));
    assert_non_null(strstr(error, "cannot write"));
    assert_false(aphi_script_read(missing, &again, error, sizeof error));
    assert_non_null(strstr(error, "cannot read"));
    assert_null(again.actions);
    assert_false(aphi_script_read(folder, &again, error, sizeof error));
    aphi_script_free(&s);
    unlink(path);
    /* A folder at the path is kept, and no temporary file is left. */
    assert_int_equal(mkdir(path, 0777), 0);
    assert_false(aphi_script_write(path, &s, error, sizeof error));
    assert_int_equal(files_in(folder), 1);
    rmdir(path);
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_text, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_short_headers, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_errors, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_files, fresh_heap, fresh_heap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * test_check.c - the public API of checks: verdicts, errors with positions, formats, evidence, explanations,
 * waivers, second reads, stops, many files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "check/waivers.h"
#include "models/models.h"
#include "solve/z3.h"

#include <antiphon/check.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char good[] = "{\"conn\":1,\"send\":{\"f\":\"write\",\"value\":1}}\n{\"conn\":1,\"recv\":\"ok\"}\n"
                           "{\"conn\":2,\"send\":{\"f\":\"read\"}}\n{\"conn\":2,\"recv\":1}\n";
static const char bad[] = "{\"conn\":1,\"send\":{\"f\":\"write\",\"value\":1}}\n{\"conn\":1,\"recv\":\"ok\"}\n"
                          "{\"conn\":2,\"send\":{\"f\":\"read\"}}\n{\"conn\":2,\"recv\":2}\n";

static int fresh_heap(void **unused)
{
    (void)unused;
    aphi_z3_close();
    aph_heap_close();
    return 0;
}

static aph_check_result *check_text(const aph_model *model, const char *text, const aph_check_options *options)
{
    return aph_check_memory(model, text, strlen(text), options);
}

static void assert_json(aph_value v, const char *expected)
{
    char *text = aph_json_text(v, NULL);
    assert_string_equal(text, expected);
    free(text);
}

static void test_pass(void **unused)
{
    (void)unused;
    aph_check_result *r = check_text(&aph_model_register, good, NULL);
    assert_int_equal(r->verdict, APH_CHECK_PASS);
    assert_string_equal(r->file, "memory");
    assert_string_equal(r->model, "register");
    assert_int_equal(r->format, APH_FORMAT_JSONL);
    assert_int_equal(r->operations, 2);
    assert_int_equal(r->observations, 4);
    assert_int_equal(r->parts, 1);
    assert_true(r->configurations > 0 && r->steps > 0 && r->resident_kb > 0);
    assert_int_equal(r->evidence, APH_NIL);
    assert_int_equal(r->explanation, APH_NIL);
    assert_string_equal(r->message, "");
    aph_check_result_free(r);
}

/* The values in a result survive a collection. */
static void test_fail(void **unused)
{
    (void)unused;
    aph_check_result *r = check_text(&aph_model_register, bad, NULL);
    assert_int_equal(r->verdict, APH_CHECK_FAIL);
    aph_collect();
    assert_json(aph_field(r->evidence, "line"), "4");
    assert_json(aph_field(r->evidence, "observed"), "2");
    assert_json(aph_field(r->evidence, "request"), "{\"f\":\"read\"}");
    assert_json(aph_field(r->evidence, "exact"), "true");
    assert_int_equal(aph_count(aph_field(r->evidence, "window")), 2);
    assert_json(aph_field(aph_at(aph_field(r->evidence, "allowed"), 0), "answer"), "1");
    assert_json(aph_field(aph_at(aph_field(r->evidence, "allowed"), 0), "order"), "[1,3]");
    aph_value v = aph_check_result_value(r);
    assert_json(aph_field(v, "verdict"), "\"fail\"");
    assert_true(aph_field(v, "evidence") == r->evidence);
    assert_int_equal(aph_field(v, "exit"), APH_NIL);
    aph_check_result_free(r);
}

/* Writes to many registers on as many connections, with a lost response; then each is read. */
static char *many_parts_text(int parts, int wrong)
{
    char *text;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    for (int i = 0; i < parts; i++) {
        fprintf(out, "{\"conn\":%d,\"send\":{\"f\":\"write\",\"key\":%d,\"value\":%d}}\n", i, i, i);
        fprintf(out, "{\"conn\":%d,%s}\n", i, i == 7 ? "\"lost\":true" : "\"recv\":\"ok\"");
    }
    for (int i = 0; i < parts; i++) {
        fprintf(out, "{\"conn\":%d,\"send\":{\"f\":\"read\",\"key\":%d}}\n", parts - i, i);
        fprintf(out, "{\"conn\":%d,\"recv\":%d}\n", parts - i, i == wrong ? i + 1 : i);
    }
    fclose(out);
    return text;
}

static void test_many_parts(void **unused)
{
    (void)unused;
    for (int wrong = -1; wrong < 600; wrong += 200) {
        char *text = many_parts_text(600, wrong);
        aph_check_result *r = check_text(&aph_model_register, text, &(aph_check_options){.explain = true});
        assert_int_equal(r->verdict, wrong < 0 ? APH_CHECK_PASS : APH_CHECK_FAIL);
        assert_int_equal(r->parts, 600);
        if (wrong < 0)
            assert_true(r->explanation_holds && aph_count(r->explanation) == 600);
        else
            assert_int_equal(aph_int_of(aph_field(r->evidence, "line")), 1200 + 2 * wrong + 2);
        aph_check_result_free(r);
        free(text);
    }
}

/* Every order of the appends gives another state, and none gives the value that is read. There are too many orders to
 * try. */
static char *hopeless_text(void)
{
    char *text = malloc(1 << 14), *at = text;
    for (int i = 0; i < 22; i++)
        at += sprintf(at, "{\"conn\":%d,\"send\":{\"f\":\"append\",\"key\":\"k\",\"value\":\"%c\"}}\n", i, 'a' + i);
    for (int i = 0; i < 22; i++)
        at += sprintf(at, "{\"conn\":%d,\"recv\":\"ok\"}\n", i);
    sprintf(at, "{\"conn\":1,\"send\":{\"f\":\"get\",\"key\":\"k\"}}\n{\"conn\":1,\"recv\":\"z\"}\n");
    return text;
}

static void test_unknown(void **unused)
{
    (void)unused;
    char *text = hopeless_text();
    aph_check_result *r = check_text(&aph_model_kv, text, &(aph_check_options){.oracle.time_ms = 100});
    assert_int_equal(r->verdict, APH_CHECK_UNKNOWN);
    assert_int_equal(r->limit, APH_LIMIT_TIME);
    assert_true(r->line > 0);
    assert_json(aph_field(aph_check_result_value(r), "limit"), "\"time\"");
    aph_check_result_free(r);
    free(text);
}

static void fails_at(const aph_model *model, const char *text, aph_check_error error, uint64_t line, uint64_t column)
{
    aph_check_result *r = check_text(model, text, NULL);
    assert_int_equal(r->verdict, APH_CHECK_ERROR);
    assert_int_equal(r->error, error);
    assert_int_equal(r->line, line);
    assert_int_equal(r->column, column);
    assert_true(*r->message);
    assert_json(aph_field(aph_check_result_value(r), "verdict"), "\"error\"");
    aph_check_result_free(r);
}

static void crash(aph *m, aph_value *state)
{
    (void)state;
    aph_recv(m);
    abort();
}

static void spin(aph *m, aph_value *state)
{
    (void)state;
    for (;;)
        aph_choose(m, APH_INT, "x");
}

static void test_errors(void **unused)
{
    (void)unused;
    static const aph_model crashing = {.version = APH_MODEL_VERSION, .name = "crashing", .step = crash, .rpc = true};
    const aph_model *r = &aph_model_register;
    fails_at(r, "", APH_CHECK_TRACE_EMPTY, 0, 0);
    fails_at(r, "{\"conn\":1,\"send\":{\"f\":\"read\"}}\n{\"conn\":1,\"recv\":}\n", APH_CHECK_TRACE_MALFORMED, 2, 18);
    fails_at(r, "{\"conn\":1,\"recv\":1}\n", APH_CHECK_TRACE_ORPHAN, 1, 18);
    fails_at(r, "{\"conn\":1,\"send\":{\"f\":\"reed\"}}\n{\"conn\":1,\"recv\":1}\n", APH_CHECK_TRACE_REQUEST, 1, 0);
    fails_at(&crashing, good, APH_CHECK_MODEL_CRASH, 1, 0);
    aph_check_result *missing = aph_check_file(r, "/nowhere/at/all", NULL);
    assert_int_equal(missing->error, APH_CHECK_TRACE_IO);
    assert_string_equal(missing->file, "/nowhere/at/all");
    aph_check_result_free(missing);
    aph_check_result *strange = check_text(r, good, &(aph_check_options){.oracle.environment = "tpc"});
    assert_int_equal(strange->verdict, APH_CHECK_ERROR);
    assert_int_equal(strange->error, APH_CHECK_OPTIONS);
    assert_non_null(strstr(strange->message, "tpc"));
    aph_check_result_free(strange);
}

static void test_formats(void **unused)
{
    (void)unused;
    static const struct {
        const char *text;
        aph_trace_format format;
    } cases[] = {
        {"1 :invoke :write 1\n1 :ok :write 1\n1 :invoke :read nil\n1 :ok :read 1\n", APH_FORMAT_JEPSEN_LOG},
        {"{:process 1 :type :invoke :f :write :value 1}\n{:process 1 :type :ok :f :write :value 1}\n", APH_FORMAT_EDN},
        {"[{\"process\":1,\"type\":\"invoke\",\"f\":\"write\",\"value\":1},"
         "{\"process\":1,\"type\":\"ok\",\"f\":\"write\",\"value\":1}]", APH_FORMAT_JSON},
        {good, APH_FORMAT_JSONL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int named = 0; named < 2; named++) {
            aph_check_options options = {.format = named ? cases[i].format : APH_FORMAT_AUTO};
            aph_check_result *r = check_text(&aph_model_register, cases[i].text, &options);
            assert_int_equal(r->verdict, APH_CHECK_PASS);
            assert_int_equal(r->format, cases[i].format);
            aph_check_result_free(r);
        }
    aph_check_result *r = check_text(&aph_model_register, good, &(aph_check_options){.format = APH_FORMAT_EDN});
    assert_int_equal(r->verdict, APH_CHECK_ERROR);
    aph_check_result_free(r);
}

/* Writes the text to a new file; the caller unlinks and frees the path. */
static char *write_file(const char *text)
{
    char *path = strdup("/tmp/test_check-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    return path;
}

static void test_explanations(void **unused)
{
    (void)unused;
    aph_check_options options = {.explain = true};
    char *path = write_file(good);
    aph_check_result *r = aph_check_file(&aph_model_register, path, &options);
    assert_int_equal(r->verdict, APH_CHECK_PASS);
    assert_true(r->explanation_holds);
    assert_int_equal(aph_count(r->explanation), 1);
    assert_json(aph_field(aph_at(r->explanation, 0), "lines"), "[1,3]");
    assert_json(aph_field(aph_check_result_value(r), "replay"), "\"holds\"");
    aph_check_result *confirmed = aph_check_explanation(&aph_model_register, path, NULL, r->explanation);
    assert_int_equal(confirmed->verdict, APH_CHECK_PASS);
    aph_check_result_free(confirmed);
    aph_value wrong = APH_ARRAY_OF(aph_put(aph_at(r->explanation, 0), "order", APH_ARRAY_OF(aph_int(2), aph_int(0))));
    aph_check_result *refuted = aph_check_explanation(&aph_model_register, path, NULL, wrong);
    assert_int_equal(refuted->verdict, APH_CHECK_FAIL);
    assert_true(*refuted->message);
    aph_check_result_free(refuted);
    aph_check_result_free(r);
    unlink(path);
    free(path);
}

/* A server that may lose a write if the waiver is set. */
static void forgetful(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    if (aph_str_is(aph_field(q.message, "f"), "read")) {
        aph_value value = aph_field(*state, "value");
        aph_send(m, q.from, value ? value : APH_NIL);
    } else {
        if (!aph_waive(m, "lost-write"))
            *state = aph_put(*state, "value", aph_field(q.message, "value"));
        aph_send(m, q.from, aph_str("ok"));
    }
}

static void test_waivers(void **unused)
{
    (void)unused;
    static const aph_waiver waivers[] = {APH_WAIVER("other", "not used"), APH_WAIVER("lost-write", "a write is lost"),
                                         {0}};
    aph_model model = {.version = APH_MODEL_VERSION, .name = "forgetful", .step = forgetful, .rpc = true,
                       .waivers = waivers};
    const char *text = "{\"conn\":1,\"send\":{\"f\":\"write\",\"value\":1}}\n{\"conn\":1,\"recv\":\"ok\"}\n"
                       "{\"conn\":1,\"send\":{\"f\":\"read\"}}\n{\"conn\":1,\"recv\":null}\n";
    assert_int_equal(aph_waiver_bit(&model, "lost-write"), 2);
    assert_int_equal(aph_waiver_bit(&model, "none"), 0);
    for (int waived = 0; waived < 2; waived++) {
        model.waived = waived ? aph_waiver_bit(&model, "lost-write") : 0;
        aph_check_result *r = check_text(&model, text, NULL);
        assert_int_equal(r->verdict, waived ? APH_CHECK_PASS : APH_CHECK_FAIL);
        aph_check_result_free(r);
    }
}

/* If a connection has pending requests for two keys, the partitions are checked again as a whole. */
static void test_tied_partitions(void **unused)
{
    (void)unused;
    static const char *const texts[] = {
        "{\"conn\":1,\"send\":{\"f\":\"put\",\"key\":\"a\",\"value\":\"x\"}}\n"
        "{\"conn\":1,\"send\":{\"f\":\"get\",\"key\":\"b\"}}\n{\"conn\":1,\"recv\":\"ok\"}\n"
        "{\"conn\":1,\"recv\":\"\"}\n",
        "{\"conn\":1,\"send\":{\"f\":\"put\",\"key\":\"a\",\"value\":\"x\"}}\n"
        "{\"conn\":1,\"send\":{\"f\":\"get\",\"key\":\"b\"}}\n{\"conn\":1,\"recv\":\"ok\"}\n"
        "{\"conn\":1,\"recv\":\"y\"}\n"};
    for (int i = 0; i < 2; i++) {
        aph_check_result *r = check_text(&aph_model_kv, texts[i], NULL);
        assert_int_equal(r->verdict, i ? APH_CHECK_FAIL : APH_CHECK_PASS);
        assert_int_equal(r->observations, 4);
        assert_int_equal(r->parts, 1);
        aph_check_result_free(r);
    }
    aph_check_result *r = check_text(&aph_model_kv, "{\"conn\":1,\"send\":{\"f\":\"get\",\"key\":\"a\"}}\n"
                                                    "{\"conn\":2,\"send\":{\"f\":\"get\",\"key\":\"b\"}}\n", NULL);
    assert_int_equal(r->parts, 2);
    assert_int_equal(r->verdict, APH_CHECK_VACUOUS); /* there is no response */
    assert_int_equal(r->operations, 2);
    assert_int_equal(r->responses, 0);
    aph_check_result_free(r);
}

static void test_stop(void **unused)
{
    (void)unused;
    static const aph_model spinning = {.version = APH_MODEL_VERSION, .name = "spinning", .step = spin};
    volatile sig_atomic_t stop = 1;
    aph_check_options options = {.stop = &stop};
    char *text = hopeless_text();
    aph_check_result *r = check_text(&aph_model_kv, text, &options);
    assert_int_equal(r->verdict, APH_CHECK_UNKNOWN);
    assert_int_equal(r->limit, APH_LIMIT_STOPPED);
    aph_check_result_free(r);
    r = check_text(&spinning, good, &options);
    assert_int_equal(r->verdict, APH_CHECK_UNKNOWN);
    aph_check_result_free(r);
    r = check_text(&aph_model_register, good, &options); /* may end before the stop is noticed */
    assert_true(r->verdict == APH_CHECK_PASS || r->limit == APH_LIMIT_STOPPED);
    aph_check_result_free(r);
    stop = 0;
    r = check_text(&aph_model_register, good, &options);
    assert_int_equal(r->verdict, APH_CHECK_PASS);
    aph_check_result_free(r);
    free(text);
}

typedef struct tally {
    unsigned count[4], total;
    unsigned most; /* maximum number of results; 0 means all */
} tally;

static bool tally_result(void *context, size_t file, aph_check_result *r)
{
    tally *t = context;
    static const aph_check_verdict expected[] = {APH_CHECK_PASS, APH_CHECK_FAIL, APH_CHECK_ERROR};
    assert_int_equal(r->verdict, expected[file % 3]);
    if (r->verdict == APH_CHECK_FAIL)
        assert_json(aph_field(r->evidence, "line"), "4");
    if (r->verdict == APH_CHECK_ERROR)
        assert_int_equal(r->error, APH_CHECK_TRACE_IO);
    else
        assert_int_equal(r->operations, 2);
    t->count[r->verdict]++;
    aph_check_result_free(r);
    return ++t->total != t->most;
}

static void test_many_files(void **unused)
{
    (void)unused;
    char *paths[] = {write_file(good), write_file(bad)};
    const char *files[12];
    for (int i = 0; i < 12; i++)
        files[i] = i % 3 == 2 ? "/nowhere/at/all" : paths[i % 3];
    for (size_t jobs = 0; jobs < 4; jobs++) {
        tally t = {0};
        aph_check_files(&aph_model_register, files, 12, NULL, jobs, tally_result, &t);
        assert_int_equal(t.count[APH_CHECK_PASS], 4);
        assert_int_equal(t.count[APH_CHECK_FAIL], 4);
        assert_int_equal(t.count[APH_CHECK_ERROR], 4);
        t = (tally){.most = 2};
        aph_check_files(&aph_model_register, files, 12, NULL, jobs, tally_result, &t);
        assert_int_equal(t.total, 2);
    }
    for (int i = 0; i < 2; i++) {
        unlink(paths[i]);
        free(paths[i]);
    }
}

static void lax_step(aph *m, aph_value *state)
{
    (void)state;
    aph_request q = aph_recv(m);
    bool lax = aph_waive(m, "lax"), loose = aph_waive(m, "loose");
    aph_send(m, q.from, aph_str(lax ? "lax" : loose ? "loose" : "ok"));
}

/* A waiver is needed if the trace is rejected without it; a trace that cannot be read shows nothing. */
static void test_needed_waivers(void **unused)
{
    (void)unused;
    static const aph_waiver waivers[] = {APH_WAIVER("lax", "responds lax"), APH_WAIVER("loose", "responds loose"), {0}};
    const aph_model m = {.version = APH_MODEL_VERSION, .name = "lax", .step = lax_step, .rpc = true,
                         .waivers = waivers, .waived = 3};
    const char *text = "{\"conn\":1,\"send\":1}\n{\"conn\":1,\"recv\":\"lax\"}\n";
    char path[] = "/tmp/test_check-XXXXXX";
    int fd = mkstemp(path);
    assert_true(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
    assert_json(aphi_waive_needs(&m, path, NULL, NULL), "{\"lax\":\"needed\",\"loose\":\"not needed\"}");
    unlink(path);
    assert_json(aphi_waive_needs(&m, path, NULL, NULL), "{\"lax\":\"unclear\",\"loose\":\"unclear\"}");
}

static int64_t patience_of(const char *spec)
{
    aph_loaded_model loaded;
    aph_load_error error = {0};
    if (!aph_model_load(spec, &loaded, &error))
        fail_msg("%s", error.message);
    int64_t ms = loaded.model->patience_ms ? loaded.model->patience_ms(aph_int(1)) : 0;
    aph_model_unload(&loaded);
    return ms;
}

/* A loaded model has all its fields, also the latest ones. */
static void test_fields_of_a_loaded_model(void **unused)
{
    (void)unused;
    char path[] = "/tmp/test_check-XXXXXX.c";
    int fd = mkstemps(path, 2);
    FILE *f = fdopen(fd, "w");
    fputs("#include <antiphon/model.h>\n"
          "static void step(aph *m, aph_value *s) {\n"
          "    aph_request q = aph_recv(m); (void)s;\n"
          "    aph_send(m, q.from, q.message);\n"
          "}\n"
          "static int64_t patience_ms(aph_value request) { return request ? 77 : 0; }\n"
          "static const aph_model echo = {.version = APH_MODEL_VERSION, .name = \"echo\", .step = step, .rpc = true,\n"
          "                               .patience_ms = patience_ms};\n"
          "APH_MODEL(echo)\n", f);
    fclose(f);
    assert_int_equal(patience_of(path), 77);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pass),          cmocka_unit_test(test_fail),
        cmocka_unit_test(test_many_parts),
        cmocka_unit_test(test_unknown),       cmocka_unit_test(test_errors),
        cmocka_unit_test(test_formats),       cmocka_unit_test(test_explanations),
        cmocka_unit_test(test_waivers),       cmocka_unit_test(test_tied_partitions),
        cmocka_unit_test(test_stop),          cmocka_unit_test(test_many_files),
        cmocka_unit_test(test_needed_waivers), cmocka_unit_test(test_fields_of_a_loaded_model),
    };
    return cmocka_run_group_tests(tests, NULL, fresh_heap);
}

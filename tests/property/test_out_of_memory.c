/* SPDX-License-Identifier: Apache-2.0
 *
 * test_out_of_memory.c - if the n-th allocation fails, the process ends with the chosen code, or the result is right.
 *
 * Each case runs in a child process, so that sanitizers examine the code up to the failure. tests/cli/out_of_memory.sh
 * does the same with the commands. */
#include "alts/component_alts.h"
#include "base/buffer.h"
#include "base/memory.h"
#include "explore/parallel.h"
#include "models/models.h"
#include "models/programs.h"
#include "refine/refinement.h"
#include "script/script.h"
#include "tester/run_log.h"
#include "trace/trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <antiphon/check.h>
#include <cmocka.h>

enum { EXHAUSTED = 3, RIGHT = 0, WRONG = 9 };

/* ---- the functions under test: each returns true if its result is right ------------------------------------------ */

static bool check_good(void)
{
    static const char text[] = "{\"conn\":1,\"send\":{\"f\":\"write\",\"value\":[1,{\"a\":\"a long string\"}]}}\n"
                               "{\"conn\":2,\"send\":{\"f\":\"read\"}}\n{\"conn\":1,\"recv\":\"ok\"}\n"
                               "{\"conn\":2,\"recv\":[1,{\"a\":\"a long string\"}]}\n";
    aph_check_options options = {.explain = true};
    aph_check_result *r = aph_check_memory(&aph_model_register, text, strlen(text), &options);
    bool right = r->verdict == APH_CHECK_PASS && r->explanation_holds;
    aph_check_result_free(r);
    return right;
}

static bool check_bad(void)
{
    static const char text[] = "{:process 0 :type :invoke :f :write :value 1}{:process 0 :type :ok :f :write}"
                               "{:process 1 :type :invoke :f :read}{:process 1 :type :ok :f :read :value 2}";
    aph_check_result *r = aph_check_memory(&aph_model_register, text, strlen(text), NULL);
    bool right = r->verdict == APH_CHECK_FAIL;
    aph_check_result_free(r);
    return right;
}

static bool read_large_json(void)
{
    aphi_buffer text = {0};
    aphi_buffer_byte(&text, '{');
    for (int i = 0; i < 1000; i++)
        aphi_buffer_format(&text, "%s\"key number %d\":[%d,\"\\u00e9\"]", i ? "," : "", i, i);
    aphi_buffer_byte(&text, '}');
    aph_value v;
    bool right = aph_json_read(text.data, text.n, &v, NULL) && aph_count(v) == 1000;
    aphi_buffer_free(&text);
    return right;
}

static bool read_script(void)
{
    static const char text[] = "{\"antiphon\":1,\"script\":\"kv\"}\n"
                               "{\"label\":1,\"conn\":0,\"send\":{\"f\":\"get\",\"key\":\"a\"}}\n"
                               "{\"label\":3,\"conn\":1,\"close\":true,\"wait\":\"quiet\"}\n";
    aphi_script s;
    char error[200];
    bool right = aphi_script_parse("script", text, strlen(text), &s, error, sizeof error) && s.count == 2;
    aphi_script_free(&s);
    return right;
}

static bool search_program(void)
{
    aphi_alts alts = {0};
    aphi_compiled_model model;
    char why[300];
    aph_program *program = aph_program_named("dp-3");
    if (!aphi_component_alts(program, &alts, why, sizeof why) ||
        !aphi_compiled_model_build(&model, &alts, why, sizeof why))
        return false;
    aph_program_free(program);
    aphi_parallel_result r = aphi_parallel_search(&(aphi_parallel_options){.model = &model, .jobs = 2});
    aphi_compiled_model_free(&model);
    aphi_alts_free(&alts);
    return r.end == APHI_PARALLEL_DONE && r.stats.sequences > 0;
}

static bool refine_swap(void)
{
    aphi_refine_outcome outcome;
    char error[200];
    aphi_refine_deepening bounds = {.options = {.model = &aph_model_swap, .spec = &aph_model_swap, .chunks = 1},
                                    .clients = 1, .messages = 1, .seed = 1};
    return aphi_refine_within(&bounds, &outcome, error, sizeof error) && aphi_refine_passed(&outcome.result);
}

/* ---- failures ---------------------------------------------------------------------------------------------------- */

static int run_child(bool (*function)(void), size_t fail_at)
{
    pid_t pid = fork();
    if (pid == 0) {
        if (!freopen("/dev/null", "w", stderr) && fail_at)
            _exit(WRONG);
        aphi_memory_set_exit(EXHAUSTED);
        aphi_memory_fail_at(fail_at);
        _exit(function() ? RIGHT : WRONG);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* Fails the first allocations, then fewer and fewer of the later ones, until the function succeeds. */
static void fail_each(bool (*function)(void))
{
    size_t n = 1, exhausted = 0;
    assert_int_equal(run_child(function, 0), RIGHT);
    for (int code = EXHAUSTED; code == EXHAUSTED; n += 1 + n / 3) {
        code = run_child(function, n);
        assert_true(code == EXHAUSTED || code == RIGHT);
        exhausted += code == EXHAUSTED;
    }
    assert_true(exhausted >= 3);
}

static void test_functions(void **unused)
{
    (void)unused;
    bool (*const functions[])(void) = {check_good,  check_bad,      read_large_json,
                                       read_script, search_program, refine_swap};
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        fail_each(functions[i]);
}

/* ---- the trace of a run ------------------------------------------------------------------------------------------ */

static char path[] = "/tmp/out-of-memory-XXXXXX";
static int trace = -1;

/* Logs requests, and never writes them to the file. */
static bool log_requests(void)
{
    aphi_run_log log = {0};
    aphi_run_log_open(&log, "register", "tcp", 1, trace, path);
    for (int i = 0; i < 2000; i++)
        aphi_run_log_event(&log,
                           &(aphi_run_event){APHI_RUN_EVENT_SENT, i, 1, 2 * i + 1,
                                             aph_record("f", aph_str("write"), "value", aph_strf("text %d", i))},
                           (uint64_t)i);
    aphi_run_log_free(&log);
    return true;
}

/* Returns the number of requests in the trace, which must be the first ones. */
static size_t count_requests(void)
{
    aphi_buffer text = {0};
    assert_true(aphi_buffer_load(&text, path, SIZE_MAX));
    aphi_trace *t = aphi_trace_open_memory(text.data ? text.data : "", text.n, NULL);
    aphi_observation o;
    size_t count = 0;
    int status;
    for (; (status = aphi_trace_next(t, &o)) > 0; count++)
        assert_ptr_equal(aph_field(o.message, "value"), aph_strf("text %zu", count));
    assert_int_equal(status, 0);
    aphi_trace_close(t);
    aphi_buffer_free(&text);
    aph_heap_close();
    return count;
}

static void test_trace_is_whole(void **unused)
{
    (void)unused;
    size_t most = 0;
    trace = mkstemp(path);
    assert_true(trace >= 0);
    for (size_t n = 1; run_child(log_requests, n) == EXHAUSTED; n += 1 + n / 3) {
        size_t count = count_requests();
        most = count > most ? count : most;
        assert_int_equal(ftruncate(trace, 0), 0);
        assert_int_equal(lseek(trace, 0, SEEK_SET), 0);
    }
    close(trace);
    unlink(path);
    assert_true(most > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_functions), cmocka_unit_test(test_trace_is_whole)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

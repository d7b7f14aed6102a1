/* SPDX-License-Identifier: Apache-2.0
 *
 * test_step_guard.c - models in shared objects that loop or crash: the oracle reports them in time and continues.
 *
 * The models are compiled here, because only a model in its own object can be interrupted inside a loop. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/clock.h"
#include "models/models.h"
#include "small_history.h"
#include "solve/z3.h"
#include "tree/step_guard.h"

static const char source[] =
    "#include <antiphon/model.h>\n"
    "#include <stdlib.h>\n"
    "#include <time.h>\n"
    "static volatile int zero;\n"
    "static void nap(long ms)\n"
    "{\n"
    "    struct timespec left = {ms / 1000, ms % 1000 * 1000000};\n"
    "    while (nanosleep(&left, &left)) ;\n"
    "}\n"
    "static int deeper(int n)\n"
    "{\n"
    "    volatile char room[4096];\n"
    "    room[n % 4096] = 1;\n"
    "    return deeper(n + 1) + room[n % 4096];\n"
    "}\n"
    "static void step(aph *m, aph_value *state)\n"
    "{\n"
    "    aph_request q = aph_recv(m);\n"
    "    aph_value f = q.message;\n"
    "    volatile long n = 0;\n"
    "    (void)state;\n"
    "    if (aph_str_is(f, \"loop\")) for (;;) n++;\n"
    "    if (aph_str_is(f, \"calls\")) for (;;) aph_int(n++);\n"
    "    if (aph_str_is(f, \"waits\")) nap(200);\n"
    "    if (aph_str_is(f, \"sleeps\")) for (;; nap(1)) aph_decide(m, aph_bool(true), \"awake\");\n"
    "    if (aph_str_is(f, \"segv\")) *(volatile int *)(long)zero = 1;\n"
    "    if (aph_str_is(f, \"fpe\")) n = 7 / zero;\n"
    "    if (aph_str_is(f, \"abort\")) abort();\n"
    "    if (aph_str_is(f, \"stack\")) n = deeper(0);\n"
    "    aph_send(m, q.from, aph_str(\"ok\"));\n"
    "}\n"
    "static const aph_model wild = {.version = APH_MODEL_VERSION, .name = \"wild\", .step = step, .rpc = true};\n"
    "APH_MODEL(wild)\n";

static char folder[] = "/tmp/test_step_guard-XXXXXX";
static void *library;
static const aph_model *wild;

static int compile(void **unused)
{
    (void)unused;
    char path[64], command[600];
    const char *include = getenv("ANTIPHON_INCLUDE");
    if (!mkdtemp(folder))
        return 1;
    snprintf(path, sizeof path, "%s/wild.c", folder);
    FILE *file = fopen(path, "w");
    if (!file || fputs(source, file) < 0 || fclose(file))
        return 1;
    snprintf(command, sizeof command, "cc -w -std=c17 -O1 -shared -fPIC '-I%s' -o %s/wild.so %s",
             include ? include : "include", folder, path);
    if (system(command))
        return 1;
    snprintf(path, sizeof path, "%s/wild.so", folder);
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return 1;
    const aph_model *(*get)(void);
    void *symbol = dlsym(library, "aph_model_main");
    memcpy(&get, &symbol, sizeof get);
    wild = get();
    return 0;
}

static int clean(void **unused)
{
    (void)unused;
    char path[64];
    if (library)
        dlclose(library);
    snprintf(path, sizeof path, "%s/wild.c", folder);
    unlink(path);
    snprintf(path, sizeof path, "%s/wild.so", folder);
    unlink(path);
    return rmdir(folder);
}

static int fresh_heap(void **unused)
{
    (void)unused;
    aphi_z3_close();
    aph_heap_close();
    return 0;
}

static void handlers(struct sigaction *seen)
{
    static const int watched[] = {SIGSEGV, SIGFPE, SIGABRT, SIGBUS, SIGILL};
    for (int i = 0; i < 5; i++)
        sigaction(watched[i], NULL, &seen[i]);
}

typedef struct ending {
    aph_verdict verdict;
    aph_limit limit;
    aph_fault fault;
    char message[200];
    int64_t ms;
} ending;

static ending run(const char *text, int64_t time_ms)
{
    ending e = {0};
    const char *message;
    struct sigaction before[5], after[5];
    small_history h = small_read(text);
    handlers(before);
    int64_t begin = aphi_clock_ns();
    aph_oracle *o = small_open(wild, &(aph_oracle_options){.time_ms = time_ms});
    small_feed_all(o, &h, true);
    e.verdict = o->verdict;
    e.limit = aph_oracle_limit(o);
    e.fault = aph_oracle_fault(o, &message);
    snprintf(e.message, sizeof e.message, "%s", message);
    aph_oracle_close(o);
    e.ms = (aphi_clock_ns() - begin) / 1000000;
    handlers(after);
    for (int i = 0; i < 5; i++) /* the old handlers are restored */
        assert_ptr_equal(before[i].sa_handler, after[i].sa_handler);
    return e;
}

static void test_loops_are_left_at_the_deadline(void **unused)
{
    (void)unused;
    const char *texts[] = {"1>\"fine\" 1<ok 1>\"loop\" 1<ok", "1>\"calls\" 1<ok"};
    for (int i = 0; i < 2; i++) {
        ending e = run(texts[i], 200);
        assert_int_equal(e.verdict, APH_UNKNOWN);
        assert_int_equal(e.limit, APH_LIMIT_TIME);
        assert_true(e.ms >= 190 && e.ms < 60000);
    }
}

static void crashes(const char *text, const char *part)
{
    ending e = run(text, 0);
    assert_int_equal(e.verdict, APH_UNKNOWN);
    assert_int_equal(e.fault, APH_FAULT_CRASH);
    if (!strstr(e.message, part))
        fail_msg("%s: \"%s\" does not speak of \"%s\"", text, e.message, part);
}

static void test_crashes_are_reported(void **unused)
{
    (void)unused;
    crashes("1>\"segv\" 1<ok", "SIGSEGV");
    crashes("1>\"abort\" 1<ok", "abort");
#if defined(__x86_64__)
    crashes("1>\"fpe\" 1<ok", "SIGFPE");
#endif
    crashes("1>\"stack\" 1<ok", "SIG"); /* the handler has its own stack */
}

static void test_checks_continue_after_a_crash(void **unused)
{
    (void)unused;
    for (int i = 0; i < 3; i++) {
        crashes("1>\"fine\" 1<ok 1>\"segv\" 1<ok", "SIGSEGV");
        ending e = run("1>\"fine\" 1<ok", 1000);
        assert_int_equal(e.verdict, APH_PASS);
        assert_int_equal(e.fault, APH_FAULT_NONE);
    }
}

/* The deadline sets a flag for the search, even if the model is linked into the program and cannot be interrupted. */
static void test_the_deadline_is_noticed(void **unused)
{
    (void)unused;
    aphi_guard_arm(&aph_model_register, aphi_clock_ns() + 50 * 1000000, 0);
    assert_false(aphi_guard_expired());
    int64_t begin = aphi_clock_ns();
    while (!aphi_guard_expired() && aphi_clock_ns() - begin < (int64_t)60000000000)
        ;
    assert_true(aphi_guard_expired());
    assert_false(aphi_guard_stuck());
    assert_true(aphi_clock_ns() - begin >= 45 * 1000000);
    aphi_guard_arm(&aph_model_register, 0, 0); /* replaces the deadline */
    assert_false(aphi_guard_expired());
    aphi_guard_disarm();
    aphi_guard_disarm(); /* has no effect */
}

/* A step that waits, as for a processor of a busy machine, is stuck only after twenty times as long. */
static void test_the_time_of_a_step_is_cpu_time(void **unused)
{
    (void)unused;
    int64_t usual_ns = aphi_guard_step_ns;
    aphi_guard_step_ns = 40 * 1000000;
    int64_t cpu_ns = aphi_clock_cpu_ns();
    assert_int_equal(run("1>\"loop\" 1<ok", 0).fault, APH_FAULT_STUCK);
    assert_true(aphi_clock_cpu_ns() - cpu_ns >= aphi_guard_step_ns);
    ending e = run("1>\"waits\" 1<ok", 0);
    assert_int_equal(e.verdict, APH_PASS);
    assert_true(e.ms >= 200);
    e = run("1>\"sleeps\" 1<ok", 0);
    assert_int_equal(e.fault, APH_FAULT_STUCK);
    assert_true(e.ms >= 20 * 40);
    aphi_guard_step_ns = usual_ns;
}

static void test_the_limit_of_cpu_time(void **unused)
{
    (void)unused;
    aphi_guard_arm(&aph_model_register, 0, 0);
    aphi_guard_limit_cpu(30 * 1000000);
    int64_t begin = aphi_clock_ns(), cpu = aphi_clock_cpu_ns();
    while (aphi_clock_ns() - begin < 100 * 1000000)
        usleep(5000);
    assert_true(aphi_guard_expired() == (aphi_clock_cpu_ns() - cpu >= 30 * 1000000));
    while (!aphi_guard_expired() && aphi_clock_cpu_ns() - cpu < (int64_t)10000000000)
        ;
    assert_true(aphi_guard_expired() && !aphi_guard_stuck());
    assert_true(aphi_clock_cpu_ns() - cpu >= 30 * 1000000);
    aphi_guard_arm(&aph_model_register, 0, 0); /* removes the limit */
    assert_false(aphi_guard_expired());
    aphi_guard_disarm();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_loops_are_left_at_the_deadline, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_the_time_of_a_step_is_cpu_time, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_the_limit_of_cpu_time, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_crashes_are_reported, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_checks_continue_after_a_crash, fresh_heap, fresh_heap),
        cmocka_unit_test_setup_teardown(test_the_deadline_is_noticed, fresh_heap, fresh_heap),
    };
    return cmocka_run_group_tests(tests, compile, clean);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * test_lookahead.c - the end of each request is known in advance; a long trace needs constant memory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "base/buffer.h"
#include "trace/lookahead.h"

typedef struct reading {
    aphi_trace *trace;
    aphi_lookahead *foresight;
} reading;

static reading begin(const char *text, size_t n, const aph_model *model)
{
    reading r = {.trace = aphi_trace_open_memory(text, n, &(aphi_trace_options){.model = model})};
    r.foresight = aphi_lookahead_open(r.trace);
    return r;
}

static void finish(reading *r)
{
    aphi_lookahead_close(r->foresight);
    aphi_trace_close(r->trace);
}

/* S1?, S1=answer, S1! or S1~: a request whose end is open, known, known to be missing, or lost. Then R1, L1, N. */
static void show(aphi_buffer *b, const aphi_lookahead_event *o)
{
    static const char kinds[] = "SRLUN", futures[] = "?=!~";
    aphi_buffer_format(b, "%c%lld", kinds[o->seen.kind], (long long)o->seen.connection);
    if (o->seen.kind == APHI_SENT)
        aphi_buffer_byte(b, futures[o->future]);
    if (o->future == APH_FUTURE_ANSWER) {
        char *text = aph_json_text(o->answer, NULL);
        aphi_buffer_str(b, text);
        free(text);
    }
    aphi_buffer_byte(b, ' ');
}

static void check(const char *text, const aph_model *model, const char *expected)
{
    reading r = begin(text, strlen(text), model);
    aphi_buffer b = {0};
    aphi_lookahead_event o;
    int status;
    while ((status = aphi_lookahead_next(r.foresight, &o)) > 0) {
        show(&b, &o);
        aph_collect();
    }
    aphi_buffer_str(&b, status < 0 ? aphi_trace_fault_name(aphi_trace_error_of(r.trace)->fault) : "end");
    char *read = aphi_buffer_text(&b);
    assert_string_equal(read, expected);
    free(read);
    finish(&r);
}

static void ends_are_known(void **state)
{
    (void)state;
    check("{\"conn\":1,\"send\":1}\n{\"conn\":1,\"send\":2}\n{\"conn\":2,\"send\":3}\n"
          "{\"conn\":1,\"recv\":\"a long answer\"}\n"
          "{\"note\":0}\n{\"conn\":1,\"lost\":true}\n{\"conn\":1,\"send\":4}\n",
          NULL, "S1=\"a long answer\" S1~ S2! R1 N0 L1 S1! end");
}

/* A request with a new value gets the hints `shown` and `sought`. */
static void hints_are_set(void **state)
{
    (void)state;
    const char *text = "{\"conn\":1,\"send\":{\"put\":[7,8]}}\n{\"conn\":2,\"send\":{\"put\":7}}\n"
                       "{\"conn\":3,\"send\":0}\n"
                       "{\"conn\":1,\"recv\":7}\n{\"conn\":3,\"recv\":[8]}\n{\"conn\":1,\"send\":1}\n"
                       "{\"conn\":1,\"recv\":7}\n";
    static const uint64_t shown[] = {4, 0, 0, 0, 0, 0, 0}, sought[] = {5, 0, 0, 0, 0, 0, 0};
    reading r = begin(text, strlen(text), NULL);
    aphi_lookahead_event o;
    for (size_t i = 0; i < 7; i++) {
        assert_int_equal(aphi_lookahead_next(r.foresight, &o), 1);
        assert_int_equal(o.shown, shown[i]);
        assert_int_equal(o.sought, sought[i]);
    }
    finish(&r);
}

static void undone_operations_are_omitted(void **state)
{
    (void)state;
    check("0 :invoke :read nil\n1 :invoke :read nil\n0 :fail :read nil\n0 :invoke :read nil\n"
          "1 :ok :read 5\n0 :info :read nil\n",
          NULL, "S1=5 S0~ R1 L0 end");
    check("0 :invoke :read nil\n0 :fail :read nil\n", NULL, "end");
}

static void errors_come_last(void **state)
{
    (void)state;
    check("0 :invoke :read nil\n1 :invoke :read nil\n1 :ok :read [1 \"xyzxyzxyz\"]\n1 :ok :read 2\n", NULL,
          "S0? S1=[1,\"xyzxyzxyz\"] R1 ORPHAN");
}

static void unpaired_models_have_no_lookahead(void **state)
{
    (void)state;
    aph_model model = {.version = APH_MODEL_VERSION, .name = "pushes"};
    const char *text = "{\"conn\":1,\"send\":1}\n{\"conn\":1,\"recv\":1}\n{\"conn\":1,\"recv\":2}\n";
    check(text, &model, "S1? R1 R1 end");
    check("0 :invoke :read nil\n0 :ok :read 1\n", &model, "S0=1 R0 end");
}

/* Process 0 invokes, process 1 performs many operations, then process 0 ends. */
static char *slow_history(int operations, const char *end, size_t *n)
{
    aphi_buffer b = {0};
    aphi_buffer_str(&b, "0 :invoke :write 1\n");
    for (int i = 0; i < operations; i++)
        aphi_buffer_format(&b, "1 :invoke :write %d\n1 :ok :write %d\n", i, i);
    aphi_buffer_format(&b, "0 %s :write 1\n0 :invoke :read nil\n", end);
    *n = b.n;
    return aphi_buffer_text(&b);
}

static void check_slow(int operations, const char *end, aph_future expected, aphi_observation_kind last,
                       int64_t connection)
{
    size_t n;
    char *text = slow_history(operations, end, &n);
    reading r = begin(text, n, NULL);
    aphi_lookahead_event o, before = {0};
    int seen = 0, status;
    while ((status = aphi_lookahead_next(r.foresight, &o)) > 0) {
        if (o.seen.process == 0 && seen++ == 0)
            assert_int_equal(o.future, expected);
        if (o.seen.process == 0 && seen == 2)
            assert_int_equal(o.seen.kind, last);
        before = o;
    }
    assert_int_equal(status, 0);
    assert_int_equal(before.seen.kind, APHI_SENT);
    assert_int_equal(before.seen.connection, connection);
    finish(&r);
    free(text);
}

static void lookahead_is_bounded(void **state)
{
    (void)state;
    check_slow(32767, ":ok", APH_FUTURE_ANSWER, APHI_RECEIVED, 0);
    check_slow(32768, ":ok", APH_FUTURE_OPEN, APHI_RECEIVED, 0);
    check_slow(32768, ":info", APH_FUTURE_OPEN, APHI_LOST, -1);
    /* A failure beyond the ring cannot be omitted: the operation counts as lost, and the process gets a new
     * connection. */
    check_slow(32768, ":fail", APH_FUTURE_OPEN, APHI_LOST, -1);
}

static void a_failure_within_the_ring_is_omitted(void **state)
{
    (void)state;
    size_t n;
    char *text = slow_history(32767, ":fail", &n);
    reading r = begin(text, n, NULL);
    aphi_lookahead_event o;
    int of_zero = 0;
    while (aphi_lookahead_next(r.foresight, &o) > 0)
        of_zero += o.seen.process == 0;
    assert_int_equal(of_zero, 1); /* only the read after the failed operation */
    finish(&r);
    free(text);
}

/* The trace is in memory, but the lookahead's own memory stays constant. */
static void memory_is_constant(void **state)
{
    (void)state;
    aphi_buffer b = {0};
    for (int i = 0; i < 50000; i++)
        aphi_buffer_format(&b, "{\"conn\":%d,\"send\":\"message %d\"}\n"
                           "{\"conn\":%d,\"recv\":\"answer %d\"}\n", i, i, i, i);
    reading r = begin(b.data, b.n, NULL);
    aphi_lookahead_event o;
    size_t count = 0, bytes = 0;
    while (aphi_lookahead_next(r.foresight, &o) > 0) {
        if (++count % 1000 == 0) {
            aph_collect();
            if (bytes == 0)
                bytes = aph_heap_bytes();
            assert_true(aph_heap_bytes() <= bytes + 4096);
        }
    }
    assert_int_equal(count, 100000);
    finish(&r);
    aphi_buffer_free(&b);
}

static int close_heap(void **state)
{
    (void)state;
    aph_heap_close();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_are_known),
        cmocka_unit_test(hints_are_set),
        cmocka_unit_test(undone_operations_are_omitted),
        cmocka_unit_test(errors_come_last),
        cmocka_unit_test(unpaired_models_have_no_lookahead),
        cmocka_unit_test(lookahead_is_bounded),
        cmocka_unit_test(a_failure_within_the_ring_is_omitted),
        cmocka_unit_test(memory_is_constant),
    };
    return cmocka_run_group_tests(tests, NULL, close_heap);
}

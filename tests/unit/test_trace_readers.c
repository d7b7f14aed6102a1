/* SPDX-License-Identifier: Apache-2.0
 *
 * test_trace_readers.c - the observations of each trace format, and the error for each kind of broken trace.
 *
 * Each text gives the same result for windows of several sizes, down to one byte.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/buffer.h"
#include "trace/trace.h"

static const size_t windows[] = {1, 2, 3, 7, 64, 0};
enum { WINDOWS = sizeof windows / sizeof *windows };

/* Writes one line per observation: kind, connection, line, the request that it ends, message. */
static void show(aphi_buffer *b, const aphi_observation *o)
{
    static const char kinds[] = "SRLUNQ";
    aphi_buffer_format(b, "%c%lld@%llu", kinds[o->kind], (long long)o->connection, (unsigned long long)o->line);
    if (o->ends != APHI_NO_NUMBER)
        aphi_buffer_format(b, " ends %llu", (unsigned long long)o->ends);
    if (o->kind == APHI_SENT || o->kind == APHI_RECEIVED || o->kind == APHI_NOTE) {
        char *text = aph_json_text(o->message, NULL);
        aphi_buffer_format(b, " %s", text);
        free(text);
    }
    aphi_buffer_str(b, "\n");
}

static void show_error(aphi_buffer *b, const aphi_trace_error *error)
{
    aphi_buffer_format(b, "%s %llu:%llu\n", aphi_trace_fault_name(error->fault), (unsigned long long)error->line,
                       (unsigned long long)error->column);
}

static char *reading(const void *text, size_t n, aphi_trace_options options)
{
    aphi_trace *t = aphi_trace_open_memory(text, n, &options);
    aphi_buffer b = {0};
    aphi_observation o;
    int status;
    while ((status = aphi_trace_next(t, &o)) > 0)
        show(&b, &o);
    if (status < 0)
        show_error(&b, aphi_trace_error_of(t));
    assert_int_equal(aphi_trace_next(t, &o), status);
    aphi_trace_close(t);
    return aphi_buffer_text(&b);
}

static void check_bytes(const void *text, size_t n, aphi_trace_options options, const char *expected)
{
    for (int i = 0; i < WINDOWS; i++) {
        options.buffer = windows[i];
        char *read = reading(text, n, options);
        assert_string_equal(read, expected);
        free(read);
    }
}

static void check(const char *text, const char *expected)
{
    check_bytes(text, strlen(text), (aphi_trace_options){0}, expected);
}

static char *message_of(const char *text)
{
    aphi_trace *t = aphi_trace_open_memory(text, strlen(text), NULL);
    aphi_observation o;
    while (aphi_trace_next(t, &o) > 0)
        continue;
    char *message = strdup(aphi_trace_error_of(t)->message);
    aphi_trace_close(t);
    return message;
}

/* ---- jsonl ------------------------------------------------------------------------------------------------------- */

static void jsonl_reads(void **state)
{
    (void)state;
    check("{\"antiphon\":1,\"model\":\"kv\"}\n"
          "{\"conn\":1,\"send\":{\"f\":\"get\"}}\n"
          "\n"
          "{\"label\":[1.5],\"conn\":2,\"send\":null,\"time\":7}\r\n"
          "{\"conn\":1,\"recv\":[1,\"a\\nb\"]}\n"
          "{\"note\":{\"x\":1.25}}\n"
          "{\"note\":\"hello\"}\n"
          "{ \"lost\" : true , \"conn\" : 2 }",
          "S1@2 {\"f\":\"get\"}\n"
          "S2@4 null\n"
          "R1@5 ends 0 [1,\"a\\nb\"]\n"
          "N0@6 \"{\\\"x\\\":1.25}\"\n"
          "N0@7 \"hello\"\n"
          "L2@8 ends 1\n");
}

static void jsonl_ends_requests_in_order(void **state)
{
    (void)state;
    check("{\"conn\":1,\"send\":1}\n{\"conn\":1,\"send\":2}\n{\"conn\":-5,\"send\":3}\n{\"conn\":1,\"send\":4}\n"
          "{\"conn\":1,\"recv\":10}\n{\"conn\":1,\"lost\":true}\n{\"conn\":-5,\"recv\":30}\n{\"conn\":1,\"recv\":40}\n",
          "S1@1 1\nS1@2 2\nS-5@3 3\nS1@4 4\n"
          "R1@5 ends 0 10\nL1@6 ends 1\nR-5@7 ends 2 30\nR1@8 ends 3 40\n");
}

/* Numbers from 2^32 on are connections that the server opened. The first line on such a connection is a response. */
static void connections_of_clients_have_small_numbers(void **state)
{
    (void)state;
    aph_model calls = {.name = "calls"};
    const char *call = "{\"conn\":4294967296,\"recv\":1}\n{\"conn\":4294967296,\"send\":2}\n"
                       "{\"conn\":4294967296,\"recv\":3}\n{\"conn\":4294967296,\"send\":4}\n";
    check_bytes(call, strlen(call), (aphi_trace_options){.model = &calls},
                "R4294967296@1 1\nS4294967296@2 2\nR4294967296@3 ends 1 3\nS4294967296@4 4\n");
    check("{\"conn\":4294967295,\"send\":1}\n{\"conn\":4294967295,\"recv\":1}\n",
          "S4294967295@1 1\nR4294967295@2 ends 0 1\n");
    check("{\"conn\":4294967296,\"send\":1}\n", "MALFORMED 1:27\n");
    check("{\"conn\":73014444031,\"send\":1}\n", "MALFORMED 1:28\n"); /* 17 * 2^32 - 1 */
    check("{\"conn\":73014444032,\"recv\":1}\n", "MALFORMED 1:9\n");
    check("{\"conn\":9223372036854775807,\"recv\":1}\n", "MALFORMED 1:9\n");
    check("4294967295 :invoke :read nil\n", "S4294967295@1 {\"f\":\"read\"}\n");
    check("4294967296 :invoke :read nil\n", "MALFORMED 1:1\n");
}

/* The number of a connection contains its origin, or the line has it separately. */
static void connections_have_origins(void **state)
{
    (void)state;
    aph_model calls = {.name = "calls"};
    const char *lines = "{\"conn\":4294967296,\"origin\":1,\"recv\":1}\n{\"conn\":8589934592,\"send\":2}\n"
                        "{\"origin\":1,\"conn\":8589934592,\"recv\":3}\n{\"conn\":4294967296,\"origin\":0,\"recv\":4}\n"
                        "{\"conn\":1,\"origin\":\"any\",\"send\":5}\n{\"conn\":4294967297,\"origin\":15,\"recv\":6}\n";
    check_bytes(lines, strlen(lines), (aphi_trace_options){.model = &calls},
                "R8589934592@1 1\nS8589934592@2 2\nR8589934592@3 ends 1 3\nR4294967296@4 4\nS1@5 5\n"
                "R68719476737@6 6\n");
    check("{\"conn\":4294967296,\"origin\":16,\"recv\":1}\n", "MALFORMED 1:29\n");
    check("{\"conn\":4294967296,\"origin\":-1,\"recv\":1}\n", "MALFORMED 1:29\n");
    check("{\"conn\":4294967296,\"origin\":\"a\",\"recv\":1}\n", "MALFORMED 1:29\n");
    check("{\"conn\":8589934592,\"origin\":2,\"recv\":1}\n", "MALFORMED 1:29\n");
}

/* Reads a request and a response with these times. */
static void check_times(const char *first, const char *second, const char *expected)
{
    char text[200];
    snprintf(text, sizeof text, "{\"conn\":1,\"send\":1,\"time\":%s}\n{\"conn\":1,\"recv\":2,\"time\":%s}\n", first,
             second);
    check(text, expected);
}

static void times_do_not_run_backwards(void **state)
{
    (void)state;
    const char *ordered = "S1@1 1\nR1@2 ends 0 2\n", *backwards = "S1@1 1\nORDER 2:27\n";
    check_times("12", "12", ordered);
    check_times("-3", "2", ordered);
    check_times("12", "11", backwards);
    check_times("0", "-1", backwards);
    check_times("12", "1.5", backwards);
    check_times("1.5e3", "1500.25", ordered);
    check_times("9223372036854775806", "9223372036854775807", ordered);
    check_times("9223372036854775807", "9223372036854775806", backwards);
    check_times("99999999999999999999", "7", backwards);
    check_times("\"12:00\"", "7", ordered);
    check_times("12", "\"11:00\"", ordered);
    check_times("12", "{\"a\":1}", ordered);
    check("{\"conn\":1,\"send\":1,\"time\":12}\n{\"conn\":1,\"recv\":2}\n{\"conn\":1,\"send\":1,\"time\":3}\n",
          "S1@1 1\nR1@2 ends 0 2\nORDER 3:27\n");
    check("{\"conn\":1,\"send\":1,\"time\":12}\n{\"note\":1,\"time\":2}\n", "S1@1 1\nN0@2 1\n");
    check("{:process 0 :type :invoke :f :r :time 9}\n{:process 0 :type :ok :f :r :time 8N}\n",
          "S0@1 {\"f\":\"r\"}\nORDER 2:35\n");
    check("{:process 0 :type :invoke :f :r :time 9}\n{:process :nemesis :type :info :f :r :time 8}\n",
          "S0@1 {\"f\":\"r\"}\nN0@2 \"{:process :nemesis :type :info :f :r :time 8}\"\n");
    check("{\"process\":0,\"type\":\"invoke\",\"f\":\"r\",\"index\":1}\n{\"process\":0,\"type\":\"ok\",\"index\":0}\n",
          "S0@1 {\"f\":\"r\"}\nORDER 2:34\n");
    check("{:process 0 :type :invoke :f :r :index 0 :time 9}\n{:process 0 :type :ok :f :r :value 1 :index 1 :time 8}\n",
          "S0@1 {\"f\":\"r\"}\nR0@2 ends 0 1\n");
    const char *text = "{\"conn\":1,\"send\":1,\"time\":12}\n{\"conn\":1,\"recv\":2,\"time\":11}\n";
    check_bytes(text, strlen(text), (aphi_trace_options){.ignore_times = true}, ordered);
}

static void jsonl_errors(void **state)
{
    (void)state;
    check("{\"conn\":1,\"recv\":1}\n", "ORPHAN 1:18\n");
    check("{\"conn\":1,\"lost\":true}\n", "ORPHAN 1:18\n");
    check("{\"conn\":1,\"send\":1}\n{\"conn\":1,\"lost\":false}\n", "S1@1 1\nMALFORMED 2:18\n");
    check("{\"conn\":1,\"send\":1,\"recv\":2}\n", "MALFORMED 1:1\n");
    check("{\"conn\":1}\n", "MALFORMED 1:1\n");
    check("{}\n", "MALFORMED 1:1\n");
    check("{\"send\":1}\n", "MALFORMED 1:1\n");
    check("{\"conn\":\"1\",\"send\":1}\n", "MALFORMED 1:9\n");
    check("{\"conn\":1.5,\"send\":1}\n", "FRACTION 1:9\n");
    check("{\"conn\":9223372036854775808,\"send\":1}\n", "RANGE 1:9\n");
    check("{\"conn\":1,\"send\":[9223372036854775808]}\n", "RANGE 1:19\n");
    check("{\"conn\":1,\"send\":[1e1,1e-3]}\n", "FRACTION 1:23\n");
    check("{\"conn\":1,\"send\":01}\n", "MALFORMED 1:18\n");
    check("{\"conn\":1,\"send\":\"\\ud800\"}\n", "MALFORMED 1:21\n");
    check("{\"conn\":1,\"send\":1,\"send\":1}\n", "MALFORMED 1:20\n");
    check("{\"conn\":1,\"s\\u0065nd\":1,\"send\":1}\n", "MALFORMED 1:25\n");
    check("{\"conn\":1,\"send\":1}x\n", "MALFORMED 1:20\n");
    check("{\"conn\":1,\"send\":1}\n{\"antiphon\":1}\n", "S1@1 1\nMALFORMED 2:13\n");
    check("{\"antiphon\":2}\n", "FORMAT 1:13\n");
    check("{\"conn\":1,\n\"send\":1}\n", "MALFORMED 1:11\n");
    check("{\"conn\":1,\"send\":1}\n{\"conn\":1,\"re", "S1@1 1\nTRUNCATED 2:14\n");
}

static void json_limits_are_read(void **state)
{
    (void)state;
    check("{\"conn\":1,\"send\":[9223372036854775807,-9223372036854775808]}",
          "S1@1 [9223372036854775807,-9223372036854775808]\n");
}

static void nul_bytes(void **state)
{
    (void)state;
    aphi_trace_options o = {0};
#define NUL_CASE(text, expected) check_bytes(text, sizeof text - 1, o, expected)
    NUL_CASE("{\"conn\":1,\"send\":\"a\0b\"}\n", "NUL 1:20\n");
    NUL_CASE("{\"conn\":1,\"send\":1}\n\0\n", "S1@1 1\nNUL 2:1\n");
    NUL_CASE("{\"conn\":1,\"send\":1}\0\n", "NUL 1:20\n");
    NUL_CASE("{:process 0, :type :invoke, :f :a, :value \"\0\"}", "NUL 1:44\n");
    NUL_CASE("{:process 0, :type :invoke, :f :a\0}", "NUL 1:34\n");
    NUL_CASE("{:process 0, :type :invoke, :f :a}\n\0", "S0@1 {\"f\":\"a\"}\nNUL 2:1\n");
    NUL_CASE("0 :invoke :read nil\0\n", "NUL 1:20\n");
    NUL_CASE("\0", "FORMAT 1:1\n");
#undef NUL_CASE
}

static void unpaired_models_may_send_without_requests(void **state)
{
    (void)state;
    aph_model model = {.version = APH_MODEL_VERSION, .name = "pushes"};
    const char *text = "{\"conn\":1,\"send\":1}\n{\"conn\":1,\"recv\":1}\n"
                       "{\"conn\":1,\"recv\":2}\n{\"conn\":2,\"recv\":2}\n";
    check_bytes(text, strlen(text), (aphi_trace_options){.model = &model},
                "S1@1 1\nR1@2 ends 0 1\nR1@3 2\nR2@4 2\n");
    model.rpc = true;
    check_bytes(text, strlen(text), (aphi_trace_options){.model = &model}, "S1@1 1\nR1@2 ends 0 1\nORPHAN 3:18\n");
}

/* A silence after a loss proves nothing: the lost request may still be in flight. */
static void silence_is_read(void **state)
{
    (void)state;
    aph_model model = {.version = APH_MODEL_VERSION, .name = "opens", .connections = true};
    const char *text = "{\"quiet\":true}\n{\"conn\":1,\"send\":1}\n{\"quiet\":true,\"time\":3}\n"
                       "{\"conn\":1,\"lost\":true}\n{\"quiet\":true}\n";
    check(text, "Q0@1\nS1@2 1\nQ0@3\nL1@4 ends 1\nN0@5 null\n");
    check_bytes(text, strlen(text), (aphi_trace_options){.ignore_quiet = true},
                "N0@1 null\nS1@2 1\nN0@3 null\nL1@4 ends 1\nN0@5 null\n");
    check_bytes(text, strlen(text), (aphi_trace_options){.model = &model},
                "Q0@1\nS1@2 \"<opened>\"\nS1@2 1\nQ0@3\nS1@4 \"<left>\"\nQ0@5\n");
    check("{\"quiet\":false}\n", "MALFORMED 1:10\n");
    check("{\"quiet\":true,\"conn\":1,\"send\":1}\n", "MALFORMED 1:1\n");
    check("{\"conn\":1,\"send\":1,\"time\":2}\n{\"quiet\":true,\"time\":1}\n", "S1@1 1\nORDER 2:22\n");
}

static void a_call_of_the_server_gets_one_response(void **state)
{
    (void)state;
    aph_model model = {.version = APH_MODEL_VERSION, .name = "calls", .calls_apart = true};
    const char *text = "{\"conn\":4294967296,\"recv\":1}\n{\"conn\":4294967296,\"send\":2}\n"
                       "{\"conn\":4294967296,\"recv\":3}\n{\"conn\":4294967296,\"send\":4}\n"
                       "{\"conn\":4294967296,\"send\":5}\n";
    check_bytes(text, strlen(text), (aphi_trace_options){.model = &model},
                "R4294967296@1 1\nS4294967296@2 2\nR4294967296@3 ends 1 3\nS4294967296@4 4\nORPHAN 5:27\n");
    model.calls_apart = false;
    check_bytes(text, strlen(text), (aphi_trace_options){.model = &model},
                "R4294967296@1 1\nS4294967296@2 2\nR4294967296@3 ends 1 3\nS4294967296@4 4\nS4294967296@5 5\n");
}

/* ---- Jepsen ------------------------------------------------------------------------------------------------------ */

static void logs_read(void **state)
{
    (void)state;
    check("INFO  jepsen.core - starting up\n"
          "INFO  jepsen.util - 0\t:invoke\t:read\tnil\n"
          "INFO  jepsen.util - 1   :invoke :cas    [1 2]\n"
          "INFO  jepsen.util - :nemesis\t:info\t:start\tnil\n"
          "INFO  jepsen.util - 0\t:ok\t:read\t7\r\n"
          "INFO  jepsen.util - 1   :info   :cas    :timed-out\n"
          "12\t:invoke\t:write\t-3",
          "N0@1 \"INFO  jepsen.core - starting up\"\n"
          "S0@2 {\"f\":\"read\"}\n"
          "S1@3 {\"f\":\"cas\",\"value\":[1,2]}\n"
          "N0@4 \"INFO  jepsen.util - :nemesis\\t:info\\t:start\\tnil\"\n"
          "R0@5 ends 1 7\n"
          "L1@6 ends 2\n"
          "S12@7 {\"f\":\"write\",\"value\":-3}\n");
}

static void log_errors(void **state)
{
    (void)state;
    check("0 :invoke :read nil\n0 :invoke :read nil\n", "S0@1 {\"f\":\"read\"}\nOVERLAP 2:1\n");
    check("INFO  jepsen.util - 0 :ok :read 1\n", "ORPHAN 1:1\n");
    check("0 :invoek :read nil\n", "TYPE 1:3\n");
    check("x :invoke :read nil\n", "MALFORMED 1:3\n");
    check("0 :invoke :read\n1 :invoke :read nil\n", "MALFORMED 1:16\n");
    check("0 :invoke :read\n0 :ok :read [1 2", "MALFORMED 1:16\n");
    check("0 :invoke :read nil\n0 :ok :read [1 2", "S0@1 {\"f\":\"read\"}\nTRUNCATED 2:17\n");
    check("0 :invoke :read nil\nINFO  jepsen.ut", "S0@1 {\"f\":\"read\"}\nTRUNCATED 2:16\n");
    check("0 :invoke :write 9223372036854775808\n", "RANGE 1:18\n");
    check("99999999999999999999 :invoke :write 1\n", "RANGE 1:1\n");
    check("0 :invoke :write 1.5\n", "FRACTION 1:18\n");
    check("0 :invoke :write 1\n0 :ok :read 1\n", "S0@1 {\"f\":\"write\",\"value\":1}\nMALFORMED 2:7\n");
}

static void edn_reads(void **state)
{
    (void)state;
    const char *expected = "S0@1 {\"f\":\"append\",\"key\":\"0\",\"value\":\"x y\"}\nR0@2 ends 0 \"x y\"\n";
    check("{:process 0, :type :invoke, :f :append, :key \"0\", :value \"x y\"}\n"
          "{:process 0, :type :ok, :f :append, :key \"0\", :value \"x y\"}\n", expected);
    check("[{:process 0, :type :invoke, :f :append, :key \"0\", :value \"x y\"}\n"
          " {:process 0, :type :ok, :f :append, :key \"0\", :value \"x y\"}] ; over", expected);
    check("({:value \"x y\" :key \"0\" :f :append, :process 0 :type :invoke}\n"
          "#_{:process 0 :type :ok} #jepsen.history.Op{:type :ok :f :append :index 1 :process 0 :value \"x y\"})",
          expected);
    check("#jepsen.history.Op{:process 0, :time 1.5 :type :invoke, :f :append, :key \"0\", :value \"x y\"}\n"
          "{:process 0, :type :ok, :f :append, :ratio 1/2, :key \"0\", :value \"x y\"}", expected);
}

static void edn_nemesis_and_tuples(void **state)
{
    (void)state;
    check("; a history\n"
          "{:process :nemesis, :type :info, :f :start, :value [:a 1.5]}\n"
          "{:process 3, :type :invoke, :f :read, :value #jepsen.independent/tuple [5 nil]}\n"
          "{:process 3, :type :ok, :f :read, :value #jepsen.independent/tuple [5 1]}\n"
          "{:process 3, :type :invoke, :f :write, :value 1}\n"
          "{:process 3, :type :info, :f :write, :value 1, :error {:took 1.5}}\n"
          "{:process 3, :type :invoke, :f :read, :value nil}\n"
          "{:process 3, :type :fail, :f :read, :value nil}\n"
          "{:process 3, :type :invoke, :f :read, :value nil}\n",
          "N0@2 \"{:process :nemesis, :type :info, :f :start, :value [:a 1.5]}\"\n"
          "S3@3 {\"f\":\"read\",\"key\":5}\n"
          "R3@4 ends 1 1\n"
          "S3@5 {\"f\":\"write\",\"value\":1}\n"
          "L3@6 ends 3\n"
          "S-1@7 {\"f\":\"read\"}\n"
          "U-1@8 ends 5\n"
          "S-1@9 {\"f\":\"read\"}\n");
}

static void edn_errors(void **state)
{
    (void)state;
    check("{:process 0, :type :begin, :f :read}", "TYPE 1:20\n");
    check("{:process 0, :f :read}", "TYPE 1:1\n");
    check("{:type :invoke, :f :read}", "MALFORMED 1:1\n");
    check("{:process -1 :type :invoke, :f :read}", "MALFORMED 1:11\n");
    check("{:process 0 :type :invoke}", "MALFORMED 1:1\n");
    check("{:process 0 :type :ok :f :read}", "ORPHAN 1:1\n");
    check("{:process 0 :type :invoke :f :w :value 1.5}", "FRACTION 1:40\n");
    check("{:process 0 :type :invoke :f :w :value 1/2}", "FRACTION 1:40\n");
    check("{:process 0 :type :invoke :f :w :value ##Inf}", "FRACTION 1:40\n");
    check("{:process 0 :type :invoke :f :w :value [\n 99999999999999999999]}", "RANGE 2:2\n");
    check("{:process 0 :type :invoke\n :f", "TRUNCATED 2:4\n");
    check("[{:process 0 :type :invoke :f :r}\n", "S0@1 {\"f\":\"r\"}\nTRUNCATED 2:1\n");
    check("{:process 0 :type :invoke :f}", "MALFORMED 1:27\n");
    check("{:process 0 :process 1}", "MALFORMED 1:13\n");
    check("{:process # 0}", "MALFORMED 1:11\n");
    check("{:process # #_1 [}", "MALFORMED 1:11\n");
    check("# {:process 0 :type :invoke :f :r}", "MALFORMED 1:1\n");
    check("#", "TRUNCATED 1:2\n");
    check("[1]", "MALFORMED 1:2\n");
    check("[{:process 0 :type :invoke :f :r})", "S0@1 {\"f\":\"r\"}\nMALFORMED 1:34\n");
    check("{:process 0 :type :invoke :f :w :value {:a 1 :a 2}}", "MALFORMED 1:40\n");
    check("{:process 0 :type :invoke :f :w :value \"\\q\"}", "MALFORMED 1:41\n");
}

static void json_operations_read(void **state)
{
    (void)state;
    const char *expected = "S0@1 {\"f\":\"write\",\"key\":\"k\",\"value\":1}\nR0@2 ends 0 1\n"
                           "N0@3 \"{\\\"process\\\":\\\"nemesis\\\"}\"\n";
    check("{\"process\":0,\"type\":\"invoke\",\"f\":\"write\",\"key\":\"k\",\"value\":1}\n"
          "{\"process\":0,\"type\":\"ok\",\"f\":\"write\",\"value\":1,\"x\":1.5}\n"
          "{\"process\":\"nemesis\"}\n", expected);
    check("[{\"process\":0,\"type\":\":invoke\",\"f\":\"write\",\"key\":\"k\",\"value\":1},\n"
          "{\"process\":0,\"type\":\"ok\",\"f\":\"write\",\"value\":1,\"x\":1.5} ,\n"
          "{\"process\":\"nemesis\"} ]\n", expected);
    check("[]", "");
    check("", "");
    check(" \n\n", "");
}

static void json_operation_errors(void **state)
{
    (void)state;
    check("[{\"process\":0,\"type\":\"invoke\",\"f\":\"r\"}\n{}]", "S0@1 {\"f\":\"r\"}\nMALFORMED 2:1\n");
    check("[{\"process\":0,\"type\":\"invoke\",\"f\":\"r\"},]", "S0@1 {\"f\":\"r\"}\nMALFORMED 1:40\n");
    check("[{\"process\":0,\"type\":\"invoke\",\"f\":\"r\"}] 1", "S0@1 {\"f\":\"r\"}\nMALFORMED 1:41\n");
    check("[{\"process\":0,\"type\":\"invoke\",\"f\":\"r\"}", "S0@1 {\"f\":\"r\"}\nTRUNCATED 1:39\n");
    check("[{\"process\":0,", "TRUNCATED 1:15\n");
    check("{\"process\":0,\"type\":\"start\",\"f\":\"r\"}", "TYPE 1:21\n");
    check("{\"process\":\"0\",\"type\":\"invoke\",\"f\":\"r\"}", "MALFORMED 1:12\n");
    check("{\"process\":1.5,\"type\":\"invoke\",\"f\":\"r\"}", "FRACTION 1:12\n");
}

/* A hook like that of the register: a failed cas has a response; other failed operations had no effect. */
static bool hook(aph_value request, aph_jepsen end, aph_value value, aph_value *answer)
{
    *answer = end == APH_JEPSEN_OK ? APH_ARRAY_OF(value) : aph_str("no");
    return end == APH_JEPSEN_OK || (aph_str_is(aph_field(request, "f"), "cas") && !aph_str_is(value, "timed-out"));
}

static void the_hook_decides(void **state)
{
    (void)state;
    aph_model model = {.version = APH_MODEL_VERSION, .name = "register", .jepsen = hook};
    const char *text = "0 :invoke :cas [1 2]\n0 :fail :cas [1 2]\n0 :invoke :read nil\n0 :fail :read :timed-out\n"
                       "0 :invoke :cas [1 2]\n0 :fail :cas [1 2] :timed-out\n0 :invoke :read nil\n0 :ok :read 5\n";
    check_bytes(text, strlen(text), (aphi_trace_options){.model = &model},
                "S0@1 {\"f\":\"cas\",\"value\":[1,2]}\nR0@2 ends 0 \"no\"\n"
                "S0@3 {\"f\":\"read\"}\nU0@4 ends 2\n"
                "S0@5 {\"f\":\"cas\",\"value\":[1,2]}\nU0@6 ends 4\n"
                "S0@7 {\"f\":\"read\"}\nR0@8 ends 6 [5]\n");
}

/* ---- formats, limits, files -------------------------------------------------------------------------------------- */

static void formats_are_detected(void **state)
{
    (void)state;
    static const struct { const char *text; aph_trace_format format; } cases[] = {
        {"\xef\xbb\xbf{\"conn\":1,\"send\":{\"process\":1}}", APH_FORMAT_JSONL},
        {"{\"type\":\"x\",\"process\":1,\"conn\":1,\"send\":1}", APH_FORMAT_JSONL},
        {"\n\n {\"process\":1,\"type\":\"invoke\",\"f\":\"r\"}", APH_FORMAT_JSON},
        {"[\n{ \"process\":1,\"type\":\"invoke\",\"f\":\"r\"}]", APH_FORMAT_JSON},
        {"{ :process 1 :type :invoke :f :r}", APH_FORMAT_EDN},
        {"[ { :process 1 :type :invoke :f :r}]", APH_FORMAT_EDN},
        {"; history\n{ :process 1 :type :invoke :f :r}", APH_FORMAT_EDN},
        {"1 :invoke :r nil\n", APH_FORMAT_JEPSEN_LOG},
        {"INFO something\n1 :invoke :r nil\n", APH_FORMAT_JEPSEN_LOG},
        {":nemesis :info :start nil\n", APH_FORMAT_JEPSEN_LOG},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        aphi_trace *t = aphi_trace_open_memory(cases[i].text, strlen(cases[i].text), NULL);
        aphi_observation o;
        assert_int_equal(aphi_trace_next(t, &o), 1);
        assert_int_equal(aphi_trace_format_of(t), cases[i].format);
        aphi_trace_close(t);
    }
    check("hello world\n", "FORMAT 1:1\n");
    aph_trace_format format;
    assert_true(aph_trace_format_named("jepsen-log", &format));
    assert_int_equal(format, APH_FORMAT_JEPSEN_LOG);
    assert_false(aph_trace_format_named("xml", &format));
    assert_string_equal(aph_trace_format_name(APH_FORMAT_EDN), "edn");
}

static void long_forms_are_rejected(void **state)
{
    (void)state;
    aphi_trace_options o = {.form_max = 40};
    const char *line = "{\"conn\":1,\"send\":1}\n{\"conn\":1,\"send\":\"123456789012345678901234567890\"}\n";
    check_bytes(line, strlen(line), o, "S1@1 1\nLONG 2:1\n");
    const char *form = "{:process 0 :type :invoke :f :aaaaa}\n{:process 1 :type :invoke :f :aaaaaaaaaaaaaaa}";
    check_bytes(form, strlen(form), o, "S0@1 {\"f\":\"aaaaa\"}\nLONG 1:37\n");
}

static void messages_have_a_remedy(void **state)
{
    (void)state;
    char *message = message_of("3 :invoke :read nil\n3 :invoke :read nil\n");
    assert_string_equal(message, "process 3 invokes again while its operation of line 1 is open; "
                                 "use different processes for overlapping operations");
    free(message);
    message = message_of("nonsense\n");
    assert_string_equal(message, "format not recognized; name it: jsonl, jepsen-log, edn or json");
    free(message);
}

/* Like `check`, with each window size up to the length of the text, so that a window ends between any two bytes. */
static void check_every_window(const char *text, const char *expected)
{
    for (size_t window = 1; window <= strlen(text); window++) {
        char *read = reading(text, strlen(text), (aphi_trace_options){.buffer = window});
        assert_string_equal(read, expected);
        free(read);
    }
}

/* Returns nested brackets. The members of a map may have up to 255 levels, those of a JSON object up to 259. */
static char *nested(const char *before, int depth, const char *middle, const char *after)
{
    aphi_buffer b = {0};
    aphi_buffer_str(&b, before);
    for (int i = 0; i < depth; i++)
        aphi_buffer_byte(&b, '[');
    aphi_buffer_str(&b, middle);
    for (int i = 0; i < depth; i++)
        aphi_buffer_byte(&b, ']');
    aphi_buffer_str(&b, after);
    return aphi_buffer_text(&b);
}

static void check_nested(int depth, const char *before, const char *middle, const char *after, const char *expected)
{
    char *text = nested(before, depth, middle, after);
    check_every_window(text, expected);
    free(text);
}

/* A token at the end of a window is incomplete until the next byte is read. */
static void the_edge_of_a_window_is_not_judged(void **state)
{
    (void)state;
    check_every_window("{:a # #_1 2}", "MALFORMED 1:5\n");
    check_every_window("{:a # #_b #_,;c\n:d}", "MALFORMED 1:5\n");
    check_every_window("{:process :n #_1 #_#_2 3 :a #{#_4} #_5}",
                       "N0@1 \"{:process :n #_1 #_#_2 3 :a #{#_4} #_5}\"\n");
    check_nested(255, "{:process 0 :a ", "  ", "}", "TYPE 1:1\n");
    check_nested(255, "{:process 0 :a ", "#_ 1", "}", "DEEP 1:274\n");
    check_nested(259, "{\"process\":0,\"a\":", "  ", "}", "TYPE 1:1\n");
    check_nested(259, "{\"process\":0,\"a\":", "  1", "}", "DEEP 1:279\n");
}

static void files_are_read(void **state)
{
    (void)state;
    char path[] = "/tmp/antiphon-trace-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    const char *text = "{\"conn\":1,\"send\":1}\n";
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    aphi_trace *t = aphi_trace_open(path, NULL);
    aphi_observation o;
    assert_int_equal(aphi_trace_next(t, &o), 1);
    assert_int_equal(aphi_trace_next(t, &o), 0);
    aphi_trace_close(t);
    unlink(path);
    t = aphi_trace_open(path, NULL);
    assert_int_equal(aphi_trace_next(t, &o), -1);
    assert_int_equal(aphi_trace_error_of(t)->fault, APHI_TRACE_IO);
    assert_string_equal(aphi_trace_error_of(t)->file, path);
    assert_string_equal(aphi_trace_error_of(t)->message, "cannot be opened: No such file or directory");
    aphi_trace_close(t);
    t = aphi_trace_open("/", NULL);
    assert_int_equal(aphi_trace_next(t, &o), -1);
    assert_int_equal(aphi_trace_error_of(t)->fault, APHI_TRACE_IO);
    aphi_trace_close(t);
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
        cmocka_unit_test(jsonl_reads),
        cmocka_unit_test(jsonl_ends_requests_in_order),
        cmocka_unit_test(connections_of_clients_have_small_numbers),
        cmocka_unit_test(connections_have_origins),
        cmocka_unit_test(times_do_not_run_backwards),
        cmocka_unit_test(jsonl_errors),
        cmocka_unit_test(json_limits_are_read),
        cmocka_unit_test(nul_bytes),
        cmocka_unit_test(unpaired_models_may_send_without_requests),
        cmocka_unit_test(silence_is_read),
        cmocka_unit_test(a_call_of_the_server_gets_one_response),
        cmocka_unit_test(logs_read),
        cmocka_unit_test(log_errors),
        cmocka_unit_test(edn_reads),
        cmocka_unit_test(edn_nemesis_and_tuples),
        cmocka_unit_test(edn_errors),
        cmocka_unit_test(json_operations_read),
        cmocka_unit_test(json_operation_errors),
        cmocka_unit_test(the_hook_decides),
        cmocka_unit_test(formats_are_detected),
        cmocka_unit_test(long_forms_are_rejected),
        cmocka_unit_test(messages_have_a_remedy),
        cmocka_unit_test(the_edge_of_a_window_is_not_judged),
        cmocka_unit_test(files_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, close_heap);
}

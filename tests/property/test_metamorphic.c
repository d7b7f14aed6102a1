/* SPDX-License-Identifier: Apache-2.0
 *
 * test_metamorphic.c - changes of a trace that keep its verdict, and changes that keep a pass.
 *
 * The traces are histories of the built-in models and of odd ones: right ones, those of mutants of the models, and
 * mutated ones. Each is checked as `antiphon check` does, from its text. No decider is needed: the verdict of a changed
 * trace is compared with the verdict of the trace itself. */
#include "tests/support/compare.h"
#include "tests/support/odd_models.h"

#include "models/models.h"

#include <antiphon/check.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A history, its verdict, and the texts of the current change. */
typedef struct trial {
    const subject *subject;
    aph_model plain;        /* the model without its Jepsen hook: the value of :ok is the response */
    history history, changed;
    aphi_choice choice;
    aph_check_verdict verdict;
    uint64_t failing_line;  /* 0, unless the verdict is a fail at exactly this line */
} trial;

/* How an observation is written: the connection, and the format. */
typedef struct rendering {
    aph_trace_format format;
    int64_t names[HISTORY_CONNECTIONS];
    bool in_array;          /* EDN and JSON: all operations in one vector or array */
    bool lost;              /* jsonl: pending requests are lost at the end */
    bool decorated;         /* jsonl: a header, notes, times and further keys, spaces, Windows line endings */
} rendering;

static const rendering plain_rendering = {.format = APH_FORMAT_JSONL, .names = {0, 1, 2, 3, 4, 5, 6, 7}};

static void mark_trial(void *context)
{
    const trial *t = context;
    for (size_t i = 0; i < t->history.count; i++)
        aph_mark(t->history.seen[i].message);
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static void write_edn(FILE *out, aph_value v)
{
    aph_value key, item;
    switch (aph_kind_of(v)) {
    case APH_NULL: fputs("nil", out); return;
    case APH_ARRAY:
        fputc('[', out);
        for (size_t i = 0; i < aph_count(v); i++, fputc(' ', out))
            write_edn(out, aph_at(v, i));
        fputc(']', out);
        return;
    case APH_OBJECT:
        fputc('{', out);
        for (size_t i = 0; aph_pair_at(v, i, &key, &item); i++, fputs(", ", out)) {
            write_edn(out, key);
            fputc(' ', out);
            write_edn(out, item);
        }
        fputc('}', out);
        return;
    default: aph_json_write(out, v);
    }
}

static void write_line(FILE *out, const rendering *r, const history_seen *seen, size_t i)
{
    long long name = (long long)r->names[seen->connection];
    const char *kind = seen->sent ? "send" : "recv";
    if (r->decorated && i % 3 == 0)
        fputs("{\"note\":{\"conn\":1,\"recv\":null}}\r\n\r\n", out);
    if (r->decorated)
        fprintf(out, "{\"conn\" : %lld , \"time\":%zu, \"x\":[1.5], \"%s\" :\t", name, 10 * i, kind);
    else
        fprintf(out, "{\"conn\":%lld,\"%s\":", name, kind);
    aph_json_write(out, seen->message);
    fputs(r->decorated ? " }\r\n" : "}\n", out);
}

/* An end has the key of its request, as Jepsen's histories do. */
static void write_operation(FILE *out, const rendering *r, const history_seen *seen, aph_value request)
{
    aph_value key = aph_field(request, "key"), value = seen->sent ? aph_field(request, "value") : seen->message;
    const char *type = seen->sent ? "invoke" : "ok";
    aph_value f = aph_field(request, "f");
    size_t n;
    const char *name = aph_bytes_of(&f, &n);
    long long process = (long long)r->names[seen->connection];
    if (r->format == APH_FORMAT_JSON) {
        fprintf(out, "{\"process\":%lld,\"type\":\"%s\",\"f\":\"%.*s\",\"value\":", process, type, (int)n, name);
        aph_json_write(out, value);
        if (key) {
            fputs(",\"key\":", out);
            aph_json_write(out, key);
        }
        fputc('}', out);
        return;
    }
    fprintf(out, r->format == APH_FORMAT_EDN ? "{:process %lld, :type :%s, :f :%.*s, :value " : "%lld\t:%s\t:%.*s\t",
            process, type, (int)n, name);
    if (key) {
        fputs("#jepsen.independent/tuple [", out);
        write_edn(out, key);
        fputc(' ', out);
    }
    write_edn(out, value);
    fputs(key ? "]" : "", out);
    fputs(r->format == APH_FORMAT_EDN ? "}" : "", out);
}

static void write_losses(FILE *out, const rendering *r, const history *h)
{
    for (size_t i = 0; i < h->count; i++) {
        size_t ends = 0, requests = 0;
        for (size_t k = 0; k < h->count; k++) {
            bool same = h->seen[k].connection == h->seen[i].connection;
            ends += same && !h->seen[k].sent;
            requests += same && h->seen[k].sent && k <= i;
        }
        if (h->seen[i].sent && requests > ends)
            fprintf(out, "{\"conn\":%lld,\"lost\":true}\n", (long long)r->names[h->seen[i].connection]);
    }
}

/* Returns the text of a trace, which the caller frees. */
static char *render(const history *h, const rendering *r, size_t *n)
{
    char *text;
    aph_value requests[HISTORY_CONNECTIONS] = {0}; /* the last on each connection */
    FILE *out = open_memstream(&text, n);
    assert_non_null(out);
    fputs(r->decorated ? "\xef\xbb\xbf{\"antiphon\":1,\"model\":\"any\"}\r\n" : r->in_array ? "[" : "", out);
    for (size_t i = 0; i < h->count; i++) {
        const history_seen *seen = &h->seen[i];
        if (seen->sent)
            requests[seen->connection] = seen->message;
        if (r->format == APH_FORMAT_JSONL) {
            write_line(out, r, seen, i);
            continue;
        }
        write_operation(out, r, seen, requests[seen->connection]);
        fputs(r->in_array && r->format == APH_FORMAT_JSON && i + 1 < h->count ? ",\n" : "\n", out);
    }
    if (r->lost)
        write_losses(out, r, h);
    fputs(r->in_array ? "]" : "", out);
    assert_int_equal(fclose(out), 0);
    return text;
}

/* ---- judging ----------------------------------------------------------------------------------------------------- */

static aph_check_verdict judge(const trial *t, const history *h, const rendering *r, aph_oracle_options oracle,
                               uint64_t *failing_line)
{
    size_t n;
    char *text = render(h, r, &n);
    oracle.solver_ms = oracle.solver_ms ? oracle.solver_ms : 20000;
    aph_check_options options = {.oracle = oracle, .format = r->format, .explain = true};
    aph_check_result *result = aph_check_memory(&t->plain, text, n, &options);
    if (result->verdict == APH_CHECK_ERROR || (result->verdict == APH_CHECK_PASS && !result->explanation_holds)) {
        fwrite(text, 1, n, stdout);
        fflush(stdout);
        fail_msg("%s, %s%s, limits %lld ms, %zu bytes, %lld ms: %s", t->plain.name,
                 oracle.environment ? oracle.environment : "tcp",
                 oracle.whole ? ", whole" : oracle.ignore_promises ? ", without promises" : "",
                 (long long)oracle.time_ms, oracle.memory, (long long)oracle.solver_ms, result->message);
    }
    aph_check_verdict verdict = result->verdict;
    if (failing_line && verdict == APH_CHECK_FAIL && aph_truth(aph_field(result->evidence, "exact")))
        *failing_line = (uint64_t)aph_int_of(aph_field(result->evidence, "line"));
    aph_check_result_free(result);
    free(text);
    return verdict;
}

static void expect(const trial *t, const char *change, bool holds, const history *h, aph_check_verdict verdict)
{
    if (holds)
        return;
    print_message("%s: %s\n", t->plain.name, aph_check_verdict_name(t->verdict));
    history_print(&t->history);
    print_message("%s: %s\n", change, aph_check_verdict_name(verdict));
    history_print(h);
    fflush(stdout);
    fail_msg("%s: %s", t->plain.name, change);
}

static void keeps_verdict(const trial *t, const char *change, const history *h, const rendering *r,
                          aph_oracle_options oracle)
{
    aph_check_verdict verdict = judge(t, h, r, oracle, NULL);
    expect(t, change, verdict == t->verdict, h, verdict);
}

static void keeps_pass(const trial *t, const char *change, const history *h, const rendering *r,
                       aph_oracle_options oracle)
{
    if (t->verdict == APH_CHECK_PASS)
        keeps_verdict(t, change, h, r, oracle);
}

/* ---- changes of a trace ------------------------------------------------------------------------------------------ */

static void rename_connections(trial *t)
{
    rendering sparse = {.names = {0, 7000000000 >> 1, 0, 4294967295, 12, 1, 65536, 2147483648}};
    rendering exchanged = {.names = {0, 7, 6, 5, 4, 3, 2, 1}};
    sparse.format = exchanged.format = APH_FORMAT_JSONL;
    keeps_verdict(t, "connections renamed", &t->history, &sparse, (aph_oracle_options){0});
    keeps_verdict(t, "connections exchanged", &t->history, &exchanged, (aph_oracle_options){0});
}

static void search_otherwise(trial *t, bool hard)
{
    const rendering *r = &plain_rendering;
    keeps_verdict(t, "checked as one state", &t->history, r, (aph_oracle_options){.whole = true});
    keeps_verdict(t, "nothing is dropped", &t->history, r, (aph_oracle_options){.patient = true});
    keeps_verdict(t, "one state, nothing is dropped", &t->history, r,
                  (aph_oracle_options){.whole = true, .patient = true});
    if (t->history.count <= (hard ? 4 : 12))
        keeps_verdict(t, "without promises", &t->history, r, (aph_oracle_options){.ignore_promises = true});
}

/* Returns true if the prefix of n observations has a request and a response; otherwise there is nothing to judge. */
static bool has_both(const history *h, size_t n)
{
    size_t requests = 0;
    for (size_t i = 0; i < n; i++)
        requests += h->seen[i].sent;
    return requests > 0 && requests < n;
}

/* The line of a fail is the end of the shortest prefix that fails. */
static void cut(trial *t)
{
    size_t whole = t->verdict == APH_CHECK_PASS ? t->history.count : t->failing_line;
    history_copy(&t->changed, &t->history);
    for (size_t n = whole; n > 1 && n + 8 > whole; n--) {
        t->changed.count = n - 1;
        if (!has_both(&t->changed, n - 1))
            break;
        aph_check_verdict verdict = judge(t, &t->changed, &plain_rendering, (aph_oracle_options){0}, NULL);
        expect(t, "a prefix", verdict == APH_CHECK_PASS, &t->changed, verdict);
    }
    t->changed.count = t->failing_line;
    if (t->failing_line)
        keeps_verdict(t, "up to the failing line", &t->changed, &plain_rendering, (aph_oracle_options){0});
}

/* Returns true if Jepsen's formats can express the history: each request has the fields f, key and value only, and each
 * connection has one request at a time. */
static bool is_jepsen(const history *h)
{
    size_t open[HISTORY_CONNECTIONS] = {0};
    for (size_t i = 0; i < h->count; i++) {
        aph_value m = h->seen[i].message, value = aph_field(m, "value"), key, item;
        if (!h->seen[i].sent) {
            open[h->seen[i].connection]--;
            continue;
        }
        if (open[h->seen[i].connection]++ || !aph_is_str(aph_field(m, "f")) || (!value && aph_has(m, aph_str("value"))))
            return false;
        for (size_t k = 0; aph_pair_at(m, k, &key, &item); k++)
            if (!aph_str_is(key, "f") && !aph_str_is(key, "key") && !aph_str_is(key, "value"))
                return false;
    }
    return true;
}

static void write_otherwise(trial *t)
{
    static const aph_trace_format formats[] = {APH_FORMAT_JEPSEN_LOG, APH_FORMAT_EDN, APH_FORMAT_JSON, APH_FORMAT_EDN,
                                               APH_FORMAT_JSON};
    rendering r = plain_rendering;
    r.decorated = true;
    keeps_verdict(t, "with notes and further keys", &t->history, &r, (aph_oracle_options){0});
    r.decorated = false;
    for (size_t i = 0; i < 5 && t->plain.rpc && is_jepsen(&t->history); i++) {
        r.format = formats[i];
        r.in_array = i >= 3;
        keeps_verdict(t, aph_trace_format_name(r.format), &t->history, &r, (aph_oracle_options){0});
    }
}

/* Exchanges the observations i and i + 1 if that sends a request no later than before, and receives a response no
 * earlier. The order of requests on different connections, and of responses, does not matter. */
static void exchange(history *h, size_t i)
{
    history_seen a = h->seen[i], b = h->seen[i + 1];
    if ((a.sent && !b.sent) || (a.sent == b.sent && a.connection == b.connection))
        return;
    h->seen[i] = b;
    h->seen[i + 1] = a;
}

static void stretch(trial *t)
{
    for (int times = 0; times < 3; times++) {
        history_copy(&t->changed, &t->history);
        for (size_t n = t->history.count * 3; n > 0 && t->history.count > 1; n--)
            exchange(&t->changed, aphi_choice_below(&t->choice, t->history.count - 1));
        keeps_pass(t, "sent earlier, answered later", &t->changed, &plain_rendering, (aph_oracle_options){0});
    }
}

/* A request without a response constrains nothing, at the end or as a lost one. */
static void loosen(trial *t)
{
    rendering r = plain_rendering;
    history_copy(&t->changed, &t->history);
    history_add(&t->changed, true, 7, t->subject->request(&t->choice));
    keeps_verdict(t, "another request at the end", &t->changed, &r, (aph_oracle_options){0});
    r.lost = true;
    keeps_pass(t, "pending requests are lost", &t->history, &r, (aph_oracle_options){0});
}

/* An environment explains the histories of each stricter one. */
static void vary_environment(trial *t, bool hard)
{
    static const char *const wider[][5] = {
        {"sync", "tcp", NULL}, {"tcp:1", "tcp:2", "tcp:3", "tcp", NULL}, {"tcp", "udp", NULL}};
    for (size_t i = 0; i < (hard ? 2 : 3); i++) {
        aph_check_verdict before = APH_CHECK_FAIL;
        for (size_t k = 0; wider[i][k] && t->history.count <= 8; k++) {
            aph_check_verdict verdict =
                judge(t, &t->history, &plain_rendering, (aph_oracle_options){.environment = wider[i][k]}, NULL);
            expect(t, wider[i][k], before != APH_CHECK_PASS || verdict == APH_CHECK_PASS, &t->history, verdict);
            expect(t, wider[i][k], strcmp(wider[i][k], "tcp") || verdict == t->verdict, &t->history, verdict);
            before = verdict;
        }
    }
}

/* At a limit, the verdict is unknown. */
static void limit(trial *t)
{
    const aph_oracle_options limits[] = {{.time_ms = 1}, {.memory = 1 << 16}, {.memory = 1}, {.solver_ms = 1}};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        aph_check_verdict verdict = judge(t, &t->history, &plain_rendering, limits[i], NULL);
        expect(t, "with a limit", verdict == t->verdict || verdict == APH_CHECK_UNKNOWN, &t->history, verdict);
    }
}

/* ---- trials ------------------------------------------------------------------------------------------------------ */

static size_t count_mutants(const aph_model *model)
{
    size_t n = 0;
    while (model->mutants && model->mutants[n])
        n++;
    return n;
}

/* One history in three is right, one is that of a mutant of the model if it has mutants, and one is mutated. */
static void make_history(trial *t, size_t i, bool many)
{
    subject maker = *t->subject;
    size_t mutants = count_mutants(maker.model);
    history_shape shape = history_random_shape(&t->choice, t->subject);
    if (many) {
        shape.requests = 12 + aphi_choice_below(&t->choice, 30);
        shape.connections = 3 + (unsigned)aphi_choice_below(&t->choice, 4);
        shape.sequential = false;
    }
    if (i % 3 == 1 && mutants)
        maker.model = maker.model->mutants[aphi_choice_below(&t->choice, mutants)];
    history_make(&t->history, &maker, shape, &t->choice);
    if (i % 3 == 2 || (i % 3 == 1 && !mutants))
        history_mutate(&t->history, t->subject, shape, &t->choice);
}

typedef struct specimen {
    const subject *subject;
    bool names;             /* its messages mention connections, so these cannot be renamed */
    bool hard;              /* many choices: no datagrams, and only short histories without promises */
    bool large;             /* also with many requests */
    unsigned percent;       /* of the usual number of trials */
} specimen;

static void try_history(const specimen *s, size_t i, compare_count *count)
{
    trial t = {.subject = s->subject, .plain = *s->subject->model,
               .choice = aphi_choice_seed(compare_seed() * 1000003 + i)};
    t.plain.jepsen = NULL;
    make_history(&t, i, s->large && i % 5 == 0);
    if (!has_both(&t.history, t.history.count)) {
        history_deinit(&t.history);
        return;
    }
    aph_root_add(mark_trial, &t);
    t.verdict = judge(&t, &t.history, &plain_rendering, (aph_oracle_options){0}, &t.failing_line);
    count->histories++;
    count->valid += t.verdict == APH_CHECK_PASS;
    count->invalid += t.verdict == APH_CHECK_FAIL;
    if (!s->names)
        rename_connections(&t);
    search_otherwise(&t, s->hard);
    cut(&t);
    write_otherwise(&t);
    stretch(&t);
    loosen(&t);
    vary_environment(&t, s->hard);
    limit(&t);
    aph_root_remove(mark_trial, &t);
    history_deinit(&t.history);
    history_deinit(&t.changed);
}

static const specimen specimens[] = {
    {&subject_register, .large = true, .percent = 100},
    {&subject_kv, .large = true, .percent = 100},
    {&subject_queue, .percent = 100},
    {&subject_swap, .percent = 100},
    {&subject_etag_kv, .percent = 50},
    {&subject_http, .hard = true, .percent = 20},
    {&subject_swap_bytes, .hard = true, .percent = 20},
    {&subject_relay, .names = true, .percent = 100},
    {&subject_lock, .names = true, .percent = 100},
    {&subject_greeter, .names = true, .percent = 100},
    {&subject_chatty, .names = true, .percent = 20},
    {&subject_fickle, .percent = 50},
    {&subject_counters, .large = true, .percent = 100},
    {&subject_dice, .percent = 20},
    {&subject_sessions, .percent = 100},
};

static void verdicts_are_kept(void **unused)
{
    (void)unused;
    compare_count count = {0};
    for (size_t k = 0; k < sizeof specimens / sizeof *specimens; k++) {
        size_t n = compare_cases(200) * specimens[k].percent / 100;
        for (size_t i = 0; i < n; i++) {
            try_history(&specimens[k], i, &count);
            if (i % 64 == 0)
                aph_collect();
        }
    }
    assert_true(compare_report("all", &count));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(verdicts_are_kept)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

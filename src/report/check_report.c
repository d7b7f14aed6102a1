/* SPDX-License-Identifier: Apache-2.0
 *
 * check_report.c - results of `antiphon check` as text and as JSON. */
#include "report/check_report.h"

#include "base/memory.h"
#include "base/plain_text.h"
#include "report/difference.h"
#include "report/history_diagram.h"
#include "report/message_text.h"
#include "report/utf8.h"

#include <stdlib.h>
#include <string.h>

enum { ORDER_SHOWN = 20, STATE_SHOWN = 60, HANG = 6, COMPARED = 1000 /* bytes of a long message */ };

static void add_json(aphi_buffer *out, aph_value v)
{
    aphi_message_json(out, v, APHI_MESSAGE_WHOLE);
}

/* Appends a request in short form: write 3, get "a". If the model has no formatter, a response is shown as JSON,
 * because the fields of responses have no common names. */
static void add_message(aphi_buffer *out, aph_value message, aph_words *words)
{
    aphi_message_words(out, message, words, APHI_MESSAGE_WHOLE);
}

static void add_answer(aphi_buffer *out, aph_value answer, aph_words *words)
{
    if (words)
        add_message(out, answer, words);
    else
        add_json(out, answer);
}

/* Does the same, up to COMPARED bytes. */
static void add_short_answer(aphi_buffer *out, aph_value answer, aph_words *words)
{
    if (words)
        aphi_message_words(out, answer, words, COMPARED);
    else
        aphi_message_json(out, answer, COMPARED);
}

static void add_str(aphi_buffer *out, aph_value v)
{
    size_t n;
    const char *bytes = aph_bytes_of(&v, &n);
    aphi_buffer_add(out, bytes, n);
}

static void add_clause(aphi_buffer *out, aph_value clause)
{
    if (!aph_is_str(clause))
        return;
    aphi_buffer_str(out, " (");
    add_str(out, clause);
    aphi_buffer_byte(out, ')');
}

static uint64_t number_of(aph_value object, const char *name)
{
    aph_value v = aph_field(object, name);
    return aph_is_int(v) && aph_int_of(v) >= 0 ? (uint64_t)aph_int_of(v) : 0;
}

/* ---- a failure --------------------------------------------------------------------------------------------------- */

/* In a model that is not rpc, requests and responses are separate operations. */
static char *label_of(aph_value op, aph_words *words)
{
    aphi_buffer label = {0};
    bool has_request = aph_has(op, aph_str("request"));
    if (aph_truth(aph_field(op, "quiet")))
        aphi_buffer_str(&label, "silence");
    if (has_request)
        add_message(&label, aph_field(op, "request"), words);
    if (aph_has(op, aph_str("answer"))) {
        aphi_buffer_str(&label, has_request ? " → " : "→ ");
        add_answer(&label, aph_field(op, "answer"), words);
    }
    return aphi_buffer_text(&label);
}

/* Appends the unexplained response, with its request if there is one. */
static void add_unexplained(aphi_buffer *out, aph_value evidence, aph_words *words)
{
    bool has_request = aph_has(evidence, aph_str("request")), quiet = aph_truth(aph_field(evidence, "quiet"));
    if (quiet)
        aphi_buffer_str(out, has_request ? "no response to " : "every explanation has a pending message");
    if (has_request)
        add_message(out, aph_field(evidence, "request"), words);
    if (!aph_has(evidence, aph_str("observed")))
        return;
    if (has_request)
        aphi_buffer_str(out, " → ");
    add_answer(out, aph_field(evidence, "observed"), words);
    if (!has_request)
        aphi_buffer_format(out, ", to client %lld", (long long)aph_int_of(aph_field(evidence, "connection")));
}

static void add_expected(aphi_buffer *out, aph_value evidence, aph_words *words)
{
    aph_value allowed = aph_field(evidence, "allowed");
    size_t n = aph_count(allowed);
    if (!n)
        return;
    aphi_buffer_str(out, "expected ");
    for (size_t i = 0; i < n; i++) {
        if (i)
            aphi_buffer_str(out, i + 1 == n && aph_truth(aph_field(evidence, "all_allowed")) ? " or " : ", ");
        aphi_message_origin(out, aph_at(allowed, i));
        add_short_answer(out, aph_field(aph_at(allowed, i), "answer"), words);
    }
    if (!aph_truth(aph_field(evidence, "all_allowed")))
        aphi_buffer_str(out, ", ...");
}

static void draw_window(aphi_buffer *out, aph_value evidence, aph_words *words, const aphi_terminal *t)
{
    aph_value window = aph_field(evidence, "window");
    size_t n = aph_count(window);
    aphi_history_diagram_operation *ops = aphi_alloc((n + 1) * sizeof *ops);
    aphi_buffer expected = {0};
    for (size_t i = 0; i < n; i++) {
        aph_value op = aph_at(window, i);
        ops[i] = (aphi_history_diagram_operation){
            .client = aph_truth(aph_field(op, "quiet")) ? APHI_HISTORY_DIAGRAM_ALL
                                                        : aph_int_of(aph_field(op, "connection")),
            .label = label_of(op, words),
            .call = number_of(op, "call"),
            .end = aph_has(op, aph_str("end")) ? number_of(op, "end") : APHI_HISTORY_DIAGRAM_NEVER,
            .line = number_of(op, "line"),
            .mark = aph_truth(aph_field(op, "violated")) ? APHI_HISTORY_DIAGRAM_VIOLATED : APHI_HISTORY_DIAGRAM_PLAIN};
    }
    add_expected(&expected, evidence, words);
    aphi_history_diagram_draw(
        out,
        &(aphi_history_diagram){.operations = ops, .n = n, .expected = expected.n ? aphi_buffer_text(&expected) : NULL},
        t);
    for (size_t i = 0; i < n; i++)
        free((void *)(uintptr_t)ops[i].label);
    free(ops);
    aphi_buffer_free(&expected);
}

static void add_lines(aphi_buffer *out, aph_value order)
{
    size_t n = aph_count(order), from = n > ORDER_SHOWN ? n - ORDER_SHOWN : 0;
    if (from)
        aphi_buffer_str(out, "... ");
    for (size_t i = from; i < n; i++)
        aphi_buffer_format(out, "%s%lld", i > from ? ", " : "", (long long)aph_int_of(aph_at(order, i)));
}

/* Appends a line, wrapped at blanks to the terminal's width, with continuation lines indented by HANG columns. */
static void add_wrapped(aphi_buffer *out, aphi_buffer *line, const aphi_terminal *t)
{
    size_t x = 0;
    for (const char *word = aphi_buffer_text(line); *word;) {
        size_t blanks = strspn(word, " "), bytes = blanks + strcspn(word + blanks, " ");
        aphi_buffer one = {0};
        aphi_buffer_add(&one, word, bytes);
        size_t columns = aphi_utf8_columns(aphi_buffer_text(&one));
        if (x > HANG && x + columns > t->columns) {
            aphi_buffer_format(out, "\n%*s", HANG, "");
            aphi_buffer_str(out, one.data + blanks);
            x = HANG + columns - blanks;
        } else {
            aphi_buffer_str(out, one.data);
            x += columns;
        }
        aphi_buffer_free(&one);
        word += bytes;
    }
    aphi_buffer_byte(out, '\n');
    aphi_buffer_free(line);
}

static void show_difference(aphi_buffer *out, aph_value evidence, aph_value answer, aph_words *words,
                            const aphi_terminal *t)
{
    aphi_buffer line = {0}, text = {0};
    if (aph_has(evidence, aph_str("observed")))
        aphi_difference(&text, aph_field(evidence, "observed"), answer, words, COMPARED);
    if (text.n) {
        aphi_buffer_format(&line, "%*s%s", HANG, "", aphi_buffer_text(&text));
        add_wrapped(out, &line, t);
    }
    aphi_buffer_free(&text);
}

static void show_unreadable(aphi_buffer *out, aph_value why, const aphi_terminal *t)
{
    aphi_buffer line = {0};
    if (!why)
        return;
    aphi_buffer_str(&line, "      but the model's codec ");
    aphi_message_plain(&line, why, APHI_MESSAGE_WHOLE);
    add_wrapped(out, &line, t);
}

/* Appends the model's reasons for a response: named choices and decisions, with their clauses. */
static void show_reasons(aphi_buffer *out, aph_value reasons, const aphi_terminal *t)
{
    aphi_buffer line = {0};
    for (size_t i = 0; i < aph_count(reasons); i++) {
        aph_value reason = aph_at(reasons, i);
        aph_value choice = aph_field(reason, "choice"), decision = aph_field(reason, "decision");
        aphi_buffer_str(&line, i ? ", " : "      because of ");
        if (choice)
            add_str(&line, choice);
        else if (decision)
            add_str(&line, decision);
        else
            aphi_buffer_str(&line, "this response");
        if (decision)
            aphi_buffer_str(&line, aph_truth(aph_field(reason, "value")) ? " = true" : " = false");
        add_clause(&line, aph_field(reason, "clause"));
    }
    if (line.n)
        add_wrapped(out, &line, t);
}

static void show_allowed(aphi_buffer *out, aph_value evidence, aph_words *words, const aphi_terminal *t)
{
    aph_value allowed = aph_field(evidence, "allowed");
    if (!aph_count(allowed))
        return;
    aphi_buffer_str(out, "  The model allows instead:\n");
    for (size_t i = 0; i < aph_count(allowed); i++) {
        aph_value a = aph_at(allowed, i);
        aphi_buffer answer = {0}, state = {0}, order = {0};
        aphi_buffer_str(&answer, "    ");
        aphi_message_origin(&answer, a);
        add_answer(&answer, aph_field(a, "answer"), words);
        aphi_utf8_cut(out, aphi_buffer_text(&answer), t->columns, t->unicode);
        add_json(&state, aph_field(a, "state"));
        aphi_buffer_str(out, ", in state ");
        aphi_utf8_cut(out, aphi_buffer_text(&state), STATE_SHOWN, t->unicode);
        aphi_buffer_str(out, aph_count(aph_field(a, "given")) ? ", where " : "");
        aphi_message_given(out, aph_field(a, "given"), APHI_MESSAGE_WHOLE);
        aphi_buffer_str(out, aph_field(a, "order") ? ",\n" : "\n");
        if (aph_field(a, "order")) {
            aphi_buffer_str(&order, "      if the requests were applied in this order (by line): ");
            add_lines(&order, aph_field(a, "order"));
            add_wrapped(out, &order, t);
        }
        show_difference(out, evidence, aph_field(a, "answer"), words, t);
        show_unreadable(out, aph_field(a, "unreadable"), t);
        show_reasons(out, aph_field(a, "because"), t);
        aphi_buffer_free(&answer);
        aphi_buffer_free(&state);
    }
    if (!aph_truth(aph_field(evidence, "all_allowed")))
        aphi_buffer_str(out, "    There may be more.\n");
    if (aphi_message_has_unknown(allowed))
        aphi_buffer_str(out, "  Here " APHI_MESSAGE_UNKNOWNS ".\n");
}

static void show_failure(aphi_buffer *out, const aph_check_result *r, aph_words *words, const aphi_terminal *t)
{
    aph_value evidence = r->evidence;
    aphi_buffer text = {0}, clean = {0};
    aphi_buffer_escaped(out, "\n%s:%llu: ", r->file, (unsigned long long)number_of(evidence, "line"));
    bool response = aph_has(evidence, aph_str("observed")), quiet = aph_truth(aph_field(evidence, "quiet"));
    aphi_terminal_paint(out, t, APHI_INK_ALARM,
                        quiet      ? "no explanation for this silence"
                        : response ? "no explanation for this response"
                                   : "no explanation for this request");
    add_unexplained(&text, evidence, words);
    aphi_utf8_clean(&clean, aphi_buffer_text(&text), t->unicode);
    aphi_buffer_str(out, ": ");
    aphi_utf8_cut(out, aphi_buffer_text(&clean), t->columns, t->unicode);
    if (aph_count(aph_field(evidence, "part"))) {
        aphi_buffer_str(out, "  (partition ");
        add_json(out, aph_field(evidence, "part"));
        aphi_buffer_byte(out, ')');
    }
    aphi_buffer_str(out, "\n");
    if (!aph_truth(aph_field(evidence, "exact")))
        aphi_buffer_str(out, "  (no explanation was followed beyond this response; an earlier one may be wrong)\n");
    aphi_buffer_byte(out, '\n');
    draw_window(out, evidence, words, t);
    aphi_buffer_byte(out, '\n');
    show_allowed(out, evidence, words, t);
    if (*r->message)
        aphi_buffer_escaped(out, "  %s.\n", r->message);
    if (aph_field(evidence, "promises"))
        aphi_buffer_str(out, "  The model's promises were not verified; compare with --ignore-promises.\n");
    aphi_buffer_free(&clean);
    aphi_buffer_free(&text);
}

/* ---- errors, limits, explanations -------------------------------------------------------------------------------- */

static void show_error(aphi_buffer *out, const aph_check_result *r)
{
    aphi_buffer_escaped(out, "%s", r->file);
    if (r->line)
        aphi_buffer_format(out, ":%llu", (unsigned long long)r->line);
    if (r->column)
        aphi_buffer_format(out, ":%llu", (unsigned long long)r->column);
    aphi_buffer_escaped(out, ": %s", r->message);
}

static void show_unknown(aphi_buffer *out, const aph_check_result *r)
{
    static const char *const names[] = {[APH_LIMIT_TIME] = "time", [APH_LIMIT_MEMORY] = "memory",
                                        [APH_LIMIT_SOLVER] = "solver"};
    static const char *const options[] = {[APH_LIMIT_TIME] = "time", [APH_LIMIT_MEMORY] = "memory",
                                          [APH_LIMIT_SOLVER] = "solver-ms"};
    if (r->limit == APH_LIMIT_STOPPED)
        aphi_buffer_escaped(out, "%s: stopped at line %llu", r->file, (unsigned long long)r->line);
    else if (r->limit == APH_LIMIT_BRANCHES)
        aphi_buffer_escaped(out, "%s: no verdict at line %llu: %s", r->file, (unsigned long long)r->line, r->message);
    else
        aphi_buffer_escaped(out, "%s: %s limit reached at line %llu without a verdict; raise --%s", r->file,
                            names[r->limit], (unsigned long long)r->line, options[r->limit]);
}

/* Appends the server's choices, by their names in the model, and unknowns with their values. */
static void show_choices(aphi_buffer *out, aph_value named, const aphi_terminal *t)
{
    size_t n = aph_count(named);
    aphi_buffer line = {0};
    aphi_buffer_str(&line, "    choices: ");
    for (size_t i = 0; i < n && i < ORDER_SHOWN; i++) {
        aph_value choice = aph_at(named, i), name = aph_field(choice, "choice"), clause = aph_field(choice, "clause");
        aphi_buffer_str(&line, i ? ", " : "");
        if (aph_is_str(name))
            add_str(&line, name);
        if (!aph_is_str(name) || !aph_is_int(aph_field(choice, "value"))) {
            aphi_buffer_str(&line, aph_is_str(name) ? " = " : "");
            add_json(&line, aph_field(choice, "value"));
        }
        add_clause(&line, clause);
    }
    aphi_buffer_str(&line, n > ORDER_SHOWN ? ", ..." : "");
    add_wrapped(out, &line, t);
}

static void show_explanation(aphi_buffer *out, const aph_check_result *r, const aphi_terminal *t)
{
    aph_value parts = r->explanation;
    aphi_buffer_escaped(out, "%s: explained; the replay of the explanation %s%s", r->file,
                        r->explanation_holds ? "holds" : "does not hold: ", r->message);
    aphi_buffer_byte(out, '\n');
    for (size_t i = 0; i < aph_count(parts) && i < ORDER_SHOWN; i++) {
        aph_value part = aph_at(parts, i), choices = aph_field(part, "choices");
        aphi_buffer line = {0};
        aphi_buffer_str(&line, "  ");
        if (aph_count(aph_field(part, "part"))) {
            aphi_buffer_str(&line, "partition ");
            add_json(&line, aph_field(part, "part"));
            aphi_buffer_str(&line, ": ");
        }
        aphi_buffer_str(&line, "requests applied in this order (by line): ");
        add_lines(&line, aph_field(part, "lines"));
        add_wrapped(out, &line, t);
        if (aph_count(choices))
            show_choices(out, aph_field(part, "named"), t);
    }
    if (aph_count(parts) > ORDER_SHOWN)
        aphi_buffer_format(out, "  ... and %zu more partitions; --json lists all\n", aph_count(parts) - ORDER_SHOWN);
}

/* Appends one line: the reason why the result is not a pass. */
static void put_reason(aphi_buffer *out, const aph_check_result *r, aph_words *words)
{
    if (r->verdict == APH_CHECK_ERROR) {
        show_error(out, r);
    } else if (r->verdict == APH_CHECK_VACUOUS) {
        aphi_buffer_format(out, "%s: %s", r->file, r->message);
    } else if (r->verdict == APH_CHECK_UNKNOWN) {
        show_unknown(out, r);
    } else if (r->verdict == APH_CHECK_FAIL) {
        aphi_buffer_format(out, "line %llu: no explanation for ", (unsigned long long)number_of(r->evidence, "line"));
        add_unexplained(out, r->evidence, words);
    }
}

void aphi_check_report_detail(aphi_buffer *out, const aph_check_result *r, aph_words *words, const aphi_terminal *t)
{
    if (r->verdict == APH_CHECK_FAIL) {
        show_failure(out, r, words, t);
    } else if (r->verdict == APH_CHECK_PASS) {
        if (r->explanation)
            show_explanation(out, r, t);
    } else {
        put_reason(out, r, words);
        aphi_buffer_byte(out, '\n');
    }
}

void aphi_check_report_json(FILE *out, const aph_check_result *r, int exit_code)
{
    aph_value key, item, result = aph_put(aph_check_result_value(r), "exit", aph_int(exit_code));
    for (size_t i = 0; aph_pair_at(result, i, &key, &item); i++) {
        size_t n;
        const char *name = aph_bytes_of(&key, &n);
        fputc(i ? ',' : '{', out);
        if (n > 3 && !memcmp(name + n - 3, "_ns", 3)) {
            fprintf(out, "\"%.*s_ms\":%.6f", (int)n - 3, name, (double)aph_int_of(item) / 1e6);
        } else {
            aph_json_write(out, key);
            fputc(':', out);
            aph_json_write(out, item);
        }
    }
    fputs("}\n", out);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

aphi_result aphi_check_report_row(const aph_check_result *r, aph_words *words, bool detailed)
{
    static const aphi_outcome outcomes[] = {[APH_CHECK_PASS] = APHI_OUTCOME_PASS, [APH_CHECK_FAIL] = APHI_OUTCOME_FAIL,
                                            [APH_CHECK_UNKNOWN] = APHI_OUTCOME_UNKNOWN,
                                            [APH_CHECK_ERROR] = APHI_OUTCOME_ERROR,
                                            [APH_CHECK_VACUOUS] = APHI_OUTCOME_VACUOUS};
    aphi_buffer reason = {0}, detail = {0};
    aphi_result row = {.file = r->file, .outcome = outcomes[r->verdict], .operations = r->operations,
                       .configurations = r->configurations, .time_ns = r->check_ns};
    if (r->verdict == APH_CHECK_PASS)
        return row;
    put_reason(&reason, r, words);
    row.message = aphi_buffer_text(&reason);
    if (detailed) {
        aphi_check_report_detail(&detail, r, words, &(aphi_terminal){.unicode = true, .columns = 120});
        row.detail = aphi_buffer_text(&detail);
    }
    return row;
}

void aphi_check_report_row_free(aphi_result *row)
{
    free((void *)(uintptr_t)row->message);
    free((void *)(uintptr_t)row->detail);
}

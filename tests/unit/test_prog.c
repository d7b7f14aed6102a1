/* SPDX-License-Identifier: Apache-2.0
 *
 * test_prog.c - Prog: the meaning of programs, positions of errors, and hostile texts. */
#include "models/prog.h"
#include "tree/step.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- running ----------------------------------------------------------------------------------------------------- */

typedef struct exchange {
    aph_value query, choice, answer;
    aph_event chosen;
    size_t choices;
    const char *branch; /* the name of the last branch */
} exchange;

static bool act(void *context, const aph_event *event, aph_value *answer)
{
    exchange *x = context;
    switch (event->kind) {
    case APH_EVENT_RECV: *answer = APH_ARRAY_OF(aph_int(1), x->query); return true;
    case APH_EVENT_CHOOSE:
        x->chosen = *event;
        x->choices++;
        *answer = x->choice;
        return true;
    case APH_EVENT_DECIDE:
        x->branch = event->name;
        *answer = event->value;
        return aph_kind_of(event->value) == APH_BOOL;
    case APH_EVENT_SEND: x->answer = event->value; return true;
    default: return false;
    }
}

static aph_model *parse(const char *text)
{
    aph_prog_error error = {0};
    aph_model *model = aph_prog_read(text, strlen(text), "test", &error);
    if (!model)
        fail_msg("%d:%d: %s", error.line, error.column, error.message);
    return model;
}

static exchange run(const aph_model *model, aph_value *state, int64_t query, aph_value choice)
{
    exchange x = {.query = aph_int(query), .choice = choice};
    assert_int_equal(aphi_step_run(model, state, act, &x), APHI_ENDED);
    return x;
}

static void ask(const aph_model *model, aph_value *state, int64_t query, int64_t choice, int64_t answer)
{
    assert_int_equal(aph_int_of(run(model, state, query, aph_int(choice)).answer), answer);
}

/* Checks the value of an expression when !1 is 7. */
static void means(const char *expression, int64_t value)
{
    char text[200];
    aph_value state = aph_object();
    snprintf(text, sizeof text, "!1 := %s; return", expression);
    aph_model *model = parse(text);
    ask(model, &state, 7, 0, value);
    assert_ptr_equal(state, aph_object());
    aph_prog_free(model);
}

/* Checks that the step is impossible with this query and choice 0. */
static void cannot(const char *text, int64_t query)
{
    aph_model *model = parse(text);
    aph_value state = aph_object();
    exchange x = {.query = aph_int(query), .choice = aph_int(0)};
    assert_int_equal(aphi_step_run(model, &state, act, &x), APHI_NEVER);
    aph_prog_free(model);
}

static int drop_heap(void **unused)
{
    (void)unused;
    aph_heap_close();
    return 0;
}

static void test_expressions(void **unused)
{
    (void)unused;
    means("2 + 3 * 4", 14);
    means("(2 + 3) * 4", 20);
    means("10 - 3 - 2", 5);
    means("100 / 5 / 2", 10);
    means("8 / 2 * 3", 12);
    means("-5", -5);
    means("- 5 + 1", -4);
    means("2 - -3", 5);
    means("-!1 * 2", -14);
    means("-(-!1)", 7);
    means("--7", 7);
    means("!1 * !1 - !2", 49);
    means("9223372036854775807", INT64_MAX);
    means("-9223372036854775808", INT64_MIN);
    means("2\u00d73\u00f72", 3);
}

static void test_division_rounds_down(void **unused)
{
    (void)unused;
    means("7 / 2", 3);
    means("-7 / 2", -4);
    means("7 / -2", -4);
    means("-7 / -2", 3);
    means("-6 / 2", -3);
}

/* An undefined result may be stored, but not used in a condition or a response. */
static void test_no_result(void **unused)
{
    (void)unused;
    cannot("!1 := 1 / 0; return", 1);
    cannot("!1 := !1 / !2; return", 1);
    cannot("!1 := 9223372036854775807 + 1; return", 1);
    cannot("!1 := -9223372036854775808 / -1; return", 1);
    cannot("!1 := !1 * !1; return", INT64_MAX);
    cannot("!3 := 1 / 0; if !3 <= !3 then return else return", 1);
    cannot("!3 := 1 / 0; !1 := !3 * 0; return", 1);
    aph_model *model = parse("!3 := 1 / 0; !1 := 5; return");
    aph_value state = aph_object();
    ask(model, &state, 1, 0, 5);
    ask(model, &state, 1, 0, 5);
    aph_prog_free(model);
}

static void test_compare_and_set(void **unused)
{
    (void)unused;
    aph_model *model = parse("if !1 <= !2 then !1 := 0; return else !2 := !1; !1 := 1; return");
    aph_value state = aph_object();
    ask(model, &state, 0, 0, 0);
    ask(model, &state, 5, 0, 1);
    ask(model, &state, 5, 0, 0);
    ask(model, &state, 6, 0, 1);
    assert_ptr_equal(state, aph_record("2", aph_int(6)));
    assert_int_equal(run(model, &state, 1, APH_NIL).choices, 0); /* the path does not read the choice */
    aph_prog_free(model);
}

static void test_compare_and_reset(void **unused)
{
    (void)unused;
    aph_model *model = parse("if !1 \u2264 !2 then !1 \u2190 0; return\nelse !1 \u2190 1; !2 \u2190 !0; return");
    aph_value state = aph_object(), symbol = aph_symbol(APH_INT, 0);

    ask(model, &state, 5, 9, 1);
    ask(model, &state, 9, 0, 0);
    ask(model, &state, 10, 0, 1);
    assert_ptr_equal(state, aph_object()); /* 0 was chosen: the initial state */
    exchange x = run(model, &state, 1, symbol);
    assert_int_equal(x.chosen.sort, APH_INT);
    assert_false(x.chosen.bounded);
    assert_ptr_equal(state, aph_record("2", symbol));
    x = (exchange){.query = aph_int(3)}; /* the choice decides */
    assert_int_equal(aphi_step_run(model, &state, act, &x), APHI_LEFT);
    assert_string_equal(x.branch, "if at 1:1");
    aph_prog_free(model);
}

static void test_choices(void **unused)
{
    (void)unused;
    aph_model *model = parse("# a die\nchoices -1..6\n!1 := !0 + !0; !0 := 0; !2 := !0; return");
    aph_value state = aph_object();
    exchange x = run(model, &state, 0, aph_int(3));
    assert_int_equal(aph_int_of(x.answer), 6);
    assert_int_equal(x.choices, 1); /* one per step */
    assert_true(x.chosen.bounded && x.chosen.low == -1 && x.chosen.high == 6);
    assert_ptr_equal(state, aph_object()); /* !0 was written as 0, not as a choice */
    aph_prog_free(model);
}

static void test_nested(void **unused)
{
    (void)unused;
    aph_model *model = parse("if !1 <= 10 then\n"
                             "  if !1 <= 5 then !1 := 1; return else !1 := 2; return\n"
                             "else if !1 <= 15 then !1 := 3; return\n"
                             "else !1 := 4; return");
    aph_value state = aph_object();
    ask(model, &state, 5, 0, 1);
    ask(model, &state, 6, 0, 2);
    ask(model, &state, 15, 0, 3);
    ask(model, &state, 16, 0, 4);
    assert_string_equal(run(model, &state, 16, APH_NIL).branch, "if at 3:6");
    aph_prog_free(model);
}

static void test_only_integers(void **unused)
{
    (void)unused;
    aph_model *model = parse("return");
    aph_value state = aph_object();
    exchange x = {.query = aph_str("5")};
    assert_int_equal(aphi_step_run(model, &state, act, &x), APHI_UNKNOWN_REQUEST);
    assert_string_equal(model->name, "test");
    aph_prog_free(model);
}

/* ---- errors ------------------------------------------------------------------------------------------------------ */

static void error_at(const char *text, int line, int column, const char *message)
{
    aph_prog_error error = {0};
    assert_null(aph_prog_read(text, strlen(text), "test", &error));
    assert_string_equal(error.message, message);
    assert_int_equal(error.line, line);
    assert_int_equal(error.column, column);
}

static void test_errors(void **unused)
{
    (void)unused;
    error_at("", 1, 1, "expected 'if', 'return' or a write such as !1 := 0;, found the end of the program");
    error_at("# only this", 1, 12, "expected 'if', 'return' or a write such as !1 := 0;, found the end of the program");
    error_at("!1 := 0;\n", 2, 1, "expected 'if', 'return' or a write such as !1 := 0;, found the end of the program");
    error_at("!1 = 0; return", 1, 4, "expected ':=', found '='");
    error_at("!1 := 0\nreturn", 2, 1, "expected ';' or an operator, found 'return'");
    error_at("!x := 0; return", 1, 2, "expected an address after '!', found 'x'");
    error_at("!1 := ; return", 1, 7, "expected an integer, an address such as !1, or '(', found ';'");
    error_at("!1 := (2; return", 1, 9, "expected ')', found ';'");
    error_at("if !1 < 2 then return else return", 1, 7, "expected '<=' or an operator, found '<'");
    error_at("if !1 <= 2\n  return", 2, 3, "expected 'then' or an operator, found 'return'");
    error_at("if !1 <= 2 then return", 1, 23, "expected 'else', found the end of the program");
    error_at("return return", 1, 8,
             "expected the end of the program (only the else of an if may follow a return), found 'return'");
    error_at("!1 := 9223372036854775808; return", 1, 7, "this integer does not fit in 64 bits");
    error_at("!1 := 99999999999999999999; return", 1, 7, "this integer does not fit in 64 bits");
    error_at("!9223372036854775808 := 1; return", 1, 2, "this integer does not fit in 64 bits");
    error_at("choices 5..4 return", 1, 14, "empty range of choices: the lower bound is above the upper one");
    error_at("choices 5 return", 1, 11, "expected '..', found 'return'");
    error_at("!1 := \x01; return", 1, 7, "expected an integer, an address such as !1, or '(', found the byte 0x01");
    error_at("Return", 1, 1, "expected 'if', 'return' or a write such as !1 := 0;, found 'Return'");
}

/* ---- hostile text ------------------------------------------------------------------------------------------------ */

static char *repeat(const char *before, const char *text, size_t times, const char *after)
{
    size_t n = strlen(text);
    char *s = malloc(strlen(before) + n * times + strlen(after) + 1), *end = s;
    end = stpcpy(end, before);
    for (size_t i = 0; i < times; i++, end += n)
        memcpy(end, text, n);
    strcpy(end, after);
    return s;
}

static void too_deep(const char *before, const char *text, const char *after)
{
    aph_prog_error error = {0};
    char *s = repeat(before, text, 1000000, after);
    assert_null(aph_prog_read(s, strlen(s), "test", &error));
    assert_non_null(strstr(error.message, "500"));
    free(s);
}

static void test_depth(void **unused)
{
    (void)unused;
    too_deep("!1 := ", "(", "1");
    too_deep("!1 := ", "-", "!1; return");
    too_deep("!1 := 1", " + 1", "; return");
    too_deep("!1 := 1", " * 1", "; return");
    too_deep("", "if 1 <= 2 then ", "return");
}

static void test_length(void **unused)
{
    (void)unused;
    char *writes = repeat("", "!1 := !1 + 1; ", 20000, "return");
    char *cases = repeat("", "if !1 <= -1 then return else ", 20000, "!1 := 9; return");
    aph_model *model = parse(writes);
    aph_value state = aph_object();
    ask(model, &state, 1, 0, 20001);
    aph_prog_free(model);
    model = parse(cases);
    ask(model, &state, 1, 0, 9);
    aph_prog_free(model);
    free(writes);
    free(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_expressions),       cmocka_unit_test(test_division_rounds_down),
        cmocka_unit_test(test_no_result),         cmocka_unit_test(test_compare_and_set),
        cmocka_unit_test(test_compare_and_reset), cmocka_unit_test(test_choices),
        cmocka_unit_test(test_nested),            cmocka_unit_test(test_only_integers),
        cmocka_unit_test(test_errors),            cmocka_unit_test(test_depth),
        cmocka_unit_test(test_length),
    };
    return cmocka_run_group_tests(tests, NULL, drop_heap);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * test_mutants.c - all mutants of small sources, by operator; numbers, identities and diffs of mutants; the list of
 * equivalent mutants. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "mutate/mutants.h"

static aphi_mutants find_mutants(const char *text)
{
    aphi_mutants mutants;
    aphi_cerror error;
    if (!aphi_mutants_find(text, strlen(text), &mutants, &error))
        fail_msg("%u:%u: %s", error.line, error.column, error.message);
    return mutants;
}

static size_t lines(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += *text == '\n';
    return n;
}

/* Compares all mutants of one operator, each written as old and new text: "<~<= | <~>". Checks that every mutant has as
 * many lines as the source. */
static void assert_mutants(aphi_operator operator, const char *text, const char *expected)
{
    aphi_mutants mutants = find_mutants(text);
    aphi_buffer is = {0};
    for (size_t i = 0; i < mutants.n; i++) {
        const aphi_mutant *m = &mutants.items[i];
        aphi_buffer source = {0};
        aphi_mutant_write(&source, text, strlen(text), m);
        assert_int_equal(lines(aphi_buffer_text(&source)), lines(text));
        assert_string_not_equal(source.data, text);
        aphi_buffer_free(&source);
        if (m->operator == operator)
            aphi_buffer_format(&is, "%s%s~%s", is.n ? " | " : "", m->before, m->after);
    }
    assert_string_equal(aphi_buffer_text(&is), expected);
    aphi_buffer_free(&is);
    aphi_mutants_free(&mutants);
}

/* Compares the source of the operator's only mutant. */
static void assert_source(aphi_operator operator, const char *text, const char *expected)
{
    aphi_mutants mutants = find_mutants(text);
    size_t seen = 0;
    for (size_t i = 0; i < mutants.n; i++) {
        if (mutants.items[i].operator != operator)
            continue;
        aphi_buffer source = {0};
        aphi_mutant_write(&source, text, strlen(text), &mutants.items[i]);
        assert_string_equal(aphi_buffer_text(&source), expected);
        aphi_buffer_free(&source);
        seen++;
    }
    assert_int_equal(seen, 1);
    aphi_mutants_free(&mutants);
}

static void relational(void **unused)
{
    (void)unused;
    assert_mutants(APHI_OPERATOR_RELATIONAL, "int f(int a) { return a < 3; }",
                   "<~<= | <~> | <~>= | <~== | <~!=");
    assert_mutants(APHI_OPERATOR_RELATIONAL, "int f(int a) { return a != 3; }",
                   "!=~< | !=~<= | !=~> | !=~>= | !=~==");
    assert_mutants(APHI_OPERATOR_RELATIONAL, "#include <a>\n#define X a < b\nint f(void) { return X; }", "");
}

static void arithmetic(void **unused)
{
    (void)unused;
    assert_mutants(APHI_OPERATOR_ARITHMETIC, "int f(int a) { return a + 3; }", "+~- | +~* | +~/ | +~%");
    assert_mutants(APHI_OPERATOR_ARITHMETIC, "int f(int a) { return a & 3; }", "&~| | &~^");
    assert_mutants(APHI_OPERATOR_ARITHMETIC, "int f(int a) { return a << 3; }", "<<~>>");
    assert_mutants(APHI_OPERATOR_ARITHMETIC, "void f(int a) { a++; --a; }", "++~-- | --~++");
    assert_mutants(APHI_OPERATOR_ARITHMETIC, "void f(int a) { a -= 2; a |= 2; a >>= 1; }",
                   "-=~+= | -=~*= | -=~/= | -=~%= | |=~&= | |=~^= | >>=~<<=");
    /* Signs, addresses, dereferences, pointer types and casts are not binary operators. */
    assert_mutants(APHI_OPERATOR_ARITHMETIC,
                   "void f(int *a) { int *b = &*a; *b = -1; g((char)-*a, (T *)&b, (x_t)+1); }", "");
    assert_mutants(APHI_OPERATOR_ARITHMETIC, "void f(int a) { if (a) *p = 1; g((X) - 1); g(sizeof(int) * a); }",
                   "*~+ | *~- | *~/ | *~%");
    assert_mutants(APHI_OPERATOR_ARITHMETIC, "void f(int a) { g((a) - 1); unknown *p; }", "-~+ | -~* | -~/ | -~%");
    /* Spaces separate operators that would merge. */
    assert_source(APHI_OPERATOR_ARITHMETIC, "int f(int a) { return a<<-1; }", "int f(int a) { return a>> -1; }");
}

static void logical(void **unused)
{
    (void)unused;
    assert_mutants(APHI_OPERATOR_LOGICAL, "int f(int a, int b) { return a && b; }", "&&~||");
    assert_mutants(APHI_OPERATOR_LOGICAL, "void f(int a) { if (a) g(); while (a || !b) g(); }",
                   "a~!(a) | a || !b~!(a || !b) | ||~&& | !~");
    /* Other operators negate a single comparison, remove a single !, and exchange the arms of an if with else. */
    assert_mutants(APHI_OPERATOR_LOGICAL, "void f(int a) { if (a < 1) g(); if (!a) g(); if (a) g(); else h(); }", "!~");
    assert_mutants(APHI_OPERATOR_LOGICAL, "void f(int a) { do g(); while (a); for (;;) g(); for (; a; a++) g(); }",
                   "a~!(a) | a~!(a)");
}

static void constant(void **unused)
{
    (void)unused;
    assert_mutants(APHI_OPERATOR_CONSTANT, "void f(void) { g(0); }", "0~1 | 0~(-1)");
    assert_mutants(APHI_OPERATOR_CONSTANT, "void f(void) { g(1); }", "1~0 | 1~(-1) | 1~2");
    assert_mutants(APHI_OPERATOR_CONSTANT, "void f(void) { g(2); }", "2~0 | 2~1 | 2~(-1) | 2~3");
    assert_mutants(APHI_OPERATOR_CONSTANT, "void f(void) { g(0x1fUL); }",
                   "0x1fUL~0UL | 0x1fUL~1UL | 0x1fUL~(-1UL) | 0x1fUL~0x20UL | 0x1fUL~0x1eUL");
    assert_mutants(APHI_OPERATOR_CONSTANT, "void f(void) { g(010); }", "010~0 | 010~1 | 010~(-1) | 010~011 | 010~07");
    assert_mutants(APHI_OPERATOR_CONSTANT, "void f(void) { g(true); }", "true~false");
    assert_mutants(APHI_OPERATOR_CONSTANT, "void f(void) { g(1.5, 'a', \"1\", 0b1, 99999999999999999999999); }", "");
    assert_mutants(APHI_OPERATOR_CONSTANT, "#define A 5\nint a = 1; enum { B = 2 };",
                   "1~0 | 1~(-1) | 1~2 | 2~0 | 2~1 | 2~(-1) | 2~3");
}

static void variable(void **unused)
{
    (void)unused;
    assert_mutants(APHI_OPERATOR_VARIABLE, "int f(int a, int b, long c) { return a; }", "a~b");
    assert_mutants(APHI_OPERATOR_VARIABLE, "int f(int a) { { int b; g(b); } int c; h(a); }", "b~a | a~c");
    /* Hidden names and names of another scope are not candidates; pointers and arrays are distinct types. */
    assert_mutants(APHI_OPERATOR_VARIABLE, "void f(int a, int b) { { int *b; g(a); } }", "");
    assert_mutants(APHI_OPERATOR_VARIABLE, "int x, y; void f(int a) { g(x, a); }", "x~y");
    assert_mutants(APHI_OPERATOR_VARIABLE, "void f(const char *a, char *b, char c[], char d[3]) { g(b); }",
                   "b~c | b~d");
    assert_mutants(APHI_OPERATOR_VARIABLE, "void f(T a, T *b) { T c = a, *d = b; g(sizeof c, d, p->c, .a); }", "d~b");
    assert_mutants(APHI_OPERATOR_VARIABLE, "void f(T a) { for (T i = 0; a; i++) g(); }", "a~i | i~a");
}

static void field(void **unused)
{
    (void)unused;
    assert_mutants(APHI_OPERATOR_FIELD, "struct s { int a, b; long c; }; int f(struct s *s) { return s->a + s->c; }",
                   "a~b");
    assert_mutants(APHI_OPERATOR_FIELD,
                   "struct s { int a, b; } x = {.a = 1}; struct t { int b, d; }; void f(void) { x.b = 1; }", "b~a");
    /* If two structs have fields of the same name, the type of the variable decides. */
    static const char both[] = "typedef struct s { int a, b; } t; struct u { int a, c; };";
    static const struct {
        const char *use, *expected;
    } uses[] = {{"void f(t *x) { x->a = 1; }", "a~b"},          {"void f(struct s x) { x.a = 1; }", "a~b"},
                {"void f(const struct u *x) { x->a = 1; }", "a~c"}, {"t x[3]; void f(void) { x[0].a = 1; }", "a~b"},
                {"void f(v *x) { x->a = 1; }", ""},             {"void f(t *x) { g()->a = y.x->a; }", ""}};
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++) {
        aphi_buffer text = {0};
        aphi_buffer_format(&text, "%s %s", both, uses[i].use);
        assert_mutants(APHI_OPERATOR_FIELD, aphi_buffer_text(&text), uses[i].expected);
        aphi_buffer_free(&text);
    }
}

static void enumerator(void **unused)
{
    (void)unused;
    assert_mutants(APHI_OPERATOR_ENUMERATOR, "enum e { A, B = 2, C }; enum { D }; int f(void) { return B + D; }",
                   "B~A | B~C");
}

static void statement_deletion(void **unused)
{
    (void)unused;
    assert_mutants(APHI_OPERATOR_DELETE, "void f(int a) { a = 1; int b = 2; g(b); return; }",
                   "a = 1;~; | g(b);~; | return;~;");
    assert_mutants(APHI_OPERATOR_DELETE, "int f(int a) { for (;;) { break; } x: return a; }",
                   "for (;;) { break; }~; | break;~;");
    assert_mutants(APHI_OPERATOR_DELETE, "void f(int a) { if (a) g(); else h(); }",
                   "if (a) g(); else h();~; | g();~; | h();~;");
    assert_source(APHI_OPERATOR_DELETE, "void f(void)\n{\n    g(1,\n      2);\n}\n", "void f(void)\n{\n    ;\n\n}\n");
    /* Statements with a directive inside are not deleted. */
    assert_mutants(APHI_OPERATOR_DELETE, "void f(void) { g(\n#if X\n1\n#endif\n); }", "");
}

static void arms(void **unused)
{
    (void)unused;
    assert_mutants(APHI_OPERATOR_ARMS, "int f(int a) { return a ? 1 : 2; }", "1 : 2~2 : 1");
    assert_mutants(APHI_OPERATOR_ARMS, "int f(int a) { return g(a ? b, c : d ? e : f, 1); }",
                   "b, c : d ? e : f~d ? e : f : (b, c) | e : f~f : e");
    assert_source(APHI_OPERATOR_ARMS,
                  "void f(int a)\n{\n    if (a)\n        g(); // x\n    else {\n        h();\n    }\n}\n",
                  "void f(int a)\n{\n    if (a)\n        {\n        h();\n    } // x\n    else { g(); }\n}\n");
    /* An else stays with its own if. */
    assert_mutants(APHI_OPERATOR_ARMS, "void f(int a) { if (a) g(); else if (b) h(); }",
                   "g(); else if (b) h();~{ if (b) h(); } else { g(); }");
    assert_mutants(APHI_OPERATOR_ARMS,
                   "void f(int a) { switch (a) { case 1: g(); break; case 2: case 3: default: h(); } }",
                   "case 1: g(); break; case 2~case 2: g(); break; case 1");
}

static void return_values(void **unused)
{
    (void)unused;
    assert_mutants(APHI_OPERATOR_RETURN, "int f(int a) { return a; }", "a~0 | a~1 | a~(-1)");
    assert_mutants(APHI_OPERATOR_RETURN, "bool f(int a) { return a; }", "a~false | a~true | a~!(a)");
    assert_mutants(APHI_OPERATOR_RETURN, "static char *f(char *a) { return a; }", "a~0");
    assert_mutants(APHI_OPERATOR_RETURN, "void f(int a) { return; }", "");
    assert_mutants(APHI_OPERATOR_RETURN, "int f(void) { return 0; } int g(void) { return -1; }", "-1~0 | -1~1");
}

static void unusual_syntax(void **unused)
{
    (void)unused;
    /* K&R definitions, macros for statements and loops, attributes, statement expressions, pragmas, labels. */
    static const char *const sources[] = {
        "int f(a) int a; { return a; }",
        "MODEL(x)\nint f(void) { EACH(i, 3) { g(); } DO(1) h(); }",
        "__attribute__((noreturn)) void f(void) { _Pragma(\"x\") x: ; [[fallthrough]]; asm(\"nop\" : : \"r\"(1)); }",
        "int f(void) { return ({ int a = 1; a; }); }",
        "void f(void) { else ; case 1: } int (*g)(int), *(*h[3])(void); struct { int : 3; } s;",
        "typedef struct a { struct { int x; }; union { int y; } z; } a; _Static_assert(1, \"\");",
        "} {", "", ";;;", "f(", "int f(void) { if } ", "int f(void) { for (x) ; do ; }", "switch ? : :",
    };
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        aphi_mutants mutants;
        aphi_cerror error;
        if (aphi_mutants_find(sources[i], strlen(sources[i]), &mutants, &error))
            aphi_mutants_free(&mutants);
        else
            assert_int_equal(error.line, 1);
    }
    assert_mutants(APHI_OPERATOR_VARIABLE, "int f(void) { return ({ int a = 1, b; a; }); }", "a~b");
    assert_mutants(APHI_OPERATOR_DELETE, "void f(void) { EACH(i, 3) { g(); } }", "g();~;");
    assert_mutants(APHI_OPERATOR_DELETE,
                   "__attribute__((x)) static void f(void) __attribute__((y)); void f(void) { g(); }", "g();~;");
}

/* ---- the list ---------------------------------------------------------------------------------------------------- */

static const char two[] = "int f(int a)\n{\n    if (a < 1)\n        return a < 2;\n    return 5;\n}\n";

static void numbers_and_positions(void **unused)
{
    (void)unused;
    aphi_mutants mutants = find_mutants(two), again = find_mutants(two);
    assert_int_equal(mutants.n, again.n);
    for (size_t i = 0; i < mutants.n; i++) {
        const aphi_mutant *m = &mutants.items[i];
        assert_int_equal(m->number, i + 1);
        assert_string_equal(m->text, again.items[i].text);
        assert_int_equal(m->begin, again.items[i].begin);
        assert_true(i == 0 || m[-1].begin <= m->begin);
    }
    aphi_mutants_free(&mutants);
    aphi_mutants_free(&again);
}

static const aphi_mutant *named(const aphi_mutants *mutants, const char *identity)
{
    for (size_t i = 0; i < mutants->n; i++) {
        aphi_buffer is = {0};
        aphi_mutant_identity(&is, &mutants->items[i]);
        bool same = !strcmp(aphi_buffer_text(&is), identity);
        aphi_buffer_free(&is);
        if (same)
            return &mutants->items[i];
    }
    fail_msg("there is no %s", identity);
    return NULL;
}

static void identities(void **unused)
{
    (void)unused;
    aphi_mutants mutants = find_mutants(two);
    assert_int_equal(named(&mutants, "relational f \"<\" \"<=\" 1")->line, 3);
    const aphi_mutant *m = named(&mutants, "relational f \"<\" \"<=\" 2");
    assert_true(m->line == 4 && m->column == 18);
    aphi_buffer diff = {0};
    aphi_mutant_diff(&diff, two, strlen(two), "x.c", m);
    assert_string_equal(aphi_buffer_text(&diff),
                        "--- x.c\n+++ x.c\n@@ -1,6 +1,6 @@\n int f(int a)\n {\n     if (a < 1)\n"
                        "-        return a < 2;\n+        return a <= 2;\n     return 5;\n }\n");
    aphi_buffer_free(&diff);
    aphi_mutants_free(&mutants);
    mutants = find_mutants("void f(void) { g(\"a\\\\b\"); }");
    named(&mutants, "delete f \"g(\\\"a\\\\\\\\b\\\");\" \";\" 1");
    aphi_mutants_free(&mutants);
}

static void assert_list(const char *text, const char *expected)
{
    aphi_mutants mutants = find_mutants(two);
    char **reasons = calloc(mutants.n, sizeof *reasons);
    aphi_buffer error = {0};
    bool fine = aphi_known_equivalents_read("list", text, strlen(text), &mutants, reasons, &error);
    assert_string_equal(aphi_buffer_text(&error), expected);
    assert_int_equal(fine, !*expected);
    for (size_t i = 0; i < mutants.n; i++) {
        assert_true(fine || !reasons[i]);
        free(reasons[i]);
    }
    free(reasons);
    aphi_buffer_free(&error);
    aphi_mutants_free(&mutants);
}

static void equivalents(void **unused)
{
    (void)unused;
    assert_list("", "");
    assert_list("# none\n\n", "");
    assert_list("relational f \"<\" \"<=\" 2: never 2", "");
    assert_list("# x\nrelational f \"<\" \"<=\" 3: never\n",
                "list:2: unknown mutant; the source may have changed");
    assert_list("relational f \"<\" \"<=\" 2: a\nrelational f \"<\" \"<=\" 2: b\n",
                "list:2: mutant listed twice");
    assert_list("relational f \"<\" \"<=\" 2:  \n",
                "list:1: no reason after the colon");
    static const char *const malformed[] = {"x",
                                            "relational f",
                                            "relational f < <= 2: x",
                                            "relational f \"<\" \"<= 2: x",
                                            "relational f \"<\" \"<=\": x",
                                            "relational f \"<\" \"<=\" 2 x"};
    for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++)
        assert_list(malformed[i],
                    "list:1: not an identity, a colon and a reason; antiphon mutate prints identities");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(relational),    cmocka_unit_test(arithmetic),         cmocka_unit_test(logical),
        cmocka_unit_test(constant),      cmocka_unit_test(variable),           cmocka_unit_test(field),
        cmocka_unit_test(enumerator),    cmocka_unit_test(statement_deletion), cmocka_unit_test(arms),
        cmocka_unit_test(return_values), cmocka_unit_test(unusual_syntax),     cmocka_unit_test(numbers_and_positions),
        cmocka_unit_test(identities),    cmocka_unit_test(equivalents),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

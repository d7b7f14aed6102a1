/* SPDX-License-Identifier: Apache-2.0
 *
 * test_alts_text.c - text formats of models: round trips, and errors with line numbers. */
#include "alts/alts.h"

#include "models/programs.h"
#include "alts/component_alts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char *write_to_string(const aphi_alts *a, size_t *n)
{
    char *text;
    FILE *out = open_memstream(&text, n);
    aphi_alts_write(a, out);
    fclose(out);
    return text;
}

static void round_trip(const char *name)
{
    char why[300];
    aphi_alts a, again;
    size_t n, m;
    aph_program *p = aph_program_named(name);
    assert_non_null(p);
    assert_true(aphi_component_alts(p, &a, why, sizeof why));
    char *text = write_to_string(&a, &n);
    assert_true(aphi_alts_read(name, text, n, &again, why, sizeof why));
    char *twice = write_to_string(&again, &m);
    assert_string_equal(text, twice);
    free(text);
    free(twice);
    aphi_alts_free(&a);
    aphi_alts_free(&again);
    aph_program_free(p);
}

static void programs(void **state)
{
    (void)state;
    round_trip("dp-3");
    round_trip("tdme");
    round_trip("dme-2");
}

static void aldebaran(void **state)
{
    static const char head[] = "alts m\ncomponent A\ncomponent B\nport p of B unordered capacity 3\n"
                               "behaviour A states 3 initial 0\n0 -> 1 post p x\n1 -> 2 pass p y\n"
                               "behaviour B states 4 initial 0\n0 -> 1 take p x\n0 -> 2 take p y\n1 -> 3 note done\n";
    char why[300], *text = NULL;
    aphi_alts a;
    size_t n, size = 0;
    (void)state;
    assert_true(aphi_alts_read("m", head, strlen(head), &a, why, sizeof why));
    assert_int_equal(a.ports[0].medium, APHI_MEDIUM_UNORDERED);
    assert_int_equal(a.ports[0].capacity, 3);
    for (size_t c = 0; c < 2; c++) {
        FILE *out = open_memstream(&text, &size);
        char *before = write_to_string(&a, &n);
        aphi_aut_write(&a, c, out);
        fclose(out);
        assert_true(aphi_aut_read("m.aut", text, size, &a, c, why, sizeof why));
        char *after = write_to_string(&a, &n);
        assert_string_equal(before, after);
        free(before);
        free(after);
        free(text);
    }
    aphi_alts_free(&a);
}

/* Malformed texts, each with a part of its error message. */
static void malformed_alts(void **state)
{
#define HEAD "alts m\ncomponent A\ncomponent B\nport p of B\n"
    static const char *const cases[][2] = {
        {"", "m:"},
        {"component A\n", "m:1: the first line"},
        {"alts m\n", "no component"},
        {"alts m\ncomponent A\n", "no behaviour"},
        {"alts m\ncomponent A\ncomponent A\n", "m:3: duplicate component A"},
        {HEAD "port p of A\n", "m:5: duplicate port p"},
        {HEAD "port q of C\n", "m:5: unknown component C"},
        {HEAD "port q of A magic\n", "m:5: a medium must be"},
        {HEAD "port q of A capacity 0\n", "m:5: unexpected word after the medium"},
        {HEAD "0 -> 1 post p x\n", "m:5: a move outside a behaviour"},
        {HEAD "behaviour A states 0 initial 0\n", "m:5: N must be from 1 to"},
        {HEAD "behaviour A states 2 initial 2\n", "m:5: N must be from 1 to"},
        {HEAD "behaviour A states 2 initial 0\n0 -> 2 post p x\n", "m:6: a state of this behaviour"},
        {HEAD "behaviour A states 2 initial 0\n0 -> 1 post q x\n", "m:6: unknown port q"},
        {HEAD "behaviour A states 2 initial 0\n0 -> 1 post p\n", "m:6: after the states"},
        {HEAD "behaviour A states 2 initial 0\n0 -> 1 shout p x\n", "m:6: after the states"},
        {HEAD "behaviour A states 2 initial 0\n0 -> 1 note a!b\n", "m:6: a name contains a forbidden character"},
        {HEAD "behaviour A states 2 initial 0\nbehaviour A states 2 initial 0\n", "m:6: duplicate behaviour of A"},
        {HEAD "behaviour A from a.aut\n", "m:5: a behaviour file cannot be named here"},
        {"alts m\r\n", "m:1: a name contains a forbidden character"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        aphi_alts a;
        char why[300] = "";
        assert_false(aphi_alts_read("m", cases[i][0], strlen(cases[i][0]), &a, why, sizeof why));
        if (!strstr(why, cases[i][1]))
            fail_msg("%s: expected %s", why, cases[i][1]);
    }
}

/* Labels as CADP writes them. */
static void cadp_labels(void **state)
{
    static const struct { const char *label; aphi_alts_op op; bool sync; const char *message; } cases[] = {
        {"p !hello", APHI_ALTS_SEND, false, "hello"},
        {"p ?hello", APHI_ALTS_RECEIVE, false, "hello"},
        {"p !!hello", APHI_ALTS_SEND, true, "hello"},
        {"p !3 !TRUE", APHI_ALTS_SEND, false, "3(TRUE)"},
        {"p ?req !2", APHI_ALTS_SEND, false, NULL},
        {"p ?req ?2 ?1", APHI_ALTS_RECEIVE, false, "req(2,1)"},
        {"p !CONS (1, NIL)", APHI_ALTS_SEND, false, "CONS(1,NIL)"},
    };
    static const char head[] = HEAD "behaviour A states 1 initial 0\nbehaviour B states 1 initial 0\n";
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        aphi_alts a;
        char why[300] = "", text[200];
        assert_true(aphi_alts_read("head", head, strlen(head), &a, why, sizeof why));
        snprintf(text, sizeof text, "des (0, 1, 2)\n(0, \"%s\", 1)\n", cases[i].label);
        assert_int_equal(aphi_aut_read("m", text, strlen(text), &a, 0, why, sizeof why), cases[i].message != NULL);
        if (cases[i].message) {
            const aphi_alts_move *m = &a.components[0].moves[0];
            assert_int_equal(m->op, cases[i].op);
            assert_int_equal(m->sync, cases[i].sync);
            assert_string_equal(a.ports[m->port].name, "p");
            assert_string_equal(a.labels[m->label], cases[i].message);
        }
        aphi_alts_free(&a);
    }
}

static void malformed_aldebaran(void **state)
{
    static const char *const cases[][2] = {
        {"", "m:1: the first line must be: des"},
        {"des (0, 1, 0)\n", "m:1: the initial state"},
        {"des (0, 1, 2)\n(0, \"p!x\", 1)\n(0, \"p!x\", 1)\n", "2 transitions, but the first line declares 1"},
        {"des (0, 1, 2)\n(0, \"p!x\", 2)\n", "m:2: expected a number from 0 to 1"},
        {"des (0, 1, 2)\n(0, \"q!x\", 1)\n", "m:2: unknown port q"},
        {"des (0, 1, 2)\n(0, \"p!x, 1)\n", "m:2: missing '\"'"},
        {"des (0, 1, 2)\n(0, \"p!\", 1)\n", "m:2: a label must be"},
        {"des (0, 1, 2)\n(0, \"p!x?y\", 1)\n", "m:2: a label must be"},
        {"des (0, 1, 2)\n(0, \"p !\", 1)\n", "m:2: a label must be"},
        {"des (0, 1, 2)\n(0, \"p !x ?y\", 1)\n", "m:2: a label must be"},
        {"des (0, 1, 2)\n(0, \"a b\", 1)\n", "m:2: a label must be"},
        {"des (0, 1, 2)\n(0, \"p\", 1)\n", "m:2: the label p names a port"},
        {"des (0, 1, 2)\n(0, i, 1)\n", "m:2: i is a hidden step"},
        {"des (0, 1, 2)\n(0, \"tau\", 1)\n", "m:2: tau is a hidden step"},
        {"des (0, 1, 2) x\n", "m:1: unexpected text"},
    };
    static const char head[] = HEAD "behaviour A states 1 initial 0\nbehaviour B states 1 initial 0\n";
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        aphi_alts a;
        char why[300] = "";
        assert_true(aphi_alts_read("head", head, strlen(head), &a, why, sizeof why));
        assert_false(aphi_aut_read("m", cases[i][0], strlen(cases[i][0]), &a, 0, why, sizeof why));
        if (!strstr(why, cases[i][1]))
            fail_msg("%s: expected %s", why, cases[i][1]);
        aphi_alts_free(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(programs), cmocka_unit_test(aldebaran),
                                       cmocka_unit_test(malformed_alts), cmocka_unit_test(malformed_aldebaran),
                                       cmocka_unit_test(cadp_labels)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * test_local_table.c - known numbers of local sequences of the built-in programs. */
#include "models/programs.h"
#include "local/sequence_search.h"
#include "alts/component_alts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static void open_program(aphi_alts *a, const char *name)
{
    char why[300] = "";
    aph_program *program = aph_program_named(name);
    assert_non_null(program);
    if (!aphi_component_alts(program, a, why, sizeof why))
        fail_msg("%s: %s", name, why);
    aph_program_free(program);
}

static uint64_t count_sequences(const aphi_alts *a, size_t component, bool races)
{
    aphi_sequence_search *l = aphi_sequence_search_open(a, component, (aphi_sequence_search_options){.races = races});
    assert_int_equal(aphi_sequence_search_outcome(l), APHI_SEQUENCE_SEARCH_DONE);
    uint64_t n = aphi_sequence_search_count(l);
    aphi_sequence_search_close(l);
    return n;
}

static uint64_t total_count(const char *name, bool races)
{
    aphi_alts a;
    uint64_t sum = 0;
    open_program(&a, name);
    for (size_t c = 0; c < a.component_count; c++)
        sum += count_sequences(&a, c, races);
    aphi_alts_free(&a);
    return sum;
}

static void philosophers(void **state)
{
    (void)state;
    for (unsigned n = 2; n <= 9; n++) {
        char name[16];
        snprintf(name, sizeof name, "dp-%u", n);
        assert_int_equal(total_count(name, false), 3 * n);
        assert_int_equal(total_count(name, true), n == 2 ? 6 : 4 * n);
    }
}

static void token(void **state)
{
    (void)state;
    assert_int_equal(total_count("tdme", false), 33);
    assert_int_equal(total_count("tdme", true), 33);
}

/* The components are D, H and C of the first process, then of the second, and so on. */
static void assert_counts(const char *name, const uint64_t *expected)
{
    aphi_alts a;
    open_program(&a, name);
    for (size_t c = 0; c < a.component_count; c++)
        if (count_sequences(&a, c, false) != expected[c])
            fail_msg("%s of %s: not %llu", a.components[c].name, name, (unsigned long long)expected[c]);
    aphi_alts_free(&a);
}

static void mutual_exclusion_of_three(void **state)
{
    (void)state;
    assert_counts("dme-3", (const uint64_t[]){18, 42, 54, 20, 36, 47, 24, 32, 42});
    assert_int_equal(total_count("dme-3", true), 327);
}

static void mutual_exclusion_of_four(void **state)
{
    (void)state;
    assert_counts("dme-4", (const uint64_t[]){150, 792, 1050, 156, 710, 956, 168, 650, 880, 192, 606, 816});
}

static void limit_is_reported(void **state)
{
    (void)state;
    aphi_alts a;
    open_program(&a, "dme-3");
    aphi_sequence_search *l = aphi_sequence_search_open(&a, 0, (aphi_sequence_search_options){.states_max = 10});
    assert_int_equal(aphi_sequence_search_outcome(l), APHI_SEQUENCE_SEARCH_TOO_LARGE);
    assert_int_equal(aphi_sequence_search_count(l), 0);
    aphi_sequence_search_close(l);
    aphi_alts_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(philosophers),
        cmocka_unit_test(token),
        cmocka_unit_test(mutual_exclusion_of_three),
        cmocka_unit_test(mutual_exclusion_of_four),
        cmocka_unit_test(limit_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

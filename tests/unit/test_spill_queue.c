/* SPDX-License-Identifier: Apache-2.0
 *
 * test_spill_queue.c - the spill queue loses no branches, alone and in searches with little memory. */
#include "base/memory.h"
#include "models/programs.h"
#include "explore/spill_queue.h"
#include "explore/parallel.h"
#include "alts/component_alts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- the queue --------------------------------------------------------------------------------------------------- */

enum { BRANCHES = 1000 };

static aphi_branch make_branch(uint16_t *choices, uint16_t number)
{
    size_t count = number % 7u;
    for (size_t i = 0; i < count; i++)
        choices[i] = (uint16_t)(number + i);
    return (aphi_branch){.choices = choices, .count = count, .share = number};
}

/* Checks the content of a branch; returns its number. */
static size_t check_branch(const aphi_branch *b)
{
    uint16_t choices[8];
    aphi_branch expected = make_branch(choices, (uint16_t)b->share);
    assert_int_equal(b->count, expected.count);
    assert_memory_equal(b->choices, choices, b->count * sizeof *choices);
    return (size_t)b->share;
}

static void mark_seen(void *context, const aphi_branch *branch)
{
    bool *seen = context;
    assert_false(seen[check_branch(branch)]);
    seen[check_branch(branch)] = true;
}

static void keeps_all_branches(void **state)
{
    aphi_spill_queue s;
    aphi_branch b;
    uint16_t choices[8];
    bool seen[BRANCHES] = {false}, taken[BRANCHES] = {false};
    (void)state;
    aphi_spill_queue_open(&s, 500);
    for (unsigned i = 0; i < BRANCHES; i++) {
        b = make_branch(choices, (uint16_t)i);
        assert_true(aphi_spill_queue_put(&s, &b));
        assert_true(s.bytes <= 500);
        if (i % 3 == 0) { /* the newest */
            assert_true(aphi_spill_queue_take(&s, &b));
            assert_int_equal(check_branch(&b), i);
            taken[i] = true;
            free(b.choices);
        }
    }
    assert_true(s.spilled > BRANCHES / 2);
    assert_true(aphi_spill_queue_each(&s, mark_seen, seen));
    for (unsigned i = 0; i < BRANCHES; i++)
        assert_int_not_equal(seen[i], taken[i]);
    size_t left = aphi_spill_queue_count(&s), count = 0;
    while (count % 5 ? aphi_spill_queue_take(&s, &b) : aphi_spill_queue_take_oldest(&s, &b)) {
        assert_false(taken[check_branch(&b)]);
        taken[check_branch(&b)] = true;
        free(b.choices);
        count++;
    }
    assert_int_equal(count, left);
    assert_int_equal(aphi_spill_queue_count(&s), 0);
    assert_true(s.share == 0);
    aphi_spill_queue_close(&s);
}

static void reports_missing_folder(void **state)
{
    aphi_spill_queue s;
    uint16_t choices[8];
    aphi_branch b = make_branch(choices, 6);
    (void)state;
    char *before = getenv("TMPDIR") ? aphi_copy(getenv("TMPDIR"), strlen(getenv("TMPDIR")) + 1) : NULL;
    setenv("TMPDIR", "/no/such/folder", 1);
    aphi_spill_queue_open(&s, 10);
    assert_false(aphi_spill_queue_put(&s, &b));
    assert_int_equal(aphi_spill_queue_count(&s), 1); /* the branch is kept */
    aphi_spill_queue_close(&s);
    if (before)
        setenv("TMPDIR", before, 1);
    else
        unsetenv("TMPDIR");
    free(before);
}

/* ---- a search ---------------------------------------------------------------------------------------------------- */

static void compile_program(const char *name, aphi_alts *a, aphi_compiled_model *p)
{
    char why[300];
    aph_program *program = aph_program_named(name);
    assert_non_null(program);
    assert_true(aphi_component_alts(program, a, why, sizeof why));
    aph_program_free(program);
    assert_true(aphi_compiled_model_build(p, a, why, sizeof why));
}

static void search_finds_all(void **state)
{
    aphi_alts a;
    aphi_compiled_model p;
    (void)state;
    compile_program("dme-3", &a, &p);
    for (unsigned jobs = 1; jobs <= 3; jobs++)
        for (uint64_t memory = 2; memory < 20000; memory *= 8) {
            aphi_parallel_options o = {.model = &p, .jobs = jobs, .memory = memory};
            aphi_parallel_result r = aphi_parallel_search(&o);
            assert_int_equal(r.end, APHI_PARALLEL_DONE);
            assert_int_equal(r.stats.sequences, 4032);
            assert_true(memory > 1000 || r.spilled > 0);
        }
    aphi_compiled_model_free(&p);
    aphi_alts_free(&a);
}

/* A checkpoint includes the branches in the file. */
static void search_is_resumed(void **state)
{
    char name[] = "/tmp/antiphon-test-spill-XXXXXX";
    int file = mkstemp(name);
    aphi_alts a;
    aphi_compiled_model p;
    aphi_parallel_result r = {.end = APHI_PARALLEL_STOPPED};
    unsigned runs = 0;
    (void)state;
    assert_true(file >= 0);
    compile_program("dme-3", &a, &p);
    for (; r.end == APHI_PARALLEL_STOPPED; runs++) {
        aphi_parallel_options o = {.model = &p,
                                   .jobs = 2,
                                   .memory = 200,
                                   .checkpoint = name,
                                   .checkpoint_interval = 1000,
                                   .limit = 300,
                                   .resume = runs > 0};
        r = aphi_parallel_search(&o);
    }
    assert_int_equal(r.end, APHI_PARALLEL_DONE);
    assert_int_equal(r.stats.sequences, 4032);
    assert_true(runs > 2);
    close(file);
    unlink(name);
    aphi_compiled_model_free(&p);
    aphi_alts_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(keeps_all_branches), cmocka_unit_test(reports_missing_folder),
                                       cmocka_unit_test(search_finds_all), cmocka_unit_test(search_is_resumed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

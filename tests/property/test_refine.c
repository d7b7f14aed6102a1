/* SPDX-License-Identifier: Apache-2.0
 *
 * test_refine.c - refinement with reductions, without reductions, and by brute force gives the same results. */
#include "tests/support/refine_compare.h"

#include "models/models.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* ---- servers with messages of one byte, most of them wrong ------------------------------------------------------- */

enum {
    DELAYS = 1,     /* a response may wait for the next request */
    FORGETS = 2,    /* the value of a request may be lost */
    LAST_FIRST = 4, /* waiting responses are sent in reverse order */
    ANY = 8,        /* a response may have any value */
    TWICE = 16,     /* a response may be sent twice */
    VARIANTS = 32,
};

static const aph_codec byte = APH_CODEC_FIXED(1);

static void send_waiting(aph *m, aph_value *state, unsigned variant)
{
    aph_value waiting = aph_field(*state, "waiting");
    while (aph_count(waiting)) {
        size_t i = variant & LAST_FIRST ? aph_count(waiting) - 1 : 0;
        aph_value response = aph_at(waiting, i);
        aph_send(m, aph_int_of(aph_at(response, 0)), aph_at(response, 1));
        waiting = aph_slice(waiting, i ? 0 : 1, aph_count(waiting) - 1);
    }
    *state = aph_put(*state, "waiting", waiting);
}

static void step(aph *m, aph_value *state)
{
    unsigned variant = *(const unsigned *)aph_data(m);
    aph_request q = aph_recv(m);
    aph_value answer = aph_field(*state, "kept");
    if (variant & ANY && aph_either(m, "what was kept", "anything"))
        answer = aph_str("?");
    aph_value response = APH_ARRAY_OF(aph_int(q.from), answer),
              waiting = aph_push(aph_field(*state, "waiting"), response);
    if (variant & TWICE && aph_either(m, "once", "twice"))
        waiting = aph_push(waiting, response);
    *state = aph_put(*state, "waiting", waiting);
    if (!(variant & FORGETS && aph_either(m, "keep it", "forget it")))
        *state = aph_put(*state, "kept", q.message);
    if (!(variant & DELAYS && aph_either(m, "answer now", "later")))
        send_waiting(m, state, variant);
}

static aph_value initial(const aph_model *model)
{
    (void)model;
    return aph_record("kept", aph_str("0"), "waiting", aph_array(0, NULL));
}

static void swap_step(aph *m, aph_value *kept)
{
    aph_request q = aph_recv(m);
    aph_send(m, q.from, *kept);
    *kept = q.message;
}

static aph_value swap_initial(const aph_model *model)
{
    (void)model;
    return aph_str("0");
}

static const aph_model swap_bytes = {.version = APH_MODEL_VERSION, .name = "swap-bytes", .step = swap_step,
                                     .initial = swap_initial, .rpc = true, .codec = &byte};

static void test_variants(void **state)
{
    (void)state;
    aph_value requests[] = {aph_str("a"), aph_str("b"), aph_str("c"), aph_str("d")};
    for (unsigned variant = 0; variant < VARIANTS; variant++) {
        aph_model model = {.version = APH_MODEL_VERSION, .name = "variant", .step = step, .initial = initial,
                           .data = &variant, .codec = &byte};
        bool one = refine_compare(refine_options(&model, &swap_bytes, 1, 2, 1, requests), true);
        bool two = refine_compare(refine_options(&model, &swap_bytes, 2, 1, 1, requests), true);
        bool both = refine_compare(refine_options(&model, &swap_bytes, 2, 2, 1, requests), false);
        assert_true(one || !both);
        assert_true(two || !both);
        /* Responses may be delayed and reordered across connections, but not on one connection. */
        assert_int_equal(both, variant == 0 || variant == DELAYS || variant == LAST_FIRST);
    }
}

/* The specifications do not promise rpc. */
static void test_weaker_specification(void **state)
{
    (void)state;
    aph_value requests[] = {aph_str("a"), aph_str("b"), aph_str("c"), aph_str("d")};
    for (unsigned spec_variant = 0; spec_variant < VARIANTS; spec_variant += 3)
        for (unsigned variant = 0; variant < VARIANTS; variant += 5) {
            aph_model model = {.version = APH_MODEL_VERSION, .name = "model", .step = step, .initial = initial,
                               .data = &variant, .codec = &byte};
            aph_model spec = model;
            spec.name = "specification";
            spec.data = &spec_variant;
            bool force = __builtin_popcount(variant) < 2; /* the others have too many schedules */
            bool within = refine_compare(refine_options(&model, &spec, 2, 1, 1, requests), force);
            if ((variant & ~LAST_FIRST) == (variant & spec_variant & ~LAST_FIRST) &&
                !((variant ^ spec_variant) & LAST_FIRST))
                assert_true(within); /* the variant has less freedom than the specification */
        }
}

/* ---- the implementation of the swap server ----------------------------------------------------------------------- */

static bool is_rejected(aphi_refine_options options)
{
    aphi_refinement r = aphi_refine(&options);
    return !refine_passes(&r);
}

/* The specification with messages only, and with connections. */
static const aph_model *const specifications[] = {&aph_model_swap, &aph_model_swap_connections};

static void test_implementation(void **state)
{
    (void)state;
    aph_value requests[] = {aph_str("abc"), aph_str("def"), aph_str("ghi"), aph_str("jkl")};
    for (size_t i = 0; i < 2; i++) {
        const aph_model *spec = specifications[i];
        assert_false(is_rejected(refine_options(&aph_model_swap_impl, spec, 1, 2, 3, requests)));
        assert_false(is_rejected(refine_options(&aph_model_swap_impl, spec, 2, 1, 3, requests)));
        for (const aph_model *const *m = aph_model_swap_impl.mutants; *m; m++) {
            aphi_refine_options all = refine_options(*m, spec, 2, 2, 3, requests);
            if (!is_rejected(refine_options(*m, spec, 2, 1, 3, requests)))
                fail_msg("%s: variant %s is not found out", spec->name, (*m)->name);
            aphi_refinement random = aphi_refine_random(&all, 5000, 7);
            if (random.verdict != APHI_REFINES_NOT)
                fail_msg("%s: variant %s is not found out at random", spec->name, (*m)->name);
        }
    }
}

static void test_implementation_unreduced(void **state)
{
    (void)state;
    aph_value requests[] = {aph_str("abc"), aph_str("def")};
    for (size_t i = 0; i < 2; i++) {
        assert_true(refine_compare(refine_options(&aph_model_swap_impl, specifications[i], 1, 1, 3, requests), false));
        for (const aph_model *const *m = aph_model_swap_impl.mutants; *m; m++)
            refine_compare(refine_options(*m, specifications[i], 1, 1, 3, requests), false);
    }
}

/* ---- other verdicts ---------------------------------------------------------------------------------------------- */

static void silent_step(aph *m, aph_value *state)
{
    (void)state;
    aph_recv(m);
}

static void endless_step(aph *m, aph_value *state)
{
    (void)m;
    (void)state;
}

static void chattering_step(aph *m, aph_value *state)
{
    *state = aph_int(aph_is_int(*state) ? aph_int_of(*state) + 1 : 0);
    aph_send(m, 99, aph_str("x")); /* no such client */
}

static void test_other_ends(void **state)
{
    (void)state;
    static const struct {
        aph_step *step;
        aphi_refine_verdict verdict;
    } cases[] = {{silent_step, APHI_REFINES_VACUOUS}, {endless_step, APHI_REFINES_FAULT},
                 {chattering_step, APHI_REFINES_UNKNOWN}};
    aph_value requests[] = {aph_str("a"), aph_str("b")};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        aph_model model = {.version = APH_MODEL_VERSION, .name = "odd", .step = cases[i].step, .codec = &byte};
        aphi_refine_options options = refine_options(&model, &swap_bytes, 1, 1, 1, requests);
        aphi_refinement r = aphi_refine(&options);
        assert_int_equal(r.verdict, cases[i].verdict);
        assert_true(r.why[0]);
    }
    aph_value wrong[] = {aph_str("too long")};
    aphi_refine_options options = refine_options(&swap_bytes, &swap_bytes, 1, 1, 1, wrong);
    aphi_refinement r = aphi_refine(&options);
    assert_int_equal(r.verdict, APHI_REFINES_FAULT);
    assert_int_equal(r.fault, APH_FAULT_REQUEST);
}

/* ---- unknowns of the model --------------------------------------------------------------------------------------- */

/* Responds with a chosen value, different from the last. */
static void choosing_step(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    aph_value digit = aph_choose_within(m, 0, 2, "digit");
    if (aph_decide(m, aph_eq(digit, *state), "as before"))
        aph_never(m);
    *state = digit;
    aph_send(m, q.from, digit);
}

/* As above, but it may repeat the last value. */
static void loose_step(aph *m, aph_value *state)
{
    (void)state;
    aph_request q = aph_recv(m);
    aph_send(m, q.from, aph_choose_within(m, 0, 2, "digit"));
}

static void test_unknowns(void **state)
{
    (void)state;
    aph_value requests[] = {aph_str("a"), aph_str("b"), aph_str("c"), aph_str("d")};
    aph_model strict = {.version = APH_MODEL_VERSION, .name = "strict", .step = choosing_step, .rpc = true};
    aph_model loose = {.version = APH_MODEL_VERSION, .name = "loose", .step = loose_step, .rpc = true};
    assert_true(refine_compare(refine_options(&strict, &strict, 2, 1, 1, requests), true));
    assert_true(refine_compare(refine_options(&strict, &loose, 1, 2, 1, requests), true));
    assert_false(refine_compare(refine_options(&loose, &strict, 1, 2, 1, requests), true));
    assert_false(refine_compare(refine_options(&loose, &strict, 2, 1, 1, requests), true));
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
        cmocka_unit_test(test_variants),       cmocka_unit_test(test_weaker_specification),
        cmocka_unit_test(test_implementation), cmocka_unit_test(test_implementation_unreduced),
        cmocka_unit_test(test_other_ends),     cmocka_unit_test(test_unknowns),
    };
    return cmocka_run_group_tests(tests, NULL, close_heap);
}

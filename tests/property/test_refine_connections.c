/* SPDX-License-Identifier: Apache-2.0
 *
 * test_refine_connections.c - refinement of models with connections: random small servers, most of them different from
 * their specification, with reductions, without them, and by brute force. Two clients have too many schedules without
 * reductions, so random ones are tried. */
#include "tests/support/refine_compare.h"

#include "base/random_choice.h"
#include "models/models.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* A server with messages of one byte that responds with the number of its clients. */
enum {
    GREETS = 1,        /* it sends a message to a new client */
    REFUSES = 2,       /* it closes a second connection at once */
    QUITS = 4,         /* it closes a connection after its response */
    MAY_QUIT = 8,      /* it may close a connection after its response */
    SAYS_BYE = 16,     /* it sends a message before it closes */
    LINGERS = 32,      /* it does not close after its client */
    LEAKS = 64,        /* it still counts clients whose connection was reset */
    ANNOUNCES = 128,   /* it sends a message to the other clients when one leaves */
    MAY_FORGET = 256,  /* it may lose a message */
    STALE = 512,       /* it counts clients that have closed their side */
    VARIANTS = 1024,
};

static const aph_codec byte = APH_CODEC_FIXED(1);

static void hang_up(aph *m, aph_value *open, int64_t client, unsigned variant)
{
    if (variant & SAYS_BYE)
        aph_send(m, client, aph_str("b"));
    *open = aph_remove(*open, aph_int(client));
    aph_close(m, client);
}

static void accept_client(aph *m, aph_value *open, int64_t client, unsigned variant)
{
    *open = aph_set(*open, aph_int(client), aph_int(client));
    if (variant & REFUSES && aph_count(*open) > 1)
        hang_up(m, open, client, variant);
    else if (variant & GREETS)
        aph_send(m, client, aph_str("h"));
}

static void end_client(aph *m, aph_value *open, aph_request q, unsigned variant)
{
    aph_value name, number;
    bool broken = q.message == APH_BROKEN;
    if (!(variant & (broken ? LEAKS : STALE)))
        *open = aph_remove(*open, aph_int(q.from));
    for (size_t i = 0; variant & ANNOUNCES && aph_pair_at(*open, i, &name, &number); i++)
        if (aph_int_of(number) != q.from)
            aph_send(m, aph_int_of(number), aph_str("l"));
    if (variant & SAYS_BYE && !broken)
        aph_send(m, q.from, aph_str("b"));
    if (!(variant & LINGERS))
        aph_close(m, q.from);
}

static void step(aph *m, aph_value *open)
{
    unsigned variant = *(const unsigned *)aph_data(m);
    aph_request q = aph_recv(m);
    if (q.message == APH_OPENED) {
        accept_client(m, open, q.from, variant);
    } else if (q.message == APH_CLOSED || q.message == APH_BROKEN) {
        end_client(m, open, q, variant);
    } else if (!(variant & MAY_FORGET && aph_either(m, "answer", "forget"))) {
        aph_send(m, q.from, aph_strf("%d", (int)aph_count(*open)));
        if (variant & QUITS || (variant & MAY_QUIT && aph_either(m, "stay", "quit")))
            hang_up(m, open, q.from, variant);
    }
}

static aph_model make_model(const char *name, const unsigned *variant)
{
    return (aph_model){.version = APH_MODEL_VERSION, .name = name, .step = step, .data = variant, .codec = &byte,
                       .connections = true};
}

/* Differs from the specification in up to two properties. */
static unsigned draw_variant(aphi_choice *c, unsigned spec)
{
    for (uint64_t n = aphi_choice_below(c, 3); n > 0; n--)
        spec ^= 1u << aphi_choice_below(c, 10);
    return spec;
}

/* If the model refines with reductions, no schedule without them is a counterexample. Returns true if it refines. */
static bool compare_two_clients(aphi_refine_options options, uint64_t seed)
{
    aphi_refinement reduced = aphi_refine(&options);
    options.unreduced = true;
    aphi_refinement unreduced = aphi_refine_random(&options, 150, seed);
    assert_true(refine_passes(&unreduced) || !refine_passes(&reduced));
    return refine_passes(&reduced);
}

static void test_random_models(void **state)
{
    (void)state;
    aph_value requests[] = {aph_str("a"), aph_str("b")};
    aphi_choice choice = aphi_choice_seed(18);
    unsigned counts[2] = {0};
    for (int i = 0; i < 60; i++) {
        unsigned spec_variant = (unsigned)aphi_choice_below(&choice, VARIANTS);
        unsigned variant = draw_variant(&choice, spec_variant);
        aph_model model = make_model("model", &variant), spec = make_model("specification", &spec_variant);
        bool one = refine_compare(refine_options(&model, &spec, 1, 1, 1, requests), true);
        bool two = compare_two_clients(refine_options(&model, &spec, 2, 1, 1, requests), (uint64_t)i);
        if (variant == spec_variant && !(one && two))
            fail_msg("variant %u does not refine itself", variant);
        assert_true(one || !two);
        counts[two]++;
        aph_collect();
    }
    print_message("%u refine, %u do not\n", counts[1], counts[0]);
    assert_true(counts[0] > 15 && counts[1] > 15);
}

/* ---- one of the models has no connections ------------------------------------------------------------------------ */

static void test_messages_only(void **state)
{
    (void)state;
    aph_value requests[] = {aph_str("abc"), aph_str("def"), aph_str("ghi"), aph_str("jkl")};
    const aph_model *messages = &aph_model_swap, *connections = &aph_model_swap_connections;
    assert_true(refine_compare(refine_options(messages, connections, 1, 1, 1, requests), true));
    assert_true(compare_two_clients(refine_options(messages, connections, 2, 2, 1, requests), 1));
    assert_true(refine_compare(refine_options(connections, messages, 1, 2, 1, requests), true));
    assert_true(compare_two_clients(refine_options(connections, messages, 2, 1, 1, requests), 1));
    for (const aph_model *const *m = connections->mutants; *m; m++) {
        bool one = refine_compare(refine_options(*m, messages, 1, 2, 1, requests), true);
        bool two = compare_two_clients(refine_options(*m, messages, 2, 1, 1, requests), 1);
        aphi_refine_options paper = refine_options(*m, connections, 2, 1, 1, requests);
        aphi_refinement r = aphi_refine(&paper);
        assert_false(one && two);
        assert_int_equal(r.verdict, APHI_REFINES_NOT);
    }
    for (const aph_model *const *m = messages->mutants; *m; m++) {
        aphi_refine_options both = refine_options(*m, connections, 2, 2, 1, requests);
        aphi_refinement r = aphi_refine(&both);
        assert_int_equal(r.verdict, APHI_REFINES_NOT);
    }
}

static int close_heap(void **state)
{
    (void)state;
    aph_heap_close();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_models), cmocka_unit_test(test_messages_only)};
    return cmocka_run_group_tests(tests, NULL, close_heap);
}

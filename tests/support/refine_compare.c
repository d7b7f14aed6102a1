/* SPDX-License-Identifier: Apache-2.0
 *
 * refine_compare.c - refinement with reductions, without them, and by brute force. */
#include "tests/support/refine_compare.h"

#include "refine/refine_space.h"
#include "refine/refine_trace.h"
#include "value/heap.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* ---- brute force ------------------------------------------------------------------------------------------------- */

typedef struct brute {
    aphi_refine_space space;
    uint64_t schedules, bad;
} brute;

static bool is_allowed(const aph_model *spec, aph_value trace)
{
    char error[200];
    aph_oracle *o = aph_oracle_open(spec, &(aph_oracle_options){.environment = "tcp"}, error, sizeof error);
    aph_verdict verdict = APH_PASS;
    assert_non_null(o);
    for (size_t i = 0; i < aph_count(trace) && verdict == APH_PASS; i++) {
        aph_value e = aph_at(trace, i);
        int64_t client = (int64_t)aphi_refine_entry_client(e);
        aph_value message = aphi_refine_entry_message(e);
        if (!aphi_refine_entry_complete(e) || (aphi_is_signal(message) && !spec->connections))
            continue;
        verdict = aphi_refine_entry_kind(e) == APHI_REFINE_SENT ? aph_oracle_sent(o, client, message, NULL, NULL)
                                                                : aph_oracle_received(o, client, message);
    }
    assert_int_not_equal(verdict, APH_UNKNOWN);
    aph_oracle_close(o);
    return verdict == APH_PASS;
}

static void visit_schedules(brute *b, aph_value state)
{
    size_t from = b->space.count;
    aphi_refine_space_expand(&b->space, state);
    if (b->space.flaw) {
        assert_int_not_equal(b->space.flaw, APHI_REFINE_FLAW_FAULT);
        b->space.flaw = APHI_REFINE_FLAW_NONE; /* continue with the other schedules */
        b->bad++;
    }
    size_t to = b->space.count;
    if (to == from) {
        b->schedules++;
        b->bad += !is_allowed(b->space.options->spec, aph_at(state, APHI_REFINE_TRACE));
    }
    for (size_t i = from; i < to; i++)
        visit_schedules(b, b->space.states[i]);
    b->space.count = from;
}

static void mark_brute(void *context)
{
    aphi_refine_space_mark(&((brute *)context)->space);
}

static brute by_force(const aphi_refine_options *options)
{
    brute b = {0};
    aph_value first;
    aph_root_add(mark_brute, &b);
    assert_true(aphi_refine_space_open(&b.space, options, &first));
    visit_schedules(&b, first);
    aph_root_remove(mark_brute, &b);
    aphi_refine_space_close(&b.space);
    return b;
}

/* ---- comparing --------------------------------------------------------------------------------------------------- */

aphi_refine_options refine_options(const aph_model *model, const aph_model *spec, size_t clients, size_t messages,
                                   size_t chunks, const aph_value *requests)
{
    return (aphi_refine_options){.model = model, .spec = spec, .clients = clients, .messages = messages,
                                 .chunks = chunks, .requests = requests, .stride = messages};
}

bool refine_passes(const aphi_refinement *r)
{
    assert_true(r->verdict == APHI_REFINES || r->verdict == APHI_REFINES_NOT || r->verdict == APHI_REFINES_VACUOUS);
    return r->verdict != APHI_REFINES_NOT;
}

bool refine_compare(aphi_refine_options options, bool force)
{
    aphi_refinement reduced = aphi_refine(&options);
    options.unreduced = true;
    aphi_refinement unreduced = aphi_refine(&options);
    assert_int_equal(refine_passes(&reduced), refine_passes(&unreduced));
    if (refine_passes(&reduced))
        assert_true(reduced.states <= unreduced.states && reduced.traces <= unreduced.traces);
    if (force) {
        brute b = by_force(&options);
        assert_int_equal(refine_passes(&unreduced), b.bad == 0);
        if (refine_passes(&unreduced))
            assert_true((double)b.schedules == unreduced.schedules);
    }
    return refine_passes(&reduced);
}

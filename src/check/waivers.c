/* SPDX-License-Identifier: Apache-2.0
 *
 * waivers.c - the waivers that a trace needs, and those that would let it pass. */
#include "check/waivers.h"

#include "base/clock.h"

#include <string.h>

enum { CHECK_MS = 5000 /* time limit for all waivers together */, HINT_MS = 100 };

uint64_t aph_waiver_bit(const aph_model *model, const char *name)
{
    for (size_t n = 0; model->waivers && model->waivers[n].name; n++)
        if (!strcmp(model->waivers[n].name, name))
            return UINT64_C(1) << n;
    return 0;
}

uint64_t aphi_waive_known(const char *const *known, aph_model *model)
{
    uint64_t more = 0;
    for (; known && *known; known++)
        more |= aph_waiver_bit(model, *known) & ~model->waived;
    model->waived |= more;
    return more;
}

/* Returns the verdict on the trace with exactly these waivers. */
static aph_check_verdict check_with(const aph_model *model, uint64_t waived, const char *trace, const char *environment,
                                    int ms)
{
    aph_check_options options = {.oracle = {.environment = environment, .patient = true, .time_ms = ms,
                                            .memory = (size_t)1024 << 20},
                                 .format = APH_FORMAT_JSONL};
    aph_model copy = *model;
    copy.waived = waived;
    aph_check_result *r = aph_check_file(&copy, trace, &options);
    aph_check_verdict verdict = r->verdict;
    aph_check_result_free(r);
    return verdict;
}

aph_value aphi_waive_needs(const aph_model *model, const char *trace, const char *environment,
                           void (*progress)(uint64_t))
{
    const char *found[64] = {0}; /* not values: the next check may reclaim them */
    int64_t until = aphi_clock_ns() + CHECK_MS * INT64_C(1000000);
    int left = __builtin_popcountll(model->waived), all = left;
    for (size_t i = 0; model->waivers && model->waivers[i].name; i++) {
        uint64_t bit = UINT64_C(1) << i;
        if (!(model->waived & bit))
            continue;
        if (progress)
            progress((uint64_t)(all - left));
        int ms = (int)((until - aphi_clock_ns()) / 1000000 / left--);
        aph_check_verdict verdict = check_with(model, model->waived & ~bit, trace, environment, ms > 1 ? ms : 1);
        found[i] = verdict == APH_CHECK_FAIL ? "needed" : verdict == APH_CHECK_PASS ? "not needed" : "unclear";
    }
    aph_value needs = APH_NIL;
    for (size_t i = 0; i < sizeof found / sizeof *found; i++)
        if (found[i])
            needs = aph_set(needs ? needs : aph_object(), aph_str(model->waivers[i].name), aph_str(found[i]));
    return needs;
}

void aphi_waive_hint(aphi_buffer *out, const aph_model *model, const char *trace, const char *environment)
{
    for (size_t i = 0; model->waivers && model->waivers[i].name; i++) {
        uint64_t more = model->waived | UINT64_C(1) << i;
        if (more != model->waived && check_with(model, more, trace, environment, HINT_MS) == APH_CHECK_PASS)
            aphi_buffer_format(out, "; --waive %s would allow it: %s", model->waivers[i].name,
                               model->waivers[i].summary);
    }
}

void aphi_waive_tell(aphi_buffer *out, const aph_model *model, uint64_t known, aph_value needs)
{
    for (size_t i = 0; needs && model->waivers[i].name; i++)
        if (!(known >> i & 1) && aph_str_is(aph_field(needs, model->waivers[i].name), "not needed"))
            aphi_buffer_format(out, "waiver %s: not needed; the last run is explained without it\n",
                               model->waivers[i].name);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * waive.c - known violations that the user allows. */
#include "cli/waive.h"

#include "base/clock.h"
#include "cli/commands.h"
#include "check/check_trace.h"
#include "report/terminal.h"

#include <string.h>

enum { JUDGE_MS = 5000 /* all of them together */, HINT_MS = 100 };

int aphi_waive_add(aphi_waived *w, const char *name)
{
    if (!strcmp(name, "known")) {
        w->known = true;
        return 0;
    }
    if (w->count == sizeof w->names / sizeof *w->names)
        return aphi_usage("--waive: at most %zu times", w->count);
    w->names[w->count++] = name;
    return 0;
}

/* Its bit; 0: the model has none of that name. */
static uint64_t bit_of(const aph_model *model, const char *name)
{
    for (size_t n = 0; model->waivers && model->waivers[n].name; n++)
        if (!strcmp(model->waivers[n].name, name))
            return UINT64_C(1) << n;
    return 0;
}

static bool allow(aph_model *model, const char *name)
{
    uint64_t bit = bit_of(model, name);
    model->waived |= bit;
    if (bit)
        return true;
    if (model->waivers && model->waivers[0].name)
        aphi_usage("--waive %s: there is no such waiver; antiphon models %s lists those that there are", name,
                   model->name);
    else
        aphi_usage("--waive %s: %s declares no waivers", name, model->name);
    return false;
}

bool aphi_waive_in(const aphi_waived *w, aph_model *model)
{
    for (size_t i = 0; i < w->count; i++)
        if (!allow(model, w->names[i]))
            return false;
    return true;
}

bool aphi_waive_by_name(const aphi_waived *w, aph_model *model)
{
    if (w->known)
        aphi_usage("--waive known is for antiphon test --subject: here name them one by one");
    return !w->known && aphi_waive_in(w, model);
}

uint64_t aphi_waive_known(const char *const *known, aph_model *model)
{
    uint64_t more = 0;
    for (; known && *known; known++)
        more |= bit_of(model, *known) & ~model->waived;
    model->waived |= more;
    return more;
}

/* The verdict on a trace with just those allowed. */
static aph_value judged(const aph_model *model, uint64_t waived, const char *trace, const char *environment, int ms)
{
    aphi_check_options options = {.oracle = {.environment = environment, .patient = true, .time_ms = ms,
                                             .memory = (size_t)1024 << 20},
                                  .format = APHI_FORMAT_JSONL};
    aph_model with = *model;
    with.waived = waived;
    return aph_field(aphi_check_trace(&with, trace, &options), "verdict");
}

aph_value aphi_waive_needs(const aph_model *model, const char *trace, const char *environment)
{
    const char *found[64] = {0}; /* values would not outlive the next judgement */
    int64_t until = aphi_clock_ns() + JUDGE_MS * INT64_C(1000000);
    int left = __builtin_popcountll(model->waived), all = left;
    aphi_progress_begin("looking which waivers were needed", (uint64_t)all);
    for (size_t i = 0; model->waivers && model->waivers[i].name; i++) {
        uint64_t bit = UINT64_C(1) << i;
        if (!(model->waived & bit))
            continue;
        aphi_progress_at((uint64_t)(all - left));
        int ms = (int)((until - aphi_clock_ns()) / 1000000 / left--);
        aph_value verdict = judged(model, model->waived & ~bit, trace, environment, ms > 1 ? ms : 1);
        found[i] = aph_str_is(verdict, "fail") ? "needed" : aph_str_is(verdict, "pass") ? "not needed" : "unclear";
    }
    aphi_progress_end();
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
        if (more != model->waived && aph_str_is(judged(model, more, trace, environment, HINT_MS), "pass"))
            aphi_buffer_format(out, "; --waive %s would allow it: %s", model->waivers[i].name,
                               model->waivers[i].summary);
    }
}

void aphi_waive_tell(aphi_buffer *out, const aph_model *model, uint64_t known, aph_value needs)
{
    for (size_t i = 0; needs && model->waivers[i].name; i++)
        if (!(known >> i & 1) && aph_str_is(aph_field(needs, model->waivers[i].name), "not needed"))
            aphi_buffer_format(out, "the waiver %s was never used: the last run is explained without it\n",
                               model->waivers[i].name);
}

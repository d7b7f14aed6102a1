/* SPDX-License-Identifier: Apache-2.0
 *
 * waive.c - known violations that the user allows. */
#include "cli/waive.h"

#include "cli/commands.h"

#include <string.h>

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

uint64_t aphi_waive_known(const char *const *known, aph_model *model)
{
    uint64_t more = 0;
    for (; known && *known; known++)
        more |= bit_of(model, *known) & ~model->waived;
    model->waived |= more;
    return more;
}

static int64_t times(const aph_waiver *w, aph_value branches)
{
    aph_value count = branches ? aph_get(branches, aph_str(w->alternatives[1])) : APH_NIL;
    return count ? aph_int_of(count) : 0;
}

void aphi_waive_tell(aphi_buffer *out, const aph_model *model, uint64_t known, aph_value branches)
{
    for (size_t i = 0; model->waivers && model->waivers[i].name; i++)
        if (((model->waived & ~known) >> i & 1) && !times(&model->waivers[i], branches))
            aphi_buffer_format(out, "the waiver %s was never used\n", model->waivers[i].name);
}

aph_value aphi_waive_counts(const aph_model *model, aph_value branches)
{
    aph_value all = APH_NIL;
    for (size_t i = 0; model->waivers && model->waivers[i].name; i++)
        if (model->waived >> i & 1)
            all = aph_set(all ? all : aph_object(), aph_str(model->waivers[i].name),
                          aph_int(times(&model->waivers[i], branches)));
    return all;
}

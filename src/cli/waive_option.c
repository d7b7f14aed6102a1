/* SPDX-License-Identifier: Apache-2.0
 *
 * waive_option.c - the option --waive NAME. */
#include "cli/waive_option.h"

#include "cli/commands.h"
#include "check/waivers.h"

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

static bool allow(aph_model *model, const char *name)
{
    uint64_t bit = aph_waiver_bit(model, name);
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

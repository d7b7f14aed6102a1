/* SPDX-License-Identifier: Apache-2.0
 *
 * model_mutant.c - which of a model's mutants is meant? */
#include "cli/model_mutant.h"

#include "cli/commands.h"

#include <stdlib.h>
#include <string.h>

const aph_model *aphi_mutant_named(const aph_model *model, const char *which)
{
    unsigned long long number = strtoull(which, NULL, 10), n = 0;
    for (const aph_model *const *m = model->mutants; m && *m; m++)
        if (++n == number || !strcmp((*m)->name, which))
            return *m;
    if (n == 0)
        aphi_usage("--mutate %s: %s declares no mutants", which, model->name);
    else
        aphi_usage("--mutate %s: %s has mutants 1 to %llu; antiphon models SPEC lists them", which, model->name, n);
    return NULL;
}

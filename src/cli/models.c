/* SPDX-License-Identifier: Apache-2.0
 *
 * models.c - antiphon models: what can be named in place of a file. */
#include "cli/commands.h"
#include "cli/exits.h"
#include "models/models.h"

#include <stdio.h>
#include <string.h>

int aphi_command_models(int count, char **words)
{
    if (count > 1 && strcmp(words[1], "--help") && strcmp(words[1], "-h"))
        return aphi_usage("models takes no arguments");
    if (count > 1) {
        puts("usage: antiphon models\n\nLists the built-in models: name and summary.");
        return APHI_EXIT_PASS;
    }
    size_t n;
    const aph_model *const *models = aph_models(&n);
    for (size_t i = 0; i < n; i++)
        printf("%-10s  %s\n", models[i]->name, models[i]->summary);
    return APHI_EXIT_PASS;
}

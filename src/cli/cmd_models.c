/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_models.c - antiphon models: what can be named in place of a file, and what a model's mutants are. */
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include <antiphon/check.h>
#include "models/models.h"
#include "models/programs.h"

#include <stdio.h>
#include <string.h>

/* Those that antiphon reach knows. */
static void list_programs(void)
{
    size_t n;
    const aph_family *const *families = aph_families(&n);
    puts("\nprograms, for antiphon reach:");
    for (size_t i = 0; i < n; i++) {
        char name[40];
        snprintf(name, sizeof name, families[i]->most ? "%s-N" : "%s", families[i]->name);
        printf("%-10s  %s", name, families[i]->summary);
        if (families[i]->most)
            printf("; N from %d to %d", families[i]->least, families[i]->most);
        putchar('\n');
    }
}

static int list_models(void)
{
    size_t n;
    const aph_model *const *models = aph_models(&n);
    for (size_t i = 0; i < n; i++)
        printf("%-10s  %s\n", models[i]->name, models[i]->summary);
    list_programs();
    return APHI_EXIT_PASS;
}

static int list_mutants(const char *text)
{
    aph_loaded_model spec;
    aph_load_error error;
    if (!aph_model_load(text, &spec, &error)) {
        fprintf(stderr, "antiphon: %s\n", error.message);
        return (int)aphi_exit_of_load_error(&error);
    }
    printf("%s: %s\n", spec.model->name, spec.model->summary ? spec.model->summary : "");
    unsigned n = 0;
    for (const aph_model *const *m = spec.model->mutants; m && *m; m++)
        printf("%3u  %-21s  %s\n", ++n, (*m)->name, (*m)->summary ? (*m)->summary : "");
    if (n == 0)
        puts("it declares no mutants");
    for (const aph_waiver *w = spec.model->waivers; w && w->name; w++)
        printf("%s%-26s  %s\n", w == spec.model->waivers ? "waivers:\n     " : "     ", w->name, w->summary);
    aph_model_unload(&spec);
    return APHI_EXIT_PASS;
}

int aphi_command_models(int count, char **words)
{
    if (count > 1 && (!strcmp(words[1], "--help") || !strcmp(words[1], "-h"))) {
        puts("usage: antiphon models [SPEC]\n\n"
             "Lists the built-in models and programs, name and summary. With SPEC, a built-in model or a file: the\n"
             "mutants that it declares, wrong variants that antiphon serve --mutate serves, by number or name.");
        return APHI_EXIT_PASS;
    }
    if (count > 2 || (count > 1 && words[1][0] == '-'))
        return aphi_usage("models takes one model or none; see antiphon models --help");
    return count > 1 ? list_mutants(words[1]) : list_models();
}

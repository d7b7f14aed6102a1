/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_models.c - antiphon models: the built-in models, or the mutants and waivers of a model. */
#include "cli/commands.h"
#include "cli/shared_options.h"
#include "models/models.h"
#include "models/programs.h"

#include <stdio.h>

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

static int list_variants(const char *text)
{
    aph_loaded_model spec;
    int code = aphi_open_model(text, &spec);
    if (code)
        return code;
    printf("%s: %s\n", spec.model->name, spec.model->summary ? spec.model->summary : "");
    unsigned n = 0;
    for (const aph_model *const *m = spec.model->mutants; m && *m; m++)
        printf("%3u  %-21s  %s\n", ++n, (*m)->name, (*m)->summary ? (*m)->summary : "");
    if (n == 0)
        puts("no mutants");
    for (const aph_waiver *w = spec.model->waivers; w && w->name; w++)
        printf("%s%-26s  %s\n", w == spec.model->waivers ? "waivers:\n     " : "     ", w->name, w->summary);
    aph_model_unload(&spec);
    return APHI_EXIT_PASS;
}

static const aphi_option options[] = {{0}};

static int models_command(int count, char **words)
{
    int code = aphi_options_read(&aphi_command_models, NULL, &count, words);
    if (code < 0)
        code = count > 0 ? list_variants(words[0]) : list_models();
    return aphi_written(code);
}

const aphi_command aphi_command_models = {
    .name = "models",
    .summary = "list the built-in models, or the mutants and waivers of a model",
    .operands = "[SPEC]",
    .description = "List the built-in models and programs. With SPEC, a built-in model or a file: list its mutants, "
                   "incorrect variants that antiphon serve --mutate serves, and its waivers, known violations that "
                   "--waive allows.",
    .exit_codes = "0 listed, 2 usage; 30 to 44 an error in the model.",
    .options = options, .operands_max = 1, .run = models_command};

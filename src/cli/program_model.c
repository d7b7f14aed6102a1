/* SPDX-License-Identifier: Apache-2.0
 *
 * program_model.c - the operand that names a message-passing program: built in, a file of text, or C. */
#include "cli/program_model.h"

#include "base/plain_text.h"
#include "cli/shared_options.h"
#include "cli/exit_guard.h"
#include "models/programs.h"
#include "alts/alts.h"
#include "alts/component_alts.h"

#include <stdio.h>
#include <string.h>

static int report_unknown(const char *name)
{
    size_t n;
    const aph_family *const *families = aph_families(&n);
    aphi_print(stderr, "antiphon: %s: no such program; built-in programs:", name);
    for (size_t i = 0; i < n; i++)
        fprintf(stderr, families[i]->most ? "%s %s-N (N from %d to %d)" : "%s %s", i ? "," : "", families[i]->name,
                families[i]->least, families[i]->most);
    fputs("; files end in .alts, .c or .so\n", stderr);
    return APHI_EXIT_MODEL_NO_SUCH;
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && !strcmp(text + n - m, end);
}

static int open_file(const char *name, aphi_alts *a)
{
    char why[500];
    aphi_alts_problem problem = aphi_alts_read_file(name, a, why, sizeof why);
    if (problem == APHI_ALTS_READ)
        return 0;
    aphi_complain("%s", why);
    return problem == APHI_ALTS_UNREADABLE ? APHI_EXIT_MODEL_UNREADABLE : APHI_EXIT_PROGRAM_SYNTAX;
}

static int unfold_program(const aph_program *program, aphi_alts *a)
{
    char why[500];
    aphi_exit_guard_forbid(true);
    bool unfolded = aphi_component_alts(program, a, why, sizeof why);
    aphi_exit_guard_forbid(false);
    if (unfolded)
        return 0;
    aphi_complain("%s", why);
    aphi_alts_free(a);
    aphi_ending ending = aphi_component_alts_ending();
    return ending == APHI_CRASHED ? APHI_EXIT_MODEL_CRASH
           : ending == APHI_OUT_OF_TIME ? APHI_EXIT_MODEL_STUCK : APHI_EXIT_MODEL_CALL;
}

static int open_builtin(const char *name, aphi_alts *a)
{
    aph_program *program = aph_program_named(name);
    if (!program)
        return report_unknown(name);
    int code = unfold_program(program, a);
    aph_program_free(program);
    return code;
}

static int open_compiled(const char *name, aphi_alts *a)
{
    aph_loaded_model spec;
    int code = aphi_open_model(name, &spec);
    if (code)
        return code;
    code = APHI_EXIT_MODEL_NO_MAIN;
    if (spec.model->program)
        code = unfold_program(spec.model->program, a);
    else
        aphi_complain("%s: a model of a server, not of a program; a program ends with APH_PROGRAM(name)", name);
    aph_model_unload(&spec);
    return code;
}

static int open_model(const char *name, aphi_alts *a)
{
    if (ends_with(name, ".alts"))
        return open_file(name, a);
    return ends_with(name, ".c") || ends_with(name, ".so") ? open_compiled(name, a) : open_builtin(name, a);
}

static int check_model(const char *name, uint32_t unroll, aphi_alts *a)
{
    static const int exits[] = {[APHI_ALTS_MIXED] = APHI_EXIT_PROGRAM_MIXED,
                                [APHI_ALTS_AMBIGUOUS] = APHI_EXIT_PROGRAM_AMBIGUOUS,
                                [APHI_ALTS_NOT_CLOSED] = APHI_EXIT_PROGRAM_OPEN,
                                [APHI_ALTS_CYCLIC] = APHI_EXIT_PROGRAM_CYCLIC};
    char why[500];
    aphi_alts_flaw flaw = aphi_alts_check(a, why, sizeof why);
    int code = exits[flaw];
    if (flaw == APHI_ALTS_CYCLIC && unroll)
        code = aphi_alts_unroll(a, unroll, why, sizeof why) ? 0 : APHI_EXIT_PROGRAM_LARGE;
    if (code)
        aphi_complain("%s: %s", name, why);
    else if (!aphi_alts_check_senders(a, why, sizeof why))
        aphi_complain("%s: warning: %s", name, why);
    return code;
}

int aphi_program_model_open(const char *name, uint32_t unroll, aphi_alts *a)
{
    int code = open_model(name, a);
    if (code)
        return code;
    code = check_model(name, unroll, a);
    if (code)
        aphi_alts_free(a);
    return code;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * program_model.c - the message-passing program that a command is given: a built-in one by its name, a file of text,
 * or one in C. */
#include "cli/program_model.h"

#include "cli/exit_codes.h"
#include "cli/exit_guard.h"
#include <antiphon/check.h>
#include "models/programs.h"
#include "alts/alts_text.h"
#include "alts/unfold.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int no_such(const char *name)
{
    size_t n;
    const aph_family *const *families = aph_families(&n);
    fprintf(stderr, "antiphon: there is no program %s, nor a file of that name; built in are", name);
    for (size_t i = 0; i < n; i++)
        fprintf(stderr, families[i]->most ? "%s %s-N (N from %d to %d)" : "%s %s", i ? "," : "", families[i]->name,
                families[i]->least, families[i]->most);
    fputs("; a file ends in .alts, .c or .so\n", stderr);
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
    fprintf(stderr, "antiphon: %s\n", why);
    return problem == APHI_ALTS_UNREADABLE ? APHI_EXIT_MODEL_UNREADABLE : APHI_EXIT_PROGRAM_SYNTAX;
}

static int unfold(const aph_program *program, aphi_alts *a)
{
    char why[500];
    aphi_exit_guard_forbid(true);
    bool unfolded = aphi_unfold(program, a, why, sizeof why);
    aphi_exit_guard_forbid(false);
    if (unfolded)
        return 0;
    fprintf(stderr, "antiphon: %s\n", why);
    aphi_alts_free(a);
    aphi_ending ending = aphi_unfold_ending();
    return ending == APHI_CRASHED ? APHI_EXIT_MODEL_CRASH
           : ending == APHI_OUT_OF_TIME ? APHI_EXIT_MODEL_STUCK : APHI_EXIT_MODEL_CALL;
}

static int open_builtin(const char *name, aphi_alts *a)
{
    aph_program *program = aph_program_named(name);
    if (!program)
        return no_such(name);
    int code = unfold(program, a);
    aph_program_free(program);
    return code;
}

static int open_compiled(const char *name, aphi_alts *a)
{
    aph_loaded_model spec;
    aph_load_error error;
    int code = APHI_EXIT_MODEL_NO_MAIN;
    if (!aph_model_load(name, &spec, &error)) {
        fprintf(stderr, "antiphon: %s\n", error.message);
        return (int)aphi_exit_of_load_error(&error);
    }
    if (spec.model->program)
        code = unfold(spec.model->program, a);
    else
        fprintf(stderr, "antiphon: %s is a model of a server: a program ends with APH_PROGRAM(the_program)\n", name);
    aph_model_unload(&spec);
    return code;
}

static int open_any(const char *name, aphi_alts *a)
{
    if (ends_with(name, ".alts"))
        return open_file(name, a);
    return ends_with(name, ".c") || ends_with(name, ".so") ? open_compiled(name, a) : open_builtin(name, a);
}

static int check(const char *name, uint32_t unroll, aphi_alts *a)
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
        fprintf(stderr, "antiphon: %s: %s\n", name, why);
    else if (!aphi_alts_check_senders(a, why, sizeof why))
        fprintf(stderr, "antiphon: %s: warning: %s\n", name, why);
    return code;
}

int aphi_program_model_open(const char *name, uint32_t unroll, aphi_alts *a)
{
    int code = open_any(name, a);
    if (code)
        return code;
    code = check(name, unroll, a);
    if (code)
        aphi_alts_free(a);
    return code;
}

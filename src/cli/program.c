/* SPDX-License-Identifier: Apache-2.0
 *
 * program.c - the message-passing program that a command is given: a built-in one by its name, or a file. */
#include "cli/program.h"

#include "cli/exits.h"
#include "models/programs.h"
#include "reach/altstext.h"
#include "reach/unfold.h"

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
    fputs("; a file ends in .alts\n", stderr);
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

static int open_builtin(const char *name, aphi_alts *a)
{
    char why[500];
    aph_program *program = aph_program_named(name);
    if (!program)
        return no_such(name);
    bool unfolded = aphi_unfold(program, a, why, sizeof why);
    aph_program_free(program);
    if (unfolded)
        return 0;
    fprintf(stderr, "antiphon: %s\n", why);
    aphi_alts_free(a);
    return APHI_EXIT_MODEL_CALL;
}

static int check(const char *name, uint32_t unroll, aphi_alts *a)
{
    static const int exits[] = {[APHI_ALTS_MIXED] = APHI_EXIT_PROGRAM_MIXED,
                                [APHI_ALTS_AMBIGUOUS] = APHI_EXIT_PROGRAM_AMBIGUOUS,
                                [APHI_ALTS_OPEN] = APHI_EXIT_PROGRAM_OPEN,
                                [APHI_ALTS_CYCLIC] = APHI_EXIT_PROGRAM_CYCLIC};
    char why[500];
    aphi_alts_flaw flaw = aphi_alts_check(a, why, sizeof why);
    int code = exits[flaw];
    if (flaw == APHI_ALTS_CYCLIC && unroll)
        code = aphi_alts_unroll(a, unroll, why, sizeof why) ? 0 : APHI_EXIT_PROGRAM_LARGE;
    if (code)
        fprintf(stderr, "antiphon: %s: %s\n", name, why);
    return code;
}

int aphi_program_open(const char *name, uint32_t unroll, aphi_alts *a)
{
    int code = ends_with(name, ".alts") ? open_file(name, a) : open_builtin(name, a);
    if (code)
        return code;
    code = check(name, unroll, a);
    if (code)
        aphi_alts_free(a);
    return code;
}

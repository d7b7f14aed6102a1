/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_mutate.c - antiphon mutate: executes the program antiphon-mutate (src/mutate). */
#include "cli/commands.h"

#include "base/process.h"
#include "cli/exit_codes.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#define MUTATE_PROGRAM "antiphon-mutate"

/* Stores the path of the program beside this one, or its bare name, to be searched in PATH. */
static void find_program(char path[PATH_MAX + sizeof MUTATE_PROGRAM])
{
    ssize_t n = readlink("/proc/self/exe", path, PATH_MAX);
    while (n > 0 && path[n - 1] != '/')
        n--;
    memcpy(path + (n > 0 ? n : 0), MUTATE_PROGRAM, sizeof MUTATE_PROGRAM);
    if (access(path, X_OK) != 0)
        memcpy(path, MUTATE_PROGRAM, sizeof MUTATE_PROGRAM);
}

static int mutate_command(int count, char **words)
{
    char path[PATH_MAX + sizeof MUTATE_PROGRAM];
    (void)count;
    find_program(path);
    execvp(path, words);
    aphi_complain("%s: cannot be executed: %s; install it beside antiphon or in PATH", MUTATE_PROGRAM, strerror(errno));
    return APHI_EXIT_PROGRAM;
}

void aphi_mutate_manual(void)
{
    char path[PATH_MAX + sizeof MUTATE_PROGRAM];
    find_program(path);
    aphi_process_run(&(aphi_process_options){.argv = (char *[]){path, "--print-manual", NULL}}, NULL);
}

/* The options are those of antiphon-mutate. */
const aphi_command aphi_command_mutate = {
    .name = "mutate", .summary = "mutation testing of a C source", .run = mutate_command};

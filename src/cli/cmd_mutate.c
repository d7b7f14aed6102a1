/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_mutate.c - antiphon mutate: executes the program antiphon-mutate (src/mutate). */
#include "cli/commands.h"
#include "cli/exit_codes.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MUTATE_PROGRAM "antiphon-mutate"

/* Looks beside the running program first, then in PATH. */
int aphi_command_mutate(int count, char **words)
{
    char path[PATH_MAX + sizeof MUTATE_PROGRAM];
    ssize_t n = readlink("/proc/self/exe", path, PATH_MAX);
    (void)count;
    while (n > 0 && path[n - 1] != '/')
        n--;
    if (n > 0) {
        memcpy(path + n, MUTATE_PROGRAM, sizeof MUTATE_PROGRAM);
        execv(path, words);
    }
    if (n <= 0 || errno == ENOENT)
        execvp(MUTATE_PROGRAM, words);
    fprintf(stderr, "antiphon: %s: cannot be executed: %s; install it beside antiphon or in PATH\n", MUTATE_PROGRAM,
            strerror(errno));
    return APHI_EXIT_PROGRAM;
}

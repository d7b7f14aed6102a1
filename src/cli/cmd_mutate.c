/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_mutate.c - antiphon mutate: executes the program antiphon-mutate (src/mutate). */
#include "cli/commands.h"
#include "cli/exit_codes.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MUTATE_PROGRAM "antiphon-mutate"

/* Looks beside the running program first, then in PATH. */
static int mutate_command(int count, char **words)
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
    aphi_complain("%s: cannot be executed: %s; install it beside antiphon or in PATH", MUTATE_PROGRAM, strerror(errno));
    return APHI_EXIT_PROGRAM;
}

void aphi_mutate_manual(void)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(mutate_command(2, (char *[]){"mutate", "--print-manual", NULL}));
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

/* Its options are those of antiphon-mutate. */
const aphi_command aphi_command_mutate = {
    .name = "mutate", .summary = "mutation testing of a C source", .run = mutate_command};

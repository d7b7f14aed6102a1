/* SPDX-License-Identifier: Apache-2.0
 *
 * exit_guard.c - replacements of exit and its relatives, for loaded models.
 *
 * Idea:       a model is a shared object, so it finds the definitions of exit and its relatives in the program before
 *             those in the C library. A call inside a step leaves the step, as a crash does; a call by another function
 *             of the model exits with the code of a crash. So a model cannot exit with the code of a pass.
 * Not done:   direct system calls are not intercepted. */
#include "cli/exit_guard.h"

#include "cli/exit_codes.h"
#include "tree/step_guard.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool forbidden;

static _Noreturn void exit_at_once(int code)
{
    for (;;)
        syscall(SYS_exit_group, code);
}

void aphi_exit_guard_forbid(bool forbid)
{
    forbidden = forbid;
}

/* Returns only if the caller is not a model. */
static void refuse(const char *what)
{
    aphi_guard_crash(what);
    if (!forbidden)
        return;
    char message[160];
    int n = snprintf(message, sizeof message, "antiphon: the model crashed: %s\n", what);
    exit_at_once(write(STDERR_FILENO, message, (size_t)n) < 0 ? APHI_EXIT_WRITE : APHI_EXIT_MODEL_CRASH);
}

/* Calls the function of that name in the C library. */
static _Noreturn void go_on(const char *name, int code)
{
    void (*real)(int);
    void *symbol = dlsym(RTLD_NEXT, name);
    memcpy(&real, &symbol, sizeof real);
    if (real)
        real(code);
    exit_at_once(code);
}

#define REFUSE(name) \
    void name(int code) \
    { \
        refuse("a call of " #name ", which exits the program; a step must return"); \
        go_on(#name, code); \
    }

REFUSE(exit)
REFUSE(quick_exit)
REFUSE(_exit)
REFUSE(_Exit)

/* SPDX-License-Identifier: Apache-2.0
 *
 * exits.c - a model that calls exit must not end us with the code of a pass. */
#include "cli/exits.h"

#include <stdlib.h>
#include <unistd.h>

static bool inside;

static void on_exit_inside(void)
{
    if (!inside)
        return;
    static const char message[] = "antiphon: the model ended the program: a model must not call exit\n";
    if (write(STDERR_FILENO, message, sizeof message - 1) < 0)
        _exit(APHI_EXIT_WRITE);
    _exit(APHI_EXIT_MODEL_CRASH);
}

void aphi_exit_inside(bool is)
{
    static bool watching;
    if (!watching)
        atexit(on_exit_inside);
    watching = true;
    inside = is;
}

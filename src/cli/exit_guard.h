/* SPDX-License-Identifier: Apache-2.0
 *
 * exit_guard.h - to end the program is for the program to do, not for a model. */
#ifndef APHI_CLI_EXIT_GUARD_H
#define APHI_CLI_EXIT_GUARD_H

#include <stdbool.h>

/* Ends the process at once, whether that is forbidden or not. */
_Noreturn void aphi_exit_guard_exit(int code);
/* While it is forbidden, a call of exit, _exit, _Exit or quick_exit is a model's. */
void aphi_exit_guard_forbid(bool forbidden);

#endif

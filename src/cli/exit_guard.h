/* SPDX-License-Identifier: Apache-2.0
 *
 * exit_guard.h - a guard against models that exit the process. */
#ifndef APHI_CLI_EXIT_GUARD_H
#define APHI_CLI_EXIT_GUARD_H

#include <stdbool.h>

/* While forbidden, calls of exit, _exit, _Exit and quick_exit are treated as calls by a model. */
void aphi_exit_guard_forbid(bool forbidden);

#endif

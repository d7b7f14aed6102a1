/* SPDX-License-Identifier: Apache-2.0
 *
 * leave.h - to end the program is for the program to do, not for a model. */
#ifndef APHI_CLI_LEAVE_H
#define APHI_CLI_LEAVE_H

#include <stdbool.h>

/* Ends the process at once, whether that is forbidden or not. */
_Noreturn void aphi_leave(int code);
/* While it is forbidden, a call of exit, _exit, _Exit or quick_exit is a model's. */
void aphi_leave_forbid(bool forbidden);

#endif

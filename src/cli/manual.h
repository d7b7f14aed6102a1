/* SPDX-License-Identifier: Apache-2.0
 *
 * manual.h - the manual page. */
#ifndef APHI_CLI_MANUAL_H
#define APHI_CLI_MANUAL_H

#include "base/options.h"

/* Writes antiphon(1) as roff, from the tables of the commands (NULL-terminated). */
void aphi_manual_write(const aphi_command *const *commands, const char *version, FILE *out);

#endif

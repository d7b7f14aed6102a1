/* SPDX-License-Identifier: Apache-2.0
 *
 * commands.h - the commands of antiphon. */
#ifndef APHI_CLI_COMMANDS_H
#define APHI_CLI_COMMANDS_H

#include "base/options.h"

extern const aphi_command aphi_command_check, aphi_command_explain, aphi_command_test, aphi_command_survey,
    aphi_command_replay, aphi_command_init, aphi_command_models, aphi_command_refine, aphi_command_reach,
    aphi_command_serve, aphi_command_subject, aphi_command_fault, aphi_command_mutate, aphi_command_explore,
    aphi_command_conform;

/* Writes antiphon(1) as roff, from the tables of the commands (NULL-terminated). */
void aphi_manual_write(const aphi_command *const *commands, const char *version, FILE *out);
/* Prints the section of antiphon mutate in the manual page on stdout. */
void aphi_mutate_manual(void);

#endif

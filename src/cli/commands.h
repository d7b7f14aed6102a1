/* SPDX-License-Identifier: Apache-2.0
 *
 * commands.h - the commands of antiphon: each takes its arguments, its own name first, and returns the exit code. */
#ifndef APHI_CLI_COMMANDS_H
#define APHI_CLI_COMMANDS_H

#include <antiphon/value.h>

int aphi_command_check(int count, char **words);
int aphi_command_explain(int count, char **words);
int aphi_command_test(int count, char **words);
int aphi_command_replay(int count, char **words);
int aphi_command_init(int count, char **words);
int aphi_command_models(int count, char **words);
int aphi_command_refine(int count, char **words);
int aphi_command_reach(int count, char **words);
int aphi_command_serve(int count, char **words);
int aphi_command_subject(int count, char **words);
int aphi_command_fault(int count, char **words);
int aphi_command_survey(int count, char **words);

/* As aphi_command_test with the same words, but prints no result: it is a value (test_report.h), which the caller marks, or
 * APH_NIL if there was no test. */
int aphi_test_quietly(int count, char **words, aph_value *found);
int aphi_command_mutate(int count, char **words);
int aphi_command_explore(int count, char **words);
int aphi_command_conform(int count, char **words);

/* "antiphon: " and a message on stderr; returns APHI_EXIT_USAGE. */
int aphi_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Digits and nothing else, and within the limits? */
bool aphi_is_number(const char *text, uint64_t least, uint64_t most, uint64_t *value);
/* The option's argument (optarg) as a number within the limits: 0, or as aphi_usage. */
int aphi_take_number(const char *name, uint64_t least, uint64_t most, uint64_t *value);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * program_model.h - the message-passing program that a command is given: a name or a file. */
#ifndef APHI_CLI_PROGRAM_MODEL_H
#define APHI_CLI_PROGRAM_MODEL_H

#include "alts/alts.h"

/* Reads the model and checks it; cycles are unrolled if unroll is not 0. Returns 0, or says what is wrong on stderr and
 * returns the exit code; then there is nothing to free. */
int aphi_program_model_open(const char *name, uint32_t unroll, aphi_alts *a);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * program_model.h - the operand that names a message-passing program: built in, or a file. */
#ifndef APHI_CLI_PROGRAM_MODEL_H
#define APHI_CLI_PROGRAM_MODEL_H

#include "alts/alts.h"

/* Opens and checks the model; unrolls cycles if unroll is not 0. Returns 0, or the exit code after a message on stderr;
 * then there is nothing to free. */
int aphi_program_model_open(const char *name, uint32_t unroll, aphi_alts *a);

#endif

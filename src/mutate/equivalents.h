/* SPDX-License-Identifier: Apache-2.0
 *
 * equivalents.h - a list of mutants that are known to behave like the original, with the reason of each.
 *
 * A line is an identity (mutants.h), a colon and the reason in words:
 *
 *     relational main "<" "!=" 1: i goes up by one, so it meets the end
 *
 * Empty lines, and those that begin with #, mean nothing. */
#ifndef APHI_MUTATE_EQUIVALENTS_H
#define APHI_MUTATE_EQUIVALENTS_H

#include "mutate/mutants.h"

/* The text ends with a NUL behind its size. reasons[i], NULL for those that are not listed, is of mutant i and to be
 * freed. False: the error says what is wrong in which line, and all reasons are NULL. */
bool aphi_equivalents_read(const char *path, const char *text, size_t size, const aphi_mutants *mutants, char **reasons,
                           aphi_buffer *error);

#endif

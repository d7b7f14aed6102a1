/* SPDX-License-Identifier: Apache-2.0
 *
 * equivalents.h - the list of mutants known to behave like the original, each with a reason.
 *
 * A line is an identity (mutants.h), a colon and a reason:
 *
 *     relational main "<" "!=" 1: i goes up by one, so it meets the end
 *
 * Empty lines and lines that begin with # are ignored. */
#ifndef APHI_MUTATE_EQUIVALENTS_H
#define APHI_MUTATE_EQUIVALENTS_H

#include "mutate/mutants.h"

/* text[size] is NUL. reasons[i] belongs to mutant i and is NULL if it is not listed; the caller frees it. Returns false
 * if a line is invalid; then the error names the line, and all reasons are NULL. */
bool aphi_equivalents_read(const char *path, const char *text, size_t size, const aphi_mutants *mutants, char **reasons,
                           aphi_buffer *error);

#endif

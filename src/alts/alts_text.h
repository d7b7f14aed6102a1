/* SPDX-License-Identifier: Apache-2.0
 *
 * alts_text.h - text formats of models: .alts, Aldebaran .aut, Graphviz. */
#ifndef APHI_ALTS_ALTS_TEXT_H
#define APHI_ALTS_ALTS_TEXT_H

#include "alts/alts.h"

#include <stdio.h>

typedef enum aphi_alts_problem {
    APHI_ALTS_READ,       /* none */
    APHI_ALTS_UNREADABLE, /* the file, or one that it names */
    APHI_ALTS_MALFORMED,
} aphi_alts_problem;

/* Reads a model (docs/message-passing.md). Relative names of behaviour files are relative to its folder. On failure,
 * `why` is "file:line: problem", and there is nothing to free. */
aphi_alts_problem aphi_alts_read_file(const char *name, aphi_alts *a, char *why, size_t size);
/* The same for text in memory, which must not name behaviour files. */
bool aphi_alts_read(const char *name, const char *text, size_t n, aphi_alts *a, char *why, size_t size);
/* Reads an .aut file as the behaviour of a component of `a`. The component and all ports exist already. */
bool aphi_aut_read(const char *name, const char *text, size_t n, aphi_alts *a, size_t component, char *why,
                   size_t size);

void aphi_alts_write(const aphi_alts *a, FILE *out);
void aphi_aut_write(const aphi_alts *a, size_t component, FILE *out);
void aphi_dot_write(const aphi_alts *a, FILE *out);

#endif

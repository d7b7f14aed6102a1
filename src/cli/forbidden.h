/* SPDX-License-Identifier: Apache-2.0
 *
 * forbidden.h - what a user says must never be: components in states that they are not to be in at one time. */
#ifndef APHI_CLI_FORBIDDEN_H
#define APHI_CLI_FORBIDDEN_H

#include "explore/sequence.h"

typedef struct aphi_forbidden {
    const char **texts;           /* as they were given */
    aphi_thread_state **points;     /* once they are read */
    size_t *point_counts;
    size_t count, capacity;
} aphi_forbidden;                     /* all zero: nothing was given */

void aphi_forbidden_add(aphi_forbidden *n, const char *text);
/* Reads them all, COMPONENT=STATE,...; 0, or an exit code after it has said what is wrong. */
int aphi_forbidden_read(aphi_forbidden *n, const aphi_compiled_model *plan);
/* One that is broken in the sequence; NULL: none is. */
const char *aphi_forbidden_broken(const aphi_forbidden *n, const aphi_sequence *s);
void aphi_forbidden_free(aphi_forbidden *n);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * never.h - what a user says must never be: components in states that they are not to be in at one time. */
#ifndef APHI_CLI_NEVER_H
#define APHI_CLI_NEVER_H

#include "explore/sequence.h"

typedef struct aphi_never {
    const char **texts;           /* as they were given */
    aphi_standpoint **points;     /* once they are read */
    size_t *point_counts;
    size_t count, capacity;
} aphi_never;                     /* all zero: nothing was given */

void aphi_never_add(aphi_never *n, const char *text);
/* Reads them all, COMPONENT=STATE,...; 0, or an exit code after it has said what is wrong. */
int aphi_never_read(aphi_never *n, const aphi_compiled_model *plan);
/* One that is broken in the sequence; NULL: none is. */
const char *aphi_never_broken(const aphi_never *n, const aphi_sequence *s);
void aphi_never_free(aphi_never *n);

#endif

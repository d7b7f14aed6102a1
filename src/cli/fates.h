/* SPDX-License-Identifier: Apache-2.0
 *
 * fates.h - what became of the mutants of a C source, for people and as JSON. */
#ifndef APHI_CLI_FATES_H
#define APHI_CLI_FATES_H

#include "mutate/mill.h"

typedef struct aphi_fates {
    const char *path, *text; /* the source */
    size_t size;
    const aphi_mutants *mutants;
    const bool *chosen;
    const aphi_verdict *verdicts; /* NULL: nothing was run */
    char *const *reasons;         /* of those that are listed as equivalent; NULL for others */
} aphi_fates;

/* How many chosen mutants a test did not notice and nobody has listed; were listed, but noticed; were tested at all. */
typedef struct aphi_fates_sum {
    size_t survived, wrong, tested;
} aphi_fates_sum;

aphi_fates_sum aphi_fates_sum_of(const aphi_fates *f);
void aphi_fates_list(const aphi_fates *f, aphi_buffer *out);   /* a line for each that is chosen */
void aphi_fates_report(const aphi_fates *f, aphi_buffer *out); /* survivors with their diffs, then a table */
void aphi_fates_json(const aphi_fates *f, aphi_buffer *out);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * mutation_report.h - the mutants of a C source and the verdicts on them, as text and as JSON. */
#ifndef APHI_MUTATE_MUTATION_REPORT_H
#define APHI_MUTATE_MUTATION_REPORT_H

#include "mutate/mutation_runner.h"

typedef struct aphi_mutation_report {
    const char *path, *text; /* the source */
    size_t size;
    const aphi_mutants *mutants;
    const bool *selected;
    const aphi_mutant_verdict *verdicts; /* NULL: nothing was run */
    char *const *reasons;                /* for mutants listed as equivalent; NULL for the others */
} aphi_mutation_report;

/* Numbers of selected mutants. */
typedef struct aphi_mutation_counts {
    size_t survived;      /* and not listed as equivalent */
    size_t listed_killed; /* listed as equivalent, but killed */
    size_t tested;
} aphi_mutation_counts;

aphi_mutation_counts aphi_mutation_report_count(const aphi_mutation_report *r);
/* Appends one line for each selected mutant. */
void aphi_mutation_report_list(const aphi_mutation_report *r, aphi_buffer *out);
/* Appends the survivors with their diffs, then a table. */
void aphi_mutation_report_write(const aphi_mutation_report *r, aphi_buffer *out);
void aphi_mutation_report_json(const aphi_mutation_report *r, aphi_buffer *out);

#endif

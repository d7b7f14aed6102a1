/* SPDX-License-Identifier: Apache-2.0
 *
 * mutation_report.h - what became of the mutants of a C source, for people and as JSON. */
#ifndef APHI_MUTATE_MUTATION_REPORT_H
#define APHI_MUTATE_MUTATION_REPORT_H

#include "mutate/mutation_runner.h"

typedef struct aphi_mutation_report {
    const char *path, *text; /* the source */
    size_t size;
    const aphi_mutants *mutants;
    const bool *chosen;
    const aphi_mutant_verdict *verdicts; /* NULL: nothing was run */
    char *const *reasons;         /* of those that are listed as equivalent; NULL for others */
} aphi_mutation_report;

/* How many chosen mutants a test did not notice and nobody has listed; were listed, but noticed; were tested at all. */
typedef struct aphi_mutation_report_sum {
    size_t survived, wrong, tested;
} aphi_mutation_report_sum;

aphi_mutation_report_sum aphi_mutation_report_sum_of(const aphi_mutation_report *f);
void aphi_mutation_report_list(const aphi_mutation_report *f, aphi_buffer *out);   /* a line for each that is chosen */
void aphi_mutation_report_write(const aphi_mutation_report *f,
                                aphi_buffer *out); /* survivors with their diffs, then a table */
void aphi_mutation_report_json(const aphi_mutation_report *f, aphi_buffer *out);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * mutation_runner.h - building and testing of mutants, with a verdict on each. */
#ifndef APHI_MUTATE_MUTATION_RUNNER_H
#define APHI_MUTATE_MUTATION_RUNNER_H

#include "mutate/mutants.h"

#include <signal.h>
#include <stdint.h>

typedef enum aphi_mutant_outcome {
    APHI_MUTANT_NONE,      /* not selected, or not reached before a stop */
    APHI_MUTANT_BROKEN,    /* does not compile */
    APHI_MUTANT_SAME,      /* same object code as the original */
    APHI_MUTANT_DUPLICATE, /* same object code as an earlier mutant */
    APHI_MUTANT_KILLED,    /* the test fails */
    APHI_MUTANT_TIMED_OUT, /* the test exceeds its time limit */
    APHI_MUTANT_SURVIVED,  /* the test passes */
} aphi_mutant_outcome;

typedef struct aphi_mutant_verdict {
    aphi_mutant_outcome outcome;
    size_t duplicate_of; /* the number of the earlier mutant */
    uint64_t hash;       /* of the object code; internal */
} aphi_mutant_verdict;

typedef struct aphi_mutation_options {
    const char *path, *text; /* the source */
    size_t size;
    /* Shell commands. {source} is replaced by the file of a mutant, {program} by the file to build, {folder} by the
     * mutant's own folder. */
    const char *build, *test;
    size_t jobs;      /* number of jobs to run at a time */
    int64_t limit_ns; /* of a test */
    const volatile sig_atomic_t *stop;
    void (*progress)(const char *phase, size_t done, size_t total); /* may be NULL */
} aphi_mutation_options;

typedef enum aphi_mutation_end {
    APHI_MUTATION_DONE,
    APHI_MUTATION_STOPPED,      /* by *stop; the verdicts so far are valid */
    APHI_MUTATION_SYSTEM_ERROR, /* a folder or a process could not be created */
    APHI_MUTATION_BUILD,        /* the original does not build */
    APHI_MUTATION_TEST,         /* the original fails its test */
} aphi_mutation_end;

/* Builds and tests the selected mutants; verdicts[i] belongs to mutant i. On return, all processes have ended and all
 * files are removed. The error is a complete message of one or more lines. */
aphi_mutation_end aphi_mutation_run(const aphi_mutation_options *options, const aphi_mutants *mutants,
                                    const bool *selected, aphi_mutant_verdict *verdicts, aphi_buffer *error);

#endif

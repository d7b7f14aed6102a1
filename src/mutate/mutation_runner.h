/* SPDX-License-Identifier: Apache-2.0
 *
 * mutation_runner.h - mutants are built and tested: which of them does a test notice? */
#ifndef APHI_MUTATE_MUTATION_RUNNER_H
#define APHI_MUTATE_MUTATION_RUNNER_H

#include "mutate/mutants.h"

#include <signal.h>
#include <stdint.h>

typedef enum aphi_mutant_outcome {
    APHI_MUTANT_NONE,      /* not chosen, or we were stopped before */
    APHI_MUTANT_BROKEN,    /* it does not compile */
    APHI_MUTANT_SAME,      /* the compiler makes the same of it as of the original */
    APHI_MUTANT_DUPLICATE, /* or as of an earlier mutant */
    APHI_MUTANT_KILLED,    /* the test fails */
    APHI_MUTANT_TIMED_OUT, /* the test does not end */
    APHI_MUTANT_SURVIVED,  /* the test passes */
} aphi_mutant_outcome;

typedef struct aphi_mutant_verdict {
    aphi_mutant_outcome fate;
    size_t twin;   /* of a duplicate: the number of the earlier one */
    uint64_t hash; /* of its code, for the mill itself */
} aphi_mutant_verdict;

typedef struct aphi_mutation_options {
    const char *path, *text; /* the source */
    size_t size;
    /* Commands of the shell. {source} stands for the file of a mutant, {program} for what is to be made of it, {folder}
     * for a folder of its own; all else is left as it is. */
    const char *build, *test;
    size_t jobs; /* at once */
    int64_t limit_ns;
    const volatile sig_atomic_t *stop;
    void (*phase)(const char *what, size_t total); /* for a line of progress; both may be NULL */
    void (*done)(size_t n);
} aphi_mutation_options;

typedef enum aphi_mutation_end {
    APHI_MUTATION_DONE,
    APHI_MUTATION_STOPPED, /* by *stop; the verdicts that there are hold */
    APHI_MUTATION_WORLD,   /* no folder, no process */
    APHI_MUTATION_BUILD,   /* the source does not build as it is, */
    APHI_MUTATION_TEST,    /* or fails its test: nothing can be said of mutants */
} aphi_mutation_end;

/* Builds and tests those that are chosen; verdicts[i] is of mutant i. Nothing is left of it, neither processes nor
 * files. The error is a whole message, which may have several lines. */
aphi_mutation_end aphi_mutation_run(const aphi_mutation_options *options, const aphi_mutants *mutants,
                                    const bool *chosen, aphi_mutant_verdict *verdicts, aphi_buffer *error);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * mill.h - mutants are built and tested: which of them does a test notice? */
#ifndef APHI_MUTATE_MILL_H
#define APHI_MUTATE_MILL_H

#include "mutate/mutants.h"

#include <signal.h>
#include <stdint.h>

typedef enum aphi_fate {
    APHI_FATE_NONE,      /* not chosen, or we were stopped before */
    APHI_FATE_BROKEN,    /* it does not compile */
    APHI_FATE_SAME,      /* the compiler makes the same of it as of the original */
    APHI_FATE_DUPLICATE, /* or as of an earlier mutant */
    APHI_FATE_KILLED,    /* the test fails */
    APHI_FATE_TIMED_OUT, /* the test does not end */
    APHI_FATE_SURVIVED,  /* the test passes */
} aphi_fate;

typedef struct aphi_verdict {
    aphi_fate fate;
    size_t twin;   /* of a duplicate: the number of the earlier one */
    uint64_t hash; /* of its code, for the mill itself */
} aphi_verdict;

typedef struct aphi_mill_options {
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
} aphi_mill_options;

typedef enum aphi_mill_end {
    APHI_MILL_DONE,
    APHI_MILL_STOPPED, /* by *stop; the verdicts that there are hold */
    APHI_MILL_WORLD,   /* no folder, no process */
    APHI_MILL_BUILD,   /* the source does not build as it is, */
    APHI_MILL_TEST,    /* or fails its test: nothing can be said of mutants */
} aphi_mill_end;

/* Builds and tests those that are chosen; verdicts[i] is of mutant i. Nothing is left of it, neither processes nor
 * files. The error is a whole message, which may have several lines. */
aphi_mill_end aphi_mill_run(const aphi_mill_options *options, const aphi_mutants *mutants, const bool *chosen,
                            aphi_verdict *verdicts, aphi_buffer *error);

#endif

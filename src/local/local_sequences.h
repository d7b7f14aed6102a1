/* SPDX-License-Identifier: Apache-2.0
 *
 * local_sequences.h - the local sequences of all components of a model, counted and written as a suite. */
#ifndef APHI_LOCAL_LOCAL_SEQUENCES_H
#define APHI_LOCAL_LOCAL_SEQUENCES_H

#include "alts/alts.h"

#include <signal.h>

typedef struct aphi_local_options {
    const char *suite;       /* a folder for the sequences, or NULL */
    bool by_projection;      /* project all global sequences; slow */
    bool events_only;        /* without race sets */
    uint64_t jobs;
    const volatile sig_atomic_t *stop;
} aphi_local_options;

typedef enum aphi_local_status {
    APHI_LOCAL_DONE,
    APHI_LOCAL_STOPPED,      /* by *stop */
    APHI_LOCAL_TOO_LARGE,
    APHI_LOCAL_UNWRITTEN, /* the suite could not be written */
} aphi_local_status;

typedef struct aphi_local_count {
    uint64_t events, race_sets; /* number of sequences that differ in events; in events or race sets */
} aphi_local_count;

typedef struct aphi_local_sequences {
    aphi_local_status status;
    char error[4400];        /* unless DONE */
    aphi_local_count *counts; /* by component */
    int64_t ns;
} aphi_local_sequences;

/* The caller frees the result with aphi_local_sequences_free. */
aphi_local_sequences *aphi_local_sequences_find(const aphi_alts *a, const aphi_local_options *options);
void aphi_local_sequences_free(aphi_local_sequences *s);

#endif

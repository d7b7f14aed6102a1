/* SPDX-License-Identifier: Apache-2.0
 *
 * reach_local.h - antiphon reach --local: the sequences of each component, counted and written. */
#ifndef APHI_CLI_REACH_LOCAL_H
#define APHI_CLI_REACH_LOCAL_H

#include "alts/alts.h"

#include <signal.h>

typedef struct aphi_local_options {
    const char *suite;       /* a folder for the sequences, or NULL */
    bool by_projection;      /* the slow way, over all sequences of the model */
    bool events_only;        /* no race sets */
    bool json;
    unsigned jobs;
    const volatile sig_atomic_t *stop; /* when it is set, nothing is counted, and the exit code says so */
} aphi_local_options;

/* Says what it finds on stdout, what is wrong on stderr; returns the exit code. */
int aphi_local(const aphi_alts *a, const aphi_local_options *options);

#endif

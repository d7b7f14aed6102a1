/* SPDX-License-Identifier: Apache-2.0
 *
 * conformance_campaign.h - tests of a program with all sequences of a model, by several testers in parallel. */
#ifndef APHI_EXECUTE_CONFORMANCE_CAMPAIGN_H
#define APHI_EXECUTE_CONFORMANCE_CAMPAIGN_H

#include "execute/conformance.h"

typedef struct aphi_conformance_options {
    const aphi_compiled_model *model;
    const aphi_alts *alts;       /* of the model */
    char **words;                /* command line of the program, NULL-terminated */
    bool local;                  /* test each thread alone */
    const char *thread;          /* local: only this thread; NULL: all */
    uint64_t captures;           /* local: random runs that capture messages, at most */
    uint64_t limit;              /* sequences; 0: no limit */
    uint64_t time_ms;            /* of a run */
    size_t jobs;                 /* testers, each with a program of its own */
    const volatile sig_atomic_t *stop;
} aphi_conformance_options;

typedef enum aphi_conformance_status {
    APHI_CONFORMANCE_DONE,
    APHI_CONFORMANCE_NO_PROGRAM, /* the program cannot be started, or was lost */
    APHI_CONFORMANCE_MISMATCH,   /* its threads and ports are not those of the model */
} aphi_conformance_status;

typedef struct aphi_conformance_finding {
    const aphi_difference *difference; /* NULL: none */
    const aphi_layout *layout;         /* of its numbers */
} aphi_conformance_finding;

typedef struct aphi_conformance_campaign {
    aphi_conformance_options options;
    aphi_conformance_status status;
    char error[700];                   /* unless DONE */
    aphi_conformance_finding missing, extra; /* the first violation of M <= CP, and of CP <= M */
    aphi_conformance_local_result *threads;  /* local: by component; else NULL */
    uint64_t sequences;                /* visited, of the model */
    bool all_visited;                  /* all sequences of the model */
    bool complete;                     /* and all tests were finished */
    uint64_t tests, runs;
    int64_t ns;
    struct aphi_conformance_testers *testers; /* private */
} aphi_conformance_campaign;

typedef enum aphi_relation { APHI_RELATION_HOLDS, APHI_RELATION_FAILS, APHI_RELATION_UNKNOWN } aphi_relation;

/* Runs the tests. The caller closes the run. */
aphi_conformance_campaign *aphi_conformance_campaign_open(const aphi_conformance_options *options);
void aphi_conformance_campaign_close(aphi_conformance_campaign *r);
/* M <= CP: the program can do everything that the model can. M ~ CP: and nothing else. */
aphi_relation aphi_conformance_at_least(const aphi_conformance_campaign *r);
aphi_relation aphi_conformance_equivalent(const aphi_conformance_campaign *r);

#endif

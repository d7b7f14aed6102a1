/* SPDX-License-Identifier: Apache-2.0
 *
 * campaign.h - test a subject: run after run until one fails or the budget is spent, then make the failure small. */
#ifndef APHI_TESTER_CAMPAIGN_H
#define APHI_TESTER_CAMPAIGN_H

#include "tester/run.h"
#include "shrink/shrink.h"

/* Who wants to know how it goes. All may be NULL. */
typedef struct aphi_campaign_audience {
    void *context;
    /* Totals over all runs. */
    void (*progress)(void *context, uint64_t runs, const aphi_run_facts *facts);
    void (*shrinking)(void *context, const char *step, const aphi_script *best);
    void (*note)(void *context, const char *text);
} aphi_campaign_audience;

typedef struct aphi_campaign_options {
    const aph_model *model;
    const char *environment;
    aphi_subject *subject;
    int caller;                  /* socket on which the subject may call us; 0: none */
    unsigned called;             /* the port at which it is to do so; 0: that of the socket */
    uint64_t seed;
    size_t connections, depth;   /* at most */
    uint64_t messages;           /* in all; 0: no limit */
    int64_t time_ns;             /* in all, without shrinking; 0: no limit */
    int64_t patience_ns;
    size_t memory;
    bool blind;
    const char *folder;          /* for traces and failing scripts */
    const aphi_script *script;   /* run this and nothing else; NULL: make runs up */
    bool shrink;
    int64_t shrink_ns;           /* 0: 30 s */
    const volatile sig_atomic_t *stop;
    aphi_campaign_audience audience;
} aphi_campaign_options;

typedef struct aphi_campaign {
    aphi_run *run;               /* the last one; if it was shrunk, one of the small script */
    aphi_run_verdict outcome;
    char why[512];
    aph_fault fault;
    uint64_t runs, requests, answers;
    uint64_t undecided;          /* runs among them that could not be judged in time */
    int64_t ns, reject_ns, shrink_ns; /* in all; until the run that failed had failed; shrinking */
    bool unstarted;              /* with TROUBLE: the subject is to blame, it did not start */
    bool presumed;               /* that the subject was in the model's initial state: it could not be reset */
    bool shrunk, again;          /* looked for a smaller one; a script kept from an earlier campaign failed again */
    size_t actions;              /* of the script that failed first, if shrunk */
    unsigned reproduced, confirmed;
    uint64_t shrink_runs;
    bool minimal;
    char trace[4096];            /* of `run` */
    char script[4096];           /* "" if none was kept */
    aph_value kinds, branches;
} aphi_campaign;

/* Values in it are kept alive until aphi_campaign_free. */
aphi_campaign *aphi_campaign_go(const aphi_campaign_options *options);
void aphi_campaign_free(aphi_campaign *c);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * campaign.h - test of a subject: runs until one fails or the budget is spent; the failure is shrunk. */
#ifndef APHI_TESTER_CAMPAIGN_H
#define APHI_TESTER_CAMPAIGN_H

#include "tester/run.h"
#include "shrink/shrink.h"

/* Callbacks; each may be NULL. */
typedef struct aphi_campaign_callbacks {
    void *context;
    /* facts: totals of all runs. */
    void (*progress)(void *context, uint64_t runs, const aphi_run_facts *facts);
    void (*shrinking)(void *context, const char *step, const aphi_script *best);
    void (*note)(void *context, const char *text);
} aphi_campaign_callbacks;

typedef struct aphi_campaign_options {
    const aph_model *model;
    const char *environment;
    const aph_network *network;  /* if environment is a file; NULL: it is not */
    aphi_subject *subject;
    const aphi_origin *origins;  /* as in aphi_run_options */
    size_t origin_count;
    uint64_t seed;
    size_t connections, depth;   /* limits */
    uint64_t messages;           /* in total; 0: no limit */
    int64_t time_ns;             /* in total, without shrinking; 0: no limit */
    int64_t patience_ns;
    aphi_max_losses max_losses;
    uint64_t min_answers;        /* fewer make a pass vacuous */
    size_t memory;
    bool no_check;
    const char *folder;          /* for traces and failing scripts */
    const aphi_script *script;   /* the only run; NULL: runs are generated */
    bool shrink;
    int64_t shrink_ns;           /* 0: 30 s */
    const volatile sig_atomic_t *stop;
    aphi_campaign_callbacks callbacks;
} aphi_campaign_options;

typedef struct aphi_campaign {
    aphi_run *run;               /* the last one; if shrunk, one of the shrunk script */
    aphi_run_verdict outcome;
    char why[512];
    aph_fault fault;
    uint64_t runs, requests, answers, losses;
    aphi_connection_counts connections;
    aphi_losses excused;         /* for the next run: aphi_run_options.losses_before */
    uint64_t undecided;          /* runs that the oracle could not decide */
    int64_t ns, reject_ns, shrink_ns; /* total; until the first failure; shrinking */
    bool unstarted;              /* with TROUBLE: the subject did not start */
    bool bad_script;             /* with TROUBLE: a kept script is malformed */
    bool locked;                 /* with TROUBLE: another campaign uses the folder */
    bool presumed;               /* the initial state of the subject is assumed, because it cannot be reset */
    bool needs_silence;          /* with FAIL: without the recorded silences, the model explains the run */
    bool losing;                 /* with DEAD: too many requests were lost */
    bool shrunk, from_corpus;    /* the script was shrunk; it is from the corpus */
    size_t actions;              /* of the first failing script, if shrunk */
    unsigned reproduced, confirmed;
    uint64_t shrink_runs;
    bool minimal;
    char trace[4096];            /* of `run` */
    char script[4096];           /* path; "": none was kept */
    aph_value kinds, branches;
    aph_value lost_kinds;        /* as in aphi_run */
    aph_value lost;              /* the first losses, as in aphi_losses; APH_NIL: none */
} aphi_campaign;

/* Runs the campaign. The values of the result are kept alive until aphi_campaign_free. */
aphi_campaign *aphi_campaign_execute(const aphi_campaign_options *options);
void aphi_campaign_free(aphi_campaign *c);

#endif

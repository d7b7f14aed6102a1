/* SPDX-License-Identifier: Apache-2.0
 *
 * test_report.h - the report of a campaign: text, JSON, JUnit, page. */
#ifndef APHI_REPORT_TEST_REPORT_H
#define APHI_REPORT_TEST_REPORT_H

#include "tester/campaign.h"
#include "report/terminal.h"

typedef struct aphi_test_report_options {
    const aph_model *model;
    const char *spec;        /* as the user wrote it */
    const char *subject;     /* the target, the command, or the name of a preset */
    const char *command;     /* the option that names the subject: "--target", "--run" or "--subject" */
    const char *fault;       /* value of --break, or NULL */
    uint64_t known;          /* waivers allowed by --waive known, not by name */
    const char *environment;
    const aph_network *network;  /* if environment is a file; NULL: it is not */
    const char *folder;      /* of the traces */
    const char *fault_upstream; /* value of --fault-upstream, or NULL */
    bool listens;            /* the subject connects to the tester */
    bool ignore_promises;    /* for the command that reproduces the run */
    uint64_t seed;
    bool json, quiet;
    const char *junit, *report; /* files, or NULL */
    const char *recorded;    /* the trace of an earlier run of the same script, or NULL */
    aphi_terminal terminal;
    aph_value *found;        /* if not NULL, receives the result as a value, and nothing is printed */
} aphi_test_report_options;

/* Writes the reports that the options select. Returns false if a file or stdout cannot be written. The value *found has
 * verdict, why, runs, messages, losses, ns, trace and branches; if the subject is at fault also reject_ns, shrink_ns,
 * requests (the length of the counterexample), script, reproduced, confirmed, minimal, evidence, picture and replay, as
 * far as they exist. The caller must mark *found. */
bool aphi_test_report_write(const aphi_campaign *c, const aphi_test_report_options *options);

#endif

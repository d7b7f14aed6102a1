/* SPDX-License-Identifier: Apache-2.0
 *
 * test_report.h - what a campaign came to, for people and for programs. */
#ifndef APHI_REPORT_TEST_REPORT_H
#define APHI_REPORT_TEST_REPORT_H

#include "tester/campaign.h"
#include "report/terminal.h"

typedef struct aphi_test_report_options {
    const aph_model *model;
    const char *spec;        /* as the user wrote it */
    const char *subject;     /* the target, the command, or the name of one that we know */
    const char *command;     /* the option that leads to it again: "--target", "--run" or "--subject" */
    const char *breaks;      /* --break, or NULL */
    uint64_t known;          /* the waivers of the model that nobody has asked for by name */
    const char *environment;
    const char *break_calls;  /* what an injector broke where the subject calls us, or NULL */
    bool listens;            /* the subject calls us */
    uint64_t seed;
    bool json, quiet;
    const char *junit, *report; /* files, or NULL */
    const char *recorded;    /* the trace of an earlier run of the same script, or NULL */
    aphi_terminal terminal;
    aph_value *found;        /* if not NULL, nothing is printed and this is what came of it (see below) */
} aphi_test_report_options;

/* Reports as the options say. Returns false if a file or stdout cannot be written. As a value: verdict, why, runs, messages, ns, trace, branches;
 * and if the subject is to blame reject_ns, shrink_ns, requests (how many the counterexample has), script, reproduced,
 * confirmed, minimal, evidence, picture and replay, as far as there are such. The caller marks it. */
bool aphi_test_report_write(const aphi_campaign *c, const aphi_test_report_options *options);

#endif

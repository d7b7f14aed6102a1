/* SPDX-License-Identifier: Apache-2.0
 *
 * test_session.h - one test of a subject: start it, run a campaign, report. */
#ifndef APHI_CLI_TEST_SESSION_H
#define APHI_CLI_TEST_SESSION_H

#include "cli/exit_codes.h"
#include "report/test_report.h"
#include "subject/subject.h"

/* --listen, repeated: the ports of the first origins; 0: any */
typedef struct aphi_listen_ports {
    unsigned ports[APH_ORIGINS_MAX];
    size_t count;
} aphi_listen_ports;

typedef struct aphi_test_session_options {
    const char *spec;                  /* the model as the user named it */
    aph_model model;                   /* with the waived violations allowed */
    aphi_subject_options subject;
    const char *preset;                /* --subject, or NULL */
    bool waive_known;                  /* allow the known violations of the preset */
    bool listens;                      /* the subject calls the tester */
    aphi_listen_ports listen;
    const char *fault, *fault_upstream; /* --break and --fault-upstream, or NULL */
    aphi_campaign_options campaign;
    aphi_test_report_options report;
} aphi_test_session_options;

/* Returns the defaults of antiphon test, or of antiphon replay if `script` is not NULL. */
aphi_test_session_options aphi_test_session_defaults(const aphi_script *script);
/* Runs the test and writes the report. Returns the exit code. Call aphi_interrupt_watch before. */
aphi_exit aphi_test_session_run(const aphi_test_session_options *options);

#endif

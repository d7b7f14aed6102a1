/* SPDX-License-Identifier: Apache-2.0
 *
 * survey.h - the choices and the violations of one server, found by repeated tests. */
#ifndef APHI_TESTER_SURVEY_H
#define APHI_TESTER_SURVEY_H

#include <antiphon/model.h>

typedef struct aphi_survey_test {
    const aph_model *model;  /* with the waivers allowed so far */
    const char *folder;      /* for traces and scripts */
    const char *page;        /* for the report, or NULL */
    uint64_t seed, messages;
    size_t connections;
    bool shrink;
} aphi_survey_test;

typedef struct aphi_survey_options {
    const aph_model *model;
    const char *name;        /* of the server, as in the addresses of its pages */
    const char *folder;      /* for its pages, traces and scripts */
    uint64_t seed, messages;
    size_t connections;
    void *context;
    /* Runs a test and stores its result, a value as in test_report.h. Returns false to end the survey. */
    bool (*test)(void *context, const aphi_survey_test *test, aph_value *result);
    /* Called for each violation found; the waiver explains it, or is NULL. May be NULL. */
    void (*found)(void *context, aph_value finding, const aph_waiver *waiver);
} aphi_survey_options;

/* Surveys the server. *result is an object: verdict, why, passed, messages, runs, ns, waived, findings, never, and
 * choices with observations if a trace was explained. The caller marks it. Returns false if a test ended the survey. */
bool aphi_survey_run(const aphi_survey_options *options, aph_value *result);
/* Return a field of a result: a string, truncated to size, or ""; a number, or 0. */
const char *aphi_survey_text(aph_value result, const char *name, char *text, size_t size);
int64_t aphi_survey_number(aph_value result, const char *name);

#endif

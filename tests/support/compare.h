/* SPDX-License-Identifier: Apache-2.0
 *
 * compare.h - comparison of the oracle with slow decision procedures (deciders) on many random histories.
 *
 * ANTIPHON_SEED selects other histories; ANTIPHON_CASES=N% scales their number. */
#ifndef TESTS_SUPPORT_COMPARE_H
#define TESTS_SUPPORT_COMPARE_H

#include "enumerate.h"
#include "histories.h"

#include <antiphon/oracle.h>

/* How the oracle is used. */
typedef enum compare_mode {
    COMPARE_LOOKAHEAD, /* the end of each request is known when it is sent */
    COMPARE_LIVE,      /* nothing is known in advance */
    COMPARE_LOST,      /* like live, but the loss of a response is reported soon after the request */
    COMPARE_IGNORE_PROMISES,  /* the model's promises are ignored */
    COMPARE_TRIM,    /* with lookahead, and the window is trimmed after each observation */
    COMPARE_FORGET_LIVE,
    COMPARE_PROBE,     /* live, and after each observation, the oracle is probed whether the server may be quiet */
    COMPARE_HOLD,      /* live, but the oracle searches over several observations at a time */
    COMPARE_MODES,
} compare_mode;

typedef struct judged {
    aph_verdict verdict;
    size_t at;             /* index of the observation that caused the verdict; otherwise the number of observations */
    aph_verdict may_be_quiet; /* with COMPARE_PROBE and a pass: the result of the last probe */
} judged;

judged compare_judge(const aph_model *model, const history *h, const char *environment, compare_mode mode);

/* Statistics of a comparison. */
typedef struct compare_count {
    size_t histories, valid, invalid, slow, judged;
    size_t probed, unprobed; /* probes for quiet, and those that were too expensive */
} compare_count;

/* Compares all deciders on one history; includes the derivation only if `slow`. Returns 0 if they agree; otherwise
 * prints the verdicts and returns a number that encodes them. */
int compare_one(const subject *s, const history *h, bool slow, compare_count *count);
/* Compares the deciders on random histories, `slow` percent of them also by the derivation, and prints statistics. A
 * history on which the deciders disagree is shrunk and printed. Returns false if there is such a history, or if too few
 * histories are valid or invalid. */
bool compare_many(const subject *s, size_t histories, unsigned slow);

/* Like compare_many, with many pending requests, several of them on one connection. */
bool compare_crowded(const subject *s, size_t histories);
/* Like compare_many, but in another environment, with the derivation for every fifth history; at least half of the
 * histories have quiet marks. */
bool compare_many_in(const subject *s, enumerate_env env, size_t histories);

uint64_t compare_seed(void);
/* The number of cases for this run. With sanitizers, a tenth of `usual`, but at least min(usual, 500). */
size_t compare_cases(size_t usual);
/* Prints the statistics. Returns false unless at least a tenth of the histories were valid and a tenth invalid, and all
 * but a hundredth of the probes were decided. */
bool compare_report(const char *name, const compare_count *count);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * compare.h - comparison of the oracle with the slow deciders, on many random histories.
 *
 * ANTIPHON_SEED selects other histories, ANTIPHON_CASES=N% more or fewer of them. */
#ifndef TESTS_SUPPORT_COMPARE_H
#define TESTS_SUPPORT_COMPARE_H

#include "enumerate.h"
#include "histories.h"

#include <antiphon/oracle.h>

/* The use of the oracle. */
typedef enum compare_mode {
    COMPARE_LOOKAHEAD, /* each request comes with its end */
    COMPARE_LIVE,      /* nothing is known in advance */
    COMPARE_LOST,      /* as live, but the loss of a response is reported soon after the request */
    COMPARE_IGNORE_PROMISES,  /* none of the model's promises is used */
    COMPARE_TRIM,    /* with lookahead, and the window is trimmed after each observation */
    COMPARE_FORGET_LIVE,
    COMPARE_MODES,
} compare_mode;

typedef struct judged {
    aph_verdict verdict;
    size_t at;             /* the observation that ended it; the number of observations if none did */
} judged;

judged compare_judge(const aph_model *model, const history *h, const char *environment, compare_mode mode);

/* Statistics of a comparison. */
typedef struct compare_count {
    size_t histories, valid, invalid, slow, judged;
} compare_count;

/* Compares all deciders on one history, dualization only if `slow`. Returns 0 if they agree; if not, prints the
 * verdicts and returns a number that encodes them. */
int compare_one(const subject *s, const history *h, bool slow, compare_count *count);
/* Compares on this number of random histories, `slow` of each hundred also by dualization, and prints statistics. A
 * history on which they disagree is shrunk and printed. Returns false if there is one, or if too few are valid or
 * invalid. */
bool compare_many(const subject *s, size_t histories, unsigned slow);

/* The same in another environment, with quiet moments in at least half of them: enumeration only. */
/* The same with many pending requests, several on a connection. */
bool compare_crowded(const subject *s, size_t histories);
bool compare_many_in(const subject *s, enumerate_env env, size_t histories);

uint64_t compare_seed(void);
/* The number of cases for this run. With sanitizers a tenth, but at least 500 if there are as many. */
size_t compare_cases(size_t usual);
/* Prints the statistics. Returns false unless at least a tenth of the histories was valid, and a tenth invalid. */
bool compare_report(const char *name, const compare_count *count);

#endif

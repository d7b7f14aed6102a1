/* SPDX-License-Identifier: Apache-2.0
 *
 * compare.h - the oracle against the slow deciders, on many random histories.
 *
 * ANTIPHON_SEED gives other histories than the usual ones, ANTIPHON_CASES=N% more or fewer of them. */
#ifndef TESTS_SUPPORT_COMPARE_H
#define TESTS_SUPPORT_COMPARE_H

#include "enumerate.h"
#include "histories.h"

#include <antiphon/oracle.h>

/* How the oracle is asked. */
typedef enum compare_mode {
    COMPARE_FORESIGHT, /* each request comes with its end */
    COMPARE_LIVE,      /* nothing is known in advance */
    COMPARE_LOST,      /* as live, but that an answer will not come is told soon after the request */
    COMPARE_DISTRUST,  /* none of the model's promises is used */
    COMPARE_FORGET,    /* with foresight, and the past is forgotten after every observation */
    COMPARE_FORGET_LIVE,
    COMPARE_MODES,
} compare_mode;

typedef struct judged {
    aph_verdict verdict;
    size_t at;             /* the observation that ended it; how many there are if none did */
} judged;

judged compare_judge(const aph_model *model, const history *h, const char *environment, compare_mode mode);

/* What a comparison has seen. */
typedef struct compare_count {
    size_t histories, valid, invalid, slow, judged;
} compare_count;

/* Compare all deciders on one history, the one by dualization only if `slow`. Returns 0 if they agree; if not, a number
 * that says who says what, and prints it. */
int compare_one(const subject *s, const history *h, bool slow, compare_count *count);
/* On this many random histories, of which `slow` of each hundred also by dualization. Prints the count; a history on
 * which they disagree is made smaller and printed. False if there is one, or if not enough are valid, or invalid. */
bool compare_many(const subject *s, size_t histories, unsigned slow);

/* The same in another environment, at least half of them with moments of quiet: against enumeration alone. */
/* Of histories with many requests in flight, several of them on a connection. */
bool compare_crowded(const subject *s, size_t histories);
bool compare_many_in(const subject *s, enumerate_env env, size_t histories);

uint64_t compare_seed(void);
/* The number of cases for this run. Under sanitizers a tenth, but 500 of those that have so many. */
size_t compare_cases(size_t usual);
/* Prints; false unless a tenth at least of the histories was valid, and a tenth invalid. */
bool compare_report(const char *name, const compare_count *count);

#endif

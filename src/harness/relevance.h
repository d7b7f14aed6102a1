/* SPDX-License-Identifier: Apache-2.0
 *
 * relevance.h - a guess at which actions of a failing script matter. */
#ifndef APHI_HARNESS_RELEVANCE_H
#define APHI_HARNESS_RELEVANCE_H

#include "script/script.h"

typedef enum aphi_relevance {
    APHI_RELEVANCE_NONE,
    APHI_RELEVANCE_DISTANT, /* shares a value with one that matters, over any number of steps */
    APHI_RELEVANCE_SHARES,  /* shares a value with the last request */
    APHI_RELEVANCE_REFERS,  /* the last request, and what its holes refer to */
} aphi_relevance;

/* One for each action. What a request refers to matters at least as much as the request. Does not collect. */
void aphi_relevance_guess(const aphi_script *s, aphi_relevance *levels);

#endif

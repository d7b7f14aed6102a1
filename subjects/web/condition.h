/* SPDX-License-Identifier: Apache-2.0
 *
 * condition.h - conditional requests: RFC 9110, section 13. */
#ifndef WEB_CONDITION_H
#define WEB_CONDITION_H

#include "request.h"
#include "store.h"

typedef enum outcome {
    HOLDS,
    FAILS,       /* 412 */
    UNMODIFIED,  /* 304 */
    ILL_FORMED,  /* invalid list of tags: 400 */
} outcome;

/* Evaluates all conditions of a request but If-Range, in order of precedence; r is NULL if there is no resource. */
outcome condition_judge(const request *q, const resource *r);

/* Returns true if the request has any of these conditions. */
bool condition_any(const request *q);

/* Returns true if If-Range is absent or holds. */
bool condition_ranges(const request *q, const resource *r);

#endif

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
    ILL_FORMED,  /* a list of tags is none: 400 */
} outcome;

/* All conditions of a request but If-Range, in their order of precedence; r is NULL if there is no such resource. */
outcome condition_judge(const request *q, const resource *r);

/* There is one of them. */
bool condition_any(const request *q);

/* There is no If-Range, or it holds. */
bool condition_ranges(const request *q, const resource *r);

#endif

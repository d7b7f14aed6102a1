/* SPDX-License-Identifier: Apache-2.0
 *
 * evidence.h - why nothing explains a history. */
#ifndef APHI_ORACLE_EVIDENCE_H
#define APHI_ORACLE_EVIDENCE_H

#include "oracle/search.h"

typedef struct aphi_evidence {
    bool found;            /* false: the search for the exact observation hit its limit */
    size_t event;          /* in the window: the first observation that no explanation survives */
    aph_oracle *probe;     /* holds what the explanations that survived longest would have allowed instead */
    bool all_allowed;      /* and those are all */
} aphi_evidence;

/* The oracle must have said APH_FAIL, and must not want more. visits bounds each of a few dozen searches. */
aphi_evidence aphi_evidence_open(const aph_oracle *o, uint64_t visits);
void aphi_evidence_close(aphi_evidence *e);
/* Returns the evidence of the oracle's failure as the object that check.h describes. part may be APH_NIL. */
aph_value aphi_evidence_value(const aph_oracle *o, aph_value part);

#endif

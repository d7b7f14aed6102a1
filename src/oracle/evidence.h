/* SPDX-License-Identifier: Apache-2.0
 *
 * evidence.h - the first unexplained observation of a failed history, and the responses allowed in its place. */
#ifndef APHI_ORACLE_EVIDENCE_H
#define APHI_ORACLE_EVIDENCE_H

#include "oracle/search.h"

typedef struct aphi_evidence {
    bool found;            /* false: the search for the observation reached its limit */
    size_t event;          /* index in the window of the first unexplained observation */
    aph_oracle *probe;     /* its `allowed` lists the responses allowed instead; may be NULL */
    bool all_allowed;      /* the list is complete */
} aphi_evidence;

/* The oracle's verdict must be APH_FAIL, and aphi_oracle_wants_more must be false. visits: the limit of each of a few
 * dozen searches. */
aphi_evidence aphi_evidence_open(const aph_oracle *o, uint64_t visits);
void aphi_evidence_close(aphi_evidence *e);
/* Returns the named choices and decisions of the step that sends a response which the probe allows, and the clauses of
 * these and of the response, as an array in the order of the events:
 *   {"choice": name}, {"decision": name, "value": BOOL}, or {} for the response, each with "clause": c if any. */
aph_value aphi_rationale(const aph_oracle *probe, const aphi_allowed *allowed);
/* Returns the evidence of the oracle's failure as the object that check.h describes. part may be APH_NIL. */
aph_value aphi_evidence_value(const aph_oracle *o, aph_value part);

#endif

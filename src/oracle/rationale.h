/* SPDX-License-Identifier: Apache-2.0
 *
 * rationale.h - what led a model to an answer, in its own words. */
#ifndef APHI_ORACLE_RATIONALE_H
#define APHI_ORACLE_RATIONALE_H

#include "oracle/search.h"

/* The named choices and decisions of the step that gave an answer which the probe (see evidence.h) would have allowed,
 * and the clauses of these and of the answer, as an array in the order in which the model came to them:
 *   {"choice": name}, {"decision": name, "value": BOOL} or, for the answer itself, {}, each with "clause": c if there
 *   is one. */
aph_value aphi_rationale(const aph_oracle *probe, const aphi_allowed *allowed);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * rationale.h - the named choices, decisions and clauses that led a model to a response. */
#ifndef APHI_ORACLE_RATIONALE_H
#define APHI_ORACLE_RATIONALE_H

#include "oracle/search.h"

/* Returns the named choices and decisions of the step that sends a response which the probe (see evidence.h) allows,
 * and the clauses of these and of the response, as an array in the order of the events:
 *   {"choice": name}, {"decision": name, "value": BOOL}, or {} for the response, each with "clause": c if it has one.
 *   */
aph_value aphi_rationale(const aph_oracle *probe, const aphi_allowed *allowed);

#endif

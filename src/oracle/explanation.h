/* SPDX-License-Identifier: Apache-2.0
 *
 * explanation.h - from the order that a search found to an explanation with a value for everything. */
#ifndef APHI_ORACLE_EXPLANATION_H
#define APHI_ORACLE_EXPLANATION_H

#include "oracle/history.h"
#include "oracle/search.h"

/* The explanation (see replay.h) that the oracle, which has passed and kept its order, has of this history: the history
 * of the same observations, its requests numbered in the order in which the oracle was told of them.
 * APH_NIL if the solver did not find values in time. */
aph_value aphi_explain(const aph_oracle *o, const aphi_history *history);

#endif

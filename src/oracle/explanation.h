/* SPDX-License-Identifier: Apache-2.0
 *
 * explanation.h - the order found by a search, completed to an explanation with a value for each choice. */
#ifndef APHI_ORACLE_EXPLANATION_H
#define APHI_ORACLE_EXPLANATION_H

#include "oracle/history.h"
#include "oracle/search.h"

/* Returns the oracle's explanation (see replay.h) of the history, which must have the same observations in the same
 * order. The oracle must have passed, with options.order. Returns APH_NIL if the solver did not find values in time. */
aph_value aphi_explain(const aph_oracle *o, const aphi_history *history);

#endif

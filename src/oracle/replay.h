/* SPDX-License-Identifier: Apache-2.0
 *
 * replay.h - confirmation of an explanation. */
#ifndef APHI_ORACLE_REPLAY_H
#define APHI_ORACLE_REPLAY_H

#include "oracle/history.h"

/* An explanation is a value:
 *   {"initial": the state before the first step, "order": [numbers of the requests in the order in which they were
 *   taken], "choices": [values of the internal and free choices, in the order of the model], "opened": {connection that
 *   the server opened: number in the model}, and for readers "lines": [the order as lines], "named": [{"choice": name,
 *   "value": v, "clause": c}], "ways": [{"ways": [[alternative of a free choice, number of times taken]], "clause":
 *   c}]}
 * Runs the model on the explanation, without symbols. Returns true if the model sends each response of the history
 * after its request was sent and before the response was observed, in the order of each connection. Otherwise writes
 * the reason to `why`. */
bool aphi_replay(const aph_model *model, const aphi_history *history, aph_value explanation, char *why,
                 size_t why_size);

#endif

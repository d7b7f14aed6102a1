/* SPDX-License-Identifier: Apache-2.0
 *
 * replay.h - does an explanation hold? */
#ifndef APHI_ORACLE_REPLAY_H
#define APHI_ORACLE_REPLAY_H

#include "oracle/history.h"

/* An explanation is a value:
 *   {"initial": the state before the first step, "order": [numbers of the requests as the server took them],
 *    "choices": [what each internal or free choice was, in the order in which the model makes them],
 *    "opened": {connection that the server opened to us: the model's number for it},
 *    and for people "lines": [the order by lines], "named": [{"choice": name, "value": v, "clause": c}],
 *    "ways": [{"ways": [[alternative of a free choice, how often it was taken]], "clause": c}]}
 * True if the model, run on it with nothing symbolic, gives every answer of the history, each after its request was
 * sent and before its answer was seen, each connection in its order. If not, `why` says what is wrong. */
bool aphi_replay(const aph_model *model, const aphi_history *history, aph_value explanation, char *why,
                 size_t why_size);

#endif

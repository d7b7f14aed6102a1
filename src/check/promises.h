/* SPDX-License-Identifier: Apache-2.0
 *
 * promises.h - tests of the promises of a model: judging without them, and requests that show that one is false. */
#ifndef APHI_CHECK_PROMISES_H
#define APHI_CHECK_PROMISES_H

#include <antiphon/oracle.h>
#include "trace/lookahead.h"

/* A set of promises. ALIKE is not a promise, but an observation: an rpc model does not distinguish connections. */
typedef enum aphi_promises {
    APHI_PROMISE_PART = 1,
    APHI_PROMISE_COMMUTE = 2,
    APHI_PROMISE_READS = 4,
    APHI_PROMISE_EAGER = 8,
    APHI_PROMISE_RPC = 16,
    APHI_PROMISE_ALIKE = 32,
} aphi_promises;

/* Returns the promises that the oracle uses. */
unsigned aphi_promises_in_use(const aph_model *model, const aph_oracle_options *options);
/* Returns a copy of the model without these promises. */
aph_model aphi_promises_drop(const aph_model *model, unsigned promises);
const char *aphi_promise_name(unsigned promise); /* ".part"; for a set, all names */

/* Judges the first events of a history without these promises. Returns APH_UNKNOWN if it takes too long, or if more
 * than `visits` configurations of an undivided state would be visited. */
aph_verdict aphi_promises_judge(const aph_model *model, const aph_oracle_options *options, unsigned dropped,
                                const aphi_lookahead_event *events, size_t n, uint64_t visits);
/* Searches the events for two requests that show in some state that the promise is false, with at most `runs` runs of
 * the model and for at most `ns`. The states are those that the requests lead to from `state`. Writes a sentence about
 * them, or nothing if there are none. */
bool aphi_promises_find_pair(const aph_model *model, unsigned promise, const aphi_lookahead_event *events, size_t n,
                             aph_value state, uint64_t runs, int64_t ns, char *text, size_t size);

#endif

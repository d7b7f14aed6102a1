/* SPDX-License-Identifier: Apache-2.0
 *
 * live_feed.h - tells the oracle what was seen in a live run, a little late and so better informed.
 *
 * An oracle that knows the end of a request when it is told of it searches far less. A live tester does not know the
 * end when it sends; but it need not tell at once. Observations wait here, in their order, until the end of the oldest
 * request among them is known or has taken too long.
 */
#ifndef APHI_TESTER_LIVE_FEED_H
#define APHI_TESTER_LIVE_FEED_H

#include "oracle/partitions.h"

typedef struct aphi_live_feed aphi_live_feed;

#define APHI_NO_REQUEST UINT64_MAX

/* paired: the k-th answer on a connection is known to be that to its k-th request. */
aphi_live_feed *aphi_live_feed_open(const aph_model *model, const aph_oracle_options *options, bool paired, char *error,
                                size_t error_size);
void aphi_live_feed_close(aphi_live_feed *w);

/* Is this a request that the model knows, at least in its first state? If not, *why says what it would know; valid
 * until the next call. A request that is never answered may never be tried by the oracle. */
bool aphi_live_feed_knows(aphi_live_feed *w, int64_t connection, aph_value message, int64_t now, const char **why);

/* Each returns the number of the observation, from 0. request: the number of the one that it ends, if that is known. */
uint64_t aphi_live_feed_sent(aphi_live_feed *w, int64_t connection, aph_value message, int64_t now);
uint64_t aphi_live_feed_received(aphi_live_feed *w, int64_t connection, aph_value message, uint64_t request);
uint64_t aphi_live_feed_lost(aphi_live_feed *w, int64_t connection, uint64_t request);

/* Can something be told by now? */
bool aphi_live_feed_is_ready(const aphi_live_feed *w, int64_t now);
/* Tell what can be told by now, of at most so many observations. The verdict so far. */
aph_verdict aphi_live_feed_advance(aphi_live_feed *w, int64_t now, uint64_t most);
/* Tell all. */
aph_verdict aphi_live_feed_advance_all(aphi_live_feed *w, int64_t now);
/* All was told and nothing will come any more: is there an explanation in which the subject owes nothing? Says nothing
 * on what was told. */
aph_verdict aphi_live_feed_quiet(aphi_live_feed *w);
size_t aphi_live_feed_waiting(const aphi_live_feed *w);
/* The observation that was told last. */
uint64_t aphi_live_feed_last(const aphi_live_feed *w);
aphi_partitions *aphi_live_feed_partitions(aphi_live_feed *w);

#endif

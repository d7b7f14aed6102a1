/* SPDX-License-Identifier: Apache-2.0
 *
 * oracle_feed.h - the observations of a live run on their way to the oracle, delayed to provide lookahead.
 *
 * The oracle searches far less if it knows the end of a request (response or loss) together with the request. A live
 * tester does not know the end when it sends. So observations wait here, in order, until the end of the oldest request
 * is known or is overdue. */
#ifndef APHI_TESTER_ORACLE_FEED_H
#define APHI_TESTER_ORACLE_FEED_H

#include "oracle/partitions.h"

#include <antiphon/network.h>

typedef struct aphi_oracle_feed aphi_oracle_feed;

#define APHI_NO_REQUEST UINT64_MAX

/* paired: the k-th response on a connection belongs to its k-th request. network: if it is not NULL, the derivation
 * decides in place of the oracle (derive/derivation.h). Returns NULL with a message on failure. */
aphi_oracle_feed *aphi_oracle_feed_open(const aph_model *model, const aph_network *network,
                                        const aph_oracle_options *options, bool paired, char *error,
                                        size_t error_size);
void aphi_oracle_feed_close(aphi_oracle_feed *w);

/* Returns false if the model does not know the request in its initial state; *why is then the reason, valid until the
 * next call. The oracle itself may never try a request that gets no response. */
bool aphi_oracle_feed_knows(aphi_oracle_feed *w, int64_t connection, aph_value message, int64_t now, const char **why);

/* Each returns the number of the observation, from 0. request: the number of the request that ends, if known. */
uint64_t aphi_oracle_feed_sent(aphi_oracle_feed *w, int64_t connection, aph_value message, int64_t now);
uint64_t aphi_oracle_feed_received(aphi_oracle_feed *w, int64_t connection, aph_value message, uint64_t request);
uint64_t aphi_oracle_feed_lost(aphi_oracle_feed *w, int64_t connection, uint64_t request);
/* Silence: nothing is in flight; with a lossy network, messages in flight are lost. */
uint64_t aphi_oracle_feed_silence(aphi_oracle_feed *w);

/* Returns true if an observation can be fed to the oracle. */
bool aphi_oracle_feed_is_ready(const aphi_oracle_feed *w, int64_t now);
/* Feeds the oracle the observations that are ready, at most `most`. Returns the verdict so far. */
aph_verdict aphi_oracle_feed_advance(aphi_oracle_feed *w, int64_t now, uint64_t most);
/* Feeds the oracle all observations. */
aph_verdict aphi_oracle_feed_advance_all(aphi_oracle_feed *w, int64_t now);
/* Call it when all observations were fed and nothing more will arrive. Returns APH_FAIL if every explanation has a
 * pending response, although the observations themselves are explained. */
aph_verdict aphi_oracle_feed_quiet(aphi_oracle_feed *w, int64_t now);
/* Like aphi_oracle_feed_quiet, but only a probe: more may arrive. APH_UNKNOWN does not end the feed. */
aph_verdict aphi_oracle_feed_may_be_quiet(aphi_oracle_feed *w, int64_t now);
/* Returns the number of observations that were not fed yet. */
size_t aphi_oracle_feed_waiting(const aphi_oracle_feed *w);
/* Returns the number of the observation that was fed last; after a failure, of the last one that was reached. */
uint64_t aphi_oracle_feed_last(const aphi_oracle_feed *w);
/* NULL if the derivation decides. */
aphi_partitions *aphi_oracle_feed_partitions(aphi_oracle_feed *w);
/* After APH_UNKNOWN: the fault and its message, or the limit. */
aph_fault aphi_oracle_feed_fault(const aphi_oracle_feed *w, const char **message);
aph_limit aphi_oracle_feed_limit(const aphi_oracle_feed *w);
/* With a network: the state of the server in some explanation. */
aph_value aphi_oracle_feed_state(const aphi_oracle_feed *w);

#endif

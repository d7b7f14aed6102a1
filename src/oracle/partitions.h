/* SPDX-License-Identifier: Apache-2.0
 *
 * partitions.h - one oracle for each part of the state, or one for all. */
#ifndef APHI_ORACLE_PARTITIONS_H
#define APHI_ORACLE_PARTITIONS_H

#include "oracle/search.h"

typedef struct aphi_partitions aphi_partitions;

typedef struct aphi_partition {
    aph_value part;
    aph_oracle *oracle;    /* NULL while nothing goes on in the part: then core is all there is to know of it */
    aphi_core core;
    bool rests, let_go;
} aphi_partition;

/* Are parts taken apart? If the model has parts, unless options->whole or options->ignore_promises. */
bool aphi_partitions_apply(const aph_model *model, const aph_oracle_options *options);
aphi_partitions *aphi_partitions_open(const aph_model *model, const aph_oracle_options *options, char *error,
                                      size_t error_size);
void aphi_partitions_close(aphi_partitions *j);

/* As the oracle's own; line is the caller's name for the observation. After a failure only the oracle that failed
 * listens, while aphi_partitions_wants_more. */
aph_verdict aphi_partitions_sent(aphi_partitions *j, uint64_t line, int64_t connection, aph_value message,
                           const aph_lookahead *known);
aph_verdict aphi_partitions_received(aphi_partitions *j, uint64_t line, int64_t connection, aph_value message);
/* foretold: the request was sent with that known. */
aph_verdict aphi_partitions_lost(aphi_partitions *j, uint64_t line, int64_t connection, bool foretold);
/* As aphi_oracle_quiet. */
aph_verdict aphi_partitions_quiet(aphi_partitions *j);
/* Count from now on which named branches of the model explanations take; an object of counts by name. */
void aphi_partitions_count_branches(aphi_partitions *j);
aph_value aphi_partitions_branches(const aphi_partitions *j);
bool aphi_partitions_wants_more(const aphi_partitions *j);

/* A connection had requests of different parts in flight at once. Its order ties the parts together, so they cannot be
 * judged apart: ask again with options->whole. */
bool aphi_partitions_are_tied(const aphi_partitions *j);
/* The oracle that did not pass; NULL if all did. */
const aphi_partition *aphi_partitions_rejecting(const aphi_partitions *j);
const aphi_partition *aphi_partitions_all(const aphi_partitions *j, size_t *n);
aph_oracle_stats aphi_partitions_stats(const aphi_partitions *j);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * partitions.h - one oracle for each part of the state, or one for the whole state. */
#ifndef APHI_ORACLE_PARTITIONS_H
#define APHI_ORACLE_PARTITIONS_H

#include "oracle/search.h"

typedef struct aphi_partitions aphi_partitions;

typedef struct aphi_partition {
    aph_value part;
    aph_oracle *oracle;    /* NULL while the part is idle: core is then its only configuration */
    aphi_core core;
    bool idle, dropped;    /* dropped: as in aph_oracle */
} aphi_partition;

/* Returns true if the model has parts, and neither options->whole nor options->ignore_promises is set. */
bool aphi_partitions_apply(const aph_model *model, const aph_oracle_options *options);
aphi_partitions *aphi_partitions_open(const aph_model *model, const aph_oracle_options *options, char *error,
                                      size_t error_size);
void aphi_partitions_close(aphi_partitions *p);

/* Like the functions of oracle.h. line: the line of the observation in the caller's trace. After a failure, only the
 * oracle that failed accepts observations, as long as aphi_partitions_wants_more returns true. */
aph_verdict aphi_partitions_sent(aphi_partitions *p, uint64_t line, int64_t connection, aph_value message,
                           const aph_lookahead *known);
aph_verdict aphi_partitions_received(aphi_partitions *p, uint64_t line, int64_t connection, aph_value message);
/* known_in_advance: the loss was passed to aphi_partitions_sent as the future of the request. */
aph_verdict aphi_partitions_lost(aphi_partitions *p, uint64_t line, int64_t connection, bool known_in_advance);
/* Like aphi_oracle_quiet. */
aph_verdict aphi_partitions_quiet(aphi_partitions *p, uint64_t line);
/* Like aphi_oracle_hold and aphi_oracle_settle. */
void aphi_partitions_hold(aphi_partitions *p);
aph_verdict aphi_partitions_settle(aphi_partitions *p);
/* After aphi_partitions_quiet or aphi_partitions_may_be_quiet has returned APH_FAIL: messages that are due in an
 * explanation, an object of arrays by connection, or APH_NIL. */
aph_value aphi_partitions_due(const aphi_partitions *p);
/* Like aphi_oracle_may_be_quiet. */
aph_verdict aphi_partitions_may_be_quiet(aphi_partitions *p);
/* Like aphi_machine_count_branches and aphi_machine_branches. */
void aphi_partitions_count_branches(aphi_partitions *p);
aph_value aphi_partitions_branches(const aphi_partitions *p);
bool aphi_partitions_wants_more(const aphi_partitions *p);

/* Returns true if the model was found to distinguish connections. */
bool aphi_partitions_tell_apart(const aphi_partitions *p);
/* Returns true if a connection had pending requests of different parts. Their order makes the parts depend on each
 * other, so they cannot be checked separately: repeat the check with options->whole. */
bool aphi_partitions_are_tied(const aphi_partitions *p);
/* Returns the partition that did not pass; NULL if all passed. */
const aphi_partition *aphi_partitions_rejecting(const aphi_partitions *p);
const aphi_partition *aphi_partitions_all(const aphi_partitions *p, size_t *n);
aph_oracle_stats aphi_partitions_stats(const aphi_partitions *p);

#endif
